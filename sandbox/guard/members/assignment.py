# SPDX-License-Identifier: GPL-3.0-or-later
"""The target of an assignment that needs a guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..seam import Guard

__all__ = ("AssignmentTarget",)


class AssignmentTarget:
    """Represents a value while a script sets, deletes or augments one of its attributes or items."""

    __slots__ = ("_guard", "_value")

    def __init__(self, guard: Guard, value: Any) -> None:
        _set_guard(self, guard)
        _set_value(self, value)

    def __getattribute__(self, name: str) -> Any:
        return _guard_of(self).getattr(_value_of(self), name)

    def __setattr__(self, name: str, new: Any) -> None:
        _guard_of(self).setattr(_value_of(self), name, new)

    def __delattr__(self, name: str) -> None:
        _guard_of(self).delattr(_value_of(self), name)

    def __getitem__(self, key: Any) -> Any:
        return _guard_of(self).getitem(_value_of(self), key)

    def __setitem__(self, key: Any, new: Any) -> None:
        _guard_of(self).setitem(_value_of(self), key, new)

    def __delitem__(self, key: Any) -> None:
        _guard_of(self).delitem(_value_of(self), key)


_set_guard: Final[Callable[[AssignmentTarget, Guard], None]] = AssignmentTarget._guard.__set__  # type: ignore[attr-defined]
_set_value: Final[Callable[[AssignmentTarget, Any], None]] = AssignmentTarget._value.__set__  # type: ignore[attr-defined]
_guard_of: Final[Callable[[AssignmentTarget], Guard]] = AssignmentTarget._guard.__get__  # type: ignore[attr-defined]
_value_of: Final[Callable[[AssignmentTarget], Any]] = AssignmentTarget._value.__get__  # type: ignore[attr-defined]
