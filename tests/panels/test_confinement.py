# SPDX-License-Identifier: GPL-3.0-or-later
"""What the MCP tab says of confinement: nothing that was not proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.panels import view3d
from bl_ext.user_default.mcp_bridge.sandbox.confinement.process import Confinement

from support.on_screen.layout import CONTEXT, Drawn, draw, layout

Show = Callable[..., Drawn]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    def show(**fields: Any) -> Drawn:
        monkeypatch.setattr(state, "view", state.View(**fields))
        drawn = draw(view3d.MCP_BRIDGE_PT_execution)
        into, meant = layout()
        for name in ("confirm", "rehearse", "level", *view3d._LIMITS):
            view3d._draw_meaning(into, name, CONTEXT)
        drawn.leave_out(meant)
        drawn.labels.remove("Limits")  # a title that is always there
        return drawn

    return show


def test_nothing_is_claimed_before_it_was_tried(show: Show) -> None:
    assert show().labels == []


def test_proved_restrictions_are_shown(show: Show) -> None:
    proved = ("read", "write", "network", "process")
    drawn = show(confinement=Confinement("Landlock and seccomp, in namespaces of its own", proved))
    assert drawn.text == (
        "Rehearsals are confined Rehearsals are confined by Landlock and seccomp, in namespaces of its own. "
        "Tried, and out of their reach: your files, your disk, the network, other programs."
    )
    assert "LOCKED" in drawn.icons


def test_only_what_was_proved_is_shown(show: Show) -> None:
    assert show(confinement=Confinement("hope", ("network",))).text.endswith(
        "out of their reach: the network."
    )


def test_a_rehearsal_that_was_not_held_takes_the_tick_away_and_is_told_at_the_top(show: Show) -> None:
    proved = Confinement("Landlock and seccomp", ("read", "write", "network", "process"))
    why = "The last rehearsal could not be held: the confined Blender did not answer in time."
    assert show(confinement=proved, rehearsal_failure=why).labels == []
    drawn = draw(view3d.MCP_BRIDGE_PT_server)
    assert why in drawn.text
    assert "ERROR" in drawn.icons
    show(confinement=proved)
    assert "rehearsal" not in draw(view3d.MCP_BRIDGE_PT_server).text


def test_where_nothing_confines_the_user_is_told_why(show: Show) -> None:
    why = "Nothing on this system confines a process, so no script is rehearsed or run. Tried hope: it is not enough."
    drawn = show(unconfined=why)
    assert drawn.text == why
    assert "ERROR" in drawn.icons
