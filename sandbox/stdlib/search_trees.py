# SPDX-License-Identifier: GPL-3.0-or-later
"""`mathutils.kdtree` and `mathutils.bvhtree` for scripts: checks what Blender's C code does not check.

Blender reads memory outside the tree if a KDTree was not balanced after its last point, if a BVHTree has no faces, or
if a face has a corner without a vertex. So this module notes what each tree contains, and each function checks the
tree's state and the indices first.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from ..guard.seam import Guard
from ..guard.values.plain import drawn

__all__ = ("BVHTrees", "KDTrees")

MOST_PAIRS: Final = 400_000_000
"""The most pairs of faces that `overlap()` may compare."""
_EVERYWHERE: Final = 1e18
_TAKES_NO_PART: Final = "this tree is not one that the script has made"


@dataclass(slots=True)
class _Points:
    """The state of a KDTree. `tree` keeps it alive, so that no other object gets its address."""

    tree: Any
    filled: int = 0
    balanced: bool = False
    searches: int = 0


class KDTrees:
    """The KDTrees that one run has made."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._trees: dict[int, _Points] = {}
        self.kind: Any = importlib.import_module("mathutils.kdtree").KDTree

    def allow(self) -> None:
        """Let the guards make and use KDTrees."""
        self._guard.methods[self.kind] = self._methods()
        self._guard.allowed[self.kind] = frozenset()
        self._guard.builtins.add_facade(self._maker(), self.kind)

    def _maker(self) -> Callable[[Any], Any]:
        """Return the function `KDTree(size)` for scripts."""

        def KDTree(size: Any) -> Any:  # noqa: N802 - Blender's own name
            size = operator.index(size)
            self._guard.operators.length(size, "KDTree")
            tree = self.kind(size)
            self._trees[id(tree)] = _Points(tree)
            return tree

        return KDTree

    def _methods(self) -> dict[str, Callable[..., Any]]:
        """Return the methods of a tree, as functions of the tree and the arguments."""
        return {
            each.__name__: each
            for each in (self.insert, self.balance, self.find, self.find_n, self.find_range)
        }

    def insert(self, tree: Any, co: Any, index: Any) -> None:
        """Add a point to the tree, as `tree.insert(co, index)` does."""
        points = self._changing(tree)
        tree.insert(drawn(co), operator.index(index))
        points.filled += 1
        points.balanced = False

    def balance(self, tree: Any) -> None:
        """Balance the tree, as `tree.balance()` does."""
        points = self._changing(tree)
        tree.balance()
        points.balanced = True

    def find(self, tree: Any, co: Any, filter: Any = None) -> Any:  # noqa: A002 - Blender's own name
        """Find the nearest point, as `tree.find(co, filter)` does."""
        points = self._searched(tree)
        if filter is None:
            return tree.find(drawn(co))
        points.searches += 1
        try:
            return tree.find(drawn(co), filter=filter)
        finally:
            points.searches -= 1

    def find_n(self, tree: Any, co: Any, n: Any) -> Any:
        """Find the nearest `n` points; Blender reserves memory for `n`, so `n` is at most the number of points."""
        points = self._searched(tree)
        return tree.find_n(drawn(co), min(operator.index(n), points.filled))

    def find_range(self, tree: Any, co: Any, radius: Any) -> Any:
        """Find the points within `radius`, as `tree.find_range(co, radius)` does."""
        self._searched(tree)
        return tree.find_range(drawn(co), float(radius))

    def _points(self, tree: Any) -> _Points:
        points = self._trees.get(id(tree))
        if points is None:
            raise TypeError(_TAKES_NO_PART)
        return points

    def _changing(self, tree: Any) -> _Points:
        points = self._points(tree)
        if points.searches:
            raise RuntimeError("KDTree: a filter may not change the tree that is searched")
        return points

    def _searched(self, tree: Any) -> _Points:
        points = self._points(tree)
        if not points.balanced:
            raise RuntimeError("KDTree must be balanced before calling find")
        return points


@dataclass(frozen=True, slots=True)
class _Faces:
    tree: Any
    count: int


