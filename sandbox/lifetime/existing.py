# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists what a data-block has now: the addresses of the items that a script's references may point to.

An item is looked up by its data-block and its root: the struct of `_ITEMS` from which the item's type derives. An item
of another type is looked up by its own struct, and `parts` finds it by RNA alone. Items in an array are known by the
array's ends, all others one by one. Each is known with its type, because Blender may have given the memory of one item
to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import bpy

from ...scene.keyframes import curves_of_action, strips, tracks
from . import parts

__all__ = ("ATTRIBUTE_VALUES", "KindsByPointer", "Now", "arrays", "attributes", "root_of")

# Blender searches its types each time that code names one
_ID, _ACTION, _MESH = bpy.types.ID, bpy.types.Action, bpy.types.Mesh
Items = Callable[[Any], Iterable[Any]]


def root_of(kind: type) -> str | None:
    """Return the root of a type of Blender's; None for what Blender itself invalidates, or what is never freed."""
    if issubclass(kind, _LASTING):
        return None
    names = {base.__name__ for base in kind.__mro__}
    return next((root for root in _ITEMS if root in names), None) or parts.STRUCT[kind] or kind.__name__


#: Data-blocks, which Blender itself invalidates, and what lasts as long as the program: RNA and its main structs.
_LASTING = tuple(
    getattr(bpy.types, name)
    for name in "ID Context BlendData BlendFileColorspace Struct Property Function EnumPropertyItem".split()
    if hasattr(bpy.types, name)  # the colour space of a file came with Blender 5.0
)


class KindsByPointer(dict[int, type]):
    """Python types by the address of their RNA type, by which collections and functions know their owner. For one run.

    Whoever holds a collection or function has had its owner, so Blender has made the owner's Python type. Blender's own
    types stay where they are; those of add-ons and node groups may be gone in the next run, and others may lie there.
    If no type of Blender's lies at the address, the value is `NoneType`, of which no item exists.
    """

    def __missing__(self, pointer: int) -> type:
        if pointer not in _lasting:
            kinds = [bpy.types.bpy_struct]
            while kinds:
                kind = kinds.pop()
                if kind not in _OF_WINDOWS:
                    kinds += type.__subclasses__(kind)
                    if kind not in _walked and "bl_rna" in vars(kind) and _has_struct(kind):
                        self._note(kind)
        found = self[pointer] = self.get(pointer) or _lasting.get(pointer, type(None))
        return found

    def _note(self, kind: Any) -> None:
        if kind.__module__ in _BLENDERS and not issubclass(kind, bpy.types.PropertyGroup):
            _lasting[kind.bl_rna.as_pointer()] = kind
            _walked.add(kind)
        else:
            self[kind.bl_rna.as_pointer()] = kind


def _has_struct(kind: type) -> bool:
    """Return whether `kind.bl_rna` may be read: Blender still has the struct of this type.

    Blender frees the struct of an operator with its add-on, but not the Python type, whose `bl_rna` then lies in freed
    memory. From a type that an add-on made, it takes `bl_rna` away.
    """
    return kind.__module__ not in _BLENDERS or getattr(bpy.types, kind.__name__, None) is kind


_lasting: dict[int, type] = {}
_walked: set[type] = set()
#: Modules of the types that Blender itself makes.
_BLENDERS = frozenset({"bpy.types", "bpy_types", "_bpy_types"})
#: Thousands of types derive from these, and none is ever an item of a data-block.
_OF_WINDOWS = frozenset(
    getattr(bpy.types, name)
    for name in """
    Panel Menu Header UIList Operator OperatorProperties Macro KeyingSetInfo Gizmo GizmoProperties GizmoGroupProperties
    """.split()
)


