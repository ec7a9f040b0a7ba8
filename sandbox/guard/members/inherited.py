# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards `super()`, and methods such as `super().__len__`: they are checked as the operator that calls them is."""

from __future__ import annotations

from types import MethodType
from typing import Any, Final

from ...language import names
from ..facade import bind, seal
from ..reentry import call as call_method
from ..seam import Guard
from .methods import guarded_method

__all__ = ("super_member", "super_of")

_WHOLE: Final = frozenset("__repr__ __str__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__".split())
"""Methods that read everything that an instance holds."""


def super_of(guard: Guard, kind: Any, instance: Any) -> Any:
    """Return `super(kind, instance)`, in classes of the script only."""
    if kind not in guard.own:
        guard.meter.refuse("super() works in classes of the script only", code="attribute")
    return super(kind, instance)


def super_member(guard: Guard, value: Any, name: str) -> Any:
    """Read `super().name`, for ordinary names and those of `names.SUPER_DUNDERS`."""
    instance, found = value.__self__, getattr(value, name)
    kind = instance if isinstance(instance, type) else type(instance)
    method = guarded_method(guard, kind, name)
    if method is not None and not isinstance(found, MethodType):
        return bind(method, instance)
    if kind not in guard.own:
        guard.meter.refuse("super() works in classes of the script only", code="attribute")
    return _inherited(guard, instance, name, found)


def _inherited(guard: Guard, instance: Any, name: str, method: Any) -> Any:
    """Return `method`, which `super()` found under `name`; check the arguments of a dunder method at each call."""
    if name == "__init__" or not names.is_dunder(name):
        return method
    if isinstance(instance, type):  # the method of all lists, for example, without an instance
        raise AttributeError(f"super() of a class has no attribute {name!r}")
    operators = guard.operators
    native = name == "__setitem__" and not isinstance(method, MethodType)

    def call(*arguments: Any) -> Any:
        if name in _WHOLE:
            operators.weight((instance, *arguments))
        elif name == "__contains__" and isinstance(instance, list):
            operators.compare_weight(arguments, list.__len__(instance))
        for key in arguments[:1]:
            guard.hashing.key(key)
        if native and len(arguments) == 2 and type(arguments[0]) is slice:
            arguments = operators.sliced(instance, *arguments)
        return call_method(method, *arguments)

    return seal(call)
