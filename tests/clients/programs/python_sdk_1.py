# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python SDK 1.x."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.client.websocket import websocket_client

TOLD = json.loads(os.environ["TOLD"])


@asynccontextmanager
async def streams():
    headers = {"Authorization": f"Bearer {TOLD['token']}"}
    if TOLD["transport"] == "stdio":
        server = StdioServerParameters(command=TOLD["command"], args=TOLD["args"], env=TOLD["env"])
        async with stdio_client(server) as found:
            yield found
    elif TOLD["transport"] == "http":
        async with streamablehttp_client(TOLD["url"], headers=headers) as (read, write, _):
            yield read, write
    else:
        async with websocket_client(TOLD["websocket"]) as found:
            yield found


async def answer(_context, _question):
    return types.ElicitResult(action="accept", content={"apply": True})


async def progressed(*_):
    pass


async def main():
    async with streams() as found, ClientSession(*found, elicitation_callback=answer) as session:
        await session.initialize()
        await session.list_tools()
        for step in TOLD["steps"]:
            call = session.call_tool(step["tool"], step["arguments"], progress_callback=progressed)
            if TOLD["cancel"]:
                try:
                    await asyncio.wait_for(call, 2)
                except TimeoutError:
                    return
            result = await call
            print("RESULT", result.model_dump_json(by_alias=True, exclude_none=True), flush=True)


asyncio.run(main())
