# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a protocol core for tests, and messages of both eras."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bl_ext.user_default.mcp_bridge.base.jobs import Jobs
from bl_ext.user_default.mcp_bridge.server.protocol.context import RequestContext
from bl_ext.user_default.mcp_bridge.server.protocol.core import Core
from bl_ext.user_default.mcp_bridge.server.protocol.features import (
    Features,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    Tool,
)
from bl_ext.user_default.mcp_bridge.server.protocol.messages import content
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.protocol.messages.request_state import RequestStates
from bl_ext.user_default.mcp_bridge.server.protocol.messages.revisions import (
    CLIENT_CAPABILITIES,
    PROTOCOL_VERSION,
)

__all__ = ("ALICE", "BOB", "Client", "Clock", "core", "handshake", "notification", "request", "stateless")

Json = dict[str, Any]


@dataclass(frozen=True)
class Client:
    """The client of a token."""

    id: str
    name: str


ALICE, BOB = Client("alice", "Alice's editor"), Client("bob", "Bob's editor")


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def core(clock: Clock | None = None) -> Core:
    """Return a core with one of each kind of feature."""
    clock = clock or Clock()
    features = Features()
    features.add(
        Tool(
            name="echo",
            description="Gives back what it gets",
            input_schema={
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
            handler=_echo,
        ),
        Tool(name="wait", input_schema={"type": "object"}, handler=_echo),
        Tool(name="ask", input_schema={"type": "object"}, handler=_ask),
        Resource(uri="test://one", name="one", mime_type="text/plain", read=_read),
        ResourceTemplate(
            uri_template="test://named/{name}", name="named", read=_read_named, complete={"name": _names}
        ),
        Prompt(
            name="greet",
            description="A greeting",
            arguments=(PromptArgument(name="who", required=True, complete=_names),),
            get=_greet,
        ),
    )
    states = RequestStates(b"k" * 32, clock)
    return Core(features, {"name": "test", "version": "1"}, states, Jobs(clock), "Be careful")


def request(request_id: Any, method: str, **params: Any) -> Json:
    """Return a request of the handshake era."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def stateless(request_id: Any, method: str, capabilities: Json | None = None, **params: Any) -> Json:
    """Return a request with the envelope of 2026-07-28. `_meta` in `params` is added to it."""
    meta = {PROTOCOL_VERSION: "2026-07-28", CLIENT_CAPABILITIES: capabilities or {}}
    return request(request_id, method, **{**params, "_meta": {**meta, **params.get("_meta", {})}})


def notification(method: str, **params: Any) -> Json:
    """Return a notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def handshake(request_id: Any = "init", version: str = "2025-11-25", **capabilities: Any) -> Json:
    """Return an initialize request."""
    info = {"name": "client", "version": "1"}
    return request(
        request_id, "initialize", protocolVersion=version, capabilities=capabilities, clientInfo=info
    )


async def _echo(_ctx: RequestContext, arguments: Json) -> ToolResult:
    return ToolResult(structured=arguments)


async def _ask(ctx: RequestContext, _arguments: Json) -> ToolResult:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    answer = await ctx.elicit("name", "Who are you?", schema)
    return ToolResult([content.text(answer["content"]["name"])])


async def _read(_ctx: RequestContext, uri: str) -> list[Json]:
    return [content.text_contents(uri, "one")]


async def _read_named(_ctx: RequestContext, uri: str, variables: dict[str, str]) -> list[Json]:
    if variables["name"] == "gone":
        raise LookupError("gone")
    return [content.text_contents(uri, variables["name"])]


async def _names(_ctx: RequestContext, value: str, _context: Any) -> list[str]:
    return [f"{value}{number}" for number in range(150)]


async def _greet(_ctx: RequestContext, arguments: dict[str, str]) -> list[Json]:
    return [content.message("user", content.text(f"Greet {arguments['who']}"))]
