# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain commands: `{"type": "get_scene_info", "params": {…}}` on a WebSocket, without JSON-RPC.

For a ten-line script that drives Blender without an MCP library. Answers are `{"status": "success" | "error",
"result": …, "message": …}`. They carry no id, so commands of one connection run one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from .content import Json
from .context import Call, Era, Principal
from .core import Core
from .errors import invalid_params
from .methods import Run, tools_call

#: Other names of tools.
ALIASES: Mapping[str, str] = {"execute_code": "execute_blender_code"}


def read(core: Core, client: Principal, message: Json) -> tuple[Call, Run]:
    """A call of the tool that the command names. Raises RpcError."""
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
    outcome = tools_call(core, call)
    if isinstance(outcome, dict):
        raise invalid_params(_text(outcome))
    return call, outcome


def success(result: Json) -> Json:
    """The answer for a `CallToolResult`; a result that reports a failure makes an error."""
    structured = result.get("structuredContent")
    if result.get("isError"):
        return {"status": "error", "result": structured, "message": _text(result)}
    return {
        "status": "success",
        "result": result["content"] if structured is None else structured,
        "message": None,
    }


def failure(message: str) -> Json:
    """The answer for a command that did not run."""
    return {"status": "error", "result": None, "message": message}


def _text(result: Json) -> str:
    return "\n".join(block["text"] for block in result["content"] if block.get("type") == "text")
