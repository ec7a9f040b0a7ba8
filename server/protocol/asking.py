# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the client's answers to requests of the server (elicitation, sampling, roots)."""

from __future__ import annotations

from .messages.content import Json
from .messages.errors import RpcError, invalid_params
from .messages.validation import Check

_ACTIONS = ("accept", "decline", "cancel")


def checked(key: str, request: Json, answer: object) -> Json:
    """Return the client's answer to one of our requests; missing fields of a form get the form's defaults.

    Raises RpcError (invalid params) if the answer does not fit.
    """
    if not isinstance(answer, dict):
        raise invalid_params(f"{key}: the answer must be an object")
    answer = _filled(request, answer)
    problem = _PROBLEMS[request["method"]](request, answer)
    if problem:
        raise invalid_params(f"{key}: {problem}")
    return answer


def refused(error: object) -> RpcError:
    """Return the error for a client that answered our request with an error."""
    message = error.get("message") if isinstance(error, dict) else None
    return RpcError(-32603, f"The client could not answer: {message or 'no reason given'}")


def _filled(request: Json, answer: Json) -> Json:
    """Return the answer to an accepted form with its defaults: clients leave out unedited fields, or send null."""
    form = request.get("params", {}).get("requestedSchema")
    content = answer.get("content") or {}
    if form is None or answer.get("action") != "accept" or not isinstance(content, dict):
        return answer
    fields = form.get("properties", {}).items()
    default = {name: each["default"] for name, each in fields if "default" in each}
    filled = {name: value for name, value in content.items() if value is not None}
    return {**answer, "content": default | filled}


def _elicitation(request: Json, answer: Json) -> str | None:
    action, content = answer.get("action"), answer.get("content")
    if action not in _ACTIONS:
        return f"action must be one of {', '.join(_ACTIONS)}"
    schema = request["params"].get("requestedSchema")
    if action != "accept" or schema is None:
        return None
    return Check(schema)(content or {})


def _sampling(_request: Json, answer: Json) -> str | None:
    missing = [name for name in ("role", "content", "model") if name not in answer]
    return f"{', '.join(missing)} missing" if missing else None


def _roots(_request: Json, answer: Json) -> str | None:
    return None if isinstance(answer.get("roots"), list) else "roots must be an array"


_PROBLEMS = {"elicitation/create": _elicitation, "sampling/createMessage": _sampling, "roots/list": _roots}
