# SPDX-License-Identifier: GPL-3.0-or-later
"""mathutils for scripts: which members of its types a script may use, and limits for functions that could run long."""

from __future__ import annotations

import functools
import importlib
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from ..guard.modules import Later, View, make_view
from ..guard.seam import Guard
from ..guard.values.plain import drawn, whole
from .search_trees import BVHTrees, KDTrees

__all__ = ("allow_mathutils", "mathutils_members")

_TYPES: Final = ("Vector", "Matrix", "Quaternion", "Euler", "Color")
_SIZED: Final = frozenset({"Fill", "Linspace", "Range", "Repeat", "resized"})
_REFUSED: Final = frozenset({"resize", "resize_2d", "resize_3d", "resize_4d", "owner", "freeze", "is_valid"})
"""Members that are not for scripts; `is_valid` leaves Python's error set where it is False."""
_COPYING: Final = frozenset({"normalized", "conjugated", "inverted"})
"""Methods of vectors and quaternions that copy, and crash where the value of a removed item cannot be copied."""
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
_LARGE_WORK: Final = frozenset(
    {"points_in_planes", "convex_hull_2d", "box_pack_2d", "delaunay_2d_cdt", "box_fit_2d"}
)
_SQUARE_WORK: Final = frozenset({"tessellate_polygon", "delaunay_2d_cdt"})
_LEAST: Final[dict[str, int]] = {"normal": 3, "points_in_planes": 1}
"""The fewest points that Blender's function needs: with fewer it frees memory that it never reserved."""
_LARGEST: Final[dict[str, int]] = {"points_in_planes": 64, "box_pack_2d": 1_000}
_FLAT: Final = frozenset({int, float})


def allow_mathutils(guard: Guard) -> None:
    """Let the guards use mathutils' types without an import: Blender's own properties return such values, too."""
    try:
        module = importlib.import_module("mathutils")
    except ImportError:
        return
    for kind in (getattr(module, name) for name in _TYPES):
        _allow(guard, kind)
    guard.set_items.discard(module.Matrix)
    guard.item_writers[module.Matrix] = lambda matrix, key, new: operator.setitem(matrix, key, drawn(new))
    guard.operators.compute_natively({getattr(module, name) for name in _TYPES})
    accessors = _accessors(module.Matrix)
    guard.items |= accessors
    guard.set_items |= accessors


def mathutils_members(guard: Guard) -> dict[str, object]:
    """Return the views `mathutils` and `mathutils.*`; none in a Python without Blender."""
    try:
        module = importlib.import_module("mathutils")
    except ImportError:
        return {}
    made: dict[str, object] = {}
    for name, listed in _MODULES.items():
        made[name] = Later(functools.partial(_part, guard, name, listed))
    own = {name: getattr(module, name) for name in _TYPES} | {"Matrix": _matrix(guard, module.Matrix)}
    parts = {name.partition(".")[2]: view for name, view in made.items()}
    made["mathutils"] = make_view("mathutils", own | parts)
    return made


def _part(guard: Guard, name: str, listed: str) -> View:
    """Return the view of a module in `mathutils`."""
    if name in _TREES:
        _TREES[name](guard).allow()
    part = importlib.import_module(name)
    members = {member: getattr(part, member) for member in listed.split() if hasattr(part, member)}
    guarded = {
        member: Later(functools.partial(_bounded, guard, member, value)) for member, value in members.items()
    }
    return make_view(name, guarded)


#: Modules with search trees; a script has no tree before it imports one of them.
_TREES: Final[Mapping[str, type[KDTrees | BVHTrees]]] = {
    "mathutils.kdtree": KDTrees,
    "mathutils.bvhtree": BVHTrees,
}


@functools.cache
def _accessors(matrix: Any) -> frozenset[type]:
    return frozenset({type(matrix().row), type(matrix().col)})


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


_OVERFLOWING: Final = frozenset({"resize_4x4"})
"""Methods that make a row or column of a matrix too short; Blender then writes beyond its memory."""


def _allow(guard: Guard, kind: type) -> None:
    """Allow a type of vectors: a script may use its public methods and read and set its components."""
    guard.allowed[kind] = _unguarded(kind)
    guard.writable[kind] = _components(kind)
    guard.methods[kind] = _copying(kind) | {name: _sized(guard, kind, name) for name in _constructors(kind)}
    for types_of in (guard.simple, guard.safe_times, guard.items, guard.set_items):
        types_of.add(kind)


@functools.cache
def _unguarded(kind: type) -> frozenset[str]:
    return (_public(kind) - _OVERFLOWING).difference(_copying(kind))


