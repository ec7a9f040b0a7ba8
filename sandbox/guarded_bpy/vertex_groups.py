# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script is given of `vertex.groups`: the weights of a mesh's vertex or a lattice's point, found at each use.

Blender's own reference to a weight points into a small array of the vertex. Whatever puts the vertex into a group or
takes it out makes another array, and so does a mesh that shared its arrays with a copy; Blender reports neither. What
is given instead knows Blender's collection of the vertex, which looks there each time and is made empty where the
vertex goes (`stale`, `sharing`), and the number of the group, which a vertex has once.

Loops go through thousands of these. So they have no `__init__`, whose call would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy

from ..host import Reader

if TYPE_CHECKING:
    from . import BlenderHost

__all__ = ("READERS", "VertexGroupElement", "VertexGroupElements", "write")


class VertexGroupElement:
    """The weight of a vertex in a group."""

    __slots__ = ("_all", "_at", "group")
    bl_rna = rna_type = bpy.types.VertexGroupElement.bl_rna

    _all: VertexGroupElements
    _at: int
    """Where it was found last."""
    group: int

    @property
    def weight(self) -> Any:
        """The weight, as it is now."""
        return _find(self).weight

    @weight.setter
    def weight(self, new: Any) -> None:
        _find(self).weight = new

    @property
    def id_data(self) -> Any:
        """The mesh or lattice."""
        return self._all._vertex.id_data

    def __eq__(self, other: object) -> bool:
        if type(other) is not VertexGroupElement:
            return NotImplemented
        return self._all == other._all and self.group == other.group

    def __hash__(self) -> int:
        return hash((self._all, self.group))

    def __repr__(self) -> str:
        try:
            return repr(_find(self))
        except ReferenceError:
            return "<bpy_struct, VertexGroupElement invalid>"


def _find(element: VertexGroupElement) -> Any:
    """Blender's own reference, for this moment: whatever is done next may free what it points to."""
    native = element._all._native
    try:
        found = native[element._at]
        if found.group == element.group:
            return found
    except IndexError:
        pass
    for at, found in enumerate(native.values()):
        if found.group == element.group:
            element._at = at
            return found
    _ = element._all._vertex.groups  # Blender's own error where it is the vertex that has gone
    raise ReferenceError("StructRNA of type VertexGroupElement has been removed")


def write(host: BlenderHost, element: VertexGroupElement, name: str, new: Any) -> None:
    """`element.name = new`, of anything but the weight: Blender's own error."""
    host.setattr(_find(element), name, new)


class VertexGroupElements:
    """`vertex.groups`."""

    __slots__ = ("_host", "_native", "_vertex")

    _host: BlenderHost
    _native: Any
    _vertex: Any

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[VertexGroupElement]:
        return iter(self.values())

    def __getitem__(self, key: Any) -> Any:
        found = self._native[key]  # or Blender's own error
        if type(found) is list:
            return self.values()[key]
        element = VertexGroupElement()
        element._all = self
        element._at = key
        element.group = found.group
        return element

    def values(self) -> list[VertexGroupElement]:
        """All of them."""
        made = []
        for at, found in enumerate(self._native.values()):
            element = VertexGroupElement()
            element._all = self
            element._at = at
            element.group = found.group
            made.append(element)
        return made

    def items(self) -> list[tuple[int, VertexGroupElement]]:
        """All of them, numbered, as they have no names."""
        return list(enumerate(self.values()))

    def __getattr__(self, name: str) -> Any:
        """The rest: `foreach_get`, `id_data`, …, none of which gives an item."""
        return self._host.getattr(self._native, name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not VertexGroupElements:
            return NotImplemented
        return bool(self._vertex == other._vertex)

    def __hash__(self) -> int:
        return hash(self._vertex)

    def __repr__(self) -> str:
        return f"{self._vertex!r}.groups"


def _groups(host: BlenderHost, vertex: Any, name: str) -> VertexGroupElements:
    groups = VertexGroupElements()
    groups._host = host
    groups._native = getattr(vertex, name)
    groups._vertex = vertex
    return groups


def _groups_of_point(host: BlenderHost, point: Any, name: str) -> VertexGroupElements:
    """A lattice has other points in edit mode, and Blender looks for the weights of those in the wrong place."""
    if point.id_data.is_editmode:
        raise RuntimeError("the weights of a lattice cannot be read in edit mode: leave it first")
    return _groups(host, point, name)


#: Properties that are read through a check.
READERS: dict[str, Reader] = {"MeshVertex.groups": _groups, "LatticePoint.groups": _groups_of_point}
