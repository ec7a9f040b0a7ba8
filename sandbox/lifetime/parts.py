# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds where the parts of a data-block lie now: a node's colour ramp, the targets of a driver, a scene's layers.

Blender has no list of such parts. This module walks through a data-block by the properties that RNA gives its structs
and that a script may read, along those paths only that lead to the wanted struct. A script cannot have reached a part
in another way, so what the walk does not find is gone with the item that held it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import bpy

from ...base.per_type import PerType
from ..facts.policy import policy

__all__ = ("STRUCT", "Found", "find", "prepare")

Found = tuple[list[tuple[int, int, type]], dict[int, type]]
"""The first and last address of arrays with the type of their items, and the types of other items by their address."""

#: Parts of the names of structs of the program and its windows, none of which is ever in a data-block.
_OF_WINDOWS = ("_OT_", "_MT_", "_PT_", "_UL_", "_HT_", "_KSI_", "_GGT_", "_GT_", "_AST_", "_FH_")
#: What a depsgraph shows belongs to other data-blocks, and its instances exist for one turn of a loop only.
_SHOWS_OTHERS = frozenset({"Depsgraph"})
#: Properties that lead back to other collections: if followed, the walk would reach all nodes from each node.
_WAYS_BACK = frozenset("parent node from_node to_node from_socket to_socket internal_links links".split())
#: Data-blocks inside another one: for some of their parts, Blender names the other one as the owner.
_INSIDE = ("shape_keys", "node_tree")
#: From this count on, items at even distances are known by the ends of their array.
_MANY = 1000


class _Edge(NamedTuple):
    """A property that holds structs of the type `kind`; `functions`: the struct of a collection's own functions."""

    name: str
    many: bool
    kind: str
    functions: str


class _Graph:
    """Which structs of this Blender hold which other structs."""

    def __init__(self) -> None:
        self.edges: dict[str, list[_Edge]] = {}
        self.kinds: defaultdict[str, set[str]] = defaultdict(set)
        """The names of a struct and of all that derive from it."""
        readable = policy("blender").readable
        for kind in _structs():
            rna, name = _rna(kind), kind.bl_rna.identifier
            allowed: set[str] = set()
            base = rna
            while base is not None:
                allowed |= readable(base.identifier)
                self.kinds[base.identifier].add(name)
                base = base.base
            self.edges[name] = [
                _edge(prop) for prop in rna.properties if prop.identifier in allowed and _holds(prop)
            ]
        blocks = self.kinds["ID"]
        # RNA does not name the kind of points of shape keys
        self.kinds["UnknownType"] = self.edges.keys() - blocks
        #: The structs that hold a kind, and the structs that hold a struct of functions.
        self._holding: defaultdict[str, set[str]] = defaultdict(set)
        self._offering: defaultdict[str, set[str]] = defaultdict(set)
        for name, edges in self.edges.items():
            self.edges[name] = [
                edge for edge in edges if edge.kind not in blocks and edge.kind not in _SHOWS_OTHERS
            ]
            for edge in self.edges[name]:
                self._holding[edge.kind].add(name)
                self._offering[edge.functions].add(name)
        #: A struct's own name and those of all from which it derives.
        self._bases: defaultdict[str, set[str]] = defaultdict(set)
        for base, names in self.kinds.items():
            for name in names:
                self._bases[name].add(base)

    def leading_to(self, wanted: str) -> dict[str, list[_Edge]]:
        """Return, by struct, the properties that lead to structs of the kind `wanted`, or to its functions."""
        leads: set[str] = set()
        holders = {*self._offering[wanted]}
        waiting = [*holders, *self._bases[wanted]]
        while waiting:
            # a property may hold more than RNA says: any struct that derives from its kind
            for kind in self._bases[waiting.pop()] - leads:
                leads.add(kind)
                new = self._holding[kind] - holders
                holders |= new
                waiting += new
        return {
            name: [edge for edge in self.edges[name] if edge.functions == wanted or edge.kind in leads]
            for name in holders
        }


