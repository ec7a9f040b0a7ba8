# SPDX-License-Identifier: GPL-3.0-or-later
"""References to what Blender has freed: made invalid, as Blender itself does for removed data-blocks.

A reference to a vertex, bone, socket or modifier is a bare pointer. When the array behind it moves or the item is
removed, the next use reads or writes freed memory and takes Blender down. Blender knows how to say "has been removed"
— its check is the reference's type being null — but only does so for whole data-blocks. So after every step that may
free such items, the references that the script still holds are found (by the garbage collector, which has only the
script's own objects to show), compared with what the data-block has now, and those that point nowhere are given a
null type. The layout of a reference is not guessed: it is found, and checked three ways, in a reference whose
pointers are known; where it is not found, references are left as they are.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import compress
from typing import Any

import bmesh
import bpy
import mathutils

__all__ = ("FRAGILE", "FREEING", "Stale")

_WORD = ctypes.sizeof(ctypes.c_void_p)
_VECTORS = (mathutils.Vector, mathutils.Euler, mathutils.Quaternion, mathutils.Matrix, mathutils.Color)

_REFERENCES = (bpy.types.bpy_struct, bpy.types.bpy_prop, bpy.types.bpy_func)
#: Elements of arrays that grow while scripts hold their points: read through the host, so that a sweep can wait.
FRAGILE = frozenset(
    "BezierSplinePoint SplinePoint Keyframe GPencilStrokePoint CurveMapPoint MaskSplinePoint".split()
)

#: Functions after which items of their data-block may be gone or have moved.
FREEING = frozenset(
    """
    remove clear pop clear_geometry resize add insert sort deduplicate from_pydata update_from_editmode add_strokes
    remove_strokes resize_strokes reorder_strokes add_curves remove_curves resize_curves new_socket new_panel move
    move_to_parent convert_to_samples convert_to_keyframes from_string shape_key_add shape_key_remove
    shape_key_clear animation_data_clear
    """.split()
)
#: `new` moves what is there only where layers lie in one array.
_MOVED_BY_NEW = frozenset(
    "AttributeGroup AttributeGroupMesh AttributeGroupCurves AttributeGroupPointCloud UVLoopLayers LoopColors".split()
)
#: Operators after which nothing that existed in object mode has moved.
_HARMLESS = ("object.select", "transform.", "object.shade_", "mesh.primitive_", "curve.primitive_", "view3d.")


def frees(struct: str, function: str) -> bool:
    """Whether a call of `struct.function` may leave references behind; removed data-blocks Blender knows itself."""
    if struct.startswith(("BlendData", "Collection", "IDMaterials", "Text")) or struct == "VertexGroup":
        return False
    return function in FREEING or (function == "new" and struct in _MOVED_BY_NEW)


class Stale:
    """Finds and invalidates the references of one run. `open` before the script runs, `close` after it."""

    def __init__(self) -> None:
        self._slot = _type_slot()
        self._kinds: dict[type, bool] = {}
        #: Collections become an empty one, functions one that does nothing: Blender reads these without a check.
        self._donors: dict[type, Any] = {}
        self._member: dict[type, int] = {}
        self._find_donors()
        self._variables: dict[str, Any] = {}
        self._pending = False
        self._aliased = False
        self._spared: list[Any] = []

    def _find_donors(self) -> None:
        manager = bpy.context.window_manager
        nothing = bpy.types.ID.bl_rna.functions["user_clear"].parameters
        for donor, member in (
            (nothing, bpy.types.Function.bl_rna.properties["parameters"]),
            (manager.progress_end, manager.bl_rna.functions["progress_end"]),
        ):
            at = [i for i, word in enumerate(_words(donor)) if word == member.as_pointer()]
            if len(at) == 1:
                self._donors[type(donor)] = donor
                self._member[type(donor)] = at[0]

    def open(self, variables: dict[str, Any]) -> None:
        """From now on the garbage collector shows only what the script makes; `variables` are its globals."""
        self._variables = variables
        gc.freeze()

    def close(self) -> None:
        """Give the collector everything back."""
        gc.unfreeze()
        self._spared.clear()

    def read_fragile(self, *, aliases: bool) -> None:
        """An element of a growing array is about to be used; `aliases`: the script gets a view of its memory."""
        if self._pending:
            self.sweep()
        self._aliased = self._aliased or aliases

    def after_call(self, owner: Any, function: str) -> None:
        """A function of `owner` was called that may have freed something."""
        if not self._aliased and function in ("add", "insert", "sort") and _kind(owner) in _GROWING:
            self._pending = True
        else:
            self.sweep()

    def after_operator(self, idname: str) -> None:
        """An operator ran."""
        if bpy.context.mode == "OBJECT" and idname.startswith(_HARMLESS):
            return
        self.sweep()

    def sweep(self) -> None:
        """Invalidate every reference that points to nothing any more."""
        self._pending = False
        if self._slot is None:
            return
        now = _Now()
        for value in self._held(self._may_refer):
            reference = value.owner if type(value) in _VECTORS else value
            if self._is_reference(type(reference)):
                self._look_at(reference, now)

    def free(self, mesh: Any) -> None:
        """`mesh.free()`, where the script holds nothing of its layers: such a pointer nothing invalidates.

        Else the mesh lives as long as the run.
        """
        if any(map(_is_loose, self._held(_may_be_loose))):
            self._spared.append(mesh)
        else:
            mesh.free()

    def holds_properties(self) -> bool:
        """Whether the script holds a group or array of custom properties, or a view of one."""
        return bool(self._held(lambda kind: kind.__name__.startswith("IDProperty")))

    def _held(self, wanted_kind: Callable[[type], bool]) -> Iterable[Any]:
        """All that the script holds of some kinds: what the collector tracks, what that refers to, and its variables.

        The collector does not track collections and functions of Blender's, so these are found in what holds them.
        """
        found = gc.get_objects()
        found += gc.get_referents(*found, self._variables)
        frame = sys._getframe()
        while frame is not None:
            if frame.f_globals is self._variables:
                found += frame.f_locals.values()
            frame = frame.f_back  # type: ignore[assignment]
        kinds = set(map(type, found))
        wanted = set(filter(wanted_kind, kinds))
        # there may be millions, nearly all of them plain values: no line of Python is run for each
        held = compress(found, map(wanted.__contains__, map(type, found)))
        return {id(value): value for value in held}.values()

    def _may_refer(self, kind: type) -> bool:
        return kind in _VECTORS or self._is_reference(kind)

    def _is_reference(self, kind: type) -> bool:
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = issubclass(kind, _REFERENCES)
        return known

    def _look_at(self, reference: Any, now: _Now) -> None:
        """Invalidate a reference whose item is gone. The item itself is never touched: it may be freed memory."""
        assert self._slot is not None
        block, kind, pointer = _words(reference)[self._slot - 1 : self._slot + 2]
        root = _roots().get(kind)
        if root is None:
            return
        try:
            # A function knows its data-block and does not show it.
            owner = now.block(block) if type(reference) is bpy.types.bpy_func else reference.id_data
        except ReferenceError:
            return
        if owner is not None and not now.has(owner, root, pointer):
            self._invalidate(reference)

    def _invalidate(self, reference: Any) -> None:
        """A null type, as Blender does; where Blender forgets to look at it, something harmless instead."""
        assert self._slot is not None
        donor = self._donors.get(type(reference))
        if donor is None:
            _words(reference)[self._slot] = 0
            return
        theirs, mine = _words(donor), _words(reference)
        for at in (*range(self._slot - 1, self._slot + 2), self._member[type(donor)]):
            mine[at] = theirs[at]


@cache
def _roots() -> dict[int, str]:
    """Under which struct of `_ITEMS` the items of an RNA type are looked up, by the type's pointer."""
    found: dict[int, str] = {}
    for name in dir(bpy.types):
        if name[0] == "_" or any(mark in name for mark in ("_OT_", "_PT_", "_MT_", "_HT_", "_UL_")):
            continue
        kind = getattr(bpy.types, name)
        if isinstance(kind, type) and issubclass(kind, bpy.types.bpy_struct):
            names = {base.__name__ for base in kind.__mro__}
            root = next((root for root in _ITEMS if root in names), None)
            if root is not None:
                found[kind.bl_rna.as_pointer()] = root
    return found


