# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's decisions: review a request, apply it, deny it, trust a client, stop a job."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty, StringProperty

from ..base import jobs, journal
from ..base.enabling.late import late
from ..base.errors import BridgeError, ExternalServiceError, InvalidParamsError, PolicyError
from . import reading, request_lists, state
from .dialogs import dialog_size

if TYPE_CHECKING:
    from .. import approvals
    from ..approvals.approval_queue import ApprovalQueue
    from ..approvals.request import Entry
    from ..sandbox.run import undo
    from ..scene import events
else:
    approvals, undo, events = late("approvals"), late("sandbox.run.undo"), late("scene.events")

__all__ = ("register", "unregister")

_BY = "the user in the panel"


#: Which picture a dialog shows.
_SHOWN: Any = EnumProperty(
    name="Picture",
    items=(
        ("before", "Before", "The scene before the script"),
        ("after", "After", "The scene as the script leaves it"),
    ),
    default="after",
    options={"SKIP_SAVE"},
)


def _unlisten() -> None:
    """Replaced in `register` by the function that stops listening."""


class _OfRequest:
    """Base class of buttons for one request: they find it by its id, and report why a step is not possible."""

    request_id: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    report: Any

    @property
    def entry(self) -> "Entry | None":
        return state.request(self.request_id)

    def step(self, do: "Callable[[ApprovalQueue], object]") -> set[Any]:
        """Call `do` with the queue, and refresh the panels. Report a refused step in Blender's status bar."""
        queue = approvals.current()
        try:
            if queue is None:
                raise ExternalServiceError("MCP Bridge no longer runs")
            do(queue)
        except BridgeError as error:
            self.report({"WARNING"}, str(error))
            return {"CANCELLED"}
        finally:
            state.refresh()
        return {"FINISHED"}


def _waiting(request_id: str) -> "Entry | None":
    """The request, if it is before the user in the panel."""
    entry = state.request(request_id)
    return entry if entry and entry.state == "waiting" and entry.asks == "panel" else None


class MCP_BRIDGE_OT_review_request(_OfRequest, bpy.types.Operator):
    """Read what the assistant wants to do and what it would change, then allow it or not"""

    bl_idname = "mcp_bridge.review_request"
    bl_label = "Review Script"
    bl_options = {"INTERNAL"}

    sha256: StringProperty(options={"HIDDEN", "SKIP_SAVE"})
    revision: IntProperty(options={"HIDDEN", "SKIP_SAVE"}, default=-1)
    reason: StringProperty(
        name="Reason",
        description="What the assistant is told if you deny it, so that it can do better",
        options={"SKIP_SAVE"},
    )
    trust: BoolProperty(
        name="Do Not Ask about This Client Until Blender Closes",
        description="Scripts that this client sends by execute_blender_code run without asking you, within the "
        "sandbox. Whole scripts that it injects are still shown to you first",
        options={"SKIP_SAVE"},
    )

    shown: _SHOWN

    #: Whether this is an open dialog: it draws the lists of the request that was opened last.
    opened = False

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        state.refresh()
        entry = _waiting(self.request_id)
        if entry is None:
            self.report({"WARNING"}, "This request does not wait for an answer any more")
            return {"CANCELLED"}
        if reading.is_long(entry.script) and entry.request.tool != "question":
            reading.open_window(context, entry)
            return {"FINISHED"}
        self.sha256, self.revision = entry.sha256, entry.revision or 0  # what is shown is what is agreed to
        size = dialog_size.of(context)
        request_lists.show(entry, size)
        self.opened = True
        return context.window_manager.invoke_props_dialog(
            self,
            width=size.width,
            title=entry.title,
            confirm_text="Allow" if entry.request.tool == "question" else "Apply",
            cancel_default=True,
        )

    def check(self, context: bpy.types.Context) -> bool:
        return True  # the reason is handed to the button beside it

    def draw(self, context: bpy.types.Context) -> None:
        from ..panels import review

        if self.entry is not None:
            review.draw(self.layout, self.entry, self, dialog_size.of(context))

    def execute(self, context: bpy.types.Context) -> set[Any]:
        return self.step(self._confirm)

    def _confirm(self, queue: "ApprovalQueue") -> None:
        if self.opened and not request_lists.is_listed(self):
            raise PolicyError("Another request was opened meanwhile: look at this one again")
        entry = queue.confirm(self.request_id, sha256=self.sha256, revision=self.revision, by=_BY)
        if entry.request.tool != "question" and events.revision() != self.revision:
            self.report(
                {"INFO"}, "The scene has changed since the rehearsal: the script is rehearsed again first"
            )
        if self.trust and entry.request.tool == "execute_blender_code":
            queue.trust(entry.request.client_id, entry.request.requester)


