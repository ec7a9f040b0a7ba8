# SPDX-License-Identifier: GPL-3.0-or-later
"""Undo steps, and those that Blender's operators make by themselves in a script: none of these stays in the history.

Some operators of sculpting, vertex painting, images and textures make a step; others begin one, which the next push
completes instead of making its own. Such a step does not hold the scene: Blender decodes it with whatever object is
active then, and Blender 4.2 crashes. So `settle` removes it right after the operator: a hundred of them would also push
the run's own step out of the history. `bpy` is imported in the call, as in `run.undo`.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ("begin", "finish", "may_make", "push", "push_grouped", "settle")

_MODES: Final = frozenset({"SCULPT", "PAINT_VERTEX"})
_MODULES: Final = ("image.", "texture.")
#: Names that Blender gives such steps where it does not take the operator's.
_NAMES: Final = ("Dynamic topology enable", "Dynamic topology disable", "Hide area", "MemFile Internal (pre)")
_SETTLING: Final = "Steps of operators"
_settled = False
"""Whether `settle` was called in this run."""


def push(name: str) -> bool:
    """Make an undo step of this name; return whether Blender did."""
    import bpy

    return bpy.ops.ed.undo_push(message=name) == {"FINISHED"}


def push_grouped(*names: str) -> None:
    """Make an undo step of each name. It replaces the last step if that has the same name, and drops the redo steps.

    Blender does so for an operator of an undo group; the group's name cannot be changed once it is registered.
    """
    import bpy

    for name in names:

        class MCP_BRIDGE_OT_undo_step(bpy.types.Operator):
            bl_idname = "mcp_bridge.undo_step"
            bl_label = "Script"
            bl_options = {"INTERNAL", "UNDO_GROUPED"}
            bl_undo_group = name

            def execute(self, context: bpy.types.Context) -> set[Any]:
                return {"FINISHED"}

        operators: Any = bpy.ops
        bpy.utils.register_class(MCP_BRIDGE_OT_undo_step)
        try:
            operators.mcp_bridge.undo_step("EXEC_DEFAULT", True)
        finally:
            bpy.utils.unregister_class(MCP_BRIDGE_OT_undo_step)


def _drop(*names: str) -> None:
    """Remove the last undo step if it has the first name, then the one before it if it has the second one, and so on.

    Where the preferences ask for no steps, Blender makes none in the place of the one that it drops; but if an operator
    has begun one, Blender completes it, and empties the history.
    """
    import bpy

    preferences = bpy.context.preferences
    edit, dirty = preferences.edit, preferences.is_dirty
    steps, edit.undo_steps = edit.undo_steps, 0
    try:
        push_grouped(*names)
    finally:
        edit.undo_steps = steps
        preferences.is_dirty = dirty


def may_make(idname: str = "") -> bool:
    """Return whether an operator may make or begin a step of its own now; without a name, any operator."""
    import bpy

    return bpy.context.mode in _MODES or idname.startswith(_MODULES)


def begin() -> None:
    """Forget what happened in the last run."""
    global _settled
    _settled = False


def settle(operator: Any = None) -> None:
    """Remove the step that an operator has made or begun, if any, from the end of the history."""
    global _settled
    _settled = True
    label = operator.get_rna_type().name if operator is not None else _SETTLING
    push(_SETTLING)  # completes the step that was begun, or makes one of this name
    _drop(_SETTLING, label, *_NAMES, label, *_NAMES)  # an end of dynamic topology is two steps of one name


def finish() -> None:
    """Remove a step that leaving the mode has begun, if operators of the run may have made it do so."""
    if _settled:
        settle()
