# SPDX-License-Identifier: GPL-3.0-or-later
"""The least that a call, a picture or a start could take on this machine: what a benchmark's figures compare with."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .bench import calls_at_once, percentile, samples
from .running import blender
from .running.ports import free_port

__all__ = ("answers_a_second", "bare_echo", "json_echo", "nodes", "renders", "start")

_ECHO = """
import json, socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
client, _ = server.accept()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while True:
    data = bytearray()
    while len(data) < int(sys.argv[2]):
        piece = client.recv(1 << 18)
        if not piece:
            sys.exit()
        data += piece
    client.sendall(json.dumps(json.loads(data)).encode() if sys.argv[3] == "json" else data)
"""
_ANSWERER = """
import asyncio, sys

class Answerer(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(b"x" * 900)

async def main():
    server = await asyncio.get_running_loop().create_server(Answerer, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()

asyncio.run(main())
"""
_RENDERS = """
import sys, tempfile, time
scene, render = bpy.context.scene, bpy.context.scene.render
render.engine, render.resolution_x, render.resolution_y = "CYCLES", SIDE, SIDE
scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.use_adaptive_sampling = 4, False, False
render.use_compositing = render.use_sequencer = False
render.image_settings.file_format = "PNG"
with tempfile.TemporaryDirectory() as folder:
    render.filepath = folder + "/picture"
    for _ in range(2):
        begin = time.perf_counter()
        for _ in range(COUNT):
            bpy.ops.render.render(write_still=True)
        taken = time.perf_counter() - begin
print(taken)
"""
_NODES = """
import time
taken = []
for number in range(3):
    begin = time.perf_counter()
    tree = bpy.data.node_groups.new("Chain", "ShaderNodeTree")
    nodes = [tree.nodes.new("ShaderNodeMath") for _ in range(COUNT)]
    for one, next_one in zip(nodes, nodes[1:]):
        tree.links.new(one.outputs[0], next_one.inputs[0])
    taken.append(time.perf_counter() - begin)
print(sorted(taken)[1])
"""


def bare_echo(size: int, count: int) -> float:
    """Return the median seconds in which `size` bytes go to another process and back."""
    return _echo(b"x" * size, "bytes", count)


def json_echo(text: str, count: int) -> float:
    """Return the median seconds in which a text goes to another process as JSON, is decoded and encoded, and back."""
    return _echo(json.dumps({"text": text}).encode(), "json", count)


def _echo(data: bytes, form: str, count: int) -> float:
    port = free_port()
    with _running([sys.executable, "-c", _ECHO, str(port), str(len(data)), form]), _connection(port) as echo:
        view = memoryview(bytearray(len(data)))

        def turn() -> None:
            echo.sendall(data)
            got = 0
            while got < len(data):
                got += echo.recv_into(view[got:])

        return percentile(samples(turn, count, warm_up=min(50, count)), 0.5)


def answers_a_second(clients: int, seconds: float) -> float:
    """Return how many answers so many clients get together from an asyncio server that does nothing but answer."""
    port = free_port()
    with _running([sys.executable, "-c", _ANSWERER, str(port)]), ExitStack() as stack:
        askers = [_Asker(stack.enter_context(_connection(port))) for _ in range(clients)]
        return calls_at_once(askers, seconds)


class _Asker:
    """Sends as much as a call of `get_object_info`, and reads as much as its answer."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.fileno = connection.fileno

    def ask(self) -> None:
        self._connection.sendall(b"x" * 110)

    def take(self) -> None:
        left = 900
        while left:
            left -= len(self._connection.recv(left))


def renders(count: int, side: int) -> float:
    """Return the seconds of so many small Cycles renders of Blender's first scene, by a Blender without extensions."""
    return _in_blender(_RENDERS.replace("COUNT", str(count)).replace("SIDE", str(side)))


def nodes(count: int) -> float:
    """Return the seconds in which plain Python makes a chain of so many nodes."""
    return _in_blender(_NODES.replace("COUNT", str(count)))


def start() -> float:
    """Return the seconds in which a Blender without extensions starts and ends."""
    begin = time.perf_counter()
    _in_blender("print(0)")
    return time.perf_counter() - begin


def _in_blender(code: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        env = blender.environment(Path(folder), installed=False)
        return float(blender.run(code, env, enabled=False).split()[-1])


@contextmanager
def _running(command: list[str]) -> Iterator[None]:
    process = subprocess.Popen(command)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def _connection(port: int) -> socket.socket:
    """Return a connection to a server that has just been started."""
    until = time.monotonic() + 10
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.02)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
