# SPDX-License-Identifier: GPL-3.0-or-later
"""Helpers for ASGI: headers, bodies and responses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Protocol

from ..protocol.messages import jsonrpc, wire
from ..protocol.messages.errors import INVALID_REQUEST, SERVER_BUSY, RpcError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: Reading a body stops if nothing arrives for this long (seconds).
BODY_STALL_SECONDS = 30.0
#: Reading a body stops if it is not complete after this time (seconds).
BODY_SECONDS = 120.0

_TOO_MUCH = "Busy: too much is half received by all clients together; try again later"


class HttpError(Exception):
    """Tells that the request gets an HTTP status and a sentence as its answer."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        headers: Mapping[str, str] | None = None,
        code: int = INVALID_REQUEST,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.error = RpcError(code, message)

    async def respond(self, send: Send) -> None:
        """Answer with a JSON-RPC error without an id, which every MCP client can read."""
        await respond_json(send, jsonrpc.error(None, self.error), self.status, self.headers)


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers by name in lower case. A repeated name's values are joined with ", " (RFC 9110, 5.3)."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1").strip(" \t")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


class Account(Protocol):
    """The bytes that a message uses of the shared limit; `transport.shares.Message` implements it."""

    def grow(self, size: int) -> bool:
        """Count `size` more bytes; False if the limit has no room for them."""


async def read_body(headers: Mapping[str, str], receive: Receive, limit: int, account: Account) -> bytearray:
    """Read the body; `account` counts it from its first byte, and the caller closes the account.

    Raises HttpError: 413 as soon as the body is known to be larger than `limit` bytes, 503 if all partly received
    messages together are too large, 408 if the body does not arrive in time.
    """
    too_large = HttpError(413, f"The message is larger than {limit} bytes")
    declared = headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise too_large
    body, until = bytearray(), asyncio.get_running_loop().time() + BODY_SECONDS
    while True:
        try:
            async with asyncio.timeout_at(min(until, asyncio.get_running_loop().time() + BODY_STALL_SECONDS)):
                event = await receive()
        except TimeoutError:
            raise HttpError(408, "The body did not arrive", headers={"connection": "close"}) from None
        if event["type"] == "http.disconnect":
            raise HttpError(400, "The body ended early")
        piece = event.get("body", b"")
        if len(body) + len(piece) > limit:
            raise too_large
        if not account.grow(len(piece)):
            raise HttpError(503, _TOO_MUCH, headers={"retry-after": "1"}, code=SERVER_BUSY)
        body += piece
        if not event.get("more_body"):
            return body


async def respond(
    send: Send, body: bytes, status: int, content_type: str, headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole response."""
    fields = {"content-type": content_type, "content-length": str(len(body)), **(headers or {})}
    await start(send, status, fields)
    await send({"type": "http.response.body", "body": body})


async def respond_json(
    send: Send, value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> None:
    """Send a whole response in JSON."""
    await respond(send, wire.encode(value).encode(), status, "application/json", headers)


async def respond_empty(send: Send, status: int, headers: Mapping[str, str] | None = None) -> None:
    """Send a response without a body."""
    length = {} if status == 204 else {"content-length": "0"}
    await start(send, status, {**length, **(headers or {})})
    await send({"type": "http.response.body", "body": b""})


async def start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    """Send the start of a response."""
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": fields})


def accepts(header: str | None, media_types: Iterable[str]) -> bool:
    """Return whether an Accept header allows all of these media types; a missing header allows everything."""
    if header is None:
        return True
    ranges = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    return all(
        media_type in ranges or f"{media_type.partition('/')[0]}/*" in ranges or "*/*" in ranges
        for media_type in media_types
    )