class Now:
    """The items that exist now, by data-block and root; each kind is looked up once."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, str], parts.Found] = {}
        self._searched: dict[tuple[Any, Items], parts.Found] = {}
        self._blocks: dict[int, Any] = {}

    def block(self, pointer: int) -> Any:
        """Return the data-block at `pointer`, or None."""
        if not self._blocks:
            found = [block for each in bpy.data.bl_rna.properties for block in _blocks(each)]
            found += [held for block in found for held in _embedded(block) if held is not None]
            self._blocks = {block.as_pointer(): block for block in found}
        return self._blocks.get(pointer)

    def has(self, owner: Any, root: str, pointer: int, kind: type) -> bool:
        """Return whether an item under `root`, of the type `kind`, still lies at `pointer` in its data-block.

        Without an owner, it looks among what no data-block owns.
        """
        found = self._found.get((owner, root))
        if found is None:
            found = self._found[owner, root] = _NOTHING  # stays if the search fails
            found = self._found[owner, root] = self._search(owner, root)
        ranges, items = found
        there = items.get(pointer)
        if there is not None:
            return there is kind or issubclass(there, kind)
        return any(low <= pointer <= high and issubclass(there, kind) for low, high, there in ranges)

    def _search(self, owner: Any, root: str) -> parts.Found:
        find = _ITEMS.get(root)
        if owner is None:
            return [], _unowned(root)
        if find is None:
            return parts.find(owner, root)
        if (owner, find) not in self._searched:  # several roots are found in the same place
            self._searched[owner, find] = _addresses(owner, find)
        return self._searched[owner, find]


_NOTHING: parts.Found = ([], {})


def _unowned(root: str) -> dict[int, type]:
    """Return what no data-block owns: the depsgraphs of view layers, and the updates in them."""
    layers = [layer for scene in bpy.data.scenes for layer in scene.view_layers]
    graphs = [layer.depsgraph for layer in layers if layer.depsgraph is not None]
    if root == "Depsgraph":
        return {graph.as_pointer(): type(graph) for graph in graphs}
    if root == "DepsgraphUpdate":
        return {block.as_pointer(): bpy.types.DepsgraphUpdate for graph in graphs for block in graph.ids}
    return {}


def arrays(owner: Any, root: str) -> Iterable[Any]:
    """Return the collections with the items under a root, where these are arrays."""
    return _ITEMS[root](owner)


def _addresses(owner: Any, find: Items) -> parts.Found:
    ranges: list[tuple[int, int, type]] = []
    items: dict[int, type] = {}
    for found in find(owner):
        if isinstance(found, bpy.types.bpy_struct):
            items[found.as_pointer()] = type(found)
        elif len(found):
            ranges.append((found[0].as_pointer(), found[len(found) - 1].as_pointer(), type(found[0])))
    return ranges, items


def _embedded(block: Any) -> tuple[Any, Any]:
    """Return the data-blocks inside another one: no collection of `bpy.data` holds them."""
    return getattr(block, "node_tree", None), getattr(block, "collection", None)


def _blocks(prop: Any) -> list[Any]:
    if prop.type != "COLLECTION" or prop.identifier == "all_ids":
        return []
    return [block for block in getattr(bpy.data, prop.identifier) if isinstance(block, _ID)]


def _of(*names: str) -> Items:
    """Return a function that lists these collections of the data-block, as arrays."""
    return lambda owner: [getattr(owner, name) for name in names if hasattr(owner, name)]


def _each(name: str) -> Items:
    """Return a function that lists the items of a collection of the data-block one by one."""
    return lambda owner: getattr(owner, name, ())


def _one(name: str) -> Items:
    """Return a function that lists the value of a property of the data-block, if there is one."""
    return lambda owner: [held] if (held := getattr(owner, name, None)) is not None else []


def _curves(owner: Any) -> Iterator[Any]:
    """Yield the F-curves of an action (of all its slots), and the drivers of a data-block."""
    if isinstance(owner, _ACTION):
        yield from curves_of_action(owner)
    animation = getattr(owner, "animation_data", None)
    if animation is not None:
        yield from animation.drivers
    for strip in strips(owner):
        yield from strip.fcurves


def _keyframes(owner: Any) -> Iterator[Any]:
    for curve in _curves(owner):
        yield curve.keyframe_points


def _constraints(owner: Any) -> Iterator[Any]:
    yield from getattr(owner, "constraints", ())
    pose = getattr(owner, "pose", None)
    for bone in pose.bones if pose is not None else ():
        yield from bone.constraints


def _pose_bones(owner: Any) -> Iterator[Any]:
    pose = getattr(owner, "pose", None)
    yield from pose.bones if pose is not None else ()


def _trees(owner: Any) -> Iterator[Any]:
    """Yield the node tree that a data-block is or has: sockets and nodes name the tree as their owner."""
    yield owner if hasattr(owner, "nodes") else getattr(owner, "node_tree", None)


def _nodes(owner: Any) -> Iterator[Any]:
    for tree in _trees(owner):
        yield from tree.nodes if tree is not None else ()


def _sockets(owner: Any) -> Iterator[Any]:
    for node in _nodes(owner):
        yield from node.inputs
        yield from node.outputs


def _links(owner: Any) -> Iterator[Any]:
    for tree in _trees(owner):
        yield from tree.links if tree is not None else ()
    for node in _nodes(owner):
        yield from node.internal_links


def _interface(owner: Any) -> Iterator[Any]:
    interface = getattr(owner, "interface", None)
    yield from interface.items_tree if interface is not None else ()


def attributes(owner: Any) -> Iterator[tuple[int, Any]]:
    """Yield the layers of a data-block with 0, and those of each drawing in it with the drawing's address."""
    yield 0, getattr(owner, "attributes", ())
    if not isinstance(owner, _MESH):
        for layer in getattr(owner, "layers", ()):
            for frame in layer.frames:
                drawing = getattr(frame, "drawing", None)  # annotations have none
                if drawing is not None:
                    yield drawing.as_pointer(), drawing.attributes


