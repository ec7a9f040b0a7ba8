# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates how many vertices an object has after its modifiers, by the formulas of `facts/growth.json`.

An estimate is rough, and rather too high than too low. It is a number only if it followed everything that the object is
made from; otherwise it is `UNKNOWN`, and a rehearsal has to measure it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, NamedTuple

import bmesh

from ..guard.measured import UNKNOWN
from . import animated, node_sizes
from .formulas import Formula, formulas

__all__ = (
    "DATA_SETTINGS",
    "HEAVY",
    "MADE_OF_OTHERS",
    "PARTICLE_SETTINGS",
    "SETTINGS",
    "estimate",
    "multiplies",
    "points_of",
    "weigh",
)

_FORMULAS = formulas("modifiers")
_WORK = formulas("work")
HEAVY: Final = 20_000
"""From so many points on, an object makes it necessary to estimate the objects that are made from it."""
MADE_OF_OTHERS: Final = frozenset({"NODES", "BOOLEAN", "PARTICLE_INSTANCE"})
"""Types of modifiers whose result depends on other objects."""
_OF_THE_OBJECT: Final = frozenset({"size", "extent", "longest"})
"""Names in the formulas that are not settings of a modifier."""
SETTINGS: Final = frozenset().union(
    *(each.names for each in (*_FORMULAS.values(), *_WORK.values()))
) - _OF_THE_OBJECT | {"show_viewport"}
"""The settings of modifiers that estimates read; the others do not change how much a modifier makes."""
PARTICLE_SETTINGS: Final = frozenset({"count", "frame_start", "physics_type", "subframes"})
"""The settings of particles that estimates read."""
DATA_SETTINGS: Final = frozenset(
    """
    bevel_depth bevel_object bevel_resolution body extrude radius render_resolution resolution resolution_u resolution_v
    size_x size_y size_z type
    """.split()
)
"""The settings of curves, texts and metaballs that estimates read."""


class Estimate(NamedTuple):
    """About how many vertices an object has."""

    size: float
    maker: Any = None
    """The modifier that makes most of them; None if no modifier makes more."""
    changing: str = ""
    """The modifier that animation changes, so that the object may have more vertices at another frame."""

    endless: bool = False
    """Whether too much is made from one another to follow it."""

    def because(self) -> str:
        """Return the end of a message: the name of `maker`, with its largest number."""
        if self.endless:
            return ": too much is made from one another to follow it"
        return "" if self.maker is None else _name_modifier(self.maker)


def estimate(user: Any, frame: float = 0.0) -> float:
    """Return about how many vertices an object has after its modifiers, rather too many, also at `frame`."""
    return weigh(user, frame).size


_estimating: list[str] = []
"""Objects whose estimate is not finished, each made from the next one."""
_finished: dict[str, float] = {}
"""Points of the objects from which the first of `_estimating` is made: many may be made from the same one."""


def points_of(user: Any) -> float:
    """Return how many points an object has after its modifiers, for another object that is made from it.

    Objects that are made from one another have an unknown number: Blender makes each from what the other was before.
    """
    name = user.name_full
    if _estimating and _estimating[-1] == name:
        return 1.0  # Blender leaves an object out that is among those from which it is made
    if name in _estimating:
        return UNKNOWN
    if name not in _finished:
        found = weigh(user).size
        if not _estimating:
            return found
        _finished[name] = found
    return _finished[name]


def weigh(user: Any, frame: float = 0.0) -> Estimate:
    """Estimate an object with its modifiers, also at `frame`."""
    _estimating.append(user.name_full)
    try:
        return _weigh(user, frame)
    except RecursionError:
        return Estimate(UNKNOWN, endless=True)
    finally:
        _estimating.pop()
        if not _estimating:
            _finished.clear()


def _weigh(user: Any, frame: float) -> Estimate:
    size, work = _base(user), 0.0
    most, maker, changing = 1.0, None, ""
    for modifier, *others in animated.modifiers(user, frame):
        if not (modifier.show_viewport or any(other.show_viewport for other in others)):
            continue
        formula = _formula(modifier.type)
        if formula is not None:
            before = max(size, 1.0)
            size = max(_vertices_after(formula, each, before, user) for each in (modifier, *others))
            if size / before > most:
                most, maker = size / before, modifier
        if others:
            changing = f"modifier {others[0].name!r}"
        if modifier.type in _WORK:
            work += max(
                _vertices_after(_WORK[modifier.type], each, size, user) for each in (modifier, *others)
            )
        if size >= UNKNOWN:
            break
    return Estimate(max(size, work), maker, changing)


@lru_cache(maxsize=256)
def _formula(kind: str) -> Formula | None:
    return _FORMULAS.get(_full_type(kind)) or _FORMULAS.get(_plain_type(kind))


def _vertices_after(formula: Formula, modifier: Any, size: float, user: Any) -> float:
    """Return how many vertices an object with `size` vertices has after this modifier."""

    def read(name: str) -> Any:
        if name == "size":
            return size
        if name == "extent":
            return _extent(user)
        if name == "longest":
            return _longest(user.dimensions)
        return getattr(modifier, name, None)

    if not formula.functions:
        return formula.value(read)
    return formula.value(
        read,
        _FUNCTIONS
        | {
            "self_collision": lambda: _collides(modifier),
            "emitted_before": lambda: _emitted_before(modifier.particle_system),
            "side": lambda source: _side(source, user),
            "tree": lambda _group: _tree(modifier, size, user),
        },
    )


def _tree(modifier: Any, size: float, user: Any) -> float:
    return node_sizes.modifier_size(modifier, size, user, points_of)


