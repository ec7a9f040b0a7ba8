# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds the scripts that are rehearsed: only what has just been tried and has failed is said to be in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operators import state
from ..sandbox.rehearsal.report import out_of_reach
from .text import paragraph

if TYPE_CHECKING:
    import bpy

__all__ = ("draw",)


def draw(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Draw it; nothing as long as nobody has tried."""
    view = state.view
    if view.unconfined:
        box = layout.box()
        box.alert = True
        paragraph(box, view.unconfined, context, icon="ERROR")
    elif view.confinement is not None:
        reach = out_of_reach(view.confinement.in_force)
        paragraph(layout, f"Rehearsals are held by {view.confinement.means}.", context, icon="LOCKED")
        paragraph(layout, f"Tried, and out of their reach: {reach}.", context, icon="CHECKMARK")
