# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates how much geometry a step would make, before Blender makes it.

Nothing in the process stops Blender once it evaluates a modifier stack, so what multiplies is estimated from its
arguments, and what is above the policy's limit has to be rehearsed first. An estimate is of vertices, rough and on the
high side; it is made when a shaping value is written, and again for the touched objects before anything evaluates the
scene.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import bmesh
import bpy

from ..guard.measured import UNKNOWN
from ..guard.seam import BlenderHost
from . import animated, node_sizes, sizes
from .measure import OBJECT, measure

if TYPE_CHECKING:
    from ..guard.meter import Meter

__all__ = ("DATA_SETTINGS", "DISSOLVED", "SETTINGS", "Geometry", "check_instances", "estimate", "multiplies")

DISSOLVED = 60.0
"""Vertices of a dissolve, squared, per unit of work: joining face after face to a large one takes their square."""


class Geometry:
    """The budget of one run: `limit` vertices in one object."""

    def __init__(self, host: BlenderHost, limit: int) -> None:
        self._host = host
        self.limit = limit
        #: Names of touched data-blocks: references may be freed before the next check.
        self._touched: set[tuple[str, str]] = set()
        #: Whether the script was given what may animate the settings of modifiers.
        self._animated = False

    def amount(self, count: float, subject: str, given: str = "") -> None:
        """Have a count of new elements above the limit rehearsed first. `given`: the arguments, for the message."""
        if count > self.limit:
            self._host.meter.look_closer(
                subject,
                count,
                f"{subject}{given} makes {about(count)} elements, more than the {self.limit:,} that one step may "
                "make without a rehearsal",
            )

    def touch(self, owner: Any) -> None:
        """Note that a data-block was changed in a way that may multiply geometry."""
        if owner is not None and owner.id_type in _COLLECTIONS:
            self._touched.add((owner.id_type, owner.name))

    def animate(self, path: str | None = None) -> None:
        """Note that the script may animate what lies at this path of a data-block; without one, anything."""
        self._animated = self._animated or path is None or animated.shapes(path)

    def check(self, owner: Any) -> None:
        """Estimate what uses `owner` now, and note it for later."""
        self.touch(owner)
        for user in _users(owner):
            self._check_object(user)

    def check_touched(self, frame: float = 0.0) -> None:
        """Estimate everything that was touched: called before the scene is evaluated, perhaps at another frame."""
        if self._animated:
            for user in bpy.data.objects:
                if user.animation_data is not None and animated.has_modifiers(user):
                    self._check_object(user, frame)
        if not self._touched:
            return
        users = dict.fromkeys(user for each in self._touched for user in _users(_find(*each)))
        sizes_now = [self._check_object(user, frame) for user in users]
        if max(sizes_now, default=0.0) > _HEAVY:  # what is made of these may have become too much
            for user in bpy.data.objects:
                if any(modifier.type in _MADE_OF_OTHERS for modifier in user.modifiers):
                    self._check_object(user)

    def _check_object(self, user: Any, frame: float = 0.0) -> float:
        """What an object is estimated to have; above the limit it has to be rehearsed first, or is refused."""
        found = weigh(user, frame)
        if found.size <= self.limit:
            return found.size
        meter = self._host.meter
        message = (
            f"{user.name!r} would have {about(found.size)} vertices, more than the {self.limit:,} that a script may "
            f"make without a rehearsal{found.because}"
        )
        try:
            if found.changing:
                meter.exceed(
                    f"{message}; and a rehearsal cannot measure what changes with the frame ({found.changing}): lower "
                    "the modifiers' levels and counts, and what animation makes of them",
                    limit="geometry",
                )
            meter.look_closer(OBJECT.format(user.name_full), found.size, message)
        except BaseException:
            _defuse(user)
            raise
        return found.size

    def measure(self) -> None:
        """In a rehearsal, at its end: have Blender make what is estimated to be too much, and count it."""
        growth = self._host.meter.limits.growth
        if growth.rehearses and growth.estimates:
            growth.made.update(measure(growth.estimates, self._host.meter.tick))


def about(count: float) -> str:
    """A count as a message says it."""
    return "an unknown number of" if count >= UNKNOWN else f"about {count:,.0f}"


def check_instances(meter: Meter) -> None:
    """Refuse more instances than Blender could list: instances of instances multiply."""
    objects: Any = bpy.data.objects
    if not any(map(_is_instancer, objects)) and not bpy.data.particles:
        return
    drawn = sizes.instances(objects)
    if drawn > _MOST_INSTANCES:
        try:
            meter.look_closer(
                "instances",
                drawn,
                f"{about(drawn)} instances are more than the {_MOST_INSTANCES:,} that a script may leave without a "
                "rehearsal: instances of instances multiply",
            )
        except BaseException:
            for user in objects:  # nothing lists them before the roll-back, which brings these back
                user.instance_type = "NONE"
            raise


_HEAVY = 20_000
"""Points of an object that counts where others are made of it."""
_MADE_OF_OTHERS = frozenset({"NODES", "BOOLEAN", "PARTICLE_INSTANCE"})
_MOST_INSTANCES = 2_000_000
_is_instancer = operator.attrgetter("is_instancer")
"""By vertices, faces or a collection; who instances by particles is not said to."""


