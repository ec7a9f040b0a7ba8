# SPDX-License-Identifier: GPL-3.0-or-later
"""The dialog that shows what would be written into a client's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .text import paragraph

if TYPE_CHECKING:
    import bpy

    from ..server.clients.config.files import Change
    from ..server.clients.config.table import ClientKind

__all__ = ("draw",)

_MOST_LINES = 24


def draw(layout: Any, kind: ClientKind, change: Change, link: str, context: bpy.types.Context) -> None:
    """The file, the lines that come and go, and what becomes of the file as it was."""
    paragraph(layout, f"This goes into {change.path}", context, icon="FILE_TEXT")
    box = layout.box().column(align=True)
    box.scale_y = 0.8
    lines = change.lines
    for line in lines[:_MOST_LINES]:
        box.label(text=line[1:], translate=False, icon="ADD" if line.startswith("+") else "REMOVE")
    if len(lines) > _MOST_LINES:
        box.label(text=f"… and {len(lines) - _MOST_LINES} lines more", translate=False)
    kept = (
        "Everything else in it stays; a copy of it as it is now is kept beside it."
        if change.before is not None
        else ("The file is new.")
    )
    paragraph(layout, f"{kept} {kind.label} has to be restarted after that.", context)
    if link:
        layout.operator("wm.url_open", text=f"Let {kind.label} Add It Itself", icon="URL").url = link
