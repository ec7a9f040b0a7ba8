# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and writes custom properties for scripts; `lifetime` invalidates their parts when Blender frees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bpy.types import ID

from ...guard.facade import Facade, hide
from ...guard.reentry import has_own_table
from ...guard.seam import BlenderHost
from ...guard.values.plain import SCALAR_TYPES
from ...guard.values.weight import EMPTY_INSIDE, FLAT, TooHeavy
from ...lifetime.custom_properties import PARTS
from ...lifetime.memory import of_removed
from ..blocks import note_link

__all__ = ("METHODS", "Settings", "check_new", "delete", "group_member", "is_registered", "replace")

# --- writing ------------------------------------------------------------------------------------------------

_MAX_CUSTOM = 2_000_000
_OF_GROUPS = 20
"""How much a value in a group of Blender's weighs: Python reads each one by itself."""
_DEEPEST = 200
"""How many groups and lists of custom properties may lie in one another."""


def check_new(host: BlenderHost, owner: Any, new: Any, outer: int = 0) -> None:
    """Check the size and the depth of a new value for `owner`, a struct or a group of custom properties.

    `outer`: how many of the outermost levels of `new` do not become part of `owner`. Blender copies, saves and frees
    nested groups by recursion, which overflows its stack.

    Raises:
        TypeError: it contains a container that is no dict, list or tuple.
    """
    kind = type(new)
    if kind in SCALAR_TYPES:
        return
    if isinstance(new, ID):
        note_link(host, owner, new)
    if EMPTY_INSIDE[kind] and not PARTS[kind]:
        return
    if isinstance(new, (dict, list, tuple)) and has_own_table(new):
        host.refuse("a custom property takes a plain dict: make one by dict(…)", code="item")
    try:
        depth, links = _depth(new)
        if (depth > 1 or isinstance(new, dict) or PARTS[kind]) and (
            depth + host.stale.properties.depth(owner) - outer > _DEEPEST
        ):
            raise TooHeavy
    except TooHeavy:
        host.exceed(
            "a custom property this large, or nested this deeply, is over the limit: it may have "
            f"{_MAX_CUSTOM:,} values, and {_DEEPEST} groups and lists in one another. Keep it flat, or split it into "
            "several",
            limit="sequence",
        )
    if links:
        host.geometry.chains.link_somewhere()


def _depth(value: Any) -> tuple[int, bool]:
    """Return how many groups and lists lie in one another in a new value, and whether it points to a data-block.

    It calls no method of a script's class.

    Raises:
        TooHeavy: the value contains more than `_MAX_CUSTOM` others, or more than `_DEEPEST` levels.
        TypeError: it contains a container that is no dict, list, tuple or custom property.
    """
    total, links, level = 0, False, [value]
    for depth in range(_DEEPEST + 1):
        following: list[Any] = []
        for each in level:
            parts = _values(each)
            total += len(parts) * (_OF_GROUPS if PARTS[type(each)] else 1)
            if total > _MAX_CUSTOM:
                raise TooHeavy
            if not SCALAR_TYPES.issuperset(map(type, parts)):
                others = [part for part in parts if type(part) not in SCALAR_TYPES]
                links = links or any(isinstance(part, ID) for part in others)
                following += others
        if not following:
            return depth + 1, links
        level = following
    raise TooHeavy


def _values(value: Any) -> Any:
    """Return what a value for a custom property contains, as C code sees it."""
    kind = type(value)
    if isinstance(value, dict):
        return dict.values(value)
    if isinstance(value, list):
        return value if kind is list else list(list.__iter__(value))
    if isinstance(value, tuple):
        return value if kind is tuple else tuple(tuple.__iter__(value))
    if PARTS[kind]:
        return value.values() if hasattr(value, "values") else value.to_list()
    if not hasattr(kind, "__len__") or FLAT[kind] or EMPTY_INSIDE[kind] or of_removed(kind):
        return ()
    raise TypeError(f"a custom property takes a dict, list or tuple, not a {kind.__name__}")


def replace(host: BlenderHost, owner: Any, key: Any, new: Any) -> None:
    """Set `owner[key] = new`, and invalidate the parts of the old value."""
    parts = _has_parts(owner, key)
    owner[key] = new
    if parts:
        host.stale.after_property()


def delete(host: BlenderHost, owner: Any, key: Any) -> None:
    """Delete `owner[key]`, and invalidate its parts."""
    parts = _has_parts(owner, key)
    del owner[key]
    if parts:
        host.stale.after_property()


