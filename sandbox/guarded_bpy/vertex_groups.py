# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script is given of `vertex.groups`: the weights of a mesh's vertex or a lattice's point, found at each use.

Blender's own reference to a weight points into a small array of the vertex. Whatever puts the vertex into a group or
takes it out makes another array, and so does a mesh that shared its arrays with a copy; Blender reports neither. What
is given instead knows the vertex, to which the reference is kept good or says that it was removed (`stale`,
`sharing`), and the number of the group, which a vertex has once.

Loops go through thousands of these. So they have no `__init__`, whose call would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import bpy

from ..host import Reader

if TYPE_CHECKING:
    from . import BlenderHost

__all__ = ("READERS", "VertexGroupElement", "VertexGroupElements", "of_point", "write")

_POINT = bpy.types.LatticePoint


class VertexGroupElement:
    """The weight of a vertex in a group."""

    __slots__ = ("_at", "_vertex", "group")
    bl_rna = rna_type = bpy.types.VertexGroupElement.bl_rna

    _vertex: Any
    group: int
    _at: int
    """Where among the vertex's it was found last."""

    @property
    def weight(self) -> Any:
        """The weight, as it is now."""
        return _find(self).weight

    @weight.setter
    def weight(self, new: Any) -> None:
        found = _find(self)
        if type(self._vertex) is _POINT:  # Blender would take the lattice for a mesh
            raise RuntimeError(
                "to set the weight of a lattice's point: vertex_groups[…].add([index], weight, 'REPLACE')"
            )
        found.weight = new

    @property
    def id_data(self) -> Any:
        """The mesh or lattice."""
        return self._vertex.id_data

    def __eq__(self, other: object) -> bool:
        if type(other) is not VertexGroupElement:
            return NotImplemented
        return self.group == other.group and bool(self._vertex == other._vertex)

    def __hash__(self) -> int:
        return hash((self._vertex, self.group))

    def __repr__(self) -> str:
        # never its own text: for a lattice's point, Blender looks through a mesh that is none
        try:
            _find(self)
        except ReferenceError:
            return "<bpy_struct, VertexGroupElement invalid>"
        return f"{self._vertex!r}.groups[{self._at}]"


def _find(element: VertexGroupElement) -> Any:
    """Blender's own reference, for this moment: whatever is done next may free what it points to."""
    native = element._vertex.groups  # or Blender's own error where the vertex has gone
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
    raise ReferenceError("StructRNA of type VertexGroupElement has been removed")


def write(host: BlenderHost, element: VertexGroupElement, name: str, new: Any) -> None:
    """`element.name = new`, of anything but the weight: Blender's own error."""
    host.setattr(_find(element), name, new)


#: What gives no item.
_AS_BLENDERS = frozenset("find foreach_get foreach_set get id_data keys rna_type".split())


class VertexGroupElements:
    """`vertex.groups`."""

    __slots__ = ("_host", "_vertex")

    _host: BlenderHost
    _vertex: Any

    def __len__(self) -> int:
        return len(self._vertex.groups)

    def __iter__(self) -> Iterator[VertexGroupElement]:
        return iter(self.values())

    def __getitem__(self, key: Any) -> Any:
        vertex = self._vertex
        native = vertex.groups
        found = native[key]  # or Blender's own error
        if type(found) is list:
            return self.values()[key]
        element = VertexGroupElement()
        element._vertex = vertex
        element._at = range(len(native))[key]
        element.group = found.group
        return element

    def values(self) -> list[VertexGroupElement]:
        """All of them."""
        vertex = self._vertex
        made = []
        for at, found in enumerate(vertex.groups.values()):
            element = VertexGroupElement()
            element._vertex = vertex
            element._at = at
            element.group = found.group
            made.append(element)
        return made

    def items(self) -> list[tuple[int, VertexGroupElement]]:
        """All of them, numbered, as they have no names."""
        return list(enumerate(self.values()))

    def __getattr__(self, name: str) -> Any:
        if name not in _AS_BLENDERS:
            raise AttributeError(f'bpy_prop_collection: attribute "{name}" not found')
        return self._host.getattr(self._vertex.groups, name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not VertexGroupElements:
            return NotImplemented
        return bool(self._vertex == other._vertex)

    def __hash__(self) -> int:
        return hash(self._vertex)

    def __repr__(self) -> str:
        return f"{self._vertex!r}.groups"


def _groups(host: BlenderHost, vertex: Any, _name: str) -> VertexGroupElements:
    groups = VertexGroupElements()
    groups._host = host
    groups._vertex = vertex
    return groups


def of_point(host: BlenderHost, point: Any, name: str) -> VertexGroupElements:
    """A lattice has other points in edit mode, and Blender looks for the weights of those in the wrong place."""
    if point.id_data.is_editmode:
        raise RuntimeError("the weights of a lattice cannot be read in edit mode: leave it first")
    return _groups(host, point, name)


#: Properties that are read through a check.
READERS: dict[str, Reader] = {"MeshVertex.groups": _groups, "LatticePoint.groups": of_point}
