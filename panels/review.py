# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw a request for the user's approval: the script, what it would change, and the scene before and after.

A dialog shows it; if the script is too long for a dialog, a panel beside the script in a text editor does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bpy

from ..operators import reading, state
from ..operators.request_lists import LINES, MARKS, SUMMARY, explained_marks, is_listed, pictures
from .requests import ICONS, SAID
from .text import paragraph

if TYPE_CHECKING:
    from ..approvals.request import Entry
    from ..operators.dialogs.dialog_size import Size

__all__ = ("draw", "draw_again", "register", "unregister")

#: The fewest rows of the script's list; a short script gets as many as it has lines.
_FEWEST_ROWS = 6


class MCP_BRIDGE_UL_script(bpy.types.UIList):
    """The lines of a script with their numbers, and a mark at lines that a reader should not miss."""

    bl_idname = "MCP_BRIDGE_UL_script"

    def draw_item(
        self,
        context: Any,
        layout: Any,
        data: Any,
        item: Any,
        icon: Any,
        active_data: Any,
        active_property: Any,
        index: Any = 0,
        flt_flag: Any = 0,
    ) -> None:
        row = layout.row(align=True)
        number = row.row()
        number.active = False
        number.alignment = "RIGHT"
        number.ui_units_x = 1.8
        number.label(text=str(item.number) if item.number else "", translate=False)
        text = row.row(align=True)
        text.alert = item.mark in ("outside", "hides", "removes")
        mark = MARKS.get(item.mark)
        text.label(text=item.name, icon=mark[0] if mark else "BLANK1", translate=False)


class MCP_BRIDGE_UL_summary(bpy.types.UIList):
    """The report of the rehearsal, line by line."""

    bl_idname = "MCP_BRIDGE_UL_summary"

    def draw_item(
        self,
        context: Any,
        layout: Any,
        data: Any,
        item: Any,
        icon: Any,
        active_data: Any,
        active_property: Any,
        index: Any = 0,
        flt_flag: Any = 0,
    ) -> None:
        layout.label(text=item.name, translate=False)


