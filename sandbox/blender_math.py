# SPDX-License-Identifier: GPL-3.0-or-later
"""mathutils for scripts: which members of its types may be used, and the functions that could run long."""

from __future__ import annotations

import functools
import importlib
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from .modules import View
from .plain import whole

if TYPE_CHECKING:
    from .guards import Guard

__all__ = ("allow_mathutils", "mathutils_members")

_TYPES: Final = ("Vector", "Matrix", "Quaternion", "Euler", "Color")
_SIZED: Final = frozenset({"Fill", "Linspace", "Range", "Repeat", "resized"})
_REFUSED: Final = frozenset({"resize", "resize_2d", "resize_3d", "resize_4d", "owner", "freeze"})
_MODULES: Final[dict[str, str]] = {
    "mathutils.geometry": """area_tri barycentric_transform box_fit_2d box_pack_2d closest_point_on_tri convex_hull_2d
        delaunay_2d_cdt distance_point_to_plane interpolate_bezier intersect_line_line intersect_line_line_2d
        intersect_line_plane intersect_line_sphere intersect_line_sphere_2d intersect_plane_plane
        intersect_point_line intersect_point_line_segment intersect_point_quad_2d intersect_point_tri
        intersect_point_tri_2d intersect_ray_tri intersect_sphere_sphere_2d intersect_tri_tri_2d
        is_quad_convex normal points_in_planes tessellate_polygon volume_tetrahedron""",
    "mathutils.noise": """cell cell_vector fractal hetero_terrain hybrid_multi_fractal multi_fractal noise noise_vector
        random random_unit_vector random_vector ridged_multi_fractal seed_set turbulence turbulence_vector
        variable_lacunarity voronoi""",
    "mathutils.bvhtree": "BVHTree",
    "mathutils.kdtree": "KDTree",
    "mathutils.interpolate": "poly_3d_calc",
}
_OCTAVES: Final = 64
_PAIRS: Final = 400_000_000
"""Most pairs of faces that two trees may be compared in."""
_LARGE_WORK: Final = frozenset(
    {"points_in_planes", "convex_hull_2d", "box_pack_2d", "delaunay_2d_cdt", "box_fit_2d"}
)
_SQUARE_WORK: Final = frozenset({"tessellate_polygon", "delaunay_2d_cdt"})
_LARGEST: Final[dict[str, int]] = {"points_in_planes": 64, "box_pack_2d": 1_000}
_NEAREST: Final = 1_000_000
_FLAT: Final = frozenset({int, float})


def allow_mathutils(guard: Guard) -> None:
    """Values of mathutils come from Blender, too: what may be done with them does not wait for an import."""
    try:
        module = importlib.import_module("mathutils")
    except ImportError:
        return
    for kind in (getattr(module, name) for name in _TYPES):
        _allow(guard, kind)
    guard.set_items.discard(module.Matrix)
    guard.item_writers[module.Matrix] = lambda matrix, key, new: operator.setitem(matrix, key, drawn(new))
    tree = importlib.import_module("mathutils.bvhtree").BVHTree
    guard.methods[tree] = _counted_trees(guard, tree)
    guard.allowed[tree] = _public(tree).difference(guard.methods[tree])
    places = importlib.import_module("mathutils.kdtree").KDTree
    guard.methods[places] = {"find_n": _find_n(guard)}
    guard.allowed[places] = _public(places) - {"find_n"}
    accessors = {type(module.Matrix().row), type(module.Matrix().col)}
    guard.items |= accessors
    guard.set_items |= accessors


def mathutils_members(guard: Guard) -> dict[str, object]:
    """The views `mathutils` and `mathutils.*`; none in a Python without Blender."""
    try:
        module = importlib.import_module("mathutils")
    except ImportError:
        return {}
    made: dict[str, object] = {}
    for name, listed in _MODULES.items():
        part = importlib.import_module(name)
        members = {member: getattr(part, member) for member in listed.split() if hasattr(part, member)}
        made[name] = View(name, {member: _bounded(guard, member, value) for member, value in members.items()})
    own = {name: getattr(module, name) for name in _TYPES} | {"Matrix": _matrix(guard, module.Matrix)}
    parts = {name.partition(".")[2]: view for name, view in made.items()}
    made["mathutils"] = View("mathutils", own | parts)
    return made


@functools.cache
def _public(kind: type) -> frozenset[str]:
    return frozenset(name for name in dir(kind) if not name.startswith("_") and name not in _SIZED | _REFUSED)


@functools.cache
def _constructors(kind: type) -> list[str]:
    return [name for name in _SIZED if hasattr(kind, name)]


@functools.cache
def _components(kind: type) -> frozenset[str]:
    return frozenset(
        name for name in _public(kind) if isinstance(getattr(kind, name), types.GetSetDescriptorType)
    )


def _allow(guard: Guard, kind: type) -> None:
    """A type of vectors: small values, whose components may be read and set natively."""
    guard.allowed[kind] = _public(kind)
    guard.writable[kind] = _components(kind)
    guard.methods[kind] = {name: _sized(guard, kind, name) for name in _constructors(kind)}
    for types_of in (guard.simple, guard.floaty, guard.items, guard.set_items):
        types_of.add(kind)


def _sized(guard: Guard, kind: type, name: str) -> Callable[..., Any]:
    """`Vector.Fill(size, …)` and its like."""

    def make(*arguments: Any) -> Any:
        if arguments and isinstance(arguments[0], kind) and name != "resized":
            arguments = arguments[1:]
        arguments = tuple(operator.index(a) if hasattr(type(a), "__index__") else a for a in arguments)
        for argument in arguments:
            if isinstance(argument, int):
                guard.operators.length(abs(argument), "vector")
            elif hasattr(type(argument), "__len__"):
                guard.operators.length(
                    len(argument) * max((int(a) for a in arguments if isinstance(a, int)), default=1)
                )
        return getattr(kind, name)(*arguments)

    return make


