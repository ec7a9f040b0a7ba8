# SPDX-License-Identifier: GPL-3.0-or-later
"""Elements of a BMesh removed one by one: what becomes of references into their memory.

Blender keeps the memory of a removed element for the next one, and frees it with the last of its kind: until then the
coordinates and layer values that a script kept can be read and written without harm. So what a script holds is looked
for only where a removal may leave none of a kind. But a free piece of memory has a link to the next in its first
bytes, and there lie weights and byte colours: written once their element is gone, they lead Blender to any address.
Once a script has come to such a layer, each value that it reads is noted with its element (`Watched`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any

import bmesh

from ...guard.seam import BlenderHost
from ..held import ALONE
from ..layout import counts_of_mesh
from ..memory import cut_loose

__all__ = (
    "ELEMENTS",
    "OF_MESH",
    "OF_WHOLE_MESH",
    "SEQUENCES",
    "STAYING",
    "Watched",
    "may_be_last",
    "removal",
    "removing",
)

_TYPES = bmesh.types
ELEMENTS = frozenset({_TYPES.BMVert, _TYPES.BMEdge, _TYPES.BMFace, _TYPES.BMLoop})
"""What has layer values, by item."""
OF_WHOLE_MESH = frozenset({_TYPES.BMVertSeq, _TYPES.BMEdgeSeq, _TYPES.BMFaceSeq})
"""The sequences of all elements of a kind."""
SEQUENCES = frozenset(kind for name, kind in vars(_TYPES).items() if name.endswith("Seq"))
OF_MESH = SEQUENCES | {kind for name, kind in vars(_TYPES).items() if name.startswith("BMLayer")}
"""Sequences and layers: they know their mesh, and nobody tells them that it was freed."""
#: Operators after which all elements are still there, or that make others before any goes.
STAYING = frozenset(
    """
    average_vert_facedata bmesh_to_mesh collapse_uvs create_circle create_cone create_cube create_grid
    create_icosphere create_monkey create_uvsphere create_vert duplicate extrude_discrete_faces extrude_edge_only
    extrude_face_region extrude_vert_indiv face_attribute_fill find_doubles flip_quad_tessellation inset_individual
    inset_region mesh_to_bmesh planar_faces pointmerge_facedata recalc_face_normals region_extend reverse_colors
    reverse_faces reverse_uvs rotate rotate_colors rotate_uvs scale smooth_laplacian_vert smooth_vert subdivide_edges
    transform translate triangulate
    """.split()
)
#: Types of values, or of what has their memory, that lie where a link would: the capsule is a byte colour's.
_LINKED = frozenset({"BMDeformVert", "BMVertSkin", "PyCapsule"})


class Watched:
    """Layer values that must not be written once their element is gone, with that element."""

    def __init__(self) -> None:
        self.active = False
        """Whether the script has come to a layer of such values."""
        self._given: dict[int, tuple[Any, list[Any]]] = {}
        self._most = 64
        self._memory: list[Any] = []

    def give(self, element: Any, value: Any) -> Any:
        """What a script is given of `value`, a layer's value of an element."""
        if type(getattr(value, "owner", value)).__name__ in _LINKED:
            known = self._given.get(id(element))
            if known is None or len(known[1]) >= self._most:
                self._forget_unused()
                known = self._given.setdefault(id(element), (element, []))
            known[1].append(value)
        return value

    def _forget_unused(self) -> None:
        if len(self._given) >= self._most or any(len(held) >= self._most for _, held in self._given.values()):
            for at, (_element, values) in list(self._given.items()):
                values[:] = compress(values, [sys.getrefcount(values[i]) > ALONE for i in range(len(values))])
                if not values:
                    del self._given[at]
            self._most = max(64, 2 * len(self._given))

    def going(self, element: Any) -> list[tuple[Any, list[Any]]]:
        """What of the given may go with an element."""
        found = map(self._given.get, map(id, _with_parts(element))) if self._given else ()
        return [each for each in found if each is not None]

    def renew(self, given: Iterable[tuple[Any, list[Any]]] | None = None) -> None:
        """Cut loose those values whose element is gone: among all that were given, or these."""
        for element, values in list(self._given.values()) if given is None else given:
            if not element.is_valid:
                del self._given[id(element)]
                self._memory += [cut_loose(value) for value in values]


def _with_parts(element: Any) -> Iterator[Any]:
    """An element and those that are removed with it."""
    yield element
    yield from getattr(element, "link_edges", ())
    faces = [element] if hasattr(element, "loops") else getattr(element, "link_faces", ())
    for face in faces:
        yield face
        yield from face.loops


def removal(host: BlenderHost, elements: Any, _name: str) -> Callable[[Any], None]:
    """`verts.remove`, `edges.remove`, `faces.remove`."""
    remove, stale = elements.remove, host.stale

    def call(element: Any) -> None:
        if type(element) not in ELEMENTS:
            raise TypeError(
                f"remove() takes a vertex, edge or face of the BMesh, not a {type(element).__name__}"
            )
        if element.is_valid:
            if _may_be_last(elements, element):
                stale.before_move(True)
            going = stale.watched.going(element)
        else:
            going = []
        stale.drawn.before()
        try:
            remove(element)  # Blender's own error where there is none
        finally:
            stale.after_move()
            stale.watched.renew(going)
            stale.drawn.after()

    call.__name__ = call.__qualname__ = "remove"
    return call


def removing(host: BlenderHost, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `bmesh.utils`."""
    stale = host.stale

    def call(*arguments: Any, **named: Any) -> Any:
        first = arguments[0] if arguments else None
        if type(first) in ELEMENTS and first.is_valid and _may_be_last(first, first):
            stale.before_move(True)
        stale.drawn.before()
        try:
            return function(*arguments, **named)
        finally:
            stale.after_move()
            stale.watched.renew()
            stale.drawn.after()

    call.__name__ = call.__qualname__ = function.__name__
    return call


def _may_be_last(of_mesh: Any, element: Any) -> bool:
    """Whether a kind of element may be gone with this one."""
    vertices, edges, _loops, faces = counts_of_mesh(of_mesh)
    return (
        vertices == 1
        or 0 < faces <= len(getattr(element, "link_faces", _ONE))
        or 0 < edges <= len(getattr(element, "link_edges", _ONE))
    )


def may_be_last(mesh: Any, arguments: Iterable[Any]) -> bool:
    """Whether a kind of element may be gone with what an operator is given: it takes what meets a vertex of that."""
    arguments = list(arguments)
    if any(isinstance(each, _MANY) for each in arguments):
        return True
    given = [each for argument in arguments if isinstance(argument, (list, tuple)) for each in argument]
    if len(given) > _FEW or any(
        isinstance(each, (set, frozenset)) for each in given
    ):  # all of a type with a flag
        return True
    corners = [
        corner
        for each in given
        if type(each) in ELEMENTS and each.is_valid
        for corner in getattr(each, "verts", (each,))
    ]
    return (
        len(corners) >= len(mesh.verts)
        or _met(corners, "link_edges") >= len(mesh.edges)
        or _met(corners, "link_faces") >= len(mesh.faces)
    )


def _met(corners: list[Any], name: str) -> int:
    return sum(len(getattr(each, name, ())) for each in corners)


_FEW = 8
_MANY = (dict, *SEQUENCES)
"""Arguments that stand for more elements than is counted."""
_ONE = (None,)
