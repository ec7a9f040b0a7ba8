# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent of the OpenAI Agents SDK with the scripted model."""

import asyncio
import json
import os

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI

TOLD = json.loads(os.environ["TOLD"])


async def main():
    set_tracing_disabled(True)
    headers = {"Authorization": f"Bearer {TOLD['token']}"}
    server = (
        MCPServerStdio(
            {"command": TOLD["command"], "args": TOLD["args"], "env": TOLD["env"]},
            client_session_timeout_seconds=60,
        )
        if TOLD["transport"] == "stdio"
        else MCPServerStreamableHttp(
            {"url": TOLD["url"], "headers": headers}, client_session_timeout_seconds=60
        )
    )
    client = AsyncOpenAI(base_url=f"{TOLD['model']}/v1", api_key="none")
    async with server:
        agent = Agent("matrix", mcp_servers=[server], model=OpenAIResponsesModel("m", client))
        run = Runner.run(agent, "Do what the scenario says.", max_turns=20)
        await (asyncio.wait_for(run, 4) if TOLD["cancel"] else run)


asyncio.run(main())
