# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw how rehearsals are confined. A restriction is listed only if an attempt to break it has just failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operators import state
from .text import paragraph

if TYPE_CHECKING:
    import bpy

__all__ = ("draw", "draw_failure")


def draw_failure(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Draw why the last rehearsal did not start or finish, if it did not."""
    if state.view.rehearsal_failure:
        box = layout.box()
        box.alert = True
        paragraph(box, state.view.rehearsal_failure, context, icon="ERROR")


def draw(layout: Any, context: bpy.types.Context) -> None:
    """Draw the confinement: a line with folded details. Nothing before the first rehearsal or after a failed one."""
    view = state.view
    if view.unconfined:
        box = layout.box()
        box.alert = True
        paragraph(box, view.unconfined, context, icon="ERROR")
    elif view.confinement is not None and not view.rehearsal_failure:
        header, details = layout.panel("mcp_bridge_confinement", default_closed=True)
        header.label(text="Rehearsals are confined", icon="LOCKED")
        if details:
            from ..sandbox.rehearsal.report import out_of_reach

            reach = out_of_reach(view.confinement.in_force)
            paragraph(details, f"Rehearsals are confined by {view.confinement.means}.", context)
            paragraph(details, f"Tried, and out of their reach: {reach}.", context, icon="CHECKMARK")
