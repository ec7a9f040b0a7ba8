# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks data paths, and reads and writes of a property of all items of a collection at once.

Blender follows the paths of F-curves and drivers without the guards: it writes the property at each frame, or reads it
for a driver's variable. So each path is walked here along the types that RNA gives its properties, and may name what
attributes may name: not what add-ons registered, whose getters and setters are Python, nor what no list names.

A type stands for all that derive from it, since RNA names the type of `Object.modifiers` and not that of an item. A
path without a known data-block may begin at each type of data-block. `foreach_get` and `foreach_set` use an attribute
of each item, and are checked in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import bpy

from ...base.per_type import PerType
from ...scene import data_paths
from ..guard.seam import BlenderHost, Writer
from ..lifetime import parts
from . import blocks, vertex_groups
from .layers.names import check_flag
from .plain_values import as_plain, numbers_to_read, place_to_write
from .properties import readers, writers
from .properties.limits import check_value

__all__ = ("WRITERS", "check_path", "foreach_get", "foreach_set")


#: The types at which a driver's variable of the context begins.
_CONTEXT: frozenset[type] = frozenset({bpy.types.Scene, bpy.types.ViewLayer})


def check_path(host: BlenderHost, path: Any, start: object = None) -> None:
    """Refuse a data path that is malformed, or that names what a script may not write.

    `start`: the owner at which the path begins, None for any data-block.
    """
    _walk(host, path, _anywhere(True) if start is None else _START[type(start)], write=True)


def _check_read(host: BlenderHost, path: Any, start: Any) -> None:
    """Refuse a data path that a driver's variable may not read, from a data-block or from the context."""
    _walk(host, path, _anywhere(False) if start is None else _CONTEXT | _START[type(start)], write=False)


_ID, _ACTION = bpy.types.ID, bpy.types.Action


def _root(kind: type) -> type:
    """Return the base type of a data-block's type: a point light may become a sun."""
    return next((base for base in kind.__mro__ if _ID in base.__bases__), kind)


_START = PerType(lambda kind: frozenset({_root(kind)}), bpy.types.bpy_struct)
"""Where a data path of a value of a type begins, as `_walk` takes it."""


def _walk(host: BlenderHost, path: Any, start: frozenset[type], *, write: bool) -> None:
    """Refuse a malformed data path, or one that names what a script may not use. Each is walked once in a run.

    If each name belongs to each of the types, no add-on can later register a property in its place. Such a path is
    walked once for all runs; most paths are of this kind.
    """
    key = path, start, write
    if type(path) is str and (key in host.members.reached or key in host.reached):
        return
    if reason := data_paths.bad_data_path(path):
        host.refuse(reason)
    lasts = len(path) <= _LONGEST
    kinds = start
    items: frozenset[type] = frozenset()
    steps = data_paths.split_data_path(path)
    for at, step in enumerate(steps):
        if isinstance(step, str):
            last = not any(isinstance(later, (str, tuple)) for later in steps[at + 1 :])
            named = list(_having(kinds, step))
            _check(host, named, last=last, write=write and last)
            lasts = lasts and {kind for kind, prop in named if not prop.is_runtime} == kinds
            kinds, items = _next(kinds, named)
        elif isinstance(step, int) or items:
            kinds, items = items, frozenset()
        else:
            for kind, prop in _having(kinds, step[0]):
                if prop.is_runtime:
                    host.refuse(
                        f'a data path may not name ["{step[0]}"] of {kind.__name__}: it belongs to an add-on'
                    )
            kinds = _anywhere(False)  # a custom property may be a data-block
            lasts = False
    known = host.members.reached if lasts and len(host.members.reached) < _MOST else host.reached
    known.add(key)


_MOST, _LONGEST = 1000, 200
"""How many paths are remembered between runs, and how many characters such a path may have."""