def _has_parts(owner: Any, key: Any) -> bool:
    """Return whether this custom property has parts, which are freed with it."""
    if not (hasattr(type(owner), "get") and isinstance(key, str)):
        return False
    kind = type(owner.get(key))
    return kind is list or PARTS[kind]


def is_registered(host: BlenderHost, owner: Any, key: object) -> bool:
    """Return whether Blender stores a property at this key that an add-on registered on this struct."""
    if not isinstance(key, str) or not hasattr(owner, "bl_rna"):
        return False
    place = type(owner), str.__str__(key)
    known = host.registered.get(place)
    if known is None:
        prop = owner.bl_rna.properties.get(place[1]) if _is_property(owner, place[1]) else None
        known = host.registered[place] = prop is not None and prop.is_runtime
    return known


def _is_property(owner: Any, key: str) -> bool:
    """Return whether RNA may have a property of that name: `properties.get` searches all of them before it says no."""
    try:
        owner.is_property_hidden(key)
    except TypeError:  # not found
        return False
    except ValueError:  # not searched: it holds the character that ends a text in C, and C ignores the rest
        pass
    return True


# --- methods of structs -------------------------------------------------------------------------------------


def _get(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return the script's `get`: custom properties, without those that add-ons registered."""

    def call(key: str, default: Any = None) -> Any:
        if is_registered(host, owner, key):
            return default
        return host.stale.properties.give(owner, owner.get(key, default))

    return call


def _pop(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return the script's `pop`: custom properties, without those that add-ons registered."""

    def call(key: str, *default: Any) -> Any:
        if is_registered(host, owner, key):
            host.refuse(f"[{key!r}] belongs to an add-on")
        parts = _has_parts(owner, key)
        found = owner.pop(key, *default)
        if parts:
            host.stale.after_property()
        return found

    return call


def _items(host: BlenderHost, owner: Any) -> list[tuple[str, Any]]:
    return [
        (key, host.stale.properties.give(owner, value))
        for key, value in owner.items()
        if not is_registered(host, owner, key)
    ]


class Settings(Facade):
    """The settings of a custom property (`id_properties_ui`), read at each use, as the property may be replaced."""

    __slots__ = ("place",)

    def __init__(self, holder: Any, key: Any) -> None:
        _set_place(self, (holder, key))
        _native(self)  # Blender's own error where there are none

    def as_dict(self) -> dict[str, Any]:
        """Return the settings by name."""
        settings: dict[str, Any] = _native(self).as_dict()
        return settings

    def clear(self) -> None:
        """Remove the settings."""
        _native(self).clear()

    def update(self, **settings: Any) -> None:
        """Change these settings."""
        _native(self).update(**settings)

    def update_from(self, other: Any) -> None:
        """Copy the settings of another property of the same type."""
        _native(self).update_from(_native(other) if isinstance(other, Settings) else other)


_place: Callable[[Settings], tuple[Any, Any]]
_place, _set_place = hide(Settings, "place")


def _native(settings: Settings) -> Any:
    holder, key = _place(settings)
    return holder.id_properties_ui(key)


#: Readers of the methods that every struct has.
METHODS = {
    "get": _get,
    "pop": _pop,
    "keys": lambda host, owner, _name: lambda: [key for key, _value in _items(host, owner)],
    "values": lambda host, owner, _name: lambda: [value for _key, value in _items(host, owner)],
    "items": lambda host, owner, _name: lambda: _items(host, owner),
    "id_properties_ui": lambda _host, owner, _name: lambda key: Settings(owner, key),
}


# --- methods of groups --------------------------------------------------------------------------------------


def group_member(host: BlenderHost, group: Any, name: str) -> Any:
    """Return a member of a group of custom properties: lists replace Blender's views, which show freed memory."""
    give = host.stale.properties.give
    if name == "get":
        return lambda key, default=None: give(group, group.get(key, default))
    if name == "keys":
        return lambda: list(group.keys())
    if name == "values":
        return lambda: [give(group, value) for value in group.values()]
    if name == "items":
        return lambda: [(key, give(group, value)) for key, value in group.items()]
    if name == "update":
        return lambda values: _update(host, group, values)
    if name in ("pop", "clear"):
        return lambda *arguments: _freeing(host, group, name, *arguments)
    return getattr(group, name)


def _update(host: BlenderHost, group: Any, values: Any) -> None:
    check_new(host, group, values, outer=1)
    _freeing(host, group, "update", values)


def _freeing(host: BlenderHost, group: Any, name: str, *arguments: Any) -> Any:
    parts = any(_has_parts(group, key) for key in (arguments[:1] if name == "pop" else list(group.keys())))
    try:
        return getattr(group, name)(*arguments)
    finally:
        if parts:
            host.stale.after_property()
