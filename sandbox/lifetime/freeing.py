# SPDX-License-Identifier: GPL-3.0-or-later
"""Knows which functions and operators of Blender's free or move what references of a script may point to.

The lists are in `facts/members.json`. A function that is on none of them frees and moves nothing.
"""

from __future__ import annotations

from functools import lru_cache

from ..facts.members import names, rows

__all__ = (
    "FREEING_OWNERS",
    "FREEING_WITH_ARGUMENTS",
    "KEEPING_ELEMENTS",
    "freed_alone",
    "frees",
    "grows",
    "harmless_in",
    "is_followed",
    "removes_blocks",
    "spares_blocks",
)

FREEING = names("functions that free")
_VERBS = names("verbs that free")
_FREED_BY_NEW = names("structs whose new frees")
_FREED_BY = names("single functions that free")
_FREED_BY_NONE = names("single functions that free nothing")
FREEING_OWNERS = names("functions that free their owner")
FREEING_WITH_ARGUMENTS = names("functions that free nothing without arguments")
_FOLLOWED = names("functions that free what follows")
_REMOVING = names("functions of objects that remove a data-block")
_FREED_ALONE = {
    function: row["free"] for row in rows("functions that free only some") for function in row["functions"]
}
_GROWING, _GROWN_BY = names("growing arrays"), names("functions that grow arrays")
_HARMLESS = [
    (tuple(row["operators"]), row["begin"], row["end"]) for row in rows("operators that free nothing")
]
KEEPING_ELEMENTS = tuple(
    begin for begins, began, _ends in _HARMLESS if began == {"EDIT_MESH"} for begin in begins
)
"""How the names of operators begin that, in edit mode, keep each vertex, edge and face where it is, with its data."""
_OF_MESHES = tuple(names("operators that free parts of meshes alone"))
_FREEING_MORE = names("operators that free more")
_SPARING = (
    *(begin for begins, _began, _ends in _HARMLESS for begin in begins),
    *_OF_MESHES,
    *names("operators that remove no data-block"),
)
_OBJECT = frozenset({"OBJECT"})
_ENTERED = frozenset().union(*(ends for _begins, _began, ends in _HARMLESS))
"""Modes that object mode enters while everything stays where it is: `lifetime.hidden` handles what edit mode hides."""


def frees(struct: str, function: str) -> bool:
    """Return whether references may be invalid after a call of `struct.function`."""
    if f"{struct}.{function}" in _FREED_BY or is_followed(struct, function):
        return True
    if f"{struct}.{function}" in _FREED_BY_NONE:
        return False
    if struct.startswith(("Collection", "IDMaterials", "Text")) or struct == "VertexGroup":
        return False
    if not _VERBS.isdisjoint(function.split("_")):
        return True
    if struct.startswith("BlendData"):
        return False
    if function == "new":
        return struct in _FREED_BY_NEW or (struct.startswith("Node") and struct.endswith("Items"))
    return function in FREEING


def freed_alone(struct: str, function: str) -> frozenset[str] | None:
    """Return the roots of all items that a call may free or move; None for any."""
    return _FREED_ALONE.get(f"{struct}.{function}")


def grows(struct: str, function: str) -> bool:
    """Return whether a call moves only items that the host reads for the script: see `Stale.after_growth`."""
    return struct in _GROWING and function in _GROWN_BY


def is_followed(struct: str, function: str) -> bool:
    """Return whether a call moves only what few other calls move: see `Stale.touched_collections`."""
    path = f"{struct}.{function}"
    return path in _FOLLOWED or (_is_removal(struct, function) and path not in _FREED_BY)


def removes_blocks(struct: str, function: str) -> bool:
    """Return whether a call may remove data-blocks: with a mesh, Blender removes the objects that show it."""
    return (
        _is_removal(struct, function)
        or (struct == "Object" and function in _REMOVING)
        or (struct == "ViewLayers" and function == "remove")  # also removes the layer's evaluated copies
    )


def _is_removal(struct: str, function: str) -> bool:
    """Return whether this is `remove` of a collection of `bpy.data`."""
    return struct.startswith("BlendData") and function == "remove"


@lru_cache(maxsize=512)
def harmless_in(idname: str, *, meshes: bool) -> tuple[frozenset[str], frozenset[str]]:
    """Return the modes in which an operator has to begin and to end so that it frees and moves nothing of the script's.

    `meshes`: whether the script may hold parts of meshes.
    """
    if idname in _FREEING_MORE:
        return frozenset(), frozenset()
    if not meshes and idname.startswith(_OF_MESHES):
        return _OBJECT | {"EDIT_MESH"}, _ENTERED
    found = [(began, ends) for prefixes, began, ends in _HARMLESS if idname.startswith(prefixes)]
    # each ends in the mode in which it began, or begins in one mode only
    return frozenset().union(*(began for began, _ in found)), frozenset().union(*(ends for _, ends in found))


@lru_cache(maxsize=512)
def spares_blocks(idname: str) -> bool:
    """Return whether an operator removes no data-block."""
    return idname.startswith(_SPARING)