def _counted_trees(guard: Guard, kind: Any) -> dict[str, Callable[..., Any]]:
    """What makes trees of faces, and compares two: where all faces meet, that is each with each other."""
    counts: dict[int, tuple[Any, int]] = {}

    def counted(tree: Any, count: int) -> Any:
        counts[id(tree)] = (tree, count)
        return tree

    def FromPolygons(vertices: Any, polygons: Any, **options: Any) -> Any:  # noqa: N802
        vertices, polygons = drawn(vertices), drawn(list(polygons))
        return counted(kind.FromPolygons(vertices, polygons, **options), len(polygons))

    def FromBMesh(bm: Any, **options: Any) -> Any:  # noqa: N802
        return counted(kind.FromBMesh(bm, **options), len(bm.faces))

    def FromObject(thing: Any, depsgraph: Any, **options: Any) -> Any:  # noqa: N802
        tree = kind.FromObject(thing, depsgraph, **options)
        mesh = thing.evaluated_get(depsgraph).data
        return counted(tree, len(getattr(mesh, "polygons", ())))

    def overlap(tree: Any, other: Any) -> Any:
        pairs = counts.get(id(tree), (None, 0))[1] * counts.get(id(other), (None, 0))[1]
        if pairs > _PAIRS:
            guard.meter.exceed(
                f"overlap() of {pairs:,} pairs of faces is over the limit of {_PAIRS:,}: "
                "compare simpler meshes, or parts of them",
                limit="work",
            )
        return tree.overlap(other)

    return {made.__name__: made for made in (FromPolygons, FromBMesh, FromObject, overlap)}


def _check_points(guard: Guard, name: str, arguments: tuple[Any, ...]) -> None:
    """Functions whose work grows with the square of what they are given."""
    if name == "tessellate_polygon":
        count, limit = sum(len(part) for part in arguments[0] if hasattr(type(part), "__len__")), 5_000
    else:
        count, limit = sum(len(part) for part in arguments[1:3] if hasattr(type(part), "__len__")), 1_000
    if count > limit:
        guard.meter.exceed(
            f"mathutils {name}() takes at most {limit:,} points or edges here, not {count:,}", limit="work"
        )


def _bounded(guard: Guard, name: str, function: Any) -> Any:
    if isinstance(function, type):
        return _kd_tree(guard, function) if name == "KDTree" else function
    octaves = name.startswith(("turbulence", "fractal", "multi", "hetero", "hybrid", "ridged"))
    limit, what = (_OCTAVES, "octaves") if octaves else (10_000, "a count")
    numbers = (int, float, bool) if octaves else (int, bool)
    most = _LARGEST.get(name, 20_000) if name in _LARGE_WORK else None
    quick = most is None and name not in _SQUARE_WORK
    settled = {*_FLAT, bool, importlib.import_module("mathutils").Vector}

    def exceed() -> NoReturn:
        guard.meter.exceed(f"mathutils {name}() with {what} above {limit:,} is over the limit", limit="work")

    def call(*arguments: Any, **named: Any) -> Any:
        if quick and not named and settled.issuperset(map(type, arguments)):  # noise of each vertex
            for argument in arguments:
                if type(argument) in numbers and abs(argument) > limit:
                    exceed()
            return function(*arguments)
        arguments = tuple(drawn(whole(argument)) for argument in arguments)
        named = {key: drawn(whole(value)) for key, value in named.items()}
        if name in _SQUARE_WORK:
            _check_points(guard, name, (*arguments, *named.values()))
        for argument in (*arguments, *named.values()):
            if isinstance(argument, numbers):
                if abs(argument) > limit:
                    exceed()
            elif most is not None and hasattr(type(argument), "__len__") and len(argument) > most:
                guard.meter.exceed(f"mathutils {name}() takes fewer points here", limit="work")
        return function(*arguments, **named)

    return call


def drawn(values: Any) -> Any:
    """The values, each generator among them and in their lists as a list.

    C code would draw from it while it goes through the list that holds it, which the generator may empty.
    """
    kind = type(values)
    if kind is types.GeneratorType:
        return list(map(drawn, values))
    if kind in (list, tuple) and not _FLAT.issuperset(kinds := set(map(type, values))):
        deeper = types.GeneratorType in kinds or list in kinds
        return list(map(drawn, values)) if deeper else values
    return values


def _matrix(guard: Guard, kind: type) -> Callable[..., Any]:
    def Matrix(*rows: Any) -> Any:  # noqa: N802
        return kind(*map(drawn, rows))

    return guard.builtins.add_facade(Matrix, kind)


def _find_n(guard: Guard) -> Callable[..., Any]:
    """`KDTree.find_n`: Blender makes room for as many as are asked for."""

    def find_n(tree: Any, co: Any, n: Any) -> Any:
        n = operator.index(n)
        if n > _NEAREST:
            guard.meter.exceed(
                f"find_n() of {n:,} points is over the limit of {_NEAREST:,}: use find_range()",
                limit="memory",
            )
        return tree.find_n(co, n)

    return find_n


def _kd_tree(guard: Guard, kind: type) -> Callable[[Any], Any]:
    def KDTree(size: Any) -> Any:  # noqa: N802
        size = operator.index(size)
        guard.operators.length(size, "KDTree")
        return kind(size)

    return guard.builtins.add_facade(KDTree, kind)