class BVHTrees:
    """The BVHTrees that one run has made."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._trees: dict[int, _Faces] = {}
        self.kind: Any = importlib.import_module("mathutils.bvhtree").BVHTree

    def allow(self) -> None:
        """Let the guards make and use BVHTrees."""
        self._guard.methods[self.kind] = self._methods()
        self._guard.allowed[self.kind] = frozenset()

    def _methods(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of the class and of a tree, as functions of the arguments."""
        makers = (self.FromPolygons, self.FromBMesh, self.FromObject)
        searching = {name: self._search(name, nothing) for name, nothing in _NOTHING.items()}
        return {each.__name__: each for each in (*makers, self.overlap)} | searching

    def FromPolygons(self, vertices: Any, polygons: Any, **options: Any) -> Any:  # noqa: N802 - Blender's own name
        """Make a tree, as `BVHTree.FromPolygons(vertices, polygons, all_triangles=False, epsilon=0.0)` does."""
        vertices = drawn(vertices if isinstance(vertices, list | tuple) else list(vertices))
        polygons = [tuple(drawn(polygon)) for polygon in polygons]
        if not {int}.issuperset(map(type, chain.from_iterable(polygons))):
            polygons = [tuple(map(operator.index, polygon)) for polygon in polygons]
        _check_corners(polygons, len(vertices))
        return self._counted(self.kind.FromPolygons(vertices, polygons, **options), len(polygons))

    def FromBMesh(self, bm: Any, **options: Any) -> Any:  # noqa: N802 - Blender's own name
        """Make a tree, as `BVHTree.FromBMesh(bmesh, epsilon=0.0)` does."""
        count = len(bm.faces)  # raises an error for a freed BMesh, which FromBMesh itself does not check
        return self._counted(self.kind.FromBMesh(bm, **options), count)

    def FromObject(self, thing: Any, depsgraph: Any, **options: Any) -> Any:  # noqa: N802 - Blender's own name
        """Make a tree, as `BVHTree.FromObject(object, depsgraph, deform=True, cage=False, epsilon=0.0)` does."""
        tree = self.kind.FromObject(thing, depsgraph, **options)
        count = len(getattr(thing.evaluated_get(depsgraph).data, "polygons", ()))
        if not count or options.keys() - {"epsilon"}:
            # Blender took the mesh of edit mode, or one from before some modifiers: ask the tree itself
            count = len(tree.find_nearest_range((0.0, 0.0, 0.0), _EVERYWHERE))
        return self._counted(tree, count)

    def overlap(self, tree: Any, other: Any) -> Any:
        """Find the pairs of faces that intersect; Blender compares each face with each face of the other tree."""
        pairs = self._count(tree) * self._count(other)
        if pairs > MOST_PAIRS:
            self._guard.meter.exceed(
                f"overlap() of {pairs:,} pairs of faces is over the limit of {MOST_PAIRS:,}: "
                "compare simpler meshes, or parts of them",
                limit="work",
            )
        return tree.overlap(other) if pairs else []

    def _search(self, name: str, nothing: Callable[[], Any]) -> Callable[..., Any]:
        def search(tree: Any, *arguments: Any) -> Any:
            if not self._count(tree):
                return nothing()
            return getattr(tree, name)(*map(drawn, arguments))

        search.__name__ = search.__qualname__ = name
        return search

    def _counted(self, tree: Any, count: int) -> Any:
        self._trees[id(tree)] = _Faces(tree, count)
        return tree

    def _count(self, tree: Any) -> int:
        faces = self._trees.get(id(tree))
        if faces is None:
            raise TypeError(_TAKES_NO_PART)
        return faces.count


_FEW_CORNERS: Final = 100
_MOST_CORNERS: Final = 5_000
"""The most corners of a polygon: Blender's time to divide it into triangles grows with their square."""
_NOTHING: Final[dict[str, Callable[[], Any]]] = {
    "find_nearest": lambda: (None,) * 4,
    "ray_cast": lambda: (None,) * 4,
    "find_nearest_range": list,
}
"""The results of a search in a tree without faces, by method."""


def _check_corners(polygons: Sequence[Sequence[Any]], vertices: int) -> None:
    """Raise IndexError if a face has a corner without a vertex: Blender would read other memory."""
    corners = list(chain.from_iterable(polygons))
    if corners and not 0 <= min(corners) <= max(corners) < vertices:
        raise IndexError(f"FromPolygons(): a corner is not below {vertices:,}, the number of vertices")
    if min(map(len, polygons), default=3) < 3:
        raise ValueError("FromPolygons(): a polygon has at least 3 corners")
    if sum(len(each) ** 2 for each in polygons if len(each) > _FEW_CORNERS) > _MOST_CORNERS**2:
        raise ValueError(
            f"FromPolygons(): a polygon of more than {_MOST_CORNERS:,} corners, or several large ones, take too long "
            "to divide into triangles: give triangles"
        )
