# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds the scripts that are rehearsed: only what has just been tried and has failed is said to be in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators import state
from ..sandbox.rehearsal.report import out_of_reach
from .text import paragraph

if TYPE_CHECKING:
    import bpy

__all__ = ("draw", "draw_failure")


def draw_failure(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Draw why the last rehearsal was not held; nothing where it was."""
    if state.view.rehearsal_failure:
        box = layout.box()
        box.alert = True
        paragraph(box, state.view.rehearsal_failure, context, icon="ERROR")


def draw(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Draw it; nothing as long as nobody has tried, or while the last rehearsal was not held."""
    view = state.view
    if view.unconfined:
        box = layout.box()
        box.alert = True
        paragraph(box, view.unconfined, context, icon="ERROR")
    elif view.confinement is not None and not view.rehearsal_failure:
        reach = out_of_reach(view.confinement.in_force)
        paragraph(layout, f"Rehearsals are held by {view.confinement.means}.", context, icon="LOCKED")
        paragraph(layout, f"Tried, and out of their reach: {reach}.", context, icon="CHECKMARK")
