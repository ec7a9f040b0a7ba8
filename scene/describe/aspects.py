# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes more aspects of a scene and its objects: materials, nodes, modifiers, animation, users, files.

Every answer has a limit: its reader reads every word, and Blender cannot do anything else while it is made.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, get_args

import bpy

from ..keyframes import blocks_of, curves_of
from ..nodes import tree as node_tree
from ..nodes.values import short
from . import file_info
from .properties import properties_of

__all__ = ("Aspect", "ObjectAspect", "makes_nodes", "read_aspects")

ObjectAspect = Literal["materials", "node_trees", "animation", "users"]
Aspect = Literal[
    "materials", "node_trees", "modifiers", "animation", "collections", "missing_files", "libraries", "users"
]
#: The most nodes in one answer; the remaining trees can be read with get_node_tree.
_MOST_NODES = 120
#: The most lines of text (curves, collections) and data-blocks in one answer, and names of one data-block's users.
_MOST_LINES = 400
_MOST_BLOCKS = 200
_MOST_USERS = 10

#: Reads one aspect of a scene (None: only of the objects) and of objects.
_Reader = Callable[[Any, Sequence[Any], "_Trees"], Any]


def read_aspects(aspects: Iterable[Aspect], scene: Any, objects: Sequence[Any]) -> dict[str, Any]:
    """Read these aspects of the objects, and of the scene if it is not None. Main thread.

    A shortened answer says so: node trees in `left_out`, lines that end in "… more". If `makes_nodes` is true for the
    aspects, call this only when Blender may be changed.
    """
    trees = _Trees()
    found: dict[str, Any] = {
        aspect: _READERS[aspect](scene, objects, trees) for aspect in dict.fromkeys(aspects)
    }
    if trees.left_out:
        found["left_out"] = {"node_trees": trees.left_out[:_MOST_BLOCKS], "instead": "get_node_tree"}
    return found


def makes_nodes(aspects: Iterable[str]) -> bool:
    """Return whether reading these aspects creates temporary nodes to compare with."""
    return not {"materials", "node_trees"}.isdisjoint(aspects)


class _Trees:
    """Reads node trees until there are too many nodes, and lists the trees that it left out."""

    def __init__(self) -> None:
        self._room = _MOST_NODES
        self.left_out: list[str] = []

    def read(self, name: str, tree: Any) -> dict[str, Any] | None:
        count = len(tree.nodes)
        if count > self._room:
            self.left_out.append(name)
            return None
        self._room -= count
        return node_tree.read(tree)


def _materials(_scene: Any, objects: Sequence[Any], trees: _Trees) -> dict[str, Any]:
    """Return the materials of the objects: how many objects use each, and its nodes in the form of get_node_tree."""
    used = _unique(slot.material for item in objects for slot in item.material_slots)
    found: dict[str, Any] = {}
    for material in used[:_MOST_BLOCKS]:
        facts: dict[str, Any] = {"users": material.users}
        nodes = material.node_tree
        if nodes is not None and (bpy.app.version >= (5, 0, 0) or material.use_nodes):
            tree = trees.read(f"material {material.name}", nodes)
            facts |= {"tree": tree} if tree is not None else {}
        else:
            facts["diffuse_color"] = [short(part) for part in material.diffuse_color]
        found[material.name] = facts
    return found


def _node_trees(scene: Any, objects: Sequence[Any], trees: _Trees) -> dict[str, Any]:
    """Return the node trees that the scene and the objects use, without those of materials."""
    found: dict[str, Any] = {}
    for name, tree in _trees_of(scene, objects):
        read = trees.read(name, tree)
        if read is not None:
            found[name] = read
    return found