def _structs() -> list[Any]:
    """Return all structs that data-blocks may have, also those of add-ons, which `bpy.types` does not list."""
    named = [getattr(bpy.types, name) for name in dir(bpy.types) if not any(p in name for p in _OF_WINDOWS)]
    return [kind for kind in (*named, *_derived(bpy.types.PropertyGroup)) if _rna(kind) is not None]


def _derived(kind: Any) -> Iterator[Any]:
    for each in kind.__subclasses__():
        yield each
        yield from _derived(each)


def _rna(kind: Any) -> Any:
    return getattr(kind, "bl_rna", None)


def _holds(prop: Any) -> bool:
    return (
        prop.type in ("POINTER", "COLLECTION")
        and prop.identifier not in ("rna_type", *_WAYS_BACK)
        and prop.fixed_type is not None
    )


def _edge(prop: Any) -> _Edge:
    many = prop.type == "COLLECTION"
    functions = prop.srna.identifier if many and prop.srna is not None else ""
    return _Edge(prop.identifier, many, prop.fixed_type.identifier, functions)


@cache
def _graph() -> _Graph:
    return _Graph()


@cache
def _leading_to(wanted: str) -> dict[str, list[_Edge]]:
    return _graph().leading_to(wanted)


def prepare() -> None:
    """Read Blender's structs once, before the script: the collector must not show the result as the script's."""
    _graph()


def find(owner: Any, wanted: str) -> Found:
    """Return the structs of the kind `wanted` in a data-block; nothing if no property leads to them from there.

    If `wanted` is a struct of functions, return the structs on which a script calls these, with the type `wanted`.
    """
    leading, of_kind = _leading_to(wanted), _graph().kinds
    ranges: list[tuple[int, int, type]] = []
    items: dict[int, type] = {}
    blocks = [owner, *(block for name in _INSIDE if (block := getattr(owner, name, None)) is not None)]
    seen = {(block.as_pointer(), type(block)) for block in blocks}
    waiting = [*blocks]
    while waiting:
        value = waiting.pop()
        for edge in leading.get(STRUCT[type(value)], ()):
            if edge.functions == wanted:
                items[value.as_pointer()] = getattr(bpy.types, wanted)
            held = getattr(value, edge.name)
            if edge.many and wanted in of_kind[edge.kind] and (ends := _ends(held, of_kind[wanted])):
                ranges.append(ends)
                if edge.kind not in leading:
                    continue
            for part in held.values() if edge.many else (held,):
                struct = STRUCT[type(part)]
                if part is None or not (struct in of_kind[wanted] or struct in leading):
                    continue
                if part.id_data not in blocks:
                    continue
                pointer = part.as_pointer()
                if struct in of_kind[wanted]:
                    items[pointer] = type(part)
                if (pointer, type(part)) not in seen:
                    seen.add((pointer, type(part)))
                    waiting.append(part)
    return ranges, items


def _nearest(kind: Any) -> str:
    rna = _rna(kind)
    while rna is not None:
        if rna.identifier in _graph().edges:
            return str(rna.identifier)
        rna = rna.base
    return ""


STRUCT = PerType(_nearest, bpy.types.bpy_struct)
"""The RNA struct of a Python type of Blender's, or its nearest base in RNA; "" if no data-block has such a struct."""


def _ends(items: Any, kinds: set[str]) -> tuple[int, int, type] | None:
    """Return the first and last address of many items of these kinds, if they lie as in an array, and their type."""
    count = len(items)
    if count < _MANY or STRUCT[type(items[0])] not in kinds:
        return None
    first, second, middle, last = (items[i].as_pointer() for i in (0, 1, count // 2, count - 1))
    size = second - first
    even = size > 0 and middle == first + size * (count // 2) and last == first + size * (count - 1)
    return (first, last, type(items[0])) if even else None
