# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards data-blocks that are not the file's own: evaluated copies, and data-blocks that are part of another.

Blender frees an evaluated copy with its depsgraph, and the node tree of a material or the collection of a scene with
its owner, and invalidates no pointer to them. So a script can neither remove them nor let anything point to them, and
it can read an evaluated copy but not write it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import bpy

from ..guard.seam import BlenderHost, Writer
from .functions.parameters import parameters

__all__ = ("SESSION", "check_given", "check_original", "given_blocks", "note_link", "original", "pointing")

SESSION = (bpy.types.WorkSpace, bpy.types.Screen, bpy.types.WindowManager, bpy.types.Brush)
"""Data-blocks that undo does not restore: a script may not write them."""
_ID, _STRUCT = bpy.types.ID, bpy.types.bpy_struct
_DRIVER_TARGET = bpy.types.DriverTarget
#: Types of which some data-blocks are part of another. Drivers and keying sets point to these by a plain `ID`.
_EMBEDDED = ("Collection", "NodeTree")
#: Functions that only read the data-blocks in their arguments, or check these themselves.
_ONLY_READING = frozenset(
    """
    Action.flip_with_pose BlendDataMaterials.create_gpencil_data BlendDataMaterials.remove_gpencil_data
    BlendDataMeshes.new_from_object BlendDataObjects.new Camera.view_frame CollectionChildren.unlink
    CollectionObjects.link CollectionObjects.unlink Depsgraph.id_eval_get DynamicPaintSurface.output_exists
    NodeTree.contains_tree Object.is_deform_modified Object.is_modified ParticleHairKey.co_object
    ParticleHairKey.co_object_set ParticleSystem.co_hair Pose.apply_pose_from_action Pose.blend_pose_from_action
    RigidBodyWorld.convex_sweep_test
    """.split()
)
#: Names of functions that change the struct to which they belong.
_CHANGING = frozenset(
    """
    new add remove clear append link unlink insert pop move resize sort copy_from shape_key_add shape_key_remove
    shape_key_clear animation_data_create animation_data_clear clear_geometry from_pydata select_set hide_set rename
    user_remap update_from_editmode add_curves remove_curves resize_curves add_strokes remove_strokes resize_strokes
    """.split()
)


@cache
def given_blocks(path: str) -> frozenset[str]:
    """Return the parameters of `Struct.function` whose data-blocks Blender removes, or points to from then on."""
    if path in _ONLY_READING:
        return frozenset()
    return frozenset(p.identifier for p in parameters(path) if not p.is_output and _is_of_blocks(p))


def _is_of_blocks(prop: Any) -> bool:
    kind = getattr(bpy.types, prop.fixed_type.identifier, None) if prop.type == "POINTER" else None
    return kind is not None and issubclass(kind, _ID)


def check_given(block: Any, what: str, *, whole: bool = True) -> None:
    """Check a data-block that Blender shall remove or point to. `whole`: it must not be part of another.

    Raises:
        ValueError: it is an evaluated copy, or part of another data-block.
    """
    if not isinstance(block, _ID):
        return
    if block.is_evaluated:
        raise ValueError(
            f"{what}: {block.name!r} is an evaluated copy, which Blender frees: use its .original"
        )
    if whole and block.is_embedded_data:
        raise ValueError(
            f"{what}: {block.name!r} is part of another data-block and stays there: make a new one"
        )


def pointing(prop: Any, write: Writer | None) -> Writer | None:
    """Return a writer that checks the new value before `write`, if `prop` points to data-blocks; else `write`."""
    if prop is None or not _is_of_blocks(prop):
        return write
    whole = any(_derives(prop.fixed_type, each) for each in _EMBEDDED)

    def checked(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        check_given(new, f"{value.rna_type.identifier}.{name}", whole=whole)
        if isinstance(new, _ID):
            note_link(host, value, new)
        if write is None:
            setattr(value, name, new)
        else:
            write(host, value, name, new)

    return checked


def note_link(host: BlenderHost, owner: Any, new: bpy.types.ID) -> None:
    """Note that a script is about to have `owner`, or the data-block of which it is a part, use `new`."""
    block = getattr(owner, "id_data", None)
    if block is None:
        host.geometry.chains.link_somewhere()
    else:
        host.geometry.chains.link(block, new, by_driver=isinstance(owner, _DRIVER_TARGET))


def _derives(rna: Any, name: str) -> bool:
    while rna is not None:
        if rna.identifier == name:
            return True
        rna = rna.base
    return False


def check_original(host: BlenderHost, value: Any, what: str = "") -> None:
    """Stop the run if a script is about to change an evaluated copy, by the function `what` or by a write."""
    if not host.stale.touched_evaluated or (what and what not in _CHANGING):
        return
    block = value.id_data if isinstance(value, (_STRUCT, bpy.types.bpy_prop)) else None
    if block is not None and block.is_evaluated:
        host.refuse(
            f"{block.name!r} is an evaluated copy, which Blender makes anew: write to its .original",
            code="member",
        )


def original(write: Writer) -> Writer:
    """Return a writer that refuses evaluated copies and then calls `write`."""

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        if host.stale.touched_evaluated:
            check_original(host, value)
        write(host, value, name, new)

    return written
