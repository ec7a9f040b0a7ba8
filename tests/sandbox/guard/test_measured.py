# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from bl_ext.user_default.mcp_bridge.sandbox.guard.measured import MOST, MOST_SUBJECTS, Measured


def test_without_a_rehearsal_nothing_is_above_the_limit() -> None:
    assert not Measured().allows("object Cube", 1.0)


def test_a_rehearsal_notes_the_highest_estimate_of_each_subject() -> None:
    noted = Measured(rehearses=True)
    assert [noted.allows("object Cube", count) for count in (3e6, 5e6, 4e6)] == [True] * 3
    assert noted.allows("bpy.ops.mesh.bevel", 1e300)
    noted.made["object Cube"] = 12.0
    assert noted.to_report() == {
        "object Cube": {"estimate": 5e6, "made": 12.0},
        "bpy.ops.mesh.bevel": {"estimate": MOST},
    }


def test_a_run_may_make_what_its_rehearsal_noted_and_no_more() -> None:
    live = Measured.of({"growth": {"object Cube": {"estimate": 5e6, "made": 12.0}}})
    assert live.allows("object Cube", 5.4e6)
    assert not live.allows("object Cube", 5.6e6)
    assert not live.allows("object Other", 2e6)
    assert live.estimates == {"object Cube": 5e6}
    assert not Measured.of(None).allows("object Cube", 1.0)


def test_a_rehearsal_notes_so_many_subjects_and_stops_at_the_next() -> None:
    noted = Measured(rehearses=True)
    assert all(noted.allows(f"object {number}", 3e6) for number in range(MOST_SUBJECTS))
    assert not noted.allows("object of too many", 3e6)
