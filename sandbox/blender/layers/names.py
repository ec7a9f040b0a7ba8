# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of layers that Blender keeps for itself: a layer with such a name must be what Blender makes under it.

Blender finds the flags of a mesh, the sharpness of its edges and the like by the names of layers, and takes what it
finds for its own. Blender 5 crashes if such a layer has another type or domain, or is a vertex group. So a script may
give such a name only to a layer like Blender's. If a different layer came from elsewhere (a file, nodes, or Blender 5.0
itself, of which `from_pydata` makes one), a script may not write the flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import bpy

from ...facts.members import names, rows
from ...guard.seam import BlenderHost
from ...lifetime.layers import owner_of
from ..plain_values import as_plain
from .matrices import check_type

__all__ = (
    "FLAGS",
    "NAMED",
    "NAMING",
    "UNCHECKED_BY_BLENDER",
    "check_flag",
    "check_new",
    "check_operator",
    "check_output",
    "check_values",
    "write_name",
    "write_output",
)

_Kinds = Mapping[str, tuple[str, str]]


def _kinds(of: str) -> _Kinds:
    return {
        name: (next(iter(row["type"])), next(iter(row["domain"])))
        for row in rows("layers of Blender's own")
        if of in row["of"]
        for name in row["names"]
    }


_OF_MESHES: Final = _kinds("mesh")
_OF_OTHERS: Final = _kinds("curves")
"""The type and domain of the layer that Blender makes, by name."""

NAMED: Final = frozenset(
    "Attribute MeshLoopColorLayer MeshUVLoopLayer VertexGroup Bone EditBone PoseBone".split()
)
"""Structs whose name is the name of a layer or vertex group: those of an armature are named like its bones."""
NAMING: Final = frozenset(
    "AttributeGroup AttributeGroupCurves AttributeGroupGreasePencil AttributeGroupGreasePencilDrawing "
    "AttributeGroupMesh AttributeGroupPointCloud LoopColors UVLoopLayers VertexGroups ArmatureEditBones".split()
)
"""Structs whose function `new` makes what has such a name."""
_NAMING_OPERATORS: Final = {"geometry.attribute_add": "FLOAT", "geometry.color_attribute_add": "FLOAT_COLOR"}
"""Operators that make a layer with a name, and of which type they make it by default."""


def check_new(host: BlenderHost, owner: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse to make a layer of matrices, or a layer or vertex group that Blender would take for its own."""
    check_type(host, arguments.get("type"))
    _check(host, owner.id_data, arguments.get("name"), arguments.get("type"), arguments.get("domain"))


def write_name(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write the name of a layer, a vertex group or a bone, unless Blender would take the layer for its own."""
    new = as_plain(new)
    kind, domain = getattr(value, "data_type", None), getattr(value, "domain", None)
    _check(host, value.id_data, new, kind, domain)
    setattr(value, name, new)


def check_operator(host: BlenderHost, idname: str, arguments: Mapping[str, Any]) -> None:
    """Refuse operators that would make a layer of matrices, or one that Blender would take for its own."""
    if idname not in _NAMING_OPERATORS and idname != "geometry.attribute_convert":
        return
    check_type(host, arguments.get("data_type"))
    data = getattr(bpy.context.object, "data", None)
    if idname in _NAMING_OPERATORS:
        kind = arguments.get("data_type", _NAMING_OPERATORS[idname])
        _check(host, data, arguments.get("name"), kind, arguments.get("domain", "POINT"))
    elif (active := getattr(getattr(data, "attributes", None), "active", None)) is not None:
        _check(host, data, active.name, None, None)


def check_values(host: BlenderHost, layer: Any) -> None:
    """Refuse the values of a layer by which Blender finds parts of a mesh or points of a curve."""
    if layer.name.startswith("."):
        host.refuse(
            f"attribute {layer.name!r} is the mesh's own: make faces by from_pydata() or bmesh", code="member"
        )
    _check_believed(host, layer.id_data, layer.name)


def check_output(host: BlenderHost, name: Any) -> None:
    """Refuse to let nodes store an output under a name of Blender's own: 5.0 crashes if the layer has another type."""
    if _known_to_blender(name) in _OF_MESHES:
        host.refuse(
            f"Blender keeps the name {name!r} for a layer of its own: give the output another name, or store the "
            "values by the node Store Named Attribute, which checks their type"
        )


def write_output(host: BlenderHost, socket: Any, name: str, new: Any) -> None:
    """Write the name under which nodes store an output, unless Blender would take the layer for its own."""
    new = as_plain(new)
    check_output(host, new)
    setattr(socket, name, new)


def check_flag(host: BlenderHost, value: Any, path: str) -> None:
    """Refuse to write a flag, `Struct.property`, if its layer would crash Blender; remember good layers for a while."""
    if path not in UNCHECKED_BY_BLENDER:
        return
    block = owner_of(value)
    if block is None or (block, path) in host.stale.layers.fitting:
        return
    for name in sorted(FLAGS[path]):
        layer = block.attributes.get(name)
        if layer is not None and (layer.data_type, layer.domain) != _OF_MESHES[name]:
            host.refuse(
                f"the layer {name!r} of mesh {block.name!r} is not as Blender needs it, which would crash: first call "
                f"mesh.attributes.remove(mesh.attributes[{name!r}])"
            )
    host.stale.layers.fitting.add((block, path))


FLAGS: Final[Mapping[str, frozenset[str]]] = {
    path: row["names"] for row in rows("layers of Blender's own") for path in row.get("flag", ())
}
"""The layers in which Blender finds a flag, by `Struct.property`."""
UNCHECKED_BY_BLENDER: Final = frozenset(FLAGS if bpy.app.version >= (5, 0) else ())
"""The flags for which Blender does not check that their layer is of the right type and domain."""
_LIKE_MESHES = (bpy.types.Mesh, bpy.types.Object, bpy.types.Armature)
"""Data-blocks whose layers, vertex groups and bones are, or become, layers of meshes."""


def _kinds_in(block: Any) -> _Kinds:
    return _OF_MESHES if isinstance(block, _LIKE_MESHES) else _OF_OTHERS


_BELIEVED: Final = names("layers that Blender believes")
_WITHOUT_CURVES = (*_LIKE_MESHES, bpy.types.PointCloud)


def _check_believed(host: BlenderHost, block: Any, name: str) -> None:
    if name in _BELIEVED and not isinstance(block, _WITHOUT_CURVES):
        host.refuse(
            f"Blender believes whatever a layer {name!r} of curves or strokes says: use set_types(), or the nodes "
            "Set Spline Type and Set Spline Resolution",
            code="member",
        )


def _check(host: BlenderHost, block: Any, name: Any, kind: Any, domain: Any) -> None:
    name = _known_to_blender(name)
    _check_believed(host, block, name)
    fits = _kinds_in(block).get(name)
    if fits is not None and (kind, domain) != fits:
        host.refuse(
            f"Blender keeps the name {name!r} for a layer of type {fits[0]!r} and domain {fits[1]!r}: "
            "use another name, or attributes.new() with that type and domain"
        )


def _known_to_blender(name: Any) -> str:
    """Return the part of a name that Blender, which is written in C, reads."""
    if isinstance(name, bytes):
        name = name.decode("utf-8", "replace")
    return name.partition("\0")[0] if isinstance(name, str) else ""