def _check(host: BlenderHost, named: list[tuple[type, Any]], *, last: bool, write: bool) -> None:
    """Refuse a name that a script may use in none of the types that have it.

    So `scale` is allowed, since objects have it, although cache files have one, too. But if one of the types has a
    property of an add-on or the values of a layer under this name, it is refused in any case. The last name counts
    only if it is a number: Blender writes and reads nothing else.
    """
    refused = [
        (kind, prop)
        for kind, prop in named
        if not (last and prop.type not in _NUMBERS) and not _may(host, kind, prop, write=write)
    ]
    refused = [
        (kind, prop)
        for kind, prop in refused
        if prop.is_runtime or _is_looked_at(host, kind, prop) or len(refused) == len(named)
    ]
    if refused:
        kind, prop = refused[0]
        why = "" if _is_looked_at(host, kind, prop) else host.members.access(kind, prop.identifier).why
        host.refuse(
            f"a data path may not name {kind.__name__}.{prop.identifier}: "
            f"{why or 'its values have to be looked at one by one'}"
        )


def _may(host: BlenderHost, kind: type, prop: Any, *, write: bool) -> bool:
    if _is_looked_at(host, kind, prop):
        return False
    access = host.members.access(kind, prop.identifier)
    if write and not prop.is_readonly:
        return access.write is not None and not access.attended
    return access.read is not None


def _is_looked_at(host: BlenderHost, kind: type, prop: Any) -> bool:
    return host.members.access(kind, prop.identifier).read in _CHECKED_READERS


#: Readers whose check is missing when Blender itself follows a path.
_CHECKED_READERS = frozenset({vertex_groups.of_point, readers.read_layer_data})
_NUMBERS = frozenset({"BOOLEAN", "INT", "FLOAT", "ENUM"})


def _next(kinds: frozenset[type], named: list[tuple[type, Any]]) -> tuple[frozenset[type], frozenset[type]]:
    """Return the types of the values of these properties, and the types of their items if they are collections."""
    found: set[type] = set()
    items: set[type] = set()
    for _kind, prop in named:
        if prop.type == "POINTER":
            found |= _struct(prop.fixed_type)
        elif prop.type == "COLLECTION":
            items |= _struct(prop.fixed_type)
            found |= _struct(prop.srna)
    if not found and not items and any(kind.__name__ == "NodesModifierProperties" for kind in kinds):
        return _anywhere(
            False
        ) | kinds, frozenset()  # Blender made it for a node group; its values may be data-blocks
    return frozenset(found), frozenset(items)


def _curve_path(host: BlenderHost, curve: Any, name: str, new: Any) -> None:
    """Write the path of an F-curve: an action's may be used for any data-block, a driver's for its own."""
    owner = curve.id_data
    new = as_plain(new)
    check_path(host, new, None if isinstance(owner, _ACTION) else owner)
    host.geometry.animate(new)
    setattr(curve, name, new)


def _key_path(host: BlenderHost, keyed: Any, name: str, new: Any) -> None:
    new = as_plain(new)
    check_path(host, new)
    setattr(keyed, name, new)


def _target_path(host: BlenderHost, target: Any, name: str, new: Any) -> None:
    new = as_plain(new)
    _check_read(host, new, target.id)
    setattr(target, name, new)


def _target_id(host: BlenderHost, target: Any, name: str, new: Any) -> None:
    if target.data_path:
        _check_read(host, target.data_path, new)
    setattr(target, name, new)


#: Writers of properties that are data paths, or at which one begins.
WRITERS: dict[str, Writer] = {
    "DriverTarget.data_path": _target_path,
    "DriverTarget.id": _target_id,
    "FCurve.data_path": _curve_path,
    "KeyingSetPath.data_path": _key_path,
}


def _having(kinds: Iterable[type], name: str) -> Iterator[tuple[type, Any]]:
    for kind in kinds:
        prop = kind.bl_rna.properties.get(name)
        if prop is not None:
            yield kind, prop
        else:
            parts.prepare()  # Blender makes its types when they are first used
            yield from _having(kind.__subclasses__(), name)


def _struct(rna: Any) -> frozenset[type]:
    if rna is None:
        return frozenset()
    kind = getattr(bpy.types, rna.identifier, None)
    if not isinstance(kind, type):  # bpy.types does not have those of add-ons
        kind = bpy.types.PropertyGroup.bl_rna_get_subclass_py(rna.identifier, None)
    return frozenset({kind}) if kind is not None else _anywhere(False)


