# SPDX-License-Identifier: GPL-3.0-or-later
"""`vertex.groups` for scripts: the weights of a mesh's vertex or a lattice's point, looked up at each use.

Blender's own reference to a weight points into a small array of the vertex. Whatever adds the vertex to a group or
removes it makes another array, and so does a mesh that shared its arrays with a copy; Blender reports neither. The
script gets a value instead that knows the vertex and the number of the group, which a vertex has once. The sandbox
keeps the reference to the vertex valid, or cuts it off if the vertex was removed (`stale`, `sharing`).

Loops use thousands of these values. So they have no `__init__`, whose call would cost more than everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from ..guard.facade import Facade, hide
from ..guard.seam import BlenderHost, Reader
from .plain_values import as_plain
from .properties.limits import check_value

__all__ = ("READERS", "VertexGroupElement", "VertexGroupElements", "of_point", "write")

_POINT = bpy.types.LatticePoint


class VertexGroupElement(Facade):
    """The weight of one vertex in one group."""

    __slots__ = ("at", "host", "number", "vertex")
    bl_rna = rna_type = bpy.types.VertexGroupElement.bl_rna

    @property
    def group(self) -> int:
        """The index of the group."""
        return _number(self)

    @property
    def weight(self) -> Any:
        """The current weight."""
        return _find(self).weight

    def __setattr__(self, name: str, new: Any) -> None:
        if name != "weight":
            super().__setattr__(name, new)
        found = _find(self)
        if type(_vertex(self)) is _POINT:  # Blender would take the lattice for a mesh
            raise RuntimeError(
                "to set the weight of a lattice's point: vertex_groups[…].add([index], weight, 'REPLACE')"
            )
        new = as_plain(new)
        check_value(found, name, new)
        found.weight = new

    @property
    def id_data(self) -> Any:
        """The mesh or lattice of the vertex."""
        return _vertex(self).id_data

    def __eq__(self, other: object) -> bool:
        if type(other) is not VertexGroupElement:
            return NotImplemented
        return _number(self) == _number(other) and bool(_vertex(self) == _vertex(other))

    def __hash__(self) -> int:
        return hash((_vertex(self), _number(self)))

    def __repr__(self) -> str:
        # never Blender's own text: for a lattice's point, Blender takes the lattice for a mesh
        try:
            _find(self)
        except ReferenceError:
            return "<bpy_struct, VertexGroupElement invalid>"
        return f"{_vertex(self)!r}.groups[{_at(self)}]"


_vertex, _set_vertex = hide(VertexGroupElement, "vertex")
_number, _set_number = hide(VertexGroupElement, "number")
_host_of, _set_host_of = hide(VertexGroupElement, "host")
_at, _set_at = hide(VertexGroupElement, "at")
"""The place among the vertex's groups where the weight was found last."""


def _native_groups(host: BlenderHost, vertex: Any) -> Any:
    """Return Blender's own collection. Blender makes the layer of weights when somebody looks into it."""
    native = vertex.groups
    if host.stale.layers.used:
        with host.stale.layers.keep(vertex, "groups"):
            len(native)
    return native


def _element(host: BlenderHost, vertex: Any, at: int, group: int) -> VertexGroupElement:
    element = VertexGroupElement()
    _set_host_of(element, host)
    _set_vertex(element, vertex)
    _set_at(element, at)
    _set_number(element, group)
    return element


def _find(element: VertexGroupElement) -> Any:
    """Return Blender's own reference, for immediate use: any next step may free what it points to."""
    native = _native_groups(
        _host_of(element), _vertex(element)
    )  # raises Blender's own error if the vertex is gone
    group = _number(element)
    try:
        found = native[_at(element)]
        if found.group == group:
            return found
    except IndexError:
        pass
    for at, found in enumerate(native.values()):
        if found.group == group:
            _set_at(element, at)
            return found
    raise ReferenceError("StructRNA of type VertexGroupElement has been removed")


def write(host: BlenderHost, element: VertexGroupElement, name: str, new: Any) -> None:
    """Set `element.name = new`, for any name but the weight: this raises Blender's own error."""
    host.setattr(_find(element), name, new)


#: Members that return no item.
_AS_BLENDERS = frozenset("find foreach_get foreach_set get id_data keys rna_type".split())


class VertexGroupElements(Facade):
    """The script's `vertex.groups`."""

    __slots__ = ("holder", "host")

    def __len__(self) -> int:
        return len(_native_groups(_host(self), _holder(self)))

    def __iter__(self) -> Iterator[VertexGroupElement]:
        return iter(self.values())

    def __getitem__(self, key: Any) -> Any:
        host, vertex = _host(self), _holder(self)
        native = _native_groups(host, vertex)
        found = native[key]  # or raises Blender's own error
        if type(found) is list:
            return self.values()[key]
        return _element(host, vertex, range(len(native))[key], found.group)

    def values(self) -> list[VertexGroupElement]:
        """Return the weights in all groups of the vertex."""
        host, vertex = _host(self), _holder(self)
        native = _native_groups(host, vertex).values()
        return [_element(host, vertex, at, found.group) for at, found in enumerate(native)]

    def items(self) -> list[tuple[int, VertexGroupElement]]:
        """Return all weights with their numbers, as they have no names."""
        return list(enumerate(self.values()))

    def __getattr__(self, name: str) -> Any:
        if name not in _AS_BLENDERS:
            raise AttributeError(f'bpy_prop_collection: attribute "{name}" not found')
        return _host(self).getattr(_native_groups(_host(self), _holder(self)), name)

    def __eq__(self, other: object) -> bool:
        if type(other) is not VertexGroupElements:
            return NotImplemented
        return bool(_holder(self) == _holder(other))

    def __hash__(self) -> int:
        return hash(_holder(self))

    def __repr__(self) -> str:
        return f"{_holder(self)!r}.groups"


_holder, _set_holder = hide(VertexGroupElements, "holder")
_host, _set_host = hide(VertexGroupElements, "host")


def _groups(host: BlenderHost, vertex: Any, _name: str) -> VertexGroupElements:
    groups = VertexGroupElements()
    _set_host(groups, host)
    _set_holder(groups, vertex)
    return groups


def of_point(host: BlenderHost, point: Any, name: str) -> VertexGroupElements:
    """Return the groups of a lattice's point; in edit mode Blender looks for its weights in the wrong place."""
    if point.id_data.is_editmode:
        raise RuntimeError("the weights of a lattice cannot be read in edit mode: leave it first")
    return _groups(host, point, name)


#: Readers of properties of vertices and points, by `Struct.property`.
READERS: dict[str, Reader] = {"MeshVertex.groups": _groups, "LatticePoint.groups": of_point}
