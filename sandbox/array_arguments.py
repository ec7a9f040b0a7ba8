# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script gives to numpy, looked at before numpy sees it.

numpy turns what it has no type for into arrays of Python objects and computes with those by Python's own operators,
which no guard sees: `np.power(10**30, 10**9)` would never end.
"""

from __future__ import annotations

import fractions
import operator
from typing import TYPE_CHECKING, Any, Final, NoReturn

from . import sturdy
from .kinds import Kinds, is_static
from .weight import opened

if TYPE_CHECKING:
    from .guards import Guard

__all__ = ("Arguments",)

_WIDEST: Final = 1 << 63
_REFUSED_OPTIONS: Final = frozenset({"signature", "sig", "extobj", "like"})
"""Options that choose how numpy computes, and so may choose Python objects."""
_SCALARS: Final = frozenset({int, float, bool, complex, str})
_OBJECTS: Final = frozenset({fractions.Fraction, sturdy.deque})
_LENDING: Final = Kinds(
    lambda kind: (
        is_static(kind) and kind.__name__ in "Vector Euler Quaternion Matrix Color IDPropertyArray".split()
    )
)
"""Values of Blender's of which numpy would make views: into memory that Blender frees when it likes."""


class Arguments:
    """The arguments of numpy's functions, for one run."""

    def __init__(self, guard: Guard, np: Any) -> None:
        self.guard = guard
        self.np = np
        self.array_type: Any = np.ndarray

    def inward(self, value: Any) -> Any:
        """An argument as numpy may see it: never what numpy would compute with as Python objects."""
        value = self._settled(self.guard.builtins.real(value))
        kind = type(value)
        if kind is list or kind is tuple:
            self.guard.operators.weight(value)
            self._look_at_numbers(value)
        elif kind is dict:  # names a dtype
            self.guard.operators.weight(value)
        elif kind is int and not -_WIDEST <= value < 2 * _WIDEST:
            self._refuse_long()
        elif kind is fractions.Fraction or value is object or self._holds_objects(value):
            self.refuse_objects()
        elif _LENDING[kind]:
            value = self.np.array(value)
        return value

    def _holds_objects(self, value: Any) -> bool:
        if isinstance(value, self.np.dtype):
            return bool(value.hasobject)
        return type(value) is self.array_type and bool(value.dtype.hasobject)

    def _settled(self, value: Any) -> Any:
        """Numbers and lists of the script's own classes as plain ones: they may answer otherwise the next time."""
        kind = type(value)
        if kind is sturdy.deque:
            return list(value)
        if kind not in self.guard.own:
            return value
        if hasattr(kind, "__index__"):
            return operator.index(value)
        if hasattr(kind, "__float__"):
            return float(value)
        if issubclass(kind, list | tuple):
            return _items(value)
        if hasattr(kind, "__iter__") or hasattr(kind, "__getitem__"):
            return list(value)
        return self.refuse_objects()

    def _look_at_numbers(self, values: Any) -> None:
        """Refuse integers beyond 64 bits, at any depth, and what numpy has no type for."""
        level = values
        while level:
            kinds = set(map(type, level))
            if int in kinds:
                numbers = level if len(kinds) == 1 else [each for each in level if type(each) is int]
                if min(numbers) < -_WIDEST or max(numbers) >= 2 * _WIDEST:
                    self._refuse_long()
            for kind in kinds - _SCALARS:
                if not issubclass(kind, list | tuple) and (kind in _OBJECTS or kind in self.guard.own):
                    self.refuse_objects()
            level = opened(level)

    def _refuse_long(self) -> NoReturn:
        self.guard.meter.refuse("numpy takes integers of at most 64 bits here: use floats", code="numpy")

    def options(self, named: dict[str, Any]) -> None:
        """Refuse options that make numpy compute with Python objects, or make tables of all numbers between two."""
        table = {"kind"} if named.get("kind") == "table" else set()
        for name in named.keys() & (_REFUSED_OPTIONS | table):
            self.guard.meter.refuse(f"numpy's option {name!r} is not available to scripts", code="numpy")
        if isinstance(named.get("dtype"), str) and self.np.dtype(named["dtype"]).hasobject:
            self.refuse_objects()

    def refuse_objects(self) -> NoReturn:
        """Stop the run at an array of Python objects."""
        self.guard.meter.refuse("numpy arrays of Python objects are not supported: use a list", code="numpy")


def _items(value: Any) -> Any:
    """The items that C code sees: a class of the script may say otherwise in `__iter__`."""
    base = list if isinstance(value, list) else tuple
    return value if type(value) is base else base(base.__iter__(value))
