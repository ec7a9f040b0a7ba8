# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain commands: `{"type": "get_scene_info", "params": {…}}` on a WebSocket, without JSON-RPC.

They are for a ten-line script that drives Blender without an MCP library. Answers are `{"status": "success" |
"pending" | "error", "result": …, "message": …}`; an error also has `error`, `cause` and `line`. Answers carry no id,
so commands of one connection run one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...base.errors import failure_of
from .context import Call, Era, Principal
from .core import Core
from .messages.content import Json
from .messages.errors import RpcError, as_bridge_error, invalid_params
from .methods import tools_call
from .work import CallTool

#: Other names of tools.
ALIASES: Mapping[str, str] = {"execute_code": "execute_blender_code"}


def read(core: Core, client: Principal, message: Json) -> tuple[Call, CallTool]:
    """Return a call of the tool that the command names. Raises RpcError."""
    name, params = message["type"], message.get("params")
    if not isinstance(name, str):
        raise invalid_params("type: must be the name of a command")
    if params is not None and not isinstance(params, dict):
        raise invalid_params("params: must be an object")
    call = Call(
        request_id=None,
        method="tools/call",
        params={"name": ALIASES.get(name, name), "arguments": params or {}},
        era=Era.PLAIN,
        version="",
        client=client,
        client_capabilities={},
    )
    return call, tools_call(core, call)


def success(result: Json) -> Json:
    """Return the answer for a `CallToolResult`.

    The result's own `status` and `message`, and all members of an error, are beside `result`. So are the other members
    of a result that itself has a member `result`, the value of a script.
    """
    structured = result.get("structuredContent")
    if result.get("isError"):
        texts = (block["text"] for block in result["content"] if block.get("type") == "text")
        told = {"status": "error", "error": "HandlerError", "result": None, "message": "\n".join(texts)}
        return {**told, **(structured or {})}
    found = result["content"] if structured is None else structured
    if not isinstance(found, dict) or "status" not in found:
        return {"status": "success", "result": found, "message": None}
    if "result" in found:
        return {"message": None, **found}
    own = {"status": found["status"], "message": found.get("message")}
    return {**own, "result": {name: value for name, value in found.items() if name not in own} or None}


def failure(error: RpcError) -> Json:
    """Return the answer for a command that did not run."""
    return {"result": None, **failure_of(as_bridge_error(error))}
