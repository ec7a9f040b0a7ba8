# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent of Pydantic AI with the scripted model."""

import asyncio
import json
import os

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

TOLD = json.loads(os.environ["TOLD"])


async def main():
    headers = {"Authorization": f"Bearer {TOLD['token']}"}
    server = (
        StdioTransport(TOLD["command"], TOLD["args"], env=TOLD["env"])
        if TOLD["transport"] == "stdio"
        else StreamableHttpTransport(TOLD["url"], headers=headers)
    )
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=f"{TOLD['model']}/v1", api_key="none"))
    agent = Agent(model, toolsets=[MCPToolset(server)])
    async with agent:
        run = agent.run("Do what the scenario says.")
        await (asyncio.wait_for(run, 4) if TOLD["cancel"] else run)


asyncio.run(main())
