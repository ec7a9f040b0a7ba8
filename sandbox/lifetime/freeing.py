# SPDX-License-Identifier: GPL-3.0-or-later
"""Which functions and operators of Blender's free or move what references of a script may point to: lists, by name.

A function that is on none of them leaves everything where it is. Names of operators are how they begin.
"""

from __future__ import annotations

__all__ = ("freed_alone", "frees", "grows", "harmless_in", "is_followed", "removes_blocks", "spares_blocks")

#: Functions after which items of their data-block may be gone or have moved.
FREEING = frozenset(
    """
    remove clear pop clear_geometry resize add insert sort deduplicate from_pydata update_from_editmode add_strokes
    remove_strokes resize_strokes reorder_strokes add_curves remove_curves resize_curves new_socket new_panel move
    key_insert move_to_parent convert_to_samples convert_to_keyframes from_string shape_key_remove shape_key_clear
    animation_data_clear sequence_editor_clear
    """.split()
)
#: `new` moves what is there only where items lie in one array; a new link may take the place of another.
_FREED_BY_NEW = frozenset(
    """
    AttributeGroup AttributeGroupMesh AttributeGroupCurves AttributeGroupPointCloud AttributeGroupGreasePencil
    AttributeGroupGreasePencilDrawing UVLoopLayers LoopColors NodeLinks CurveMapPoints GreasePencilFrames
    """.split()
)
#: Functions with other names: a new array takes the place of the old.
_FREED_BY = frozenset(
    """
    BlendDataNodeTrees.remove FCurve.update ID.copy
    CurveProfile.initialize CurveProfile.update CurveMapping.initialize
    CurveMapping.update SequenceElements.append StripElements.append ParticleSettingsTextureSlots.create
    ParticleSettingsTextureSlots.add GreasePencilFrames.copy
    """.split()
)
#: Functions that free nothing but what follows the collections, a text's lines, or data-blocks with their parts.
_FOLLOWED = frozenset(
    """
    CollectionChildren.link CollectionChildren.unlink CollectionObjects.unlink Object.to_curve Object.to_curve_clear
    Object.to_mesh Object.to_mesh_clear Text.clear Text.from_string
    """.split()
)
#: Functions of objects that remove a data-block which they or others made before.
_REMOVING = frozenset(
    "shape_key_remove shape_key_clear to_curve to_curve_clear to_mesh to_mesh_clear".split()
)
#: Items of a list, each in memory of its own, which a new one leaves where they are.
_FREED_BY_NONE = frozenset({"AOVs.add", "Lightgroups.add"})
#: What some functions free or move at most: its roots, by `Struct.function`.
_FREED_ALONE: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("AttributeGroup.new", "AttributeGroupMesh.new", "LoopColors.new", "UVLoopLayers.new"),
        frozenset({"Attribute", "MeshUVLoopLayer", "MeshLoopColorLayer", "MeshSkinVertexLayer"}),
    ),
    **dict.fromkeys(
        ("CurveMapPoints.new", "CurveMapPoints.remove", "CurveMapping.initialize", "CurveMapping.update"),
        frozenset({"CurveMapPoint"}),
    ),
}
#: Arrays of `stale.FRAGILE` items, and the functions that only move them.
_GROWING = frozenset("SplinePoints SplineBezierPoints FCurveKeyframePoints GPencilStrokePoints".split())
_GROWN_BY = frozenset({"add", "insert", "sort"})
_OBJECT, _EDIT_MESH = frozenset({"OBJECT"}), frozenset({"EDIT_MESH"})
_EDIT_ARMATURE, _POSE = frozenset({"EDIT_ARMATURE"}), frozenset({"POSE"})
_EDIT_CURVE, _EDIT_SURFACE = frozenset({"EDIT_CURVE"}), frozenset({"EDIT_SURFACE"})
_EDIT_LATTICE = frozenset({"EDIT_LATTICE"})
#: Modes that are entered from object mode with all left where it is: edit mode has copies, and takes the place of what
#: the data-block has when it is left. What it hides meanwhile is noted: see `lifetime.hidden`.
_ENTERED = _OBJECT | _EDIT_MESH | _EDIT_ARMATURE | _POSE | _EDIT_CURVE | _EDIT_SURFACE | _EDIT_LATTICE
_ADDING = tuple(
    """
    object.select transform. mesh.primitive_ curve.primitive_ view3d. object.light_add object.camera_add
    object.empty_add object.text_add object.armature_add object.effector_add object.metaball_add rigidbody.object_add
    rigidbody.world_add
    """.split()
)
#: Operators that free and move nothing, by how their names begin: they select, or add data-blocks. With the modes, as
#: `Context.mode` has them, that they have to begin in and to end in: some leave edit mode first.
_HARMLESS = (
    (_ADDING, _OBJECT, _OBJECT),
    (("object.mode_set",), _OBJECT, _ENTERED),
    (("mesh.select_",), _EDIT_MESH, _EDIT_MESH),
    (("armature.select_",), _EDIT_ARMATURE, _EDIT_ARMATURE),
    (("pose.select_",), _POSE, _POSE),
    (("curve.select_",), _EDIT_CURVE, _EDIT_CURVE),
    (("curve.select_",), _EDIT_SURFACE, _EDIT_SURFACE),
    (("lattice.select_",), _EDIT_LATTICE, _EDIT_LATTICE),
)
#: Operators that free and move nothing but what is of meshes, outside the edit modes of all else. `object.shade_` is
#: none of them: it removes the modifier that smooths by angle.
_OF_MESHES = ("mesh.", "uv.", "transform.", "object.mode_set", "object.editmode_toggle")
#: Operators that free more than others whose names begin as theirs: by material a mesh is left with one slot, and a
#: torus is joined to what is edited.
_FREEING_MORE = frozenset({"mesh.separate", "mesh.primitive_torus_add", "transform.delete_orientation"})
#: Operators that remove no data-block.
_SPARING = (
    *(prefix for prefixes, _began, _ends in _HARMLESS for prefix in prefixes),
    *_OF_MESHES,
    *"object.shade_ armature. pose. curve. rigidbody. object.modifier_".split(),
    *"object.transform_apply object.origin_set object.duplicate object.parent_ object.constraint_".split(),
    *"object.material_slot_ object.vertex_group_ object.quadriflow_remesh object.voxel_remesh".split(),
    *"object.collection_instance_add object.grease_pencil_add".split(),
)


