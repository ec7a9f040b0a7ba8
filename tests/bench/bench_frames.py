# SPDX-License-Identifier: GPL-3.0-or-later
"""What work for assistants adds to the time from one picture of Blender's window to the next.

The 3D view is drawn as often as Blender can, as while a user turns it. Each stretch with work has a stretch without
before and after it, and a row is the median over all rounds of the ratio within the round: other work of the machine
counts for both. Blender's window of the first Debian root, or of the one that MCP_BRIDGE_SUITE names.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from support.bench import Row
from support.clients.raw_client import RawClient
from support.on_screen import window as window_support
from support.running.blender import EXTENSION
from support.running.ports import free_port
from support.services.polyhaven import BRICK, PolyHavenServer

_ROUNDS, _STRETCH = 3, 3.0
_CALLS = 500
_SCRIPT = "import bpy\nbpy.ops.mesh.primitive_cube_add(location=(3, 0, 0))"
#: Small, since the processor draws: a frame then takes about as long as on a graphics card in a large window.
_SIZE = (640, 400)
#: Bytes a download has, and at most in a second.
_LARGE, _SPEED = 1_000_000_000, 40_000_000
_PIECE = 1 << 20

#: Notes when the scene is drawn; with `busy` it is drawn as often as Blender can.
_WATCH = """
import time
bpy.context.preferences.system.use_online_access = True
area = next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == 'VIEW_3D')
space = bpy.app.driver_namespace
space['drawn'], space['busy'] = [], True

def tick():
    if space['busy']:
        area.tag_redraw()
    return 0.0

note = lambda: space['drawn'].append(time.perf_counter())
area.spaces[0].draw_handler_add(note, (), 'WINDOW', 'POST_PIXEL')
bpy.app.timers.register(tick)
cube, scene = bpy.data.objects['Cube'], bpy.context.scene
cube.keyframe_insert('location', frame=1)
cube.location.x = 3
cube.keyframe_insert('location', frame=200)
scene.frame_end, scene.render.fps, scene.sync_mode = 200, 1000, 'NONE'
"""
_SEEN = """
drawn = bpy.app.driver_namespace['drawn']
result = [b - a for a, b in zip(drawn, drawn[1:])]
drawn.clear()
"""
_PLAY = """
with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
    bpy.ops.screen.animation_{}()
bpy.app.driver_namespace['busy'] = {}
"""
_IMPORT = "bpy.ops.mcp_bridge.import_asset(asset_id={!r}, size_agreed=True)"
_ASSETS = f"from {EXTENSION}.operators.assets import asset_view\n"
_JOB = _ASSETS + "result = asset_view.view.job is not None"
_CANCEL = "bpy.ops.mcp_bridge.cancel_asset()"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, PolyHavenServer(Path(folder)) as service:
        # From the start, since Blender keeps the answer about files; what was fetched stays, and the rest comes later.
        large = service.add_file("/dl/large.jpg", bytes(_LARGE), pause=_PIECE / _SPEED, piece=_PIECE)
        service.files[BRICK] = {"Diffuse": {"2k": {"jpg": large}}}
        env = {"BLENDER_PORT": str(free_port()), "BLENDER_MCP_POLYHAVEN_API": service.url}
        with window_support.start("bench-frames", env=env, size=_SIZE) as window:
            window.settle(8.0)  # shaders are compiled, previews made
            url, token = window.serve()
            port = int(url.rpartition(":")[2].partition("/")[0])
            window.run(_WATCH)
            _show_textures(window)
            for name, most, work in (
                (f"{_CALLS} calls/s", 1.15, lambda: _calls(port, token)),
                ("rehearsals back to back", 1.3, lambda: _rehearsals(port, token)),
                ("a download", 1.3, lambda: _download(window)),
            ):
                yield _row(window, name, most, work)
            window.run(_PLAY.format("play", False))
            yield _row(window, f"{_CALLS} calls/s while an animation plays", 1.2, lambda: _calls(port, token))


def _row(
    window: window_support.Window, name: str, most: float, work: Callable[[], AbstractContextManager[object]]
) -> Row:
    """The frame time with that work as a ratio to the frame time without."""
    ratios, alone, done = [], [_frame(window)], []
    for _ in range(_ROUNDS):
        with work() as count:
            time.sleep(0.5)
            begin = count()
            busy = _frame(window)
            done.append((count() - begin) / _STRETCH)
        time.sleep(0.5)
        alone.append(_frame(window))
        ratios.append(busy / statistics.mean(alone[-2:]))
    rate, still = statistics.median(done), statistics.median(alone) * 1e3
    said = f"alone {still:.1f} ms" + (f"; {rate:,.1f} done in a second" if rate else "")
    return Row(f"frame time with {name}", statistics.median(ratios), "×", f"≤ {most}", said)


def _frame(window: window_support.Window) -> float:
    """The median time from one picture to the next, in seconds."""
    window.run(_SEEN)
    time.sleep(_STRETCH)
    return statistics.median(window.run(_SEEN))


@contextmanager
def _calls(port: int, token: str) -> Iterator[Callable[[], float]]:
    """Ask for an object so many times a second, whether the answers have come or not."""
    client, stop, answered = RawClient(port, token), threading.Event(), 0
    params = json.dumps({"name": "get_object_info", "arguments": {"name": "Cube"}})

    def ask() -> None:
        begin, asked = time.perf_counter(), 0
        while not stop.is_set():
            while asked < (time.perf_counter() - begin) * _CALLS:
                asked += 1
                call = f'{{"jsonrpc":"2.0","id":"call {asked}","method":"tools/call","params":{params}}}'
                client.send(call.encode())
            time.sleep(1 / _CALLS)

    def listen() -> None:
        nonlocal answered
        while not stop.is_set():
            answer = client.receive()
            answered += b'"result"' in answer

    asking, listening = threading.Thread(target=ask), threading.Thread(target=listen)
    asking.start()
    listening.start()
    try:
        yield lambda: answered
    finally:
        stop.set()
        asking.join()
        client.send(b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}')  # whose answer ends the listening
        listening.join()
        client.close()


@contextmanager
def _rehearsals(port: int, token: str) -> Iterator[Callable[[], float]]:
    client, stop, held = RawClient(port, token), threading.Event(), 0

    def rehearse() -> None:
        nonlocal held
        while not stop.is_set():
            answer = client.call("rehearse_script", code=_SCRIPT)["structuredContent"]
            while answer.get("status") == "pending" or answer.get("state") == "working":
                job = {"job_id": answer["job_id"], "wait_seconds": 30}
                answer = client.call("get_job", **job)["structuredContent"]
            held += 1

    thread = threading.Thread(target=rehearse)
    thread.start()
    try:
        yield lambda: held
    finally:
        stop.set()
        thread.join()
        client.close()


def _show_textures(window: window_support.Window) -> None:
    """What the panel shows, it can import."""
    window.run("bpy.context.window_manager.mcp_bridge_asset_kind = 'textures'")
    until = time.monotonic() + 30
    while not window.run(_ASSETS + "result = bool(asset_view.view.entries)"):
        assert time.monotonic() < until
        time.sleep(0.1)


@contextmanager
def _download(window: window_support.Window) -> Iterator[Callable[[], float]]:
    window.run(_IMPORT.format(BRICK))
    try:
        yield lambda: 0
        assert window.run(_JOB), "the download is over before its time"
    finally:
        window.run(_CANCEL)
        until = time.monotonic() + 30
        while window.run(_JOB):
            assert time.monotonic() < until
            time.sleep(0.1)
