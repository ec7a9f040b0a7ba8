# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards for methods such as `super().__len__`: checked as the operator that calls them is."""

from __future__ import annotations

from types import MethodType
from typing import Any, Final

from ...language import names
from ..facade import seal
from ..reentry import call as call_method
from ..seam import Guard

__all__ = ("inherited",)

_WHOLE: Final = frozenset("__repr__ __str__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__".split())
"""Methods that read everything that an instance holds."""


def inherited(guard: Guard, instance: Any, name: str, method: Any) -> Any:
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
