# SPDX-License-Identifier: GPL-3.0-or-later
"""`bpy.context.temp_override` for scripts: checks the types of its values, and ends before a value is removed.

Blender does not check an override: it takes a camera for the scene, looks for the objects of one scene in the view
layer of another, and continues to use what was removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import bpy

from ...scene.override import PLACES, Place, beside_no_thread
from ..facts.members import names, rows
from ..guard.audit import may_raise
from ..guard.facade import Facade, hide
from ..guard.seam import BlenderHost

__all__ = ("CONTEXT_MEMBERS", "Override", "Overrides", "check_removal", "copy", "temp_override")

CONTEXT_MEMBERS = names("members of the context")
"""Members of `bpy.context` that are not RNA properties."""


def _types(row: Mapping[str, frozenset[str]]) -> tuple[type, ...]:
    """Return the types of a row that this Blender has."""
    return tuple(getattr(bpy.types, name) for name in sorted(row["types"]) if hasattr(bpy.types, name))


_TYPES: dict[str, tuple[type, ...]] = {
    name: _types(row) for row in rows("types in an override") for name in row["members"]
} | {"mode": (str,)}
_ITEMS = [(tuple(row["endings"]), _types(row)) for row in rows("types in the lists of an override")]
_OVERRIDES = names("members of an override")


def _check_types(host: BlenderHost, arguments: Mapping[str, Any]) -> None:
    """Refuse values of another type than Blender expects."""
    for name, value in arguments.items():
        wanted, listed = _member_types(name)
        if value is None:
            continue
        values = value if listed else [value]
        if not isinstance(values, (list, tuple)) or not all(isinstance(each, wanted) for each in values):
            what = _type_name(wanted[0])
            raise TypeError(f"temp_override({name}=…) takes {'a list of ' if listed else ''}{what} here")
    layer, scene = arguments.get("view_layer"), arguments.get("scene") or bpy.context.scene
    if layer is not None and layer.id_data != scene:
        host.refuse(
            f"temp_override(view_layer=…): {layer.name!r} is no layer of the scene {scene.name!r}: give scene= too"
        )


def _member_types(name: str) -> tuple[tuple[type, ...], bool]:
    """Return the types of a member of the context, none if it is not reviewed, and whether it is a list of these."""
    if name in _TYPES:
        return _TYPES[name], False
    plain = name.removesuffix("_unique_data").removesuffix("_in_mode")
    for endings, kinds in _ITEMS:
        if plain.endswith(endings):
            return kinds, True
    return ((bpy.types.Object,), False) if name.endswith("object") else ((), False)


def _type_name(kind: type) -> str:
    return f"bpy.types.{kind.__name__}" if issubclass(kind, bpy.types.bpy_struct) else kind.__name__


def _check(host: BlenderHost, arguments: Mapping[str, Any]) -> None:
    """Refuse members that may not be overridden, and values of another type than Blender expects."""
    if "edit_object" in arguments:
        host.refuse(
            "temp_override(edit_object=…) is refused, since Blender does not look whether it is being edited: make "
            "the object active and call bpy.ops.object.mode_set(mode='EDIT')"
        )
    for name in arguments:
        reviewed = name in _OVERRIDES or name in _plain_overrides(host)
        if not reviewed or not _member_types(name)[0]:
            host.refuse(f"temp_override({name}=…) is refused: it is not on the list of reviewed members")
    _check_types(host, arguments)


def temp_override(host: BlenderHost, _owner: Any, _name: str) -> Any:
    """Return the script's `Context.temp_override`."""

    def override(window: Any = None, area: Any = None, region: Any = None, **others: Any) -> Override:
        given = {"window": window, "area": area, "region": region}
        others |= {name: value for name, value in given.items() if value is not None}
        _check(host, others)
        return host.overrides.make(others)

    return override


def copy(host: BlenderHost, owner: Any, _name: str) -> Any:
    """Return the script's `Context.copy`: the members of the context that `temp_override` accepts."""

    def copied() -> dict[str, Any]:
        names = sorted((_OVERRIDES | _plain_overrides(host)) - _NOT_COPIED)
        present = set(dir(owner))
        found = {
            name: host.getattr(owner, name) for name in names if name in present and _member_types(name)[0]
        }
        return {name: value for name, value in found.items() if value is not None}

    return copied


