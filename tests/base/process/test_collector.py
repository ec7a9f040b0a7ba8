# SPDX-License-Identifier: GPL-3.0-or-later
"""The garbage collector is off while anybody needs it to be, and no longer."""

from __future__ import annotations

import gc

import bpy
from bl_ext.user_default.mcp_bridge.base.process import collector

from support.sandboxing.scripts import result


def test_it_is_off_until_the_last_has_ended() -> None:
    first, second = collector.off(), collector.off()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_it_stays_off_where_it_was() -> None:
    gc.disable()
    try:
        with collector.off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_thrown_away_after_a_run_runs_nothing() -> None:
    result(
        "def leave():\n    held = []\n    def generator():\n"
        "        try:\n            yield held\n        except (bpy.data.meshes.new('late'),):\n            pass\n"
        "    held.append(generator())\n    next(held[0])\nleave()\n"
    )
    gc.collect()
    assert "late" not in bpy.data.meshes
