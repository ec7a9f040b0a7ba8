# SPDX-License-Identifier: GPL-3.0-or-later
"""Which functions and operators of Blender's free or move what references of a script may point to.

The lists are in `facts/members.json`. A function that is on none of them leaves everything where it is.
"""

from __future__ import annotations

from ..facts.members import names, rows

__all__ = (
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
_FREED_BY_NEW = names("structs whose new frees")
_FREED_BY = names("single functions that free")
_FREED_BY_NONE = names("single functions that free nothing")
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
"""How operators begin that leave each vertex, edge and face in edit mode where it is, with all that it has."""
_OF_MESHES = tuple(names("operators that free parts of meshes alone"))
_FREEING_MORE = names("operators that free more")
_SPARING = (
    *(begin for begins, _began, _ends in _HARMLESS for begin in begins),
    *_OF_MESHES,
    *names("operators that remove no data-block"),
)
_OBJECT = frozenset({"OBJECT"})
_ENTERED = frozenset().union(*(ends for _begins, _began, ends in _HARMLESS))
"""Modes that are entered from object mode with all left where it is: what edit mode hides is in `lifetime.hidden`."""


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
    """Whether a call moves nothing but what few calls move: see `Stale.touched_collections`."""
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
        return _OBJECT | {"EDIT_MESH"}, _ENTERED
    found = [(began, ends) for prefixes, began, ends in _HARMLESS if idname.startswith(prefixes)]
    # each ends in the mode that it began in, or begins in one only
    return frozenset().union(*(began for began, _ in found)), frozenset().union(*(ends for _, ends in found))


def spares_blocks(idname: str) -> bool:
    """Whether an operator removes no data-block."""
    return idname.startswith(_SPARING)
