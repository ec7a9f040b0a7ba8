# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses arguments that belong elsewhere: an item of another collection, or a part of another data-block.

Many functions of Blender's take an item without a look whether it is theirs: they unlink it from a list in which it is
not, and damage both lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import bpy

from ...facts.members import names
from .parameters import parameters

__all__ = ("check_items", "given_parts", "own_items")

_TAKING_OTHERS = names("functions that take another's item")
_SEARCHING = names("functions that search their collection")
_OF_ONE_BLOCK = names("functions of one data-block's parts")


@cache
def own_items(path: str) -> frozenset[str]:
    """Return the parameters of `Struct.function` that have to be items of the collection whose function it is."""
    if path in _TAKING_OTHERS or path in _SEARCHING or path in _OF_ONE_BLOCK:
        return frozenset()
    items = _items(path.partition(".")[0])
    return frozenset(
        name for name, kind in _parts(path) if any(kind <= item or item <= kind for item in items)
    )


@cache
def given_parts(path: str) -> frozenset[str]:
    """Return the other parameters of `Struct.function` that have to be parts of the same data-block."""
    if path in _TAKING_OTHERS or path in _SEARCHING:
        return frozenset()
    if path not in _OF_ONE_BLOCK and not _items(path.partition(".")[0]):
        return frozenset()
    return frozenset(name for name, _kind in _parts(path)) - own_items(path)


def check_items(path: str, owner: Any, arguments: Mapping[str, Any]) -> None:
    """Check the arguments of `own_items` and `given_parts`.

    Raises:
        RuntimeError: one belongs elsewhere, or a group would hold itself.
    """
    block = owner.id_data
    for name in given_parts(path) & arguments.keys():
        of = getattr(arguments[name], "id_data", None)
        if of is not None and of != block:
            raise RuntimeError(
                f"{path}(): {name} is part of {of.name!r}, not of {block.name!r}: give what belongs to {block.name!r}"
            )
    own = own_items(path) & arguments.keys()
    for name in own:
        item = arguments[name]
        if isinstance(item, bpy.types.bpy_struct) and not _holds(path, owner, item):
            raise RuntimeError(
                f"{path}(): {name} is not in this collection: call it on the collection that holds it"
            )
    if len(own) > 1 and "parent_group" in own:
        _check_parent(path, arguments)


def _holds(path: str, owner: Any, item: Any) -> bool:
    collection = owner.id_data.collections_all if path.startswith("BoneCollections.") else owner
    key = item.rna_type.name_property
    if (
        key is not None and collection.get(getattr(item, key.identifier)) == item
    ):  # C code searches for the name
        return True
    address = item.as_pointer()  # the types of two references to one item may differ
    return any(each is not None and (each == item or each.as_pointer() == address) for each in collection)


def _check_parent(path: str, arguments: Mapping[str, Any]) -> None:
    """Refuse to move a group into itself or what it holds: Blender would look for the end of a ring."""
    moved = [value for name, value in arguments.items() if name in own_items(path) - {"parent_group"}]
    parent = arguments["parent_group"]
    while parent is not None:
        if parent in moved:
            raise RuntimeError(f"{path}(): {parent.name!r} would hold itself: choose a group outside of it")
        parent = parent.parent_group


@cache
def _items(struct: str) -> frozenset[frozenset[str]]:
    """Return the lineages of a collection's items: of what its functions make or remove.

    A walk over all properties would tell as well, but it makes Blender keep a reference to each of its types, and each
    search for references would look at these.
    """
    rna: Any = getattr(getattr(bpy.types, struct, None), "bl_rna", None)
    makes = (
        _lineage(each.fixed_type)
        for function in (rna.functions if rna is not None else ())
        for each in function.parameters
        if each.type == "POINTER" and each.is_output and function.identifier.startswith(("new", "add"))
    )
    removes = (kind for _name, kind in _parts(f"{struct}.remove"))
    return frozenset(kind for kind in (*makes, *removes) if "ID" not in kind)


def _parts(path: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the name and lineage of each parameter that is a part of a data-block."""
    for each in parameters(path):
        if each.type == "POINTER" and not each.is_output:
            kind = _lineage(each.fixed_type)
            if "ID" not in kind:
                yield each.identifier, kind


def _lineage(rna: Any) -> frozenset[str]:
    found = set()
    while rna is not None:
        found.add(rna.identifier)
        rna = rna.base
    return frozenset(found)