def _defuse(user: Any) -> None:
    """Keep Blender from evaluating the object before the roll-back, which brings these flags back as well."""
    user.animation_data_clear()
    for modifier in user.modifiers:
        modifier.show_viewport = False
    user.hide_viewport = True


#: Where what is touched is found again, by `ID.id_type`; nothing else is estimated.
_COLLECTIONS = {
    "OBJECT": "objects",
    "CURVE": "curves",
    "META": "metaballs",
    "NODETREE": "node_groups",
    "MESH": "meshes",
}


def _find(kind: str, name: str) -> Any:
    return getattr(bpy.data, _COLLECTIONS[kind]).get(name)


def _users(owner: Any) -> list[Any]:
    if owner is None:
        return []
    if owner.id_type == "OBJECT":
        return [owner]
    if owner.id_type == "NODETREE":
        if owner.bl_idname != "GeometryNodeTree" or not owner.users:
            return []
        return [o for o in bpy.data.objects if any(m.type == "NODES" for m in o.modifiers)]
    return [o for o in bpy.data.objects if o.data == owner] if owner.users else []


# --- estimates ----------------------------------------------------------------------------------------------


class Estimate(NamedTuple):
    """About how many vertices an object has, and why: what makes most of them, as the end of a message."""

    size: float
    because: str = ""
    changing: str = ""
    """What of it animation shapes, so that another frame may have more."""


def estimate(user: Any, frame: float = 0.0) -> float:
    """About how many vertices an object has after its modifiers, on the high side, at that frame too."""
    return weigh(user, frame).size


def weigh(user: Any, frame: float = 0.0) -> Estimate:
    """The estimate of an object with its modifiers, at that frame too."""
    size, work = _base(user), 0.0
    most, because, changing = 1.0, "", ""
    for modifier, *others in animated.modifiers(user, frame):
        if not (modifier.show_viewport or any(other.show_viewport for other in others)):
            continue
        rule = _MODIFIERS.get(_plain_type(modifier.type))
        if rule is not None:
            before = max(size, 1.0)
            size = max(rule(each, before, user) for each in (modifier, *others))
            if size / before > most:
                most, because = size / before, _said(modifier)
        if others:
            changing = f"modifier {others[0].name!r}"
        if modifier.type == "DECIMATE" and modifier.decimate_type == "DISSOLVE":
            work += size**2 / DISSOLVED
        if modifier.type in _VISITS:
            work += size * modifier.iterations / _VISITS[modifier.type]
        if size >= UNKNOWN:
            break
    return Estimate(max(size, work), because, changing)


def _said(maker: Any) -> str:
    """Which modifier it is, and its largest number."""
    if maker.type == "NODES":
        return f": most of it by modifier {maker.name!r}{node_sizes.most(maker)}"
    numbers = {
        prop.identifier: getattr(maker, prop.identifier)
        for prop in maker.bl_rna.properties
        if prop.identifier in SETTINGS and prop.type in ("INT", "FLOAT") and not prop.is_array
    }
    name = max(numbers, key=lambda each: max(numbers[each], 1 / max(numbers[each], 1e-9)), default="")
    given = f" ({name} = {numbers[name]:g})" if name else ""
    return f": most of it by modifier {maker.name!r}{given}"


def _plain_type(kind: str) -> str:
    """The type of a modifier without saying that it is one of grease pencil."""
    return kind.removeprefix("GREASE_PENCIL_" if "PENCIL" in kind else "GP_")


def multiplies(kind: str) -> bool:
    """Whether a new modifier of this type is estimated, by its type's name in RNA."""
    return _plain_type(kind) in _ESTIMATED


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
    """Points of one drawing of a grease pencil."""
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


def _extent(user: Any) -> float:
    """The longest side in the object's own space, of what the mesh is now: `dimensions` waits for an evaluation."""
    if user.type != "MESH" or not user.data.vertices:
        return float(max(*user.dimensions, 1e-3))
    if user.mode == "EDIT":
        points = [abs(c) for v in bmesh.from_edit_mesh(user.data).verts for c in v.co]
    else:
        points = [0.0] * (3 * len(user.data.vertices))
        user.data.vertices.foreach_get("co", points)
    return 2.0 * max(max(points), -min(points), 1e-3)


Rule = Callable[[Any, float, Any], float]


def _array(modifier: Any, size: float, user: Any) -> float:
    if user.type in ("GPENCIL", "GREASEPENCIL"):
        return size * max(modifier.count, 1)
    if modifier.fit_type == "FIXED_COUNT":
        return size * max(modifier.count, 1)
    step = 0.0
    if modifier.use_constant_offset:
        step += math.hypot(*modifier.constant_offset_displace)
    if modifier.use_relative_offset:
        step += math.hypot(*modifier.relative_offset_displace) * _extent(user)
    if modifier.use_object_offset:
        step += 1.0
    length = modifier.fit_length
    if modifier.fit_type == "FIT_CURVE" and modifier.curve is not None:
        length = sum(modifier.curve.dimensions) * 4.0
    return size * (1.0 + length / max(step, 1e-9))


