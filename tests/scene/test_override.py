# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators work at a place, beside threads at work, and the context is put back."""

from __future__ import annotations

import gc
import sys
import time
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.scene.override import Place

from support.running import busy, fork

_SECONDS = 1.0


def _context() -> Any:
    return bpy.context


def test_the_place_is_set_within_and_put_back_after() -> None:
    before = _context().window, _context().area
    window = _context().window_manager.windows[0]
    area = window.screen.areas[0]
    with Place(window=window, area=area):
        assert (_context().window, _context().area) == (window, area)
        other = window.screen.areas[1]
        with Place(area=other):
            assert _context().area == other
        assert (_context().window, _context().area) == (window, area)
    assert (_context().window, _context().area) == before


def test_what_an_override_around_it_gave_still_counts() -> None:
    cube = bpy.data.objects.new("Another", None)
    window = _context().window_manager.windows[0]
    with _context().temp_override(active_object=cube):
        with Place(window=window):
            assert _context().active_object == cube
        assert _context().active_object == cube
    assert _context().active_object != cube
    bpy.data.objects.remove(cube)


def test_a_place_that_does_not_fit_leaves_the_context_as_it_was() -> None:
    before = _context().window, _context().area
    with pytest.raises(TypeError), Place(window=_context().scene):
        pass
    assert (_context().window, _context().area) == before


@pytest.mark.parametrize("around", [{}, {"mode": "OBJECT"}])
@pytest.mark.parametrize("moves", [True, False])
def test_arguments_keep_their_references(around: dict[str, Any], moves: bool) -> None:
    """Blender dropped one too many where nothing had moved, and once more when something else lay there."""
    outer = _context().temp_override(area=None, **around)
    with outer:
        place = Place(window=_context().window_manager.windows[0]) if moves else Place()
        overrides = (outer, place._native, place._blank)
        held = [each for override in overrides for each in gc.get_referents(override) if type(each) is dict]
        before = [sys.getrefcount(each) for each in held]
        for _ in range(3):
            with place:
                pass
            assert [sys.getrefcount(each) for each in held] == before
    assert len(held) == 3


def test_operators_work_there_beside_busy_threads() -> None:
    """With `temp_override` alone, Blender crashes within a tenth of a second."""

    def work() -> int:
        busy.start()
        done = 0
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            with Place(window=_context().window_manager.windows[0]):
                bpy.ops.object.select_all(action="TOGGLE")
            done += 1
        return done

    bpy.ops.wm.read_homefile(use_factory_startup=True)
    assert fork.run(work) > 0