class MCP_BRIDGE_OT_look_again(_OfRequest, bpy.types.Operator):
    """Show the script, what it changed and the pictures again"""

    bl_idname = "mcp_bridge.look_again"
    bl_label = "Look at Request"
    bl_options = {"INTERNAL"}

    shown: _SHOWN

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        entry = state.request(properties.request_id)
        said = cls.__doc__ or ""
        return said if entry is None else f"“{entry.title}” of {entry.request.requester}.\n{said}"

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        entry = self.entry
        if entry is None:
            self.report({"WARNING"}, "This request is forgotten: the journal has it")
            return {"CANCELLED"}
        size = dialog_size.of(context)
        request_lists.show(entry, size)
        return context.window_manager.invoke_popup(self, width=size.width)

    def draw(self, context: bpy.types.Context) -> None:
        from ..panels import review

        if self.entry is not None:
            review.draw_again(self.layout, self.entry, self, dialog_size.of(context))

    def execute(self, context: bpy.types.Context) -> set[Any]:
        return {"FINISHED"}


class MCP_BRIDGE_OT_deny_request(_OfRequest, bpy.types.Operator):
    """Refuse this; the assistant gets your reason"""

    bl_idname = "mcp_bridge.deny_request"
    bl_label = "Deny Script"
    bl_options = {"INTERNAL"}

    reason: StringProperty(
        name="Reason",
        description="What the assistant is told, so that it can do better",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        return context.window_manager.invoke_props_dialog(self, width=360, confirm_text="Deny")

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        layout.label(text="Tell the assistant why (optional):")
        layout.activate_init = True
        layout.prop(self, "reason", text="")

    def execute(self, context: bpy.types.Context) -> set[Any]:
        return self.step(lambda queue: queue.deny(self.request_id, self.reason.strip()))


class MCP_BRIDGE_OT_undo_request(_OfRequest, bpy.types.Operator):
    """Bring the scene back to what it was before this script ran"""

    bl_idname = "mcp_bridge.undo_request"
    bl_label = "Undo Script"
    bl_options = {"INTERNAL"}

    @classmethod
    def description(cls, context: bpy.types.Context, properties: Any) -> str:
        if properties.request_id == state.view.undoable:
            return "Bring the scene back to what it was before this script ran"
        return "The scene has changed since this script ran, so its run alone cannot be undone. Use Edit › Undo History"

    def execute(self, context: bpy.types.Context) -> set[Any]:
        return self.step(self._undo)

    def _undo(self, queue: "ApprovalQueue") -> None:
        entry = queue.get(self.request_id)
        if entry.undone or entry.applied_revision != events.settled():
            raise PolicyError("The scene has changed since this script ran: it cannot be undone alone")
        undo.take_back(self.request_id)
        queue.note_undo(self.request_id)
        self.report({"INFO"}, f"Undone: {entry.title}")


class MCP_BRIDGE_OT_note_alert(_OfRequest, bpy.types.Operator):
    """Hide this message; the journal keeps it"""

    bl_idname = "mcp_bridge.note_alert"
    bl_label = "Dismiss"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        state.note(self.request_id)
        return {"FINISHED"}


class MCP_BRIDGE_OT_verify_journal(bpy.types.Operator):
    """Check that no record of the journal is missing or was altered"""

    bl_idname = "mcp_bridge.verify_journal"
    bl_label = "Verify Journal"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        try:
            findings = journal.verify_folder(journal.current().folder)
        except (BridgeError, OSError) as error:
            self.report({"ERROR"}, f"The journal cannot be read: {error}")
            return {"CANCELLED"}
        for finding in findings[:20]:
            self.report({"ERROR"}, finding)
        if findings:
            return {"CANCELLED"}
        self.report({"INFO"}, "The journal is whole")
        return {"FINISHED"}


class MCP_BRIDGE_OT_open_script(_OfRequest, bpy.types.Operator):
    """Read the script in a text editor, in a window of its own. Changes there switch Apply off; they never run"""

    bl_idname = "mcp_bridge.open_script"
    bl_label = "Open in Text Editor"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        state.refresh()  # the request may be newer than what was gathered last
        entry = self.entry
        if entry is None:
            return {"CANCELLED"}
        reading.open_window(context, entry)
        return {"FINISHED"}


class MCP_BRIDGE_OT_enlarge_picture(_OfRequest, bpy.types.Operator):
    """Show this picture as large as the window allows"""

    bl_idname = "mcp_bridge.enlarge_picture"
    bl_label = "Enlarge"
    bl_options = {"INTERNAL"}

    when: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[Any]:
        return context.window_manager.invoke_popup(self, width=dialog_size.largest_picture(context))

    def draw(self, context: bpy.types.Context) -> None:
        layout: Any = self.layout
        layout.label(text=self.when.title())
        icon = request_lists.picture(self.request_id, self.when)
        layout.template_icon(
            icon_value=icon, scale=dialog_size.largest_picture(context) / dialog_size.UNIT - 1
        )

    def execute(self, context: bpy.types.Context) -> set[Any]:
        return {"FINISHED"}


class MCP_BRIDGE_OT_copy_script(_OfRequest, bpy.types.Operator):
    """Copy the script, to read it in an editor"""

    bl_idname = "mcp_bridge.copy_script"
    bl_label = "Copy Script"
    bl_options = {"INTERNAL"}

    def execute(self, context: bpy.types.Context) -> set[Any]:
        if self.entry is None:
            return {"CANCELLED"}
        context.window_manager.clipboard = self.entry.script
        self.report({"INFO"}, "The script was copied")
        return {"FINISHED"}


class MCP_BRIDGE_OT_ask_again(bpy.types.Operator):
    """Ask about the scripts of this client again"""

    bl_idname = "mcp_bridge.ask_again"
    bl_label = "Ask Again"
    bl_options = {"INTERNAL"}

    client_id: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> set[Any]:
        queue = approvals.current()
        if queue is not None:
            queue.distrust(self.client_id)
        state.refresh()
        return {"FINISHED"}


class MCP_BRIDGE_OT_cancel_job(bpy.types.Operator):
    """Stop this; the assistant is told that you did"""

    bl_idname = "mcp_bridge.cancel_job"
    bl_label = "Cancel Job"
    bl_options = {"INTERNAL"}

    job_id: StringProperty(options={"HIDDEN", "SKIP_SAVE"})

    def execute(self, context: bpy.types.Context) -> set[Any]:
        owner = next((work.owner for work in state.view.jobs if work.id == self.job_id), "")
        try:
            jobs.registry.cancel(self.job_id, owner)
        except InvalidParamsError:
            self.report({"INFO"}, "This has ended already")
            return {"CANCELLED"}
        finally:
            state.refresh()
        return {"FINISHED"}


def show_rows() -> None:
    """Make the list's rows those requests that are open. Called by `state` when something has changed."""
    reading.close_ended()
    rows = getattr(bpy.context.window_manager, request_lists.ROWS)
    wanted = [entry.id for entry in state.view.open]
    if [row.name for row in rows] != wanted:
        request_lists.fill(rows, wanted)


_CLASSES = (
    MCP_BRIDGE_OT_review_request,
    MCP_BRIDGE_OT_look_again,
    MCP_BRIDGE_OT_deny_request,
    MCP_BRIDGE_OT_undo_request,
    MCP_BRIDGE_OT_note_alert,
    MCP_BRIDGE_OT_verify_journal,
    MCP_BRIDGE_OT_open_script,
    MCP_BRIDGE_OT_enlarge_picture,
    MCP_BRIDGE_OT_copy_script,
    MCP_BRIDGE_OT_ask_again,
    MCP_BRIDGE_OT_cancel_job,
)


def register() -> None:
    """Register the operators, and keep the rows up to date."""
    global _unlisten
    for cls in _CLASSES:
        bpy.utils.register_class(cls)
    _unlisten = state.listen(show_rows)


def unregister() -> None:
    """Undo `register`."""
    _unlisten()
    for cls in reversed(_CLASSES):
        bpy.utils.unregister_class(cls)