def _remesh(modifier: Any, size: float, user: Any) -> float:
    if modifier.mode == "VOXEL":
        return 6.0 * (_extent(user) / max(modifier.voxel_size, 1e-6)) ** 2
    return 6.0 * 4.0**modifier.octree_depth


def _particles(modifier: Any, size: float, _user: Any) -> float:
    source = modifier.object
    count = sum(s.settings.count for s in source.particle_systems) if source is not None else 1
    return size * max(count, 1)


def _ocean(modifier: Any, size: float, _user: Any) -> float:
    side = max(modifier.resolution, modifier.viewport_resolution) ** 2
    repeat = modifier.repeat_x * modifier.repeat_y if modifier.geometry_mode == "GENERATE" else 0
    return size + float(side) ** 2 * max(repeat, 1)


def _boolean(modifier: Any, size: float, _user: Any) -> float:
    others = [modifier.object] if modifier.object is not None else []
    if modifier.collection is not None:
        others = list(modifier.collection.objects)
    total = size + 2.0 * sum(sizes.of(o) for o in others if o.type == "MESH")
    return total * 5.0 if modifier.solver == "EXACT" and total > _HEAVY else total


def _across(modifier: Any, user: Any) -> float:
    """Voxels along the longest side."""
    if modifier.resolution_mode != "VOXEL_SIZE":
        return float(max(modifier.voxel_amount, 1))
    source = modifier.object
    side = _extent(source) * max(*map(abs, source.scale), 1.0) if source is not None else _extent(user)
    return side / max(modifier.voxel_size, 1e-6)


def _simplify(modifier: Any, size: float, user: Any) -> float:
    """Sampling makes a point for each length."""
    if modifier.mode != "SAMPLE":
        return size
    return max(size, size * max(*user.dimensions, 1.0) / max(modifier.length, 1e-6))


#: Modifiers that visit each vertex over and over: so many visits take as long as making a vertex.
_VISITS = {"SMOOTH": 100.0, "CORRECTIVE_SMOOTH": 100.0, "LAPLACIANSMOOTH": 5.0, "LAPLACIANDEFORM": 5.0}

_MODIFIERS: dict[str, Rule] = {
    "SUBSURF": lambda m, size, _u: size * 4.0 ** max(m.levels, 0),
    "MULTIRES": lambda m, size, _u: size * 4.0 ** max(m.levels, m.sculpt_levels, 0),
    "ARRAY": _array,
    "MIRROR": lambda m, size, _u: size * 2.0 ** (sum(m.use_axis) if hasattr(m, "use_axis") else 3),
    "SOLIDIFY": lambda _m, size, _u: size * 2.0,
    "BEVEL": lambda m, size, _u: size * (4.0 + 2.0 * m.segments**2),
    "SCREW": lambda m, size, _u: size * max(m.steps, 1) * max(m.iterations, 1),
    "SKIN": lambda _m, size, _u: size * 12.0,
    "WIREFRAME": lambda _m, size, _u: size * 8.0,
    "EDGE_SPLIT": lambda _m, size, _u: size * 4.0,
    "REMESH": _remesh,
    "PARTICLE_INSTANCE": _particles,
    "OCEAN": _ocean,
    "BOOLEAN": _boolean,
    "VOLUME_TO_MESH": lambda m, size, user: size + 6.0 * _across(m, user) ** 2,
    "MESH_TO_VOLUME": lambda m, size, user: size + _across(m, user) ** 3 / 20.0,
    "SHRINKWRAP": lambda m, size, _u: size * 4.0 ** getattr(m, "subsurf_levels", 0),
    "SUBDIV": lambda m, size, _u: size * 2.0**m.level,
    "MULTIPLY": lambda m, size, _u: size * (m.duplicates + 1.0),
    "DASH": lambda _m, size, _u: size * 4.0,
    "OUTLINE": lambda m, size, _u: size * 2.0 * (m.subdivision + 1.0),
    "SIMPLIFY": _simplify,
    "NODES": node_sizes.modifier_size,
}

_ESTIMATED = _MODIFIERS.keys() | _VISITS.keys() | _MADE_OF_OTHERS | {"DECIMATE"}

#: The settings of modifiers that estimates read; another one shapes nothing.
SETTINGS = frozenset(
    """
    collection constant_offset_displace count curve decimate_type duplicates fit_length fit_type geometry_mode
    iterations length level levels mode node_group object octree_depth relative_offset_displace repeat_x repeat_y
    resolution resolution_mode sculpt_levels segments show_viewport solver steps subdivision subsurf_levels use_axis
    use_constant_offset use_object_offset use_relative_offset viewport_resolution voxel_amount voxel_size
    """.split()
)
#: The same of curves, texts and metaballs.
DATA_SETTINGS = frozenset(
    """
    bevel_depth bevel_object bevel_resolution body extrude radius render_resolution resolution resolution_u resolution_v
    size_x size_y size_z type
    """.split()
)
