# SPDX-License-Identifier: GPL-3.0-or-later
"""A TCP proxy that lets a client in that cannot send a token: it puts one into the head of each request.

The suite knows neither tokens nor our port, so `Host` and `Origin` get the server's port in place of the proxy's.
"""

from __future__ import annotations

import asyncio

_CHUNK = 1 << 16


async def serve(port: int, behind: int, token: str) -> asyncio.Server:
    """Listen on `port` of 127.0.0.1 for the server that listens on `behind`."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _forward(reader, writer, port, behind, token)

    return await asyncio.start_server(connected, "127.0.0.1", port)


async def _forward(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, behind: int, token: str
) -> None:
    """Forward one request and its response. Each has a connection of its own, so no more heads come."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        writer.close()
        return
    lines = head.replace(b":%d" % port, b":%d" % behind).split(b"\r\n")[:-2]
    kept = [line for line in lines if not line.lower().startswith(b"connection:")]
    kept += [b"Connection: close", b"Authorization: Bearer " + token.encode(), b"", b""]
    up_reader, up_writer = await asyncio.open_connection("127.0.0.1", behind)
    up_writer.write(b"\r\n".join(kept))
    upwards = asyncio.create_task(_copy(reader, up_writer))
    await _copy(up_reader, writer)
    upwards.cancel()
    up_writer.close()
    writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