class MCP_BRIDGE_PT_reading(bpy.types.Panel):
    """The panel beside a script in a text editor: what the script would change, and the buttons of the dialog."""

    bl_space_type = "TEXT_EDITOR"
    bl_region_type = "UI"
    bl_category = "MCP"
    bl_idname = "MCP_BRIDGE_PT_reading"
    bl_label = "Assistant's Script"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return reading.request_of(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        entry = reading.request_of(context)
        if entry is None:
            return
        paragraph(layout, _about(entry), context, icon="USER")
        if entry.state != "waiting":
            paragraph(layout, f"This request {SAID[entry.state]}.", context, icon=ICONS[entry.state])
            return
        same = reading.is_unchanged(context, entry)
        if not same:
            changed = "You changed this text, so Apply is off. Undo your changes: only what was sent may run."
            paragraph(layout.box(), changed, context, icon="ERROR")
        column = layout.column()  # in a row a narrow sidebar would cut their texts
        column.scale_y = 1.4
        yes = column.row()
        yes.enabled = same
        yes.operator_context = "EXEC_DEFAULT"
        apply = yes.operator("mcp_bridge.review_request", text="Apply", icon="CHECKMARK")
        apply.request_id, apply.sha256, apply.revision = entry.id, entry.sha256, entry.revision or 0
        column.operator("mcp_bridge.deny_request", text="Deny…", icon="X").request_id = entry.id
        for mark, said in explained_marks(entry):
            paragraph(layout, said, context, icon=MARKS[mark][0])
        _draw_warnings(layout, entry)
        box = layout.box()
        for line in entry.summary.splitlines():
            if line.strip():
                paragraph(box, line, context)


def draw(layout: Any, entry: Entry, operator: Any, size: Size) -> None:
    """Draw the dialog: who asks, the script, what it would change, the field for a reason, and *Do Not Ask …*."""
    if entry.state != "waiting":
        told = f": {entry.reason}" if entry.reason else ""
        again = entry.former is not None and not entry.ended
        said = (
            "The scene changed: it is rehearsed again" if again else f"This request {SAID[entry.state]}{told}"
        )
        layout.label(text=said, icon=ICONS[entry.state], translate=False)
        return
    if not is_listed(operator) or (entry.sha256, entry.revision or 0) != (operator.sha256, operator.revision):
        layout.label(text="This has changed since it was shown: close it and look again", icon="FILE_REFRESH")
        return
    row = layout.row()
    row.label(text=_about(entry), icon="USER", translate=False)
    if entry.request.tool != "question":
        buttons = row.row()
        buttons.ui_units_x = 8
        buttons.operator("mcp_bridge.open_script", icon="TEXT").request_id = entry.id
        buttons.operator("mcp_bridge.copy_script", text="", icon="COPYDOWN").request_id = entry.id
        _draw_contents(layout, entry, operator, size)
    _draw_summary(layout, size.summary_rows)
    row = layout.row()
    row.prop(operator, "reason", text="", placeholder="Why not, for the assistant")
    button = row.row()
    button.operator_context = "EXEC_DEFAULT"
    button.ui_units_x = 5
    deny = button.operator("mcp_bridge.deny_request", text="Deny", icon="X")
    deny.request_id, deny.reason = entry.id, operator.reason
    if entry.request.tool == "execute_blender_code":
        layout.prop(operator, "trust")


def draw_again(layout: Any, entry: Entry, operator: Any, size: Size) -> None:
    """Draw a request that has ended: its outcome, its script, and the report of its rehearsal."""
    told = "undone" if entry.undone else entry.state
    reason = f": {entry.reason}" if entry.reason else ""
    layout.label(text=f"“{entry.title}” · {told}{reason}", icon=ICONS[entry.state], translate=False)
    layout.label(text=_about(entry), icon="USER", translate=False)
    if not is_listed(operator):
        return
    if entry.request.tool != "question":
        _draw_contents(layout, entry, operator, size)
    _draw_summary(layout, size.summary_rows)


def _draw_contents(layout: Any, entry: Entry, operator: Any, size: Size) -> None:
    """Draw the script, beside it the scene before or after, and below it the marks and warnings."""
    shown = pictures(entry.id)
    split = layout.split(factor=0.5) if shown else layout
    _draw_script(split.column(), size.script_rows, fixed=bool(shown))
    if shown:
        _draw_picture(split.column(), entry, shown, operator, size)
    _draw_marks(layout, entry)
    _draw_warnings(layout, entry)


def _about(entry: Entry) -> str:
    """A text with the client, the tool, the age of the request, and the time of the rehearsal."""
    seconds = (entry.record.sandbox_result or {}).get("seconds", {})
    said = [entry.request.requester, entry.request.tool, state.view.ages.get(entry.id, "")]
    if "script" in seconds:
        said.append(f"ran {seconds['script']:.2g} s, rehearsed in {seconds['total']:.2g} s")
    return " · ".join(part for part in said if part)


def _draw_script(layout: Any, rows: int, *, fixed: bool) -> None:
    """Draw the script; with `fixed` it is as high as the picture beside it."""
    manager = bpy.context.window_manager
    if not fixed:
        rows = min(rows, max(_FEWEST_ROWS, len(getattr(manager, LINES))))
    layout.template_list(
        MCP_BRIDGE_UL_script.bl_idname,
        "",
        manager,
        LINES,
        manager,
        f"{LINES}_index",
        rows=rows,
        maxrows=rows,
    )


def _draw_marks(layout: Any, entry: Entry) -> None:
    """Draw a line for each kind of mark: its meaning and its line numbers."""
    column = layout.column(align=True)
    column.scale_y = 0.8
    for mark, said in explained_marks(entry):
        row = column.row()
        row.alert = mark in ("outside", "hides")
        if mark == "outside" and entry.alert:
            said = f"{said} ({entry.alert})"
        row.label(text=said, icon=MARKS[mark][0], translate=False)


def _draw_warnings(layout: Any, entry: Entry) -> None:
    warnings = (entry.validation or {}).get("warnings", ())
    for warning in warnings[:4]:
        layout.label(text=f"Line {warning['line']}: {warning['message']}", icon="ERROR", translate=False)


def _draw_picture(column: Any, entry: Entry, shown: dict[str, int], operator: Any, size: Size) -> None:
    """Draw one picture, and the buttons that choose it: both pictures use the same place, so that changes show."""
    when = operator.shown if operator.shown in shown else next(iter(shown))
    row = column.row(align=True)
    row.prop(operator, "shown", expand=True)
    larger = row.operator("mcp_bridge.enlarge_picture", text="", icon="FULLSCREEN_ENTER")
    larger.request_id, larger.when = entry.id, when
    column.template_icon(icon_value=shown[when], scale=size.picture_units)


def _draw_summary(layout: Any, rows: int) -> None:
    """Draw the report; it scrolls if it has more than `rows` rows."""
    manager = bpy.context.window_manager
    lines = getattr(manager, SUMMARY)
    if len(lines) > rows:
        layout.template_list(
            MCP_BRIDGE_UL_summary.bl_idname,
            "",
            manager,
            SUMMARY,
            manager,
            f"{SUMMARY}_index",
            rows=rows * 2 // 3,  # a row of a list is higher than a line of text
            maxrows=rows * 2 // 3,
        )
        return
    column = layout.box().column(align=True)
    column.scale_y = 0.8
    for line in lines:
        column.label(text=line.name, translate=False)


_CLASSES = (MCP_BRIDGE_UL_script, MCP_BRIDGE_UL_summary, MCP_BRIDGE_PT_reading)


register, unregister = bpy.utils.register_classes_factory(_CLASSES)
