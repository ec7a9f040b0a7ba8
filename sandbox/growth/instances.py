# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates how many objects Blender lists when objects instance others."""

from __future__ import annotations

from typing import Any

from ..guard.measured import UNKNOWN
from .estimate import points_of

__all__ = ("instances",)


def instances(objects: Any) -> float:
    """Return about how many objects Blender lists when it draws each of these as often as it is instanced.

    An unknown number if objects instance one another, or more deeply than Python can follow.
    """
    known: dict[str, float] = {}
    try:
        return _all_drawn(objects, known)
    except RecursionError:
        return UNKNOWN


def _all_drawn(objects: Any, known: dict[str, float]) -> float:
    return sum(_drawn(user, known) for user in objects if user.parent is None or not _multiplies(user.parent))


def _multiplies(user: Any) -> bool:
    return user.instance_type in ("VERTS", "FACES")


def _drawn(user: Any, known: dict[str, float]) -> float:
    """Return how many objects are drawn because of `user`, itself included."""
    found = known.get(user.name_full)
    if found is not None:
        return found
    known[user.name_full] = UNKNOWN  # for an object that instances itself
    total = 1.0
    if _multiplies(user):
        elements = points_of(user)
        total += elements * sum(_drawn(child, known) for child in user.children)
    elif user.instance_type == "COLLECTION" and user.instance_collection is not None:
        total += sum(_drawn(each, known) for each in user.instance_collection.all_objects)
    for system in user.particle_systems:
        total += _of_particles(system.settings, known)
    known[user.name_full] = total
    return total


def _of_particles(settings: Any, known: dict[str, float]) -> float:
    children = 1 if settings.child_type == "NONE" else max(settings.child_percent, 1)
    count = float(settings.count) * children
    if settings.render_type == "OBJECT" and settings.instance_object is not None:
        return count * _drawn(settings.instance_object, known)
    if settings.render_type == "COLLECTION" and settings.instance_collection is not None:
        return count * max(sum(_drawn(each, known) for each in settings.instance_collection.all_objects), 1.0)
    return 0.0