@cache
def _anywhere(animated: bool) -> frozenset[type]:
    """Return the types at which a path may begin: data-blocks that can be `animated`, or any and view layers."""
    parts.prepare()
    data = frozenset(_derived(bpy.types.ID))
    if animated:
        return frozenset(kind for kind in data if kind.bl_rna.properties.get("animation_data"))
    return data | {bpy.types.ViewLayer}


def _derived(kind: Any) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from _derived(each)


# --- many items at once --------------------------------------------------------------------------------------


def foreach_get(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return `foreach_get` of a collection, which checks that a script may read the attribute of each item."""

    def call(attr: str, seq: Any) -> None:
        attr = as_plain(attr)
        if len(owner) and isinstance(attr, str):
            _check_items(host, owner, attr, write=False)
        owner.foreach_get(attr, place_to_write(seq, "foreach_get"))

    return call


def foreach_set(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return `foreach_set` of a collection, which checks that a script may write the attribute of each item."""

    def call(attr: str, seq: Any) -> None:
        blocks.check_original(host, owner)
        attr, seq = as_plain(attr), numbers_to_read(seq, "foreach_set")
        if len(owner) and isinstance(attr, str):
            if _is_readonly(owner[0], attr):
                _check_items(host, owner, attr, write=False)
                return  # Blender does the same: `loop_total` follows from `loop_start`
            path = f"{type(owner[0]).__name__}.{attr}"
            native, limited = _check_items(host, owner, attr, write=True)
            if limited:
                check_value(owner[0], attr, seq)
            check_flag(host, owner[0], path)
            if path in writers.INDICES:
                seq = [int(i) for i in seq]
                writers.check_indices(host, path, owner.id_data, seq)
            elif not native:
                _set_each(host, owner, attr, list(seq))
                return
        with host.stale.layers.keep(owner):
            owner.foreach_set(attr, seq)

    return call


def _is_readonly(item: Any, name: str) -> bool:
    """Return whether Blender ignores writes to this property of such items, without an error."""
    rna = getattr(item, "bl_rna", None)
    if (
        rna is None or rna.base is not None or rna.identifier == "VertexGroupElement"
    ):  # derived types; the script's own class
        return False
    prop = rna.properties.get(name)
    return prop is not None and prop.is_readonly


def _set_each(host: BlenderHost, owner: Any, name: str, values: list[Any]) -> None:
    """Set a property of each item whose values need a check one by one."""
    prop = owner[0].bl_rna.properties.get(name)
    if prop is None:  # the first item has another type than those after it
        raise AttributeError(f"foreach_set(): {type(owner[0]).__name__!r} object has no attribute {name!r}")
    if prop.type == "ENUM":
        host.refuse(f"foreach_set({name!r}): set it item by item, by the choice's name", code="member")
    size = getattr(prop, "array_length", 0)
    items = owner.values()
    if len(values) != len(items) * max(size, 1):
        raise TypeError(f"foreach_set(): {len(values)} values for {len(items)} items of {max(size, 1)}")
    for at, item in enumerate(items):
        host.setattr(item, name, values[at * size : (at + 1) * size] if size else values[at])


def _check_items(host: BlenderHost, owner: Any, name: str, *, write: bool) -> tuple[bool, bool]:
    """Refuse `foreach_get` and `foreach_set` of what may not be read or written item by item.

    Returns whether Blender may write all items at once, and whether none may be NaN.
    """
    first = owner[0]
    several = first is not None and first.bl_rna.base is not None  # such items may be of many types
    native, limited = True, False
    for kind in set(map(type, owner.values())) if several else (type(first),):
        if not issubclass(kind, bpy.types.bpy_struct):
            continue
        access = host.members.access(kind, name)
        if access.missing:  # Blender's own error, or a custom property
            if not data_paths.bad_data_path(name):
                _walk(host, name, frozenset({kind}), write=write)
        elif (access.write if write else access.read) is None:
            done = "set" if write else "read"
            host.refuse(f"{kind.__name__}.{name} may not be {done} by a script: {access.why}")
        native, limited = native and access.many, limited or access.limited
    return native, limited
