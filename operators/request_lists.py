# SPDX-License-Identifier: GPL-3.0-or-later
"""What lists of requests scroll through, and the pictures beside them, kept where Blender looks for them."""

import textwrap
from typing import Any

import bpy
from bpy.props import CollectionProperty, IntProperty

from .. import approvals
from ..approvals.request import Entry

__all__ = ("LINES", "ROWS", "SUMMARY", "fill", "is_listed", "picture", "register", "show", "unregister")

#: Names of collections on WindowManager, for the lists that a panel or a dialog scrolls through.
ROWS, LINES, SUMMARY = "mcp_bridge_requests", "mcp_bridge_script_lines", "mcp_bridge_summary_lines"
#: With what the tooltip of a row says.
_LISTS = {ROWS: "Request", LINES: "Line of the Script", SUMMARY: "What Would Change"}
_MOST_LINES = 5000

#: The pictures of the request that is looked at.
_pictures: Any = None
#: The request whose script and summary the lists of the dialog have, and its script's digest.
_listed = ("", "")


class MCP_BRIDGE_Row(bpy.types.PropertyGroup):
    """A row of a list: a request's id, or a line of its script. Its `name` says it all."""


def show(entry: Entry, columns: int) -> None:
    """Fill the lists of the dialog and load its pictures; a summary's line has so many letters."""
    global _listed
    manager = bpy.context.window_manager
    fill(getattr(manager, LINES), entry.script.splitlines()[:_MOST_LINES])
    fill(getattr(manager, SUMMARY), _wrapped(entry.summary, columns))
    _load_pictures(entry.id)
    _listed = (entry.id, entry.sha256)


def is_listed(operator: Any) -> bool:
    """Whether the lists have the script that this dialog was opened for; a second window may have another open."""
    return (operator.request_id, operator.sha256) == _listed


def picture(request_id: str, when: str) -> int:
    """The icon of the rehearsal's picture `before` or `after`, 0 if there is none."""
    key = f"{request_id} {when}"
    return _pictures[key].icon_id if _pictures is not None and key in _pictures else 0


def _load_pictures(request_id: str) -> None:
    """Load the pictures of the request that is looked at, and forget those of the one before."""
    kept = approvals.store()
    if kept is None or _pictures is None:
        return
    _pictures.clear()
    for when in ("before", "after"):
        path = kept.picture_path(request_id, when)
        if path.is_file():
            _pictures.load(f"{request_id} {when}", str(path), "IMAGE")


def _wrapped(text: str, columns: int) -> list[str]:
    """The lines of a text that are not empty, broken where the dialog ends; labels do not wrap."""
    lines: list[str] = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line, columns, subsequent_indent=f"{indent}    ", break_on_hyphens=False, drop_whitespace=True
        )
    return lines


def fill(rows: Any, names: list[str]) -> None:
    """Make these the rows."""
    rows.clear()
    for name in names:
        rows.add().name = name


def register() -> None:
    """Register the rows that lists show."""
    global _pictures
    from bpy.utils import previews

    bpy.utils.register_class(MCP_BRIDGE_Row)
    _pictures = previews.new()
    for name, title in _LISTS.items():
        setattr(bpy.types.WindowManager, name, CollectionProperty(type=MCP_BRIDGE_Row, options={"SKIP_SAVE"}))
        setattr(bpy.types.WindowManager, f"{name}_index", IntProperty(name=title, options={"SKIP_SAVE"}))


def unregister() -> None:
    """Undo `register`."""
    global _pictures
    from bpy.utils import previews

    if _pictures is not None:
        previews.remove(_pictures)
        _pictures = None
    for name in _LISTS:
        delattr(bpy.types.WindowManager, name)
        delattr(bpy.types.WindowManager, f"{name}_index")
    bpy.utils.unregister_class(MCP_BRIDGE_Row)
