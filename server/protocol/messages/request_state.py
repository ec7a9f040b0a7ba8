# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs `requestState`: the answers to a stateless call so far, which the client keeps between its retries.

The client sends it back with the retry. An attacker could change it, so it has an HMAC over the answers, an expiry,
the client's id and a digest of the request: nobody can alter it, use it after its expiry, use it as another client or
with another request. Source: MCP 2026-07-28, "Multi Round-Trip Requests".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .content import Json
from .errors import invalid_params

#: How long the user may take over one question, in seconds.
LIFETIME = 900.0

_NOT_SALIENT = frozenset({"_meta", "inputResponses", "requestState"})


@dataclass(slots=True)
class Rounds:
    """The result of earlier rounds of a call: answers by key, and digests of their requests."""

    answers: dict[str, Json] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)


class RequestStates:
    """Signs and checks request states. `secret` is random and used until the server ends."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        self._secret = secret
        self._clock = clock

    def seal(
        self, method: str, params: Json, client: str, answers: Mapping[str, Json], asked: Mapping[str, str]
    ) -> str:
        """Return a signed state with the `answers` so far and the digests of all requests in `asked`."""
        body = {
            "for": _digest(method, params, client),
            "until": self._clock() + LIFETIME,
            "answers": dict(answers),
            "asked": dict(asked),
        }
        data = json.dumps(body, separators=(",", ":")).encode()
        return _b64(data) + "." + _b64(self._mac(data))

    def open(self, method: str, params: Json, client: str) -> Rounds:
        """Return the answers of all rounds of a request, with the new ones of its `inputResponses`.

        A response without a state, or to a request that is not in the state, is ignored. Raises RpcError (invalid
        params) for a state that was altered, has expired or belongs to another call.
        """
        responses = params.get("inputResponses")
        if responses is not None and not isinstance(responses, dict):
            raise invalid_params("inputResponses: must be an object")
        state = params.get("requestState")
        if state is None:
            return Rounds()
        body = self._verified(state)
        if body["until"] < self._clock():
            raise invalid_params("requestState: it has expired; send the request again without it")
        if not hmac.compare_digest(body["for"], _digest(method, params, client)):
            raise invalid_params("requestState: it belongs to another request")
        answers = body["answers"]
        for key, response in (responses or {}).items():
            if key in body["asked"]:
                if not isinstance(response, dict):
                    raise invalid_params(f"inputResponses.{key}: must be an object")
                answers[key] = response
        return Rounds(answers, body["asked"])

    def _verified(self, state: object) -> Any:
        if isinstance(state, str):
            data, _, mac = state.partition(".")
            try:
                raw, given = _unb64(data), _unb64(mac)
            except ValueError:
                raw, given = b"", b""
            if raw and hmac.compare_digest(self._mac(raw), given):
                return json.loads(raw)
        raise invalid_params("requestState: not one that this server gave; send the request again without it")

    def _mac(self, data: bytes) -> bytes:
        return hmac.digest(self._secret, data, "sha256")


def digest(value: object) -> str:
    """Return a short digest of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _digest(method: str, params: Json, client: str) -> str:
    salient = {key: value for key, value in params.items() if key not in _NOT_SALIENT}
    return digest([method, salient, client])


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _unb64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