_LAYER_DATA = (bmesh.types.BMLoopUV, bmesh.types.BMDeformVert)


def _may_be_loose(kind: type) -> bool:
    return kind in _VECTORS or kind in _LAYER_DATA


def _is_loose(value: Any) -> bool:
    """Whether this points into memory that it does not know the owner of."""
    return type(value) in _LAYER_DATA or (value.is_wrapped and value.owner is None)


def _kind(owner: Any) -> str:
    return str(getattr(getattr(owner, "rna_type", None), "identifier", ""))


_GROWING = frozenset("SplinePoints SplineBezierPoints FCurveKeyframePoints GPencilStrokePoints".split())


def _words(reference: Any) -> Any:
    """The memory of one of Blender's references, word by word."""
    return _words_type(type(reference).__basicsize__ // _WORD).from_address(id(reference))


@cache
def _words_type(count: int) -> Any:
    return ctypes.c_size_t * count


def _type_slot() -> int | None:
    """Which word of a reference is its type: the one between the data-block's pointer and the item's own."""
    scene = bpy.data.scenes[0]
    found = set()
    for item in (scene.render, scene.display, scene.unit_settings):
        words = _words(item)
        wanted = [scene.as_pointer(), item.bl_rna.as_pointer(), item.as_pointer()]
        at = [i for i in range(len(words) - 2) if list(words[i : i + 3]) == wanted]
        found.add(at[0] + 1 if len(at) == 1 else None)
    return found.pop() if len(found) == 1 else None


# --- what a data-block has now ------------------------------------------------------------------------------

Items = Callable[[Any], Iterable[Any]]


class _Now:
    """Pointers of the items that exist now, per data-block and kind, looked up once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], tuple[list[tuple[int, int]], set[int]]] = {}
        self._blocks: dict[int, Any] = {}

    def block(self, pointer: int) -> Any:
        """The data-block at `pointer`, or None."""
        if not self._blocks:
            found = [block for each in bpy.data.bl_rna.properties for block in _blocks(each)]
            found += [block.node_tree for block in found if getattr(block, "node_tree", None) is not None]
            self._blocks = {block.as_pointer(): block for block in found}
        return self._blocks.get(pointer)

    def has(self, owner: Any, root: str, pointer: int) -> bool:
        """Whether an item of the kind `root` still lies at `pointer` in its data-block."""
        key = (owner.as_pointer(), root)
        if key not in self._known:
            self._known[key] = self._look(owner, root)
        ranges, pointers = self._known[key]
        return pointer in pointers or any(low <= pointer <= high for low, high in ranges)

    def _look(self, owner: Any, root: str) -> tuple[list[tuple[int, int]], set[int]]:
        ranges: list[tuple[int, int]] = []
        pointers: set[int] = set()
        for found in _ITEMS[root](owner):
            if isinstance(found, bpy.types.bpy_struct):
                pointers.add(found.as_pointer())
            elif len(found):
                ranges.append((found[0].as_pointer(), found[len(found) - 1].as_pointer()))
        return ranges, pointers


def _blocks(prop: Any) -> list[Any]:
    if prop.type != "COLLECTION" or prop.identifier == "all_ids":
        return []
    return [block for block in getattr(bpy.data, prop.identifier) if isinstance(block, bpy.types.ID)]


def _of(*names: str) -> Items:
    """Single collections of the data-block itself, as arrays."""
    return lambda owner: [getattr(owner, name) for name in names if hasattr(owner, name)]


def _each(name: str) -> Items:
    """The items of a collection of the data-block, one by one."""
    return lambda owner: getattr(owner, name, ())


def _curves(owner: Any) -> Iterator[Any]:
    """F-curves of an action (of all its slots), and drivers."""
    if hasattr(owner, "fcurves"):
        yield from owner.fcurves
    for layer in getattr(owner, "layers", ()) if hasattr(owner, "slots") else ():
        for strip in layer.strips:
            for bag in getattr(strip, "channelbags", ()):
                yield from bag.fcurves
    animation = getattr(owner, "animation_data", None)
    if animation is not None:
        yield from animation.drivers


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
    """The node tree that a data-block is or has: sockets and nodes name the tree as their owner."""
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


def _interface(owner: Any) -> Iterator[Any]:
    interface = getattr(owner, "interface", None)
    yield from interface.items_tree if interface is not None else ()


def _layer_data(owner: Any) -> Iterator[Any]:
    """The arrays of a mesh's layers."""
    for layer in getattr(owner, "attributes", ()):
        yield layer.data
    for name in ("uv_layers", "vertex_colors", "skin_vertices"):
        for layer in getattr(owner, name, ()):
            yield layer.data


def _layers(owner: Any) -> Iterator[Any]:
    for name in ("attributes", "uv_layers", "vertex_colors", "color_attributes"):
        yield from getattr(owner, name, ())


def _strips(owner: Any) -> Iterator[Any]:
    animation = getattr(owner, "animation_data", None)
    for track in animation.nla_tracks if animation is not None else ():
        yield from track.strips


def _tracks(owner: Any) -> Iterator[Any]:
    animation = getattr(owner, "animation_data", None)
    yield from animation.nla_tracks if animation is not None else ()


#: Where the items of a kind are found in their data-block: arrays as collections, all else one by one.
_ITEMS: dict[str, Items] = {
    "MeshVertex": _of("vertices"),
    "MeshEdge": _of("edges"),
    "MeshPolygon": _of("polygons"),
    "MeshLoopTriangle": _of("loop_triangles"),
    "MeshLoop": _of("loops"),
    "FloatAttributeValue": _layer_data,
    "IntAttributeValue": _layer_data,
    "FloatVectorAttributeValue": _layer_data,
    "FloatColorAttributeValue": _layer_data,
    "ByteColorAttributeValue": _layer_data,
    "BoolAttributeValue": _layer_data,
    "Float2AttributeValue": _layer_data,
    "MeshLoopColor": _layer_data,
    "Attribute": _layers,
    "MeshUVLoopLayer": _layers,
    "MeshLoopColorLayer": _layers,
    "EditBone": _each("edit_bones"),
    "Bone": _each("bones"),
    "PoseBone": _pose_bones,
    "Constraint": _constraints,
    "Modifier": _each("modifiers"),
    "VertexGroup": _each("vertex_groups"),
    "ParticleSystem": _each("particle_systems"),
    "ShapeKey": _each("key_blocks"),
    "NodeSocket": _sockets,
    "NodeLink": _links,
    "Node": _nodes,
    "NodeTreeInterfaceItem": _interface,
    "Spline": _each("splines"),
    "SplinePoint": lambda owner: (s.points for s in getattr(owner, "splines", ())),
    "BezierSplinePoint": lambda owner: (s.bezier_points for s in getattr(owner, "splines", ())),
    "MetaElement": _each("elements"),
    "LatticePoint": _of("points"),
    "FCurve": _curves,
    "Keyframe": _keyframes,
    "NlaTrack": _tracks,
    "NlaStrip": _strips,
    "TimelineMarker": _each("timeline_markers"),
}
