# SPDX-License-Identifier: GPL-3.0-or-later
"""What lists of requests scroll through, and the pictures beside them, kept where Blender looks for them."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import CollectionProperty, IntProperty, StringProperty

from ..base.enabling.late import late
from .dialogs.dialog_size import Size
from .dialogs.wrapping import fitting

if TYPE_CHECKING:
    from .. import approvals
    from ..approvals import marks
    from ..approvals.marks import Mark
    from ..approvals.request import Entry
else:
    approvals, marks = late("approvals"), late("approvals.marks")

__all__ = (
    "LINES",
    "MARKS",
    "ROWS",
    "SUMMARY",
    "explained_marks",
    "fill",
    "is_listed",
    "picture",
    "pictures",
    "register",
    "show",
    "unregister",
)

#: Names of collections on WindowManager, for the lists that a panel or a dialog scrolls through.
ROWS, LINES, SUMMARY = "mcp_bridge_requests", "mcp_bridge_script_lines", "mcp_bridge_summary_lines"
#: Collection -> the tooltip of its rows.
_LISTS = {ROWS: "Request", LINES: "Line of the Script", SUMMARY: "What Would Change"}
_MOST_LINES = 5000
#: Mark -> its icon and its explanation; the most serious first.
MARKS: "Mapping[Mark, tuple[str, str]]" = {
    "outside": ("ERROR", "Tries to reach outside Blender"),
    "hides": ("VIEWZOOM", "Look closely: a very long line, “;” or odd spaces"),
    "removes": ("TRASH", "Removes something"),
    "unreached": ("HIDE_ON", "Never reached in the rehearsal"),
    "repeats": ("FILE_REFRESH", "Repeats what it does"),
}
#: How many lines of one mark a text names.
_MOST_NAMED = 12

#: The pictures of the request that is shown.
_pictures: Any = None
#: The id of the request whose script and summary are in the dialog's lists, and its script's digest.
_listed = ("", "")


class MCP_BRIDGE_Row(bpy.types.PropertyGroup):
    """A row of a list: a request's id, or a line of its script. Its `name` is the text.

    Of a script's line, which may take several rows, the first one has the `number`; `mark` is what is said of it.
    """

    number: IntProperty(options={"SKIP_SAVE"})
    mark: StringProperty(options={"SKIP_SAVE"})


def show(entry: "Entry", size: Size) -> None:
    """Fill the lists of the dialog, which has this size, and load its pictures."""
    global _listed
    manager = bpy.context.window_manager
    _load_pictures(entry.id)
    _fill_script(getattr(manager, LINES), entry, size.letters_width(beside=bool(pictures(entry.id))))
    fill(getattr(manager, SUMMARY), _wrapped(entry.summary, size.columns))
    _listed = (entry.id, entry.sha256)


def explained_marks(entry: "Entry") -> "Iterator[tuple[Mark, str]]":
    """Each mark of a script with its icon, and a text that says what it means and on which lines it is."""
    found = _marks(entry)
    for mark, (_, said) in MARKS.items():
        lines = [number for number, of_line in found.items() if mark in of_line]
        if lines:
            more = f" and {len(lines) - _MOST_NAMED} more" if len(lines) > _MOST_NAMED else ""
            named = ", ".join(map(str, lines[:_MOST_NAMED]))
            yield mark, f"{said}: line{'s' if len(lines) > 1 else ''} {named}{more}"


def _marks(entry: "Entry") -> "Mapping[int, frozenset[Mark]]":
    return marks.marks(entry.script, (entry.record.sandbox_result or {}).get("unreached", ()))


def _fill_script(rows: Any, entry: "Entry", width: float) -> None:
    """A row for each line of a script, and more where it is wider than this (pixels at a scale of 1)."""
    rows.clear()
    points: float = bpy.context.preferences.ui_styles[0].widget.points
    found, lines = _marks(entry), marks.lines_of(entry.script)
    for number, line in enumerate(lines, 1):
        if len(rows) >= _MOST_LINES:
            row = rows.add()
            row.name, row.mark = (
                f"… {len(lines) - number + 1:,} more lines: open it in the text editor",
                "hides",
            )
            return
        of_line = found.get(number, frozenset())
        mark = next((mark for mark in MARKS if mark in of_line), "")
        for part, text in enumerate(fitting(marks.visible(line), width, points) or ("",)):
            row = rows.add()
            row.name, row.number, row.mark = text, 0 if part else number, mark


def is_listed(operator: Any) -> bool:
    """Whether the lists have the script that this dialog was opened for; a second window may have another open."""
    request_id, sha256 = _listed
    return operator.request_id == request_id and getattr(operator, "sha256", sha256) == sha256


def picture(request_id: str, when: str) -> int:
    """The icon of the rehearsal's picture `before` or `after`, 0 if there is none."""
    key = f"{request_id} {when}"
    return _pictures[key].icon_id if _pictures is not None and key in _pictures else 0


def pictures(request_id: str) -> dict[str, int]:
    """The pictures of the rehearsal that there are: `before` and `after` -> icon."""
    found = {when: picture(request_id, when) for when in ("before", "after")}
    return {when: icon for when, icon in found.items() if icon}


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
    """Replace the rows by these names."""
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
