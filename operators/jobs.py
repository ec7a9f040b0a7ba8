# SPDX-License-Identifier: GPL-3.0-or-later
"""Stops a job of an assistant."""

from typing import Any

import bpy
from bpy.props import StringProperty

from ..base import jobs
from ..base.errors import InvalidParamsError
from . import state

__all__ = ("register", "unregister")


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


def register() -> None:
    """Register the operator."""
    bpy.utils.register_class(MCP_BRIDGE_OT_cancel_job)


def unregister() -> None:
    """Unregister it."""
    bpy.utils.unregister_class(MCP_BRIDGE_OT_cancel_job)