def _collides(modifier: Any) -> bool:
    """Return whether cloth collides with itself: a setting of its own struct."""
    settings = getattr(modifier, "collision_settings", None)
    return settings is not None and settings.use_self_collision


def _emitted_before(system: Any) -> float:
    """Return the work of computing a particle system up to the first frame of its cache, in vertices.

    Ten steps of a particle take as long as making a vertex. So does one step of a particle that looks at others (boids,
    fluid).
    """
    if system is None:
        return 0.0
    settings = system.settings
    frames = max(system.point_cache.frame_start - settings.frame_start, 0.0)
    each = 1.0 if settings.physics_type in ("BOIDS", "FLUID") else 0.1
    return float(frames * settings.count * (settings.subframes + 1) * each)


def _side(source: Any, user: Any) -> float:
    """Return the longest side of another object, with its scale; of this one if `source` is None."""
    return _extent(user) if source is None else _extent(source) * max(*map(abs, source.scale), 1.0)


def _meshes(other: Any, collection: Any) -> float:
    """Return how many points a mesh object has after its modifiers, or all mesh objects of a collection together."""
    others = list(collection.objects) if collection is not None else [other]
    return sum(points_of(each) for each in others if each is not None and each.type == "MESH")


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "length": lambda curve: 0.0 if curve is None else sum(curve.dimensions) * 4.0,
    "particles": lambda source: (
        1 if source is None else sum(s.settings.count for s in source.particle_systems)
    ),
    "meshes": _meshes,
    "exact": lambda size: size * 5.0 if size > HEAVY else size,
}


def _name_modifier(maker: Any) -> str:
    """Return the name of a modifier with its largest number, as the end of a message."""
    if maker.type == "NODES":
        return f": most of it by modifier {maker.name!r}{node_sizes.most(maker, points_of)}"
    numbers = {
        prop.identifier: getattr(maker, prop.identifier)
        for prop in maker.bl_rna.properties
        if prop.identifier in SETTINGS and prop.type in ("INT", "FLOAT") and not prop.is_array
    }
    name = max(numbers, key=lambda each: max(numbers[each], 1 / max(numbers[each], 1e-9)), default="")
    given = f" ({name} = {numbers[name]:g})" if name else ""
    return f": most of it by modifier {maker.name!r}{given}"


def _plain_type(kind: str) -> str:
    """Return the type of a modifier without the prefix for grease pencil."""
    return kind.removeprefix("GREASE_PENCIL_" if "PENCIL" in kind else "GP_")


def _full_type(kind: str) -> str:
    """Return the type of a grease pencil modifier as Blender names it since 4.3."""
    return f"GREASE_PENCIL_{_plain_type(kind)}" if kind != _plain_type(kind) else kind


def multiplies(kind: str) -> bool:
    """Return whether a new modifier of this type needs an estimate; `kind` is the type's name in RNA."""
    return _formula(kind) is not None or _plain_type(kind) in _WORK


def _base(user: Any) -> float:
    data = user.data
    match user.type:
        case "MESH":
            return float(len(data.vertices))
        case "CURVE" | "SURFACE" | "FONT":
            return _curve(data)
        case "META":
            return _metaball(data)
        case "POINTCLOUD" | "CURVES":
            return float(len(data.points))
        case "GPENCIL" | "GREASEPENCIL":
            return max((_drawing(frame) for layer in data.layers for frame in layer.frames), default=1.0)
    return 1.0


def _drawing(frame: Any) -> float:
    """Return the points of one drawing of a grease pencil."""
    strokes = frame.drawing.strokes if hasattr(frame, "drawing") else frame.strokes
    return float(sum(len(stroke.points) for stroke in strokes))


def _curve(data: Any) -> float:
    ring = 1.0
    if data.bevel_depth or data.extrude or data.bevel_object:
        ring = 4.0 + 4.0 * data.bevel_resolution
    profile = data.bevel_object
    if profile is not None and profile.type == "CURVE" and profile.data != data:
        ring = max(ring, sum(_points(spline) for spline in profile.data.splines))
    if hasattr(data, "body"):
        return max(len(data.body), 1) * 40.0 * data.resolution_u * ring / 4.0
    size = 0.0
    for spline in data.splines:
        along = _points(spline)
        if spline.point_count_v > 1:
            along *= spline.resolution_v
        size += along * ring
    return size


def _points(spline: Any) -> float:
    points = max(len(spline.points), len(spline.bezier_points))
    return float(points if spline.type == "POLY" else points * spline.resolution_u)


def _metaball(data: Any) -> float:
    cell = max(min(data.resolution, data.render_resolution or data.resolution), 1e-6)
    return sum(
        (2.0 * (e.radius + max(e.size_x, e.size_y, e.size_z)) / cell) ** 2 * 6.0 for e in data.elements
    )


def _longest(sides: Iterable[float]) -> float:
    """Return the largest of these numbers; NaN if one of them is not finite."""
    found = [*sides]
    return float(max(found)) if math.isfinite(sum(found)) else math.nan


def _extent(user: Any) -> float:
    """Return the longest side in the object's own space of the mesh as it is: `dimensions` waits for an evaluation.

    It is NaN if one of the mesh's coordinates is not finite.
    """
    if user.type != "MESH" or not user.data.vertices:
        return _longest((*user.dimensions, 1e-3))
    if user.mode == "EDIT":
        points = [abs(c) for v in bmesh.from_edit_mesh(user.data).verts for c in v.co]
    else:
        points = [0.0] * (3 * len(user.data.vertices))
        user.data.vertices.foreach_get("co", points)
    return 2.0 * _longest((_longest(points), -min(points), 1e-3))
