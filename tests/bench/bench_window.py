# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls to a Blender with its window: real Blender 4.3 on a virtual screen, drawn in software."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from bench_calls import clients_at_once

from support.bench import Row, percentile, samples
from support.clients.raw_client import RawClient
from support.on_screen import window as window_support
from support.running.ports import free_port

#: What other servers do instead: look into a queue from a timer, every so many seconds.
_POLL = """
import queue, threading, time
asked, taken = queue.Queue(), []
bpy.app.driver_namespace["taken"] = taken

def tick():
    while not asked.empty():
        asked.get().set()
    return {interval} if len(taken) < {count} else None

def ask():
    for _ in range({count}):
        begin, done = time.perf_counter(), threading.Event()
        asked.put(done)
        done.wait()
        taken.append(time.perf_counter() - begin)

bpy.app.timers.register(tick)
threading.Thread(target=ask, daemon=True).start()
"""
_POLLED = (
    "taken = bpy.app.driver_namespace['taken']; result = sorted(taken) if len(taken) == {count} else None"
)

_COUNT_FRAMES = """
space = bpy.app.driver_namespace
space["drawn"] = 0

def drew(*_):
    space["drawn"] += 1

bpy.app.handlers.frame_change_post.append(drew)
"""


_PLAYED_S = 5.0
_PLAY = """
with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
    bpy.ops.screen.animation_{action}()
"""
#: Whether the 3D viewport follows the animation. In software, drawing it leaves the main thread no time; without it,
#: frames take as little of the main thread as with a graphics card.
_DRAW_VIEWPORTS = "bpy.context.window_manager.windows[0].screen.use_play_3d_editors = {}"

T = TypeVar("T")


def rows() -> Iterator[Row]:
    with window_support.start("bench", env={"BLENDER_PORT": str(free_port())}) as window:
        window.settle(8.0)  # shaders are compiled, previews made
        idle = _cpu(window)
        url, token = window.serve()
        port = int(url.rpartition(":")[2].partition("/")[0])
        client = RawClient(port, token)
        with_server = _cpu(window)
        yield Row(
            "idle cost above Blender's own",
            with_server - idle,
            "% core",
            "≤ 1",
            f"Blender alone {idle:.1f} %",
        )
        peers = {f"timer every {step:g} s": _polled(window, step) for step in (0.05, 0.25)}
        baseline = ", ".join(f"{name} {value:.0f} ms" for name, value in peers.items())
        calls = samples(lambda: client.call("get_object_info", name="Cube"), 3000)
        yield Row("get_object_info back to back, p50", percentile(calls, 0.5) * 1e3, "ms", "≤ 0.6", baseline)
        yield Row("get_object_info back to back, p99", percentile(calls, 0.99) * 1e3, "ms")
        late = samples(lambda: client.call("get_object_info", name="Cube"), 40, pause=1.0, warm_up=1)
        yield Row("get_object_info after 1 s of idleness, p95", percentile(late, 0.95) * 1e3, "ms", "≤ 8")
        yield Row("8 clients at once", clients_at_once(port, token, 8, 5.0), "calls/s")
        window.run(_COUNT_FRAMES)
        for drawing, calls_target, frames_target in ((True, "", ""), (False, "≥ 4,000", "≥ 90")):
            window.run(_DRAW_VIEWPORTS.format(drawing))
            where = "its viewport drawn in software" if drawing else "its viewport not drawn"
            alone, with_calls, rate = _while_playing(window, port, token)
            yield Row(
                f"8 clients while an animation plays, {where}, best of 3", rate, "calls/s", calls_target
            )
            share, baseline = 100 * with_calls / alone, f"{with_calls:.1f} of {alone:.1f} frames/s"
            yield Row("frames drawn meanwhile, of those without calls", share, "%", frames_target, baseline)


def _cpu(window: window_support.Window) -> float:
    """Percent of a core that Blender uses while nobody does anything: the quietest of some stretches."""
    used = "import resource; r = resource.getrusage(resource.RUSAGE_SELF); result = r.ru_utime + r.ru_stime"
    shares = []
    for _ in range(5):
        before = window.run(used)
        time.sleep(3.0)
        shares.append((window.run(used) - before) / 3.0 * 100)
    return min(shares)


def _polled(window: window_support.Window, interval: float) -> float:
    """The median of a call by that mechanism, in ms, network not counted."""
    count = 40
    names = {"interval": interval, "count": count}
    window.run(_POLL.format(**names))
    while (taken := window.run(_POLLED.format(**names))) is None:
        time.sleep(0.5)
    return percentile(taken, 0.5) * 1e3


def _while_playing(window: window_support.Window, port: int, token: str) -> tuple[float, float, float]:
    """Return the frames a second that Blender draws without calls, with them, and the calls a second.

    The latter two are of the best of some stretches: what else the machine does takes processors from the clients,
    the server and the software that draws, which need more than two.
    """
    window.run(_PLAY.format(action="play"))
    try:
        alone, _nothing = _drawn(window, lambda: time.sleep(_PLAYED_S))
        stretches = [_drawn(window, lambda: clients_at_once(port, token, 8, _PLAYED_S)) for _ in range(3)]
        with_calls, rate = max(stretches, key=lambda stretch: stretch[1])
    finally:
        window.run(_PLAY.format(action="cancel"))
    return alone, with_calls, rate


def _drawn(window: window_support.Window, act: Callable[[], T]) -> tuple[float, T]:
    """Return the frames a second that Blender draws during `act`, and what `act` returns."""
    before = window.run("result = bpy.app.driver_namespace['drawn']")
    begin = time.monotonic()
    result = act()
    taken = time.monotonic() - begin
    return (window.run("result = bpy.app.driver_namespace['drawn']") - before) / taken, result