def _trees_of(scene: Any, objects: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    if scene is not None:
        world = scene.world
        if world is not None and world.node_tree is not None:
            yield f"world {world.name}", world.node_tree
        _, compositor = node_tree.find_tree("scene", scene.name)
        if compositor is not None:
            yield f"scene {scene.name}", compositor
    groups = (getattr(one, "node_group", None) for item in objects for one in item.modifiers)
    for group in _unique(groups):
        yield f"node_group {group.name}", group
    for light in _unique(item.data for item in objects if item.type == "LIGHT"):
        if light.node_tree is not None:
            yield f"light {light.name}", light.node_tree


def _modifiers(_scene: Any, objects: Sequence[Any], _trees: _Trees) -> dict[str, Any]:
    return {
        item.name: [properties_of(one) for one in item.modifiers] for item in objects if len(item.modifiers)
    }


def _animation(scene: Any, objects: Sequence[Any], _trees: _Trees) -> list[str]:
    owners = objects if scene is None else [scene, *objects]
    seen: set[Any] = set()
    return _cut(line for owner in owners for line in _moves(owner, seen))


def _moves(owner: Any, seen: set[Any]) -> Iterator[str]:
    """Yield a line for each curve, driver and NLA track of a data-block and of its data, shape keys and nodes."""
    for block in blocks_of(owner):
        data = block.animation_data
        if data is None or block in seen:
            continue
        seen.add(block)
        of = f"{block.bl_rna.identifier} {block.name}"
        for curve in curves_of(data):
            yield f"{of}: {curve.data_path}[{curve.array_index}]{_keys(curve.keyframe_points)}"
        for driver in data.drivers:
            driven = driver.driver.expression if driver.driver.type == "SCRIPTED" else driver.driver.type
            yield f"{of}: {driver.data_path}[{driver.array_index}] driven by {driven}"
        for track in data.nla_tracks:
            strips = ", ".join(f"{s.name} {s.frame_start:g} to {s.frame_end:g}" for s in track.strips)
            yield f"{of}: NLA track {track.name}{' (muted)' if track.mute else ''}: {strips}"


def _keys(points: Any) -> str:
    if not len(points):
        return " no keys"
    numbers = array("f", bytes(8 * len(points)))
    points.foreach_get("co", numbers)
    frames, values = numbers[::2], numbers[1::2]
    return (
        f" {len(points)} keys, frames {frames[0]:g} to {frames[-1]:g}, "
        f"values {min(values):g} to {max(values):g}"
    )


def _collections(scene: Any, objects: Sequence[Any], _trees: _Trees) -> list[str]:
    """Return the tree of collections, one line each, indented by two spaces for each level."""
    return [] if scene is None else _cut(_branch(scene.collection, 0))


def _branch(collection: Any, depth: int) -> Iterator[str]:
    flags = [flag for flag in ("hide_viewport", "hide_render") if getattr(collection, flag)]
    notes = ", ".join([f"{len(collection.objects)} objects", *flags])
    yield f"{'  ' * depth}{collection.name} ({notes})"
    for child in collection.children:
        yield from _branch(child, depth + 1)


def _users(scene: Any, objects: Sequence[Any], _trees: _Trees) -> dict[str, Any]:
    """Return the users of the data, the materials and the actions of the objects."""
    blocks: list[Any] = []
    for item in objects:
        moved = item.animation_data.action if item.animation_data is not None else None
        blocks += [item.data, moved, *(slot.material for slot in item.material_slots)]
    found: dict[str, Any] = {}
    wanted = _unique(blocks)[:_MOST_BLOCKS]
    every: Any = bpy.data  # the stubs require all arguments
    by = every.user_map(subset=wanted) if wanted else {}
    for block in wanted:
        users = by.get(block, ())
        # Names only the first ten users, in Blender's order.
        some = list(islice(users, _MOST_USERS))
        facts: dict[str, Any] = {"users": block.users, "by": sorted(map(_called, some))}
        if len(users) > len(some):
            facts["more"] = len(users) - len(some)
        found[_called(block)] = facts | ({"fake_user": True} if block.use_fake_user else {})
    return found


def _called(block: Any) -> str:
    return f"{block.bl_rna.identifier} {block.name}"


def _of_file(tell: Callable[[], Any]) -> _Reader:
    def read(scene: Any, _objects: Sequence[Any], _trees: _Trees) -> Any:
        return [] if scene is None else tell()

    return read


def _unique(blocks: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(block for block in blocks if block is not None))


def _cut(lines: Iterator[str]) -> list[str]:
    kept = list(islice(lines, _MOST_LINES))
    more = sum(1 for _ in lines)
    return [*kept, f"… {more} more"] if more else kept


_READERS: Mapping[Aspect, _Reader] = {
    "materials": _materials,
    "node_trees": _node_trees,
    "modifiers": _modifiers,
    "animation": _animation,
    "collections": _collections,
    "missing_files": _of_file(file_info.missing_files),
    "libraries": _of_file(file_info.libraries),
    "users": _users,
}
assert set(_READERS) == set(get_args(Aspect)) > set(get_args(ObjectAspect))
