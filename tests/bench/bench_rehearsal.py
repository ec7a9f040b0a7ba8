# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a rehearsal takes, from the copy of the scene to the report with its pictures.

The baseline is the work itself: opening the copy, the script, the difference and the pictures in a plain fork of this
Blender, which nothing confines. What a rehearsal takes besides is what confining and asking cost.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import bpy
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import child, prepare, rehearse, snapshot
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import pool as pools

from support.bench import Row, percentile
from support.confinement.rehearsing import rehearsals
from support.running import fork

_SCRIPT = "import bpy\nbpy.ops.mesh.primitive_cube_add(location=(3, 0, 0))\nresult = len(bpy.data.objects)"
_COLD, _MANY, _ROUNDS = 5, 30, 5
_CLIENTS = 4
#: Less than an assistant needs to read a report and to write a script.
_PAUSE_S = 5.0
#: The large scene: objects, and vertices of all their meshes together.
_OBJECTS, _VERTICES = 10_000, 2_000_000


def rows() -> Iterator[Row]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with tempfile.TemporaryDirectory() as folder, rehearsals(Path(folder)):
        cold = [_cold() for _ in range(_COLD)]
        plain = [_plain(Path(folder)) for _ in range(_MANY // 3)]
        _get_warm()
        row = sorted(_rehearsal() for _ in range(_MANY))
        crowd = [_at_once() for _ in range(_ROUNDS)]
        plain += [_plain(Path(folder)) for _ in range(_MANY // 3)]
        base = statistics.median(plain)
        for name, taken, target in (
            ("a rehearsal with pictures, the first one, p50", statistics.median(cold), ""),
            ("back to back, p50", statistics.median(row), "≤ 0.25"),
            ("back to back, p95", percentile(row, 0.95), "≤ 0.5"),
            (f"{_CLIENTS} clients at once, the last one, p50", statistics.median(crowd), "≤ 1.0"),
        ):
            yield Row(name, taken, "s", target, _against(taken, base))
        _large_scene()
        base = _plain(Path(folder))
        # Not measured: the host of a virtual machine is slow to give memory that was unused for a while.
        for _ in range(2):
            _after_a_pause(changed=False)
        in_a_row = [_stood_still_and_all() for _ in range(3)]
        after_pauses = [_after_a_pause(changed=False) for _ in range(3)]
        of_another = [_after_a_pause(changed=True) for _ in range(3)]
        for name, large, target in (
            ("10,000 objects, 2 million vertices, after a pause, p50", after_pauses, "≤ 2"),
            ("the same, back to back, p50", in_a_row, ""),
            ("the same, after the user has changed the scene, p50", of_another, ""),
        ):
            taken = statistics.median(whole for _, whole in large)
            yield Row(name, taken, "s", target, _against(taken, base))
        still = [1000 * stood for stood, _ in (*in_a_row, *after_pauses, *of_another)]
        yield Row("of that the window stood still, p50", statistics.median(still), "ms", "≤ 100")
        yield Row("of that the window stood still, at most", max(still), "ms")


def _get_warm() -> None:
    _rehearsal()
    pool = pools.current()
    while not pool._waiting:
        time.sleep(0.01)
    pool._waiting[0].ready()


def _against(taken: float, plain: float) -> str:
    return f"{taken / plain:.1f} × the work alone ({plain:.2f} s)"


def _cold() -> float:
    pools.shutdown()
    confinement.current().means()  # what confines is tried once, by the panel
    return _rehearsal()


def _rehearsal() -> float:
    return _stood_still_and_all()[1]


def _stood_still_and_all() -> tuple[float, float]:
    begin = time.perf_counter()
    prepared = prepare.prepare()
    report = rehearse.rehearse(prepared, _SCRIPT).report
    taken = time.perf_counter() - begin
    assert report["outcome"] == "success", report["message"]
    return prepared.copy.seconds, taken


def _after_a_pause(*, changed: bool) -> tuple[float, float]:
    """The assistant has thought for some seconds: meanwhile a confined Blender has opened the scene as it was."""
    time.sleep(_PAUSE_S)
    if changed:
        bpy.data.objects[-1].location.z += 1
        bpy.context.view_layer.update()
    return _stood_still_and_all()


def _at_once() -> float:
    """How long the last of several takes that were asked for at the same time."""
    ready = [prepare.prepare() for _ in range(_CLIENTS)]
    begin = time.perf_counter()
    threads = [threading.Thread(target=rehearse.rehearse, args=(one, _SCRIPT)) for one in ready]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def _plain(folder: Path) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as own:
        request = child.Request(
            scene=str(snapshot.take(Path(own)).path),
            pixels={},
            script=_SCRIPT,
            title="",
            level="blender",
            time_limit_s=60.0,
            memory_limit_mb=4096,
            output_limit_kb=64,
            live_memory_limit_mb=1024,
            pictures=True,
        )

        def work() -> float:
            tempfile.tempdir = own  # the copies of the scene go there
            journal.configure(Path(own) / "journal")
            child._warm_up()
            begin = time.perf_counter()
            assert child.rehearse(request)["outcome"] == "success"
            return time.perf_counter() - begin

        return fork.run(work, timeout=300.0)


def _large_scene() -> None:
    """Many objects, each with a mesh of its own."""
    side = round((_VERTICES / _OBJECTS) ** 0.5)
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=side - 1, y_subdivisions=side - 1, size=1)
    first = bpy.context.object
    for number in range(_OBJECTS - 1):
        one = bpy.data.objects.new(f"Part {number}", first.data.copy())
        one.location = (number % 100, number // 100, 0)
        bpy.context.collection.objects.link(one)
