# SPDX-License-Identifier: GPL-3.0-or-later
"""The question whether a program may connect, and the dialog that shows what would be written into a client's file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .text import paragraph

if TYPE_CHECKING:
    import bpy

    from ..server.clients.config.files import Change
    from ..server.clients.config.table import ClientKind

__all__ = ("draw", "draw_asking")

_MOST_LINES = 24


def draw_asking(layout: Any, asking: Sequence[tuple[str, str]], context: bpy.types.Context) -> None:
    """Draw a box for each program that asks for access: its name, the code that it also shows, and the two answers."""
    for name, code in asking:
        box = layout.box()
        paragraph(box, f"{name} wants to connect: allow it? Its code is {code}", context, icon="QUESTION")
        row = box.row(align=True)
        for text, allowed in (("Refuse", False), ("Allow", True)):
            button = row.operator("mcp_bridge.answer_pairing", text=text)
            button.code, button.allowed = code, allowed


def draw(layout: Any, kind: ClientKind, change: Change, link: str, context: bpy.types.Context) -> None:
    """Draw the file, its new and removed lines, and what happens to the old file."""
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
