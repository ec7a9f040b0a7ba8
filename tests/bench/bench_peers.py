# SPDX-License-Identifier: GPL-3.0-or-later
"""The same work for this server and for another one, in the same Blender with its window.

The other one is the add-on of `mcp-for-blender`, the most used server. An assistant reaches it through a process that
is left out here: this file sends the add-on what that process sends, and reads the answers as it does.
"""

from __future__ import annotations

import json
import socket
import zipfile
from collections.abc import Callable, Iterator
from typing import Protocol

import debian_root
import libraries
from blenders import BUILD, ROOT
from support.bench import Row, calls_at_once, percentile, samples
from support.clients.raw_client import CubeClient
from support.on_screen import window as window_support
from support.running.blender import EXTENSION
from support.running.ports import free_port

_LOCK = ROOT / "dev" / "peers.lock"
_MIB = 1 << 20

_ADD_TOOL = f"""
from {EXTENSION}.server import bridge
from {EXTENSION}.server.protocol.features import Tool
from {EXTENSION}.server.protocol.messages.content import ToolResult

async def take(context, arguments):
    return ToolResult([{{"type": "text", "text": str(len(arguments["text"]))}}])

bridge.start().features.add(Tool(name="take", input_schema={{"type": "object"}}, handler=take))
"""
_START_PEER = """
import importlib.util, sys
sys.path.append({folder!r})
spec = importlib.util.spec_from_file_location("mcp_for_blender_addon", {folder!r} + "/blender_mcp/bundled/addon.py")
addon = importlib.util.module_from_spec(spec)
spec.loader.exec_module(addon)
addon.register()
bpy.app.timers.unregister(addon._addon_update_check_on_startup)  # it would ask the network
bpy.context.scene.blendermcp_port = {port}
bpy.ops.blendermcp.start_server()
result = bpy.types.blendermcp_server.running
"""
_SCRIPT = """
import bpy
mesh = bpy.data.meshes.new("Part")
for number in range(1000):
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Part", mesh))
"""
_REMOVE = """
bpy.data.batch_remove([each for each in bpy.data.objects if each.name.startswith("Part")])
bpy.data.batch_remove([each for each in bpy.data.meshes if each.name.startswith("Part")])
"""


class Server(Protocol):
    """A connection to a server."""

    def fileno(self) -> int:
        """The number of its socket."""

    def ask(self) -> None:
        """Ask for the facts about the cube, without waiting for the answer."""

    def take(self) -> None:
        """Wait for the answer. Raises an error for one that is no success."""

    def pass_on(self, text: str) -> None:
        """Send a text to a command that does nothing with it, and wait for the answer."""

    def script(self, code: str) -> None:
        """Run a Python script."""


class Ours(CubeClient):
    """A connection to this extension's server."""

    def pass_on(self, text: str) -> None:
        """Send a text to the tool `take` of `_ADD_TOOL`."""
        self.call("take", text=text)

    def script(self, code: str) -> None:
        """Run a script by `execute_blender_code`."""
        result = self.call("execute_blender_code", code=code)
        assert not result.get("isError"), result


class Theirs:
    """A connection to the add-on of `mcp-for-blender`."""

    def __init__(self, port: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=180)

    def fileno(self) -> int:
        """The number of its socket."""
        return self._connection.fileno()

    def ask(self) -> None:
        """Ask for the facts about the cube, without waiting for the answer."""
        self._send("get_object_info", name="Cube")

    def take(self) -> None:
        """Wait for the answer. Nothing in it says where it ends, so after each piece this tries whether it is whole."""
        answer = b""
        while True:
            piece = self._connection.recv(8192)
            if not piece:
                raise ConnectionError("the add-on has closed the connection")
            answer += piece
            try:
                told = json.loads(answer)
            except ValueError:
                continue
            assert told["status"] == "success", told
            return

    def pass_on(self, text: str) -> None:
        """Send a text that the add-on reads and ignores."""
        self._send("ping", text=text)
        self.take()

    def script(self, code: str) -> None:
        """Run a script."""
        self._send("execute_code", code=code)
        self.take()

    def _send(self, command: str, **params: str) -> None:
        self._connection.sendall(json.dumps({"type": command, "params": params}).encode())


def rows() -> Iterator[Row]:
    try:
        window_support.root()
    except debian_root.RootError as error:
        yield Row("servers measured beside ours", 0, "of 2", "", f"skipped, without a window: {error}")
        return
    own = {"BLENDER_PORT": str(free_port()), "BLENDER_MCP_CONFIRM": "auto", "BLENDER_MCP_REHEARSE": "never"}
    with window_support.start("peers", env=own) as window:
        window.settle(8.0)  # shaders are compiled, previews made
        url, token = window.serve()
        window.run(_ADD_TOOL)
        port = url.rpartition(":")[2].partition("/")[0]
        figures = [*_figures(window, lambda: Ours(int(port), token))]
        peer, skipped = _start_peer(window)
        others = [*_figures(window, lambda: Theirs(peer))] if peer else []
    for number, (name, value, unit) in enumerate(figures):
        beside = skipped if not peer else _beside(others[number], value)
        yield Row(name, value, unit, "", beside)
    yield Row(
        "servers measured beside ours",
        bool(peer),
        "of 2",
        "",
        "the server of Blender Lab is skipped: its add-on is in no package registry",
    )


Figure = tuple[str, float, str]
"""What was measured, the value, and its unit."""


def _beside(theirs: Figure, own: float) -> str:
    """Return the other server's figure in words, and how many times ours it is."""
    _, value, unit = theirs
    return f"mcp-for-blender {value:,.3g} {unit}, {value / own:.3g} × ours"


def _start_peer(window: window_support.Window) -> tuple[int, str]:
    """Start the other server in this Blender; return its port, or 0 and why it cannot be measured."""
    home = BUILD / "peers"
    home.mkdir(parents=True, exist_ok=True)
    try:
        libraries.fetch(_LOCK, home / "wheels")
    except SystemExit as error:
        return 0, f"mcp-for-blender is skipped: {str(error).strip().splitlines()[-1]}"
    for name in libraries.locked(_LOCK.read_text(encoding="utf-8")):
        with zipfile.ZipFile(home / "wheels" / name) as wheel:
            wheel.extractall(home / "python")
    port = free_port()
    if not window.run(_START_PEER.format(folder=str(home / "python"), port=port)):
        return 0, f"mcp-for-blender is skipped: {window.log().splitlines()[-1]}"
    return port, ""


def _figures(window: window_support.Window, connect: Callable[[], Server]) -> Iterator[Figure]:
    server = connect()

    def call() -> None:
        server.ask()
        server.take()

    calls = samples(call, 100, warm_up=5)
    yield "get_object_info, call after call, p50", percentile(calls, 0.5) * 1e3, "ms"
    late = samples(call, 20, warm_up=1, pause=0.73)  # no multiple of a timer's interval
    yield "get_object_info after 0.7 s of idleness, p50", percentile(late, 0.5) * 1e3, "ms"
    rate = calls_at_once([connect() for _ in range(8)], 4.0)
    yield "get_object_info, 8 clients at once", rate, "calls/s"
    text = "x" * (10 * _MIB)
    yield "a call with 10 MiB", samples(lambda: server.pass_on(text), 1, warm_up=0)[0], "s"
    taken = []
    for _ in range(3):
        taken += samples(lambda: server.script(_SCRIPT), 1, warm_up=0)
        window.run(_REMOVE)
    yield "a script that makes 1,000 objects, median of 3", sorted(taken)[1] * 1e3, "ms"
