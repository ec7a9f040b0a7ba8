# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the jobs on render targets in Activity: their progress, their failures, and the last frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..operators import state
from .text import paragraph

if TYPE_CHECKING:
    from ..operators.target_jobs import OnTarget

__all__ = ("draw",)

_ICONS = {"completed": "CHECKMARK", "failed": "ERROR", "cancelled": "X"}
#: Of the picture, in the height of a button.
_SCALE = 5.0


def draw(layout: Any, context: bpy.types.Context) -> None:
    """Draw each job on a render target, if there are any."""
    for job in state.view.on_targets:
        _draw(layout.box(), job, context)


def _draw(box: Any, job: OnTarget, context: bpy.types.Context) -> None:
    box.label(text=job.title, icon=_ICONS.get(job.state, "SORTTIME"), translate=False)
    paragraph(box, job.said, context, icon="BLANK1")
    for failure in job.failures:
        paragraph(box, failure, context, icon="BLANK1")
    if job.picture:
        box.template_icon(icon_value=job.picture, scale=_SCALE)