def _layers(owner: Any) -> Iterator[Any]:
    for _drawing, layers in attributes(owner):
        yield from layers


def _layer_data(owner: Any) -> Iterator[Any]:
    """Yield the arrays of the layers of a data-block and its drawings."""
    for layer in _layers(owner):
        yield layer.data
    for name in ("uv_layers", "vertex_colors", "skin_vertices"):
        for layer in getattr(owner, name, ()):
            yield layer.data
    yield from _of("position_data")(owner)


def _markers(owner: Any) -> Iterator[Any]:
    for name in ("timeline_markers", "pose_markers"):
        yield from getattr(owner, name, ())


ATTRIBUTE_VALUES = frozenset(name for name in dir(bpy.types) if name.endswith("AttributeValue"))
"""The structs of layer values, one for each type of layer of this Blender."""
#: Where the items of a root are found in their data-block: arrays as collections, all others one by one.
_ITEMS: dict[str, Items] = {
    "MeshVertex": _of("vertices"),
    "MeshEdge": _of("edges"),
    "MeshPolygon": _of("polygons"),
    "MeshLoopTriangle": _of("loop_triangles"),
    "MeshLoop": _of("loops"),
    **dict.fromkeys(ATTRIBUTE_VALUES, _layer_data),
    "MeshLoopColor": _layer_data,
    "MeshUVLoop": _layer_data,
    "CurveSlice": _of("curves"),
    "CurvePoint": _of("points"),
    "Point": _of("points"),
    "Attribute": _layers,  # a layer lies at one address under all its names, with a type for each
    "MeshUVLoopLayer": _each("uv_layers"),
    "MeshLoopColorLayer": _each("vertex_colors"),
    "EditBone": _each("edit_bones"),
    "Bone": _each("bones"),
    "PoseBone": _pose_bones,
    "Constraint": _constraints,
    "Modifier": _each("modifiers"),
    "VertexGroup": _each("vertex_groups"),
    "ParticleSystem": _each("particle_systems"),
    "ShapeKey": lambda owner: getattr(getattr(owner, "shape_keys", None) or owner, "key_blocks", ()),
    "NodeSocket": _sockets,
    "NodeLink": _links,
    "Node": _nodes,
    "NodeTreeInterfaceItem": _interface,
    "NodeTreeInterface": _one("interface"),
    "ViewLayer": _each("view_layers"),
    "RenderSettings": _one("render"),
    "AnimData": _one("animation_data"),
    "RigidBodyObject": _one("rigid_body"),
    "Spline": _each("splines"),
    "SplinePoint": lambda owner: (s.points for s in getattr(owner, "splines", ())),
    "BezierSplinePoint": lambda owner: (s.bezier_points for s in getattr(owner, "splines", ())),
    "MetaElement": _each("elements"),
    "LatticePoint": _of("points"),
    "FCurve": _curves,
    "Keyframe": _keyframes,
    "NlaTrack": tracks,
    "NlaStrip": strips,
    "TimelineMarker": _markers,
}
