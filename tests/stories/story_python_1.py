# SPDX-License-Identifier: GPL-3.0-or-later
"""The story told by the Python SDK 1.x over its own WebSocket transport: `python story_python_1.py URL STORY PAGES`."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.websocket import websocket_client


async def main(url, story, pages):
    async with websocket_client(url) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        results = [dump(await session.call_tool(name, arguments)) for name, arguments in story]
        objects, cursor = [], None
        while pages:
            name, arguments = pages
            more = {"cursor": cursor} if cursor else {}
            page = (await session.call_tool(name, {**arguments, **more})).structuredContent
            objects += [item["name"] for item in page["objects"]]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        print(json.dumps({"tools": tools, "results": results, "objects": objects}))


def dump(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])))