@functools.cache
def _copying(kind: type) -> dict[str, Callable[..., Any]]:
    """Return the methods of a type that copy, which need a check."""
    if kind.__name__ not in ("Vector", "Quaternion"):
        return {}
    return {name: _copied(getattr(kind, name)) for name in _public(kind) & _COPYING}


def _copied(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method to raise ReferenceError for a value of an item that Blender has removed."""

    def call(value: Any, *arguments: Any) -> Any:
        if value.owner is not None:
            value.copy()
        return function(value, *arguments)

    return call


def _sized(guard: Guard, kind: type, name: str) -> Callable[..., Any]:
    """Return `Vector.Fill(size, …)` or a similar function, with a limit on the size."""

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
        if name == "Range" and arguments[2:] and isinstance(arguments[2], int) and arguments[2] < 1:
            raise ValueError("Vector.Range(): the step is at least 1")  # Blender would divide by it
        return getattr(kind, name)(*arguments)

    return make


def _check_points(guard: Guard, name: str, arguments: tuple[Any, ...]) -> None:
    """Refuse too many points for functions whose work grows with the square of their number."""
    if name == "tessellate_polygon":
        count, limit = sum(len(part) for part in arguments[0] if hasattr(type(part), "__len__")), 5_000
    else:
        count, limit = sum(len(part) for part in arguments[1:3] if hasattr(type(part), "__len__")), 1_000
    if count > limit:
        guard.meter.exceed(
            f"mathutils {name}() takes at most {limit:,} points or edges here, not {count:,}", limit="work"
        )


def _vectors(polygons: Any) -> list[list[Any]]:
    """Return the points as vectors: for a wrong point, Blender would go on with Python's error set, and crash."""
    vector = importlib.import_module("mathutils").Vector
    return [[vector(point) for point in polygon] for polygon in polygons]


def _bounded(guard: Guard, name: str, function: Any) -> Any:
    if isinstance(function, type):
        return guard.builtins.facade(function)
    octaves = name.startswith(("turbulence", "fractal", "multi", "hetero", "hybrid", "ridged"))
    limit, what = (_OCTAVES, "octaves") if octaves else (10_000, "a count")
    numbers = (int, float, bool) if octaves else (int, bool)
    most = _LARGEST.get(name, 20_000) if name in _LARGE_WORK else None
    quick = most is None and name not in _SQUARE_WORK
    settled = {*_FLAT, bool, importlib.import_module("mathutils").Vector}

    def exceed() -> NoReturn:
        guard.meter.exceed(f"mathutils {name}() with {what} above {limit:,} is over the limit", limit="work")

    def call(*arguments: Any, **named: Any) -> Any:
        if (
            quick and not named and settled.issuperset(map(type, arguments))
        ):  # `noise` is often called once for each vertex
            for argument in arguments:
                if type(argument) in numbers and abs(argument) > limit:
                    exceed()
            return function(*arguments)
        arguments = tuple(drawn(whole(argument)) for argument in arguments)
        named = {key: drawn(whole(value)) for key, value in named.items()}
        if name in _SQUARE_WORK:
            _check_points(guard, name, (*arguments, *named.values()))
        if name == "tessellate_polygon" and arguments:
            arguments = (_vectors(arguments[0]), *arguments[1:])
        for argument in (*arguments, *named.values()):
            if isinstance(argument, numbers):
                if abs(argument) > limit:
                    exceed()
            elif most is not None and hasattr(type(argument), "__len__") and len(argument) > most:
                guard.meter.exceed(f"mathutils {name}() takes fewer points here", limit="work")
        return function(*arguments, **named)

    if name in _LEAST:
        call = _at_least(name, _LEAST[name], call)
    call.__name__ = call.__qualname__ = f"{function.__module__ or 'mathutils'}.{name}"
    return call


def _at_least(name: str, count: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `function(points, …)` to require `count` points; `normal` also takes points as separate arguments."""

    def call(points: Any, *more: Any) -> Any:
        if name == "normal" and more:
            points, more = (points, *more), ()
        points = list(map(drawn, points))
        if len(points) < count:
            raise ValueError(f"mathutils.geometry.{name}() takes at least {count} points, not {len(points)}")
        return function(points, *more)

    return call


def _matrix(guard: Guard, kind: type) -> Callable[..., Any]:
    def Matrix(*rows: Any) -> Any:  # noqa: N802
        return kind(*map(drawn, rows))

    return guard.builtins.add_facade(Matrix, kind)
