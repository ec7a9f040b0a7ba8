# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw the running jobs of assistants (renders, imports, rehearsals): a row for each, with *Cancel*."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operators import state

if TYPE_CHECKING:
    from ..operators.state import Work

__all__ = ("draw",)


def draw(layout: Any) -> None:
    """Draw the running jobs, if there are any."""
    if not state.view.jobs:
        return
    column = layout.box().column()
    for work in state.view.jobs:
        _draw_job(column, work)


def _draw_job(column: Any, work: Work) -> None:
    row = column.row()
    row.label(text=work.title, icon="SORTTIME", translate=False)
    if work.client:
        aside = row.row()
        aside.active = False
        aside.alignment = "RIGHT"
        aside.label(text=work.client, translate=False)
    row = column.row()
    if work.share is None:
        row.label(text=work.message or "Under way", icon="BLANK1", translate=False)
    else:
        row.progress(factor=work.share, text=f"{work.share:.0%}  {work.message}".rstrip(), translate=False)
    button = row.row()
    button.ui_units_x = 3
    button.operator("mcp_bridge.cancel_job", text="Cancel").job_id = work.id
