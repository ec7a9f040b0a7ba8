# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the parts of a data-block lie now: a colour ramp of a node, the targets of a driver, the layers of a scene.

There is no list of such parts. What a data-block holds is walked by the properties that RNA gives its structs and that
a script may read, along those paths only that lead to the wanted kind. A script cannot have come to a part by another
way, so what the walk does not find is gone with the item that held it.
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
"""The first and last address of arrays, with the type of their items; the types of other items by their address."""

#: Structs of the program and its windows have names with such a part, and none is ever in a data-block.
_OF_WINDOWS = ("_OT_", "_MT_", "_PT_", "_UL_", "_HT_", "_KSI_", "_GGT_", "_GT_", "_AST_", "_FH_")
#: What a depsgraph shows belongs to other data-blocks, and its instances are there for one turn of a loop only.
_SHOWS_OTHERS = frozenset({"Depsgraph"})
#: Ways back to what lies in a collection of its own: followed, all nodes would be walked from each.
_WAYS_BACK = frozenset("parent node from_node to_node from_socket to_socket internal_links links".split())
#: Data-blocks that are parts of another: Blender says of some of their parts that they are the other's.
_INSIDE = ("shape_keys", "node_tree")
#: From this many on, items that lie at even distances are known by the ends of their array.
_MANY = 1000


class _Edge(NamedTuple):
    """A property that holds structs: `kind` is what RNA says of them, `functions` the struct of its own functions."""

    name: str
    many: bool
    kind: str
    functions: str


class _Graph:
    """Which structs of this Blender hold which."""

    def __init__(self) -> None:
        self.edges: dict[str, list[_Edge]] = {}
        self.kinds: defaultdict[str, set[str]] = defaultdict(set)
        """Names of a struct and all that derive from it."""
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
        # of points of shape keys RNA does not say of which kind they are
        self.kinds["UnknownType"] = self.edges.keys() - blocks
        #: Structs that hold a kind, and that hold a struct of functions.
        self._holding: defaultdict[str, set[str]] = defaultdict(set)
        self._offering: defaultdict[str, set[str]] = defaultdict(set)
        for name, edges in self.edges.items():
            self.edges[name] = [
                edge for edge in edges if edge.kind not in blocks and edge.kind not in _SHOWS_OTHERS
            ]
            for edge in self.edges[name]:
                self._holding[edge.kind].add(name)
                self._offering[edge.functions].add(name)
        #: A struct's own name and those of all that it derives from.
        self._bases: defaultdict[str, set[str]] = defaultdict(set)
        for base, names in self.kinds.items():
            for name in names:
                self._bases[name].add(base)

    def leading_to(self, wanted: str) -> dict[str, list[_Edge]]:
        """By struct, the properties through which structs of the kind `wanted`, or its functions, are reached."""
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
    """All structs that data-blocks may have, those of add-ons too, which `bpy.types` does not list."""
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
    """Look at Blender's structs, once: what that makes must not be among what the collector shows of a script."""
    _graph()


def find(owner: Any, wanted: str) -> Found:
    """The structs of the kind `wanted` in a data-block.

    For a struct of functions: what they are called on, as of that struct. Nothing where no property leads to such
    structs from there.
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
"""The struct of RNA that a Python type of Blender's is of, or derives from; "" for none that a data-block may have."""


def _ends(items: Any, kinds: set[str]) -> tuple[int, int, type] | None:
    """Addresses of the first and last of many items of these kinds, if all lie as in an array, and their type."""
    count = len(items)
    if count < _MANY or STRUCT[type(items[0])] not in kinds:
        return None
    first, second, middle, last = (items[i].as_pointer() for i in (0, 1, count // 2, count - 1))
    size = second - first
    even = size > 0 and middle == first + size * (count // 2) and last == first + size * (count - 1)
    return (first, last, type(items[0])) if even else None