def frees(struct: str, function: str) -> bool:
    """Whether a call of `struct.function` may leave references behind."""
    if f"{struct}.{function}" in _FREED_BY or is_followed(struct, function):
        return True
    if f"{struct}.{function}" in _FREED_BY_NONE:
        return False
    if struct.startswith(("BlendData", "Collection", "IDMaterials", "Text")) or struct == "VertexGroup":
        return False
    if function == "new":
        return struct in _FREED_BY_NEW or (struct.startswith("Node") and struct.endswith("Items"))
    return function in FREEING


def freed_alone(struct: str, function: str) -> frozenset[str] | None:
    """The roots of all that a call may free or move; None for any."""
    return _FREED_ALONE.get(f"{struct}.{function}")


def grows(struct: str, function: str) -> bool:
    """Whether a call moves nothing but items that are read through the host: see `Stale.after_growth`."""
    return struct in _GROWING and function in _GROWN_BY


def is_followed(struct: str, function: str) -> bool:
    """Whether a call moves nothing but what few calls move: see `Stale.follows`."""
    path = f"{struct}.{function}"
    return path in _FOLLOWED or (_is_removal(struct, function) and path not in _FREED_BY)


def removes_blocks(struct: str, function: str) -> bool:
    """Whether data-blocks may be gone after a call: with a mesh Blender removes the objects that show it."""
    return (
        _is_removal(struct, function)
        or (struct == "Object" and function in _REMOVING)
        or (struct == "ViewLayers" and function == "remove")  # with its evaluated copies
    )


def _is_removal(struct: str, function: str) -> bool:
    """Whether this is `remove` of a collection of `bpy.data`."""
    return struct.startswith("BlendData") and function == "remove"


def harmless_in(idname: str, *, meshes: bool) -> tuple[frozenset[str], frozenset[str]]:
    """In which modes an operator has to begin, and in which to end, to have freed and moved nothing that is held.

    `meshes`: whether the script may hold parts of meshes.
    """
    if idname in _FREEING_MORE:
        return frozenset(), frozenset()
    if not meshes and idname.startswith(_OF_MESHES):
        return _OBJECT | _EDIT_MESH, _ENTERED
    found = [(began, ends) for prefixes, began, ends in _HARMLESS if idname.startswith(prefixes)]
    # each ends in the mode that it began in, or begins in one only
    return frozenset().union(*(began for began, _ in found)), frozenset().union(*(ends for _, ends in found))


def spares_blocks(idname: str) -> bool:
    """Whether an operator removes no data-block."""
    return idname.startswith(_SPARING)