_NOT_COPIED = frozenset({"edit_object"})


def check_removal(host: BlenderHost, _owner: Any, arguments: Mapping[str, Any]) -> None:
    """Refuse to remove what an override has put into the context."""
    if any(
        host.overrides.held(each) for each in arguments.values() if isinstance(each, bpy.types.bpy_struct)
    ):
        host.refuse(
            "what temp_override() has put into the context may not be removed: leave its with block first"
        )


def _plain_overrides(host: BlenderHost) -> frozenset[str]:
    return CONTEXT_MEMBERS | host.policy.readable("Context")


#: Operators crash Blender without these: a None in their place means the current ones.
_NEEDED = frozenset({"scene", "view_layer"})


class Overrides:
    """The overrides in effect in one run."""

    def __init__(self) -> None:
        self.active: list[Override] = []
        """The overrides in effect, the latest last."""

    def make(self, arguments: Mapping[str, Any]) -> Override:
        """Make the override of `bpy.context.temp_override(…)`."""
        given = {name: value for name, value in arguments.items() if value is not None or name not in _NEEDED}
        scene = given.get("scene")
        if scene is not None and given.get("view_layer") is None:
            given["view_layer"] = scene.view_layers[
                0
            ]  # else it would be the window's layer, of another scene
        return Override(self.active, given)

    def held(self, thing: Any) -> bool:
        """Return whether an override has put `thing`, or a part of it, into the context."""
        return any(
            thing in (value, getattr(value, "id_data", None))
            for each in self.active
            for value in _about(each).held
        )

    def beside_no_thread(self) -> AbstractContextManager[None]:
        """Return the context for an operator: it pauses our threads if Blender looks into an override's values."""
        inspected = self.active and any(_about(each).inspected for each in self.active)
        return beside_no_thread() if inspected else nullcontext()

    def drop_removed(self) -> None:
        """End all overrides after something that one of them holds was removed."""
        if self.active and any(not _lives(value) for each in self.active for value in _about(each).held):
            self.end()

    def end(self) -> None:
        """End all overrides, so that the context is as it was before the first."""
        while self.active:
            self.active[-1].__exit__()


class Override(Facade):
    """One `with bpy.context.temp_override(…)`."""

    __slots__ = ("about",)

    def __init__(self, active: list[Override], arguments: dict[str, Any]) -> None:
        inspected = not PLACES.issuperset(arguments)
        native: Any = (bpy.context.temp_override if inspected else Place)(**arguments)
        values = [
            v for each in arguments.values() for v in (each if isinstance(each, (list, tuple)) else (each,))
        ]
        held = [value for value in values if isinstance(value, bpy.types.bpy_struct)]
        _set_about(self, _About(active, native, held, inspected))

    def logging_set(self, _enable: Any) -> None:
        """Do nothing: the log of Blender's look-ups in the context is no part of a script's result."""

    @may_raise("ctypes.call_function", "ctypes.dlsym", "gc.get_referents")
    def __enter__(self) -> Override:
        active, native, *_ = _about(self)
        if self in active:
            raise RuntimeError("this temp_override() is in effect already: make another")
        native.__enter__()
        active.append(self)
        return self

    @may_raise("ctypes.call_function", "ctypes.dlsym", "gc.get_referents")
    def __exit__(self, *_error: object) -> None:
        """End the override after those that were entered later: Blender takes what is in the context for its own."""
        active = _about(self).active
        while self in active:
            _about(active.pop()).native.__exit__(None, None, None)


class _About(NamedTuple):
    """The overrides in effect, Blender's own override, its structs, and whether Blender looks into its values."""

    active: list[Override]
    native: Any
    held: list[Any]
    inspected: bool


_about: Callable[[Override], _About]
_about, _set_about = hide(Override, "about")


def _lives(value: Any) -> bool:
    try:
        value.id_data  # noqa: B018 - Blender checks whether it was removed
    except ReferenceError:
        return False
    return True
