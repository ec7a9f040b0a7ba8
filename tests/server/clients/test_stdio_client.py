# SPDX-License-Identifier: GPL-3.0-or-later
"""The official SDK's stdio client, the shim as the client's configuration starts it, and this Blender's bridge."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread, settings
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.assembly import Bridge
from bl_ext.user_default.mcp_bridge.server.clients import discovery
from bl_ext.user_default.mcp_bridge.server.clients.config import snippets, table
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from support.running.ports import free_port

T = TypeVar("T")


class Driver:
    """The client's side, on a thread with an event loop; this thread does Blender's work meanwhile."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout: float = 30.0) -> T:
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, timeout), self.loop)
        while not future.done():
            main_thread.pump(lambda: not future.done())
            time.sleep(0.005)
        return future.result()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class Session:
    """A client that stays connected between steps, and what it was told unasked."""

    def __init__(self, driver: Driver, mode: str) -> None:
        self.driver = driver
        self.told: list[str] = []
        self._ready, self._leave = asyncio.Event(), asyncio.Event()
        self._task = asyncio.run_coroutine_threadsafe(self._live(mode), driver.loop)
        driver.run(self._until_ready())

    async def _live(self, mode: str) -> None:
        async def hear(message: Any) -> None:
            self.told.append(getattr(message, "method", type(message).__name__))

        async with AsyncExitStack() as stack:
            self.client = await stack.enter_async_context(
                Client(await asyncio.to_thread(_parameters), mode=mode, message_handler=hear)
            )
            self._ready.set()
            await self._leave.wait()

    async def _until_ready(self) -> None:
        while not self._ready.is_set():
            if self._task.done():
                self._task.result()
            await asyncio.sleep(0.01)

    def tools(self) -> set[str]:
        return {tool.name for tool in self.driver.run(self.client.list_tools()).tools}

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.driver.run(self.client.call_tool(tool, arguments))

    def until_told(self, method: str) -> None:
        async def wait() -> None:
            while method not in self.told:
                await asyncio.sleep(0.01)

        self.driver.run(wait(), timeout=10.0)

    def close(self) -> None:
        async def leave() -> None:
            self._leave.set()
            await asyncio.wrap_future(self._task)

        self.driver.run(leave())


def _parameters() -> StdioServerParameters:
    """What *Copy Client Configuration* gives, as a client would start it."""
    kind = table.find("claude_desktop")
    _, token = state.store().mint(kind.label)
    server = json.loads(snippets.snippet(kind, "stdio", state.here(), token))["mcpServers"]["blender"]
    own = {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"], "BLENDER_RETRY_BACKOFF": "0.05"}
    return StdioServerParameters(command=server["command"], args=server["args"], env={**server["env"], **own})


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    started = Driver()
    yield started
    bridge.stop()
    started.stop()
    (discovery.user_folder() / "clients.json").unlink(missing_ok=True)


def _start() -> Bridge:
    return bridge.start(
        settings.load(environ={"BLENDER_PORT": str(free_port()), "BLENDER_MCP_CONFIRM": "auto"})
    )


MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


@MODES
@pytest.mark.usefixtures("empty_scene")
def test_a_client_lists_the_tools_and_reads_the_scene(driver: Driver, mode: str) -> None:
    running = _start()
    bpy.ops.mesh.primitive_cube_add()
    session = Session(driver, mode)
    listed = {tool.name for tool in running.features.tools.values() if tool.listed}
    assert session.tools() == listed - running.features.out_of_use
    result = session.call("get_object_info", name="Cube")
    assert result.structured_content["name"] == "Cube"
    assert bridge.status().clients == ("Claude Desktop",)
    session.close()


@MODES
@pytest.mark.usefixtures("empty_scene")
def test_a_client_that_was_there_before_blender(driver: Driver, mode: str) -> None:
    session = Session(driver, mode)
    packaged = session.tools()
    result = session.call("get_scene_info")
    assert result.is_error
    assert "press Start" in result.content[0].text
    _start()
    if mode == "legacy":
        session.until_told("notifications/tools/list_changed")
    result = session.call("get_scene_info")
    assert not result.is_error
    assert session.tools() == packaged
    session.close()


@MODES
@pytest.mark.usefixtures("empty_scene")
def test_a_client_outlives_blender(driver: Driver, mode: str) -> None:
    _start()
    session = Session(driver, mode)
    assert not session.call("get_scene_info").is_error
    bridge.stop()
    assert session.call("get_scene_info").is_error
    _start()
    deadline = time.monotonic() + 10
    while session.call("get_scene_info").is_error:
        assert time.monotonic() < deadline
    session.close()


def test_the_bridge_is_well_after_its_client_was_killed_in_mid_call(driver: Driver) -> None:
    running = _start()
    session = Session(driver, "legacy")
    blocked = threading.Event()
    main_thread.run(lambda: blocked.wait(5), label="something long")
    call = asyncio.run_coroutine_threadsafe(session.client.call_tool("get_scene_info", {}), driver.loop)
    time.sleep(0.3)
    [shim] = _children_named("stdio_shim.py")
    os.kill(shim, signal.SIGKILL)
    blocked.set()
    with pytest.raises(Exception, match=r"(?i)closed"):
        driver.run(asyncio.wait_for(asyncio.wrap_future(call, loop=driver.loop), 10))
    deadline = time.monotonic() + 5
    while running.app.connections:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    again = Session(driver, "legacy")
    assert not again.call("get_scene_info").is_error
    again.close()


def _children_named(part: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = path.joinpath("cmdline").read_bytes()
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid() and part.encode() in words:
            found.append(int(path.name))
    return found
