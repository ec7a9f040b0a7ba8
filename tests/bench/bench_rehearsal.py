# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a rehearsal of a small scene takes, from the copy of the scene to the report with its pictures."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import bpy
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import rehearse

from support.bench import Row
from support.rehearsing import rehearsals

_SCRIPT = "import bpy\nbpy.ops.mesh.primitive_cube_add(location=(3, 0, 0))\nresult = len(bpy.data.objects)"
_COLD, _WARM = 7, 15


def rows() -> Iterator[Row]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    with tempfile.TemporaryDirectory() as folder, rehearsals(Path(folder)):
        held_up: list[float] = []
        cold = [_cold(held_up) for _ in range(_COLD)]
        warm = [_warm(held_up) for _ in range(_WARM)]
        row = [_rehearsal(held_up) for _ in range(_WARM)]
    for name, taken, target in (
        ("a rehearsal with pictures, cold child, p50", cold, "≤ 1.5"),
        ("with a warm child, p50", warm, "≤ 0.5"),
        ("back to back, one child getting warm meanwhile, p50", row, ""),
    ):
        yield Row(name, statistics.median(taken), "s", target, f"from {min(taken):.2f} to {max(taken):.2f}")
    yield Row("of that the window stood still, p50", 1000 * statistics.median(held_up), "ms")


def _cold(held_up: list[float]) -> float:
    rehearse.shutdown()
    confinement.current().means()  # what confines is tried once, by the panel
    return _rehearsal(held_up)


def _warm(held_up: list[float]) -> float:
    pool = rehearse._pool()
    while (child := pool._warm) is None:
        time.sleep(0.01)
    child.ready()
    return _rehearsal(held_up)


def _rehearsal(held_up: list[float]) -> float:
    begin = time.perf_counter()
    prepared = rehearse.prepare()
    report = rehearse.rehearse(prepared, _SCRIPT).report
    taken = time.perf_counter() - begin
    assert report["outcome"] == "success", report["message"]
    held_up.append(prepared.copy.seconds)
    return taken
