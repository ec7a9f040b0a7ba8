# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives a script's operators, panels and menus their bases, and registers the classes in the run only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import bpy
from bpy_extras import io_utils

from ...facts.reasons import why_class, why_class_member
from ...guard.facade import Facade, bind, hide, seal
from ...guard.seam import BlenderHost
from . import operators, values

__all__ = ("MIXINS", "ScriptClasses", "menu_functions")

_REGISTERED: Final = frozenset(
    getattr(bpy.types, name)
    for name in """
    AddonPreferences AssetShelf FileHandler Gizmo GizmoGroup Header KeyingSetInfo Menu Node NodeSocket NodeTree Operator
    Panel PropertyGroup RenderEngine UIList
    """.split()
    if hasattr(bpy.types, name)
)
"""Bases whose functions Blender calls when the user presses a button, looks at something or uses them in the file: only
after a script has ended."""
MIXINS: Final[Mapping[str, type]] = {
    "ExportHelper": io_utils.ExportHelper,
    "ImportHelper": io_utils.ImportHelper,
}
"""Classes of `bpy_extras.io_utils` that ask the user for a file, and have a `filepath`."""
_DRAWN: Final = (bpy.types.Header, bpy.types.Menu, bpy.types.Panel)


class Method(Facade):
    """A function of a base; an instance of the script's class returns it as a bound method."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        _set_function(self, function)

    def __get__(self, instance: Any, _owner: Any = None) -> Any:
        return self if instance is None else bind(_function(self), instance)


_function, _set_function = hide(Method, "function")


class ScriptClasses:
    """The classes that the script of one run has defined and registered."""

    def __init__(self, host: BlenderHost) -> None:
        self._host = host
        self._bases: dict[type, type] = {}
        self._registered: set[type] = set()
        self.operators: dict[str, type] = {}
        """The operators that the script registered, by `bl_idname`."""
        self.errors: list[str] = []
        """The errors that the running operator has reported."""

    def base(self, kind: type) -> type | None:
        """Return the base that a script's class gets instead of a class of Blender's; None if it may not be a base."""
        if kind not in _REGISTERED and kind not in MIXINS.values():
            return None
        if kind not in self._bases:
            self._bases[kind] = type(kind.__name__, (), {"__module__": "bpy.types", **self._members(kind)})
        return self._bases[kind]

    def _members(self, kind: type) -> Mapping[str, Any]:
        if kind is bpy.types.Operator:
            return {
                "report": Method(lambda _instance, kinds, message: self._report(kinds, message)),
                "as_keywords": Method(operators.as_keywords),
            }
        if kind in MIXINS.values():
            return {"__annotations__": {"filepath": values.functions()["StringProperty"]()}}
        return menu_functions(self._host, kind)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return the functions of `bpy.utils` that register classes."""
        return {
            "register_class": self._register,
            "unregister_class": self._unregister,
            "register_classes_factory": self._factory,
        }

    def _register(self, kind: Any) -> None:
        self._check(kind)
        if kind in self._registered:
            raise ValueError(f"register_class(...): already registered as a subclass {kind.__name__!r}")
        if self._bases.get(bpy.types.Operator) in kind.__mro__:
            values.settle(self._host, kind)
            self.operators[operators.idname(kind)] = kind
        self._registered.add(kind)
        self._host.meter.warn(
            "what the script registered exists in this run alone: a script leaves no code behind that Blender calls "
            "later; write an add-on as a file for the user to install"
        )

    def _unregister(self, kind: Any) -> None:
        self._check(kind)
        if kind not in self._registered:
            raise RuntimeError(
                "unregister_class(...):, missing bl_rna attribute from 'RNAMeta' instance (may not be registered)"
            )
        self._registered.discard(kind)
        for idname in [idname for idname, each in self.operators.items() if each is kind]:
            del self.operators[idname]

    def _factory(self, classes: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
        kinds = list(classes)

        def register() -> None:
            for kind in kinds:
                self._register(kind)

        def unregister() -> None:
            for kind in reversed(kinds):
                self._unregister(kind)

        return seal(register), seal(unregister)

    def _check(self, kind: Any) -> None:
        """Refuse a class that does not derive from one of the bases of this run."""
        if type(kind) is not type or not any(base in kind.__mro__ for base in self._bases.values()):
            self._host.refuse(
                "bpy.utils.register_class() takes a class that the script derived from Operator, Panel or Menu: "
                f"{why_class('registered')}",
                code="class",
            )

    def _report(self, kinds: Any, message: Any) -> None:
        """Print the text of `Operator.report`; its errors are raised when the operator ends."""
        if type(kinds) is not set or not all(type(kind) is str for kind in kinds) or not kinds:
            raise TypeError('Operator.report(): error with argument 1, "type" - expected a set of texts')
        if type(message) is not str:
            raise TypeError('Operator.report(): error with argument 2, "message" - expected a string')
        kind = min(kinds)
        self._host.meter.print(f"{kind.partition('_')[0].capitalize()[:20]}: {message}\n")
        if kind.startswith("ERROR"):
            self.errors.append(message)


def menu_functions(host: BlenderHost, kind: type) -> Mapping[str, Callable[..., None]]:
    """Return `append`, `prepend` and `remove` of a menu, panel or header, which only warn; nothing for other types."""
    if not issubclass(kind, _DRAWN):
        return {}

    def leave(_draw: Any) -> None:
        host.meter.warn(f"menus, panels and headers were left as they were: {why_class_member('append')}")

    return dict.fromkeys(("append", "prepend", "remove"), seal(leave))
