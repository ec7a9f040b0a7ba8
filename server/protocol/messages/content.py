# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes MCP's content blocks, and the results of tools, prompts and resources.

Source of the shapes: the MCP schema, `ContentBlock`, `ResourceContents`, `PromptMessage` and `CallToolResult`
(identical in 2025-11-25 and 2026-07-28).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....base.errors import failure_of
from . import wire

#: A JSON object. Content blocks, contents of resources and messages of prompts are such objects.
Json = dict[str, Any]


def text(value: str) -> Json:
    """Return a text block."""
    return {"type": "text", "text": value}


def image(data: bytes, mime_type: str = "image/png") -> Json:
    """Return an image block from the bytes of an encoded picture."""
    return {"type": "image", "data": base64.b64encode(data).decode("ascii"), "mimeType": mime_type}


def audio(data: bytes, mime_type: str = "audio/wav") -> Json:
    """Return an audio block from the bytes of an encoded sound."""
    return {"type": "audio", "data": base64.b64encode(data).decode("ascii"), "mimeType": mime_type}


def resource_link(uri: str, name: str, **more: Any) -> Json:
    """Return a link to a resource that the client may read; `more` are fields of `Resource` (mimeType, size, …)."""
    return {"type": "resource_link", "uri": uri, "name": name, **more}


def embedded(contents: Json) -> Json:
    """Return a resource inside a result; `contents` from `text_contents` or `blob_contents`."""
    return {"type": "resource", "resource": contents}


def text_contents(uri: str, value: str, mime_type: str = "text/plain") -> Json:
    """Return the contents of a resource that is text."""
    return {"uri": uri, "mimeType": mime_type, "text": value}


def blob_contents(uri: str, data: bytes, mime_type: str) -> Json:
    """Return the contents of a resource that is binary."""
    return {"uri": uri, "mimeType": mime_type, "blob": base64.b64encode(data).decode("ascii")}


def message(role: str, content: Json) -> Json:
    """Return one message of a prompt; `role` is "user" or "assistant"."""
    return {"role": role, "content": content}


@dataclass(slots=True)
class ToolResult:
    """The result of a tool.

    `structured` goes out as `structuredContent`, and as JSON text too when `content` is empty, because
    clients of older revisions read only text. `is_error` marks a failure that the assistant should read
    and act on; failures of the protocol itself are raised as `RpcError`.
    """

    content: list[Json] = field(default_factory=list)
    structured: Any = None
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


def tool_result(result: ToolResult) -> Json:
    """Return a `CallToolResult`."""
    blocks = result.content
    found: Json = {"content": blocks, "isError": result.is_error}
    if result.structured is not None:
        found["structuredContent"] = result.structured
        if not blocks:
            block, found["structuredContent"] = text_and_structure(result.structured)
            found["content"] = [block]
    if result.meta:
        found["_meta"] = dict(result.meta)
    return found


def text_and_structure(value: Any) -> tuple[Json, Any]:
    """Return a structured result, encoded once: as a text block, and in the form for `ToolResult.structured`."""
    encoded = wire.encode(value)
    return text(encoded), wire.Encoded(value, encoded) if isinstance(value, dict) else value


#: Key in a result's `_meta`: programs read the structured content, so it stays even beside pictures.
FOR_PROGRAMS = "mcp_bridge/for_programs"
#: Name prefixes of clients that show a model only `structuredContent` if a result has any.
_STRUCTURE_ALONE = ("codex",)


def for_client(result: Json, client_info: Mapping[str, Any] | None) -> Json:
    """Return a `CallToolResult` in the form for this client, so that its model sees every picture.

    Some clients show a model either the structured content or the content. So a result with pictures has no structured
    content but the same facts as a text. A result for programs keeps it, except for clients known to hide pictures.
    """
    structured = result.get("structuredContent")
    blocks: list[Json] = result["content"]
    if structured is None or not any(block["type"] in ("image", "audio") for block in blocks):
        return result
    name = str((client_info or {}).get("name", "")).lower()
    if FOR_PROGRAMS in result.get("_meta", {}) and not name.startswith(_STRUCTURE_ALONE):
        return result
    facts = text(structured.text if isinstance(structured, wire.Encoded) else wire.encode(structured))
    left = {key: value for key, value in result.items() if key != "structuredContent"}
    return {**left, "content": blocks if facts in blocks else [*blocks, facts]}


def failed(error: BaseException) -> ToolResult:
    """Return the result for a failed call: the reason in words, and in the form of `errors.failure_of`."""
    facts = failure_of(error)
    where = f" (line {facts['line']})" if "line" in facts else ""
    words = getattr(error, "text", "") or f"{facts['error']}{where}: {facts['message']}"
    return ToolResult([text(words)], facts, is_error=True)
