# SPDX-License-Identifier: GPL-3.0-or-later
"""LangChain's adapters: the results are what its agents hand to a model."""

import asyncio
import json
import os

from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.types import ElicitResult

TOLD = json.loads(os.environ["TOLD"])


async def answer(*_):
    return ElicitResult(action="accept", content={"apply": True})


async def progressed(*_):
    pass


async def main():
    headers = {"Authorization": f"Bearer {TOLD['token']}"}
    server = (
        {"transport": "stdio", "command": TOLD["command"], "args": TOLD["args"], "env": TOLD["env"]}
        if TOLD["transport"] == "stdio"
        else {"transport": "streamable_http", "url": TOLD["url"], "headers": headers}
    )
    callbacks = Callbacks(on_progress=progressed, on_elicitation=answer)
    client = MultiServerMCPClient({"blender": server}, callbacks=callbacks)
    async with client.session("blender") as session:
        loaded = await load_mcp_tools(session, callbacks=callbacks, server_name="blender")
        tools = {tool.name: tool for tool in loaded}
        for number, step in enumerate(TOLD["steps"]):
            asked = {"type": "tool_call", "id": str(number), "name": step["tool"], "args": step["arguments"]}
            call = tools[step["tool"]].ainvoke(asked)
            if TOLD["cancel"]:
                try:
                    await asyncio.wait_for(call, 2)
                except TimeoutError:
                    return
            try:
                print("RESULT", json.dumps((await call).content, ensure_ascii=False), flush=True)
            except Exception as error:
                print("RESULT", json.dumps(str(error)), flush=True)


asyncio.run(main())
