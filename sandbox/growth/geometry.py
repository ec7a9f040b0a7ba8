# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates how much geometry a step would make, before Blender makes it.

Nothing in the process stops Blender once it evaluates a modifier stack. So the sandbox estimates from the arguments,
and a step above the policy's limit has to be rehearsed first. It estimates when a script writes a setting that changes
how much is made, and again, for the objects that were touched, before anything evaluates the scene.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import bpy

from ..guard.measured import UNKNOWN, Measured
from ..guard.meter import closed
from ..guard.seam import BlenderHost
from . import animated
from .chains import Chains
from .curves import check_curves
from .estimate import HEAVY, MADE_OF_OTHERS, weigh
from .instances import instances
from .measure import OBJECT, measure
from .vectors import Vectors
from .zones import check_zones, unpaired

if TYPE_CHECKING:
    from ..guard.meter import Meter

__all__ = ("Geometry", "check_instances")


def _defuse_all() -> None:
    """Keep Blender from making anything before the roll-back, after an estimate has failed."""
    for user in bpy.data.objects:
        _defuse(user)


_closed = closed("how much geometry a step would make", on_failure=_defuse_all)


class Geometry:
    """The budget of one run: `limit` vertices in one object."""

    def __init__(self, host: BlenderHost, limit: int) -> None:
        self._host = host
        self.refuse = host.refuse
        self.chains = Chains(host.refuse)
        self.vectors = Vectors(host.refuse)
        self.limit = limit
        #: Touched data-blocks by type and `ID.session_uid`, with their last known name. A reference may be freed
        #: before the next check, and a script may give its name to another data-block.
        self._touched: dict[tuple[str, int], str] = {}
        #: Whether the script may animate the settings of modifiers.
        self._animated = False
        #: Whether the script may have left an end of a zone without its beginning since the last check.
        self._zoned = False

    def amount(self, count: float, subject: str, given: str = "") -> None:
        """Have a step of more elements than the limit rehearsed first. `given`: its arguments, for the message."""
        if count > self.limit:
            self._host.meter.look_closer(
                subject,
                count,
                f"{subject}{given} makes {about(count)} elements, more than the {self.limit:,} that one step may "
                "make without a rehearsal",
            )

    @_closed
    def touch(self, owner: Any) -> None:
        """Note that a data-block was changed in a way that may multiply geometry."""
        if owner is not None and owner.id_type in _COLLECTIONS:
            self._touched[owner.id_type, owner.session_uid] = owner.name

    @_closed
    def copied(self, original: Any, copy: Any) -> None:
        """Note that a data-block was copied: the script may remove the original before anything estimates it."""
        if (original.id_type, original.session_uid) in self._touched:
            self.touch(copy)

    @_closed
    def animate(self, path: str | None = None) -> None:
        """Note that the script may animate this path of a data-block, or any path if `path` is None."""
        self._animated = self._animated or path is None or animated.shapes(path)

    @_closed
    def check(self, owner: Any) -> None:
        """Estimate the objects that use `owner` now, and note `owner` for later."""
        self.touch(owner)
        for user in _users([owner] if owner is not None else []):
            self._check_object(user)

    def zone(self) -> None:
        """Note that the script may leave an end of a zone without its beginning."""
        self._zoned = True

    def check_touched(self, frame: float = 0.0) -> None:
        """Estimate all touched objects before the scene is evaluated, perhaps at another frame."""
        self.chains.check()
        self.vectors.check()
        if self._zoned:
            self._check_zones()
        if self._animated or self._touched:
            self._check_touched(frame)

    def abandon(self) -> None:
        """Make the scene of a run that has failed safe to evaluate: Blender may do so before the roll-back."""
        self.chains.abandon()
        self.vectors.mend()
        if self._zoned and unpaired():
            _defuse_all()

    @closed("whether each zone of nodes has its beginning", on_failure=_defuse_all)
    def _check_zones(self) -> None:
        try:
            check_zones(self._host)
        except BaseException:
            _defuse_all()
            raise
        self._zoned = False

    @_closed
    def _check_touched(self, frame: float) -> None:
        if self._animated:
            check_curves(self._host, frame)
            for user in bpy.data.objects:
                if user.animation_data is not None and animated.has_modifiers(user):
                    self._check_object(user, frame)
        if not self._touched:
            return
        sizes_now = [self._check_object(user, frame) for user in _users(self._find_touched())]
        if (
            max(sizes_now, default=0.0) > HEAVY
        ):  # other objects that are made from these may have become too large
            for user in bpy.data.objects:
                if any(modifier.type in MADE_OF_OTHERS for modifier in user.modifiers):
                    self._check_object(user)

    def _find_touched(self) -> list[Any]:
        """Return the touched data-blocks that exist; note their names of now."""
        found: list[Any] = []
        renamed: dict[str, dict[int, Any]] = {}
        for (kind, uid), name in list(self._touched.items()):
            blocks = getattr(bpy.data, _COLLECTIONS[kind])
            block = blocks.get(name)
            if block is None or block.session_uid != uid:
                if kind not in renamed:
                    renamed[kind] = {each.session_uid: each for each in blocks}
                block = renamed[kind].get(uid)
            if block is None:
                del self._touched[kind, uid]
            else:
                self._touched[kind, uid] = block.name
                found.append(block)
        return found

    def _check_object(self, user: Any, frame: float = 0.0) -> float:
        """Return the estimate of an object; above the limit, have it rehearsed first or refuse it."""
        found = weigh(user, frame)
        if found.size <= self.limit:
            return found.size
        meter = self._host.meter
        message = (
            f"{user.name!r} would have {about(found.size)} vertices, more than the {self.limit:,} that a script may "
            f"make without a rehearsal{found.because()}"
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
        """At the end of a rehearsal, have Blender make what was estimated to be too much, and count it."""
        growth = self._host.meter.limits.growth
        if growth.rehearses and growth.estimates:
            self._measure(growth)

    @_closed
    def _measure(self, growth: Measured) -> None:
        growth.made.update(measure(growth.estimates, self._host.meter.tick))


def about(count: float) -> str:
    """Return a count as a message says it."""
    return "an unknown number of" if count >= UNKNOWN else f"about {count:,.0f}"


def check_instances(meter: Meter) -> None:
    """Refuse more instances than Blender could list: instances of instances multiply."""
    objects: Any = bpy.data.objects
    if not any(map(_is_instancer, objects)) and not bpy.data.particles:
        return
    drawn = instances(objects)
    if drawn > _MOST_INSTANCES:
        try:
            meter.look_closer(
                "instances",
                drawn,
                f"{about(drawn)} instances are more than the {_MOST_INSTANCES:,} that a script may leave without a "
                "rehearsal: instances of instances multiply",
            )
        except BaseException:
            for (
                user
            ) in objects:  # nothing lists the objects before the roll-back, which restores this setting
                user.instance_type = "NONE"
            raise


_MOST_INSTANCES = 2_000_000
_is_instancer = operator.attrgetter("is_instancer")
"""Whether an object instances by vertices, faces or a collection; Blender does not say this of particle systems."""


def _defuse(user: Any) -> None:
    """Keep Blender from evaluating the object before the roll-back, which also restores these flags."""
    user.animation_data_clear()
    for modifier in user.modifiers:
        modifier.show_viewport = False
    user.hide_viewport = True


#: The collection of `bpy.data` with a touched data-block, by `ID.id_type`; other types are not estimated.
_COLLECTIONS = {
    "OBJECT": "objects",
    "CURVE": "curves",
    "META": "metaballs",
    "NODETREE": "node_groups",
    "MESH": "meshes",
    "PARTICLE": "particles",
}


def _users(owners: list[Any]) -> list[Any]:
    """Return the objects whose geometry depends on these data-blocks."""
    found = [owner for owner in owners if owner.id_type == "OBJECT"]
    trees = [owner for owner in owners if owner.id_type == "NODETREE"]
    settings = {owner for owner in owners if owner.id_type == "PARTICLE"}
    data = {
        owner for owner in owners if owner.id_type not in ("OBJECT", "NODETREE", "PARTICLE") and owner.users
    }
    if settings:
        found += [o for o in bpy.data.objects if any(s.settings in settings for s in o.particle_systems)]
    if data:
        found += [o for o in bpy.data.objects if o.data in data]
    if any(tree.bl_idname == "GeometryNodeTree" and tree.users for tree in trees):
        found += [o for o in bpy.data.objects if any(m.type == "NODES" for m in o.modifiers)]
    return [*dict.fromkeys(found)]
