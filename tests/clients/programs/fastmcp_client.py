# SPDX-License-Identifier: GPL-3.0-or-later
"""FastMCP's client."""

import asyncio
import json
import os

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

TOLD = json.loads(os.environ["TOLD"])


async def answer(_message, response_type, _params, _context):
    return response_type(apply=True) if response_type else {"apply": True}


async def progressed(*_):
    pass


async def main():
    headers = {"Authorization": f"Bearer {TOLD['token']}"}
    transport = (
        StdioTransport(TOLD["command"], TOLD["args"], env=TOLD["env"])
        if TOLD["transport"] == "stdio"
        else StreamableHttpTransport(TOLD["url"], headers=headers)
    )
    async with Client(transport, elicitation_handler=answer, progress_handler=progressed) as client:
        await client.list_tools()
        for step in TOLD["steps"]:
            call = client.call_tool_mcp(step["tool"], step["arguments"], progress_handler=progressed)
            if TOLD["cancel"]:
                try:
                    await asyncio.wait_for(call, 2)
                except TimeoutError:
                    return
            result = await call
            print("RESULT", result.model_dump_json(by_alias=True, exclude_none=True), flush=True)


asyncio.run(main())
