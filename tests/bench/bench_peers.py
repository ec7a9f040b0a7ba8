# SPDX-License-Identifier: GPL-3.0-or-later
"""The same work for this server and for another one, in the same Blender with its window.

The other one is the add-on of `mcp-for-blender`, the most used server. Its own process, which an assistant starts, is
left out: this file sends the add-on what that process sends, and reads the answers as it does.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

import debian_root
import libraries
from blenders import BUILD, ROOT
from support.bench import Row, percentile, samples
from support.clients.raw_client import RawClient
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
#: A client in a process of its own: it waits for a line, calls until its time is over, and prints how often.
_CLIENT = """
import sys, time
sys.path[:0] = sys.argv[1].split(":")
import bench_peers
server, done = getattr(bench_peers, sys.argv[3])(*sys.argv[4:]), 0
print("ready", flush=True)
sys.stdin.readline()
until = time.time() + float(sys.argv[2])
while time.time() < until:
    server.call()
    done += 1
print(done)
"""


class Server(NamedTuple):
    """A connection to a server, by what is asked of it."""

    call: Callable[[], object]
    """Asks for the facts about the cube."""
    take: Callable[[str], object]
    """Sends a text to a command that does nothing with it."""
    script: Callable[[str], object]
    """Runs a Python script."""


def ours(port: str, token: str) -> Server:
    """Return a connection to this extension's server."""
    client = RawClient(int(port), token)
    cube = client.prepared("get_object_info", name="Cube")

    def script(code: str) -> None:
        result = client.call("execute_blender_code", code=code)
        assert not result.get("isError"), result

    return Server(lambda: client.call_prepared(cube), lambda text: client.call("take", text=text), script)


def theirs(port: str) -> Server:
    """Return a connection to the add-on of `mcp-for-blender`."""
    connection = socket.create_connection(("127.0.0.1", int(port)), timeout=180)

    def ask(command: str, **params: str) -> None:
        connection.sendall(json.dumps({"type": command, "params": params}).encode())
        answer = b""
        # Neither a length nor an end is sent: its process, too, tries after each piece whether that was all.
        while True:
            piece = connection.recv(8192)
            if not piece:
                raise ConnectionError("the add-on has closed the connection")
            answer += piece
            try:
                told = json.loads(answer)
            except ValueError:
                continue
            assert told["status"] == "success", told
            return

    return Server(
        lambda: ask("get_object_info", name="Cube"),
        lambda text: ask("ping", text=text),
        lambda code: ask("execute_code", code=code),
    )


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
        figures = [*_figures(window, ours, [port, token])]
        peer, skipped = _start_peer(window)
        others = [*_figures(window, theirs, [peer])] if peer else []
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


def _beside(their: Figure, own: float) -> str:
    _, value, unit = their
    return f"mcp-for-blender {value:,.3g} {unit}, {value / own:.3g} × ours"


def _start_peer(window: window_support.Window) -> tuple[str, str]:
    """Start the other server in this Blender; return its port, or "" and why it cannot be measured."""
    home = BUILD / "peers"
    home.mkdir(parents=True, exist_ok=True)
    try:
        libraries.fetch(_LOCK, home / "wheels")
    except SystemExit as error:
        return "", f"mcp-for-blender is skipped: {str(error).strip().splitlines()[-1]}"
    for name in libraries.locked(_LOCK.read_text(encoding="utf-8")):
        with zipfile.ZipFile(home / "wheels" / name) as wheel:
            wheel.extractall(home / "python")
    port = str(free_port())
    if not window.run(_START_PEER.format(folder=str(home / "python"), port=port)):
        return "", f"mcp-for-blender is skipped: {window.log().splitlines()[-1]}"
    return port, ""


def _figures(
    window: window_support.Window, connect: Callable[..., Server], arguments: list[str]
) -> Iterator[Figure]:
    server = connect(*arguments)
    calls = samples(server.call, 100, warm_up=5)
    yield "get_object_info, call after call, p50", percentile(calls, 0.5) * 1e3, "ms"
    late = samples(server.call, 20, warm_up=1, pause=0.73)  # no multiple of a timer's interval
    yield "get_object_info after 0.7 s of idleness, p50", percentile(late, 0.5) * 1e3, "ms"
    rate = _at_once(8, 4.0, connect.__name__, arguments)
    yield "get_object_info, 8 clients at once", rate, "calls/s"
    text = "x" * (10 * _MIB)
    yield "a call with 10 MiB", samples(lambda: server.take(text), 1, warm_up=0)[0], "s"
    taken = []
    for _ in range(3):
        taken += samples(lambda: server.script(_SCRIPT), 1, warm_up=0)
        window.run(_REMOVE)
    yield "a script that makes 1,000 objects, median of 3", sorted(taken)[1] * 1e3, "ms"


def _at_once(count: int, seconds: float, connect: str, arguments: list[str]) -> float:
    """Return the calls per second that `count` clients get together; each is a process of its own."""
    paths = ":".join(str(ROOT / folder) for folder in ("tests/bench", "tests", "dev"))
    command = [sys.executable, "-c", _CLIENT, paths, str(seconds), connect, *arguments]
    clients = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for client in clients:  # none begins while others still start
        assert client.stdout
        client.stdout.readline()
    for client in clients:
        assert client.stdin
        client.stdin.write("\n")
        client.stdin.flush()
    return sum(int(client.communicate()[0]) for client in clients) / seconds
