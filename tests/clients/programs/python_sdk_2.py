# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python SDK 2.x."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

TOLD = json.loads(os.environ["TOLD"])


@asynccontextmanager
async def http():
    headers = {"Authorization": f"Bearer {TOLD['token']}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as client,
        streamable_http_client(TOLD["url"], http_client=client) as streams,
    ):
        yield streams


def stdio():
    return stdio_client(StdioServerParameters(command=TOLD["command"], args=TOLD["args"], env=TOLD["env"]))


async def answer(_context, _question):
    return ElicitResult(action="accept", content={"apply": True})


async def progressed(*_):
    pass


async def main():
    transport = stdio() if TOLD["transport"] == "stdio" else http()
    async with Client(transport, elicitation_callback=answer) as client:
        await client.list_tools()
        for step in TOLD["steps"]:
            call = client.call_tool(step["tool"], step["arguments"], progress_callback=progressed)
            if TOLD["cancel"]:
                try:
                    await asyncio.wait_for(call, 2)
                except TimeoutError:
                    return
            result = await call
            print("RESULT", result.model_dump_json(by_alias=True, exclude_none=True), flush=True)


asyncio.run(main())
