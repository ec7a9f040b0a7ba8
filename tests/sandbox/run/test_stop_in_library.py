# SPDX-License-Identifier: GPL-3.0-or-later
"""A run over its limit is stopped in Python code of a library, and nowhere else.

Such code has no ticks.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import bmesh
import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.run import watchdog
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Interrupted, Limits, Watchdog
from bpy_extras import mesh_utils

from support.running import fork
from support.sandboxing.language import refusal


def _busy_in_the_library(values: list[float]) -> None:
    while True:
        statistics.pstdev(values)


def _busy(function: Callable[[Any], object], value: Any) -> None:
    while True:
        function(value)


def test_python_code_of_the_library_is_stopped() -> None:
    begin = time.perf_counter()
    meter = Watchdog(Limits(time_s=0.1))
    values = [1.5, 2] * 500_000
    with pytest.raises(Interrupted, match="longer than"), meter:
        _busy_in_the_library(values)
    assert time.perf_counter() - begin < 5


@pytest.mark.parametrize("name", ["mesh_linked_triangles", "mesh_linked_uv_islands"])
def test_blenders_code_that_only_computes_is_stopped(name: str) -> None:
    mesh = bpy.data.meshes.new("grid")
    grid = bmesh.new()
    bmesh.ops.create_grid(grid, x_segments=300, y_segments=300, size=1, calc_uvs=True)
    grid.loops.layers.uv.verify()
    grid.to_mesh(mesh)
    grid.free()
    mesh.calc_loop_triangles()
    meter = Watchdog(Limits(time_s=0.0))
    with pytest.raises(Interrupted, match="longer than"), meter:
        _busy(getattr(mesh_utils, name), mesh)


def test_a_stop_that_python_could_not_deliver_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog._stop, "asked_at", time.monotonic())  # it was at the limit of recursion
    test_python_code_of_the_library_is_stopped()


def test_a_stop_never_reaches_the_host() -> None:
    for _ in range(15):
        meter = Watchdog(Limits(time_s=0.0))
        try:
            with meter:
                end = time.monotonic() + 0.33
                while time.monotonic() < end:
                    statistics.pstdev([1.5] * 300)
        except Interrupted:
            pass
        try:
            for _ in range(20_000):  # a stop that came too late would be raised here
                pass
        except Interrupted as late:
            raise AssertionError("the stop reached the host, after the run") from late


@pytest.mark.parametrize("length", [10, 1_000, 20_000, 100_000])
def test_a_stop_never_lands_in_the_function_that_gives_numpy_memory(length: int) -> None:
    """There, numpy would go on with a random address instead of memory."""

    def stopped() -> list[str]:
        unraisable: list[str] = []
        sys.unraisablehook = lambda lost: unraisable.append(repr(lost.exc_value))
        source = (
            f"import numpy as np\nx, p = np.ones({length}), np.ones(1_000_000)\nwhile True:\n"
            "    try: np.polyval(p, x)\n    except MemoryError: pass\n"  # the run is over all the same
        )
        for _ in range(3):
            begin = time.monotonic()
            error = refusal(source, level="blender", limits=Limits(time_s=0.1))
            assert isinstance(error, LimitExceeded), error
            assert time.monotonic() - begin < 5
        return unraisable

    assert fork.run(stopped, timeout=60) == []


def test_after_a_stop_in_a_library_a_profiler_works() -> None:
    def profiled() -> int:
        meter = Watchdog(Limits(time_s=0.1))
        with pytest.raises(Interrupted), meter:
            _busy_in_the_library([1.5] * 300)
        calls: list[str] = []
        sys.setprofile(lambda frame, event, about: calls.append(event))
        _nothing()
        sys.setprofile(None)
        return calls.count("call")

    assert fork.run(profiled, timeout=20) == 1


def _nothing() -> None:
    pass
