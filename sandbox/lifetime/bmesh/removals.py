# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles references into the memory of BMesh elements that a script removes one by one.

Blender keeps the memory of a removed element for the next one, and frees it with the last element of its kind. Until
then a script can read and write coordinates and layer values that it kept without harm. So the sandbox looks for what a
script holds only where a removal may leave no element of a kind. But a free piece of memory has a link to the next
piece in its first bytes, where an element has its weights and byte colours: whoever writes these after the element is
gone leads Blender to any address. So once a script uses such a layer, each value that it reads is noted with its
element (`LayerValues`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any

import bmesh
import mathutils

from ....base.identity import identity
from ....base.per_type import PerType
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
    "LayerValues",
    "may_be_last",
    "removal",
    "removing",
)

_TYPES = bmesh.types
ELEMENTS = frozenset({_TYPES.BMVert, _TYPES.BMEdge, _TYPES.BMFace, _TYPES.BMLoop})
"""The elements that have layer values: `element[layer]`."""
OF_WHOLE_MESH = frozenset({_TYPES.BMVertSeq, _TYPES.BMEdgeSeq, _TYPES.BMFaceSeq})
"""The sequences of all elements of one kind."""
SEQUENCES = frozenset(kind for name, kind in vars(_TYPES).items() if name.endswith("Seq"))
OF_MESH = SEQUENCES | {kind for name, kind in vars(_TYPES).items() if name.startswith("BMLayer")}
"""Sequences and layers: they know their mesh, and Blender does not invalidate them when it frees the mesh."""
#: Operators after which all elements are still there, or which add elements before they remove any.
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
#: Types of values, or owners of values, that lie where a link would: the capsule owns a byte colour.
_LINKED = frozenset({"BMDeformVert", "BMVertSkin", "PyCapsule"})
_MAY_BE_COLORS = frozenset({mathutils.Vector, mathutils.Color})
"""What a byte colour comes as; its owner is then a capsule."""
_IS_LINKED = PerType(lambda kind: kind.__name__ in _LINKED)


class LayerValues:
    """The layer values that a script must not write once their element is gone, each with that element."""

    def __init__(self) -> None:
        self.active = False
        """Whether the script has used a layer of such values."""
        self._by_element: dict[int, tuple[Any, list[Any]]] = {}
        self._most = 256
        self._memory: list[Any] = []

    def give(self, element: Any, value: Any) -> Any:
        """Note `value`, the value of an element in a layer, and return it to the script."""
        kind = type(value)
        if _IS_LINKED[kind] or (kind in _MAY_BE_COLORS and _IS_LINKED[type(value.owner)]):
            known = self._by_element.get(identity(element))
            if len(self._by_element if known is None else known[1]) >= self._most:
                self._forget_unused()
                known = None
            if known is None:
                known = self._by_element.setdefault(identity(element), (element, []))
            known[1].append(value)
        return value

    def _forget_unused(self) -> None:
        """Forget the values that the script holds no more, and look again when twice as many have come."""
        for at, (_element, values) in list(self._by_element.items()):
            values[:] = compress(values, [sys.getrefcount(values[i]) > ALONE for i in range(len(values))])
            if not values:
                del self._by_element[at]
        longest = max((len(values) for _element, values in self._by_element.values()), default=0)
        self._most = max(256, 2 * len(self._by_element), 2 * longest)

    def going(self, element: Any) -> list[tuple[Any, list[Any]]]:
        """Return the noted values whose elements may be removed with `element`."""
        found = map(self._by_element.get, map(identity, _with_parts(element))) if self._by_element else ()
        return [each for each in found if each is not None]

    def renew(self, given: Iterable[tuple[Any, list[Any]]] | None = None) -> None:
        """Cut loose the noted values whose element is gone: all of them, or only `given`."""
        for element, values in list(self._by_element.values()) if given is None else given:
            if not element.is_valid:
                del self._by_element[identity(element)]
                self._memory += [cut_loose(value) for value in values]


def _with_parts(element: Any) -> Iterator[Any]:
    """Yield an element and those that are removed with it."""
    yield element
    yield from getattr(element, "link_edges", ())
    faces = [element] if hasattr(element, "loops") else getattr(element, "link_faces", ())
    for face in faces:
        yield face
        yield from face.loops


def removal(host: BlenderHost, elements: Any, _name: str) -> Callable[[Any], None]:
    """Return the guarded `remove` of `verts`, `edges` or `faces`."""
    remove, stale = elements.remove, host.stale

    def call(element: Any) -> None:
        if type(element) not in ELEMENTS:
            raise TypeError(
                f"remove() takes a vertex, edge or face of the BMesh, not a {type(element).__name__}"
            )
        if element.is_valid:
            if _may_be_last(elements, element):
                stale.before_move()
            going = stale.watched.going(element)
        else:
            going = []
        stale.drawn.before()
        try:
            remove(element)  # raises Blender's own error if the element is gone
        finally:
            stale.after_move()
            stale.watched.renew(going)
            stale.drawn.after()

    call.__name__ = call.__qualname__ = "remove"
    return call


def removing(host: BlenderHost, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `bmesh.utils` that invalidates the references to what it removes."""
    stale = host.stale

    def call(*arguments: Any, **named: Any) -> Any:
        first = arguments[0] if arguments else None
        if type(first) in ELEMENTS and first.is_valid and _may_be_last(first, first):
            stale.before_move()
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
    """Return whether removing this element may leave no element of a kind."""
    vertices, edges, _loops, faces = counts_of_mesh(of_mesh)
    return (
        vertices == 1
        or 0 < faces <= len(getattr(element, "link_faces", _ONE))
        or 0 < edges <= len(getattr(element, "link_edges", _ONE))
    )


def may_be_last(mesh: Any, arguments: Iterable[Any]) -> bool:
    """Return whether an operator with these arguments may leave no element of a kind.

    It may remove whatever meets a vertex of the elements in its arguments.
    """
    arguments = list(arguments)
    if any(isinstance(each, _MANY) for each in arguments):
        return True
    given = [each for argument in arguments if isinstance(argument, (list, tuple)) for each in argument]
    if len(given) > _FEW or any(
        isinstance(each, (set, frozenset)) for each in given
    ):  # all elements with a flag
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
"""Arguments that stand for more elements than are counted."""
_ONE = (None,)
