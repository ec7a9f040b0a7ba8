# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how much work it is to compare, hash or show a value: C code does it in one uninterruptible call.

A few lists inside lists can stand for 2**50 comparisons, and no tick stops those; so containers are weighed first.
"""

from __future__ import annotations

import abc
import array
import collections
import contextlib
import enum
import functools
import types
import weakref
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

from ....base.per_type import PerType, is_static
from ..reentry import may_call_scripts
from .fractions import Fraction
from .plain import SCALAR_TYPES

__all__ = ("EMPTY_INSIDE", "FLAT", "MAX_DEPTH", "TooHeavy", "has_containers", "opened", "weigh")

MAX_DEPTH: Final = 200
SHOWN_WHOLE: Final[weakref.WeakSet[type]] = weakref.WeakSet()
"""Classes whose text and comparison unfold all attributes of an instance."""


class TooHeavy(Exception):
    """The value weighs more than the budget, or is nested too deeply."""


def has_containers(value: object) -> bool:
    """Return whether comparing or showing the value may take long at all."""
    return type(value) not in SCALAR_TYPES


def weigh(value: object, budget: int, *, shown: bool = False) -> int:
    """Count the values and characters that `value` unfolds to; a shared part counts as often as it occurs.

    `shown`: as text, where a dataclass may leave out fields by `repr=False`, and not hashed or compared.

    Raises:
        TooHeavy: more than `budget`, or nested more than 200 deep.
    """
    total = 0
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        following: list[Any] = []
        if _ROWS.issuperset(map(type, level)):  # thousands of points: no line of Python runs for each
            total += sum(map(len, level))
            if total > budget:
                raise TooHeavy
            items = opened(level)
            kinds = set(map(type, items))
            if int in kinds:
                total += _long_numbers(items, kinds)
            if not _ONLY_SMALL.issuperset(kinds):
                following = [item for item in items if type(item) not in _ONLY_SMALL]
            if total > budget:
                raise TooHeavy
            level = []
        for each in level:
            kind = type(each)
            if kind is str or kind is bytes:
                total += len(each)
            elif kind is int:
                total += each.bit_length() // _BITS
            elif not EMPTY_INSIDE[kind]:
                parts = _parts(each, shown)
                total += len(parts) if isinstance(each, list | tuple) else len(parts) + _INSTANCE
                kinds = set(map(type, parts))
                if not _ONLY_SMALL.issuperset(kinds):
                    following.extend(parts)
                elif int in kinds:
                    total += _long_numbers(parts, kinds)
                elif FLAT[kind]:
                    total += len(each)
                if total > budget:
                    raise TooHeavy
            if total + len(following) > budget:
                raise TooHeavy
        if not following:
            return total
        level = following
    raise TooHeavy


def opened(values: Sequence[Any]) -> list[Any]:
    """Return the items of the lists and tuples in `values` as C code sees them: a class may have its own `__iter__`."""
    rows: Iterable[Any] = values
    if not _ROWS.issuperset(map(type, values)):
        bases = (
            (list if isinstance(each, list) else tuple, each)
            for each in values
            if isinstance(each, list | tuple)
        )
        rows = (base.__iter__(each) for base, each in bases)  # type: ignore[arg-type]
    return list(chain.from_iterable(rows))


_ROWS: Final = frozenset({list, tuple})


def _exception_parts(error: BaseException) -> list[object]:
    """Return what an exception may show: its arguments and its class's own fields, such as `OSError.filename`."""
    found: list[object] = []
    for base in type(error).__mro__:
        for field in _fields_of(base) if is_static(base) else ():
            with contextlib.suppress(AttributeError, TypeError):  # a field that is not set
                found.append(field.__get__(error))
    return [*_arguments(error), *found]


@functools.cache
def _fields_of(kind: type) -> list[Any]:
    """Return the descriptors of a class of Python's own, even if a script's class replaces them."""
    return [
        field
        for name, field in vars(kind).items()
        if type(field) in _FIELDS and not name.startswith("__") and name != "args"
    ]


_FIELDS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)
_arguments: Final = BaseException.args.__get__  # type: ignore[attr-defined]
"""Reads `error.args`, even if the script's class replaces it."""
_INSTANCE: Final = 20
"""The weight of looking into anything but a list."""
_ONLY_SMALL: Final = SCALAR_TYPES - {str, bytes}
_BITS: Final = 10
"""How many bits of an integer weigh as much as a character: making text takes the square of an integer's length."""
_LONG: Final = 1 << 512


def _long_numbers(values: Any, kinds: set[type]) -> int:
    """Return what the long integers among values of these types weigh in addition to their number."""
    numbers = values if len(kinds) == 1 else [each for each in values if type(each) is int]
    return sum(map(int.bit_length, numbers)) // _BITS if max(numbers) > _LONG or min(numbers) < -_LONG else 0


def _is_flat(kind: type) -> bool:
    """Return whether values of a type show as many numbers or characters as they are long."""
    return issubclass(kind, str | bytes | bytearray | array.array) or (
        kind.__name__ == "Vector" and is_static(kind)
    )


FLAT: Final = PerType(_is_flat)
"""Types whose values are texts or rows of numbers."""
_CONTAINERS: Final[tuple[type, ...]] = (
    *(list, tuple, dict, set, frozenset, collections.deque, BaseException, functools.partial),
    *(types.MethodType, types.MappingProxyType, types.SimpleNamespace),
    *(type({}.keys()), type({}.values()), type({}.items())),
)
EMPTY_INSIDE: Final = PerType(
    lambda kind: (
        kind in SCALAR_TYPES or (is_static(kind) and not _is_flat(kind) and not issubclass(kind, _CONTAINERS))
    )
)
"""Types compiled into a program whose values hold no others: numbers, texts, arrays, Blender's references."""


def _parts(value: object, shown: bool) -> list[object] | tuple[object, ...]:
    kind = type(value)
    if kind is list or kind is tuple:
        return value  # type: ignore[return-value]
    held = _contents(value)
    if held is not None and not hasattr(kind, "__dataclass_fields__"):
        return held
    own = type(kind) in _METAS or issubclass(type(kind), enum.EnumType)
    return [*(held or ()), *(_attributes(value, shown) if own else ())]


def _contents(value: object) -> list[object] | tuple[object, ...] | None:
    """Return the contents of a container of any kind; None for anything else."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, dict):
        return list(chain(dict.keys(value), dict.values(value)))
    if isinstance(value, set | frozenset | collections.deque):
        return list(value)
    if isinstance(value, type({}.keys()) | type({}.values()) | type({}.items())):
        return list(value)
    if isinstance(value, BaseException):
        return _exception_parts(value)
    if isinstance(value, types.MethodType):
        return [value.__self__]
    if isinstance(value, types.MappingProxyType):
        return list(chain(value.keys(), value.values()))
    return [value.numerator, value.denominator] if isinstance(value, Fraction) else None


def _attributes(value: object, shown: bool) -> list[object]:
    """Return the attributes of an instance that a comparison, a hash or its text unfolds without a tick.

    There are none for a plain class: what the methods of a script read, they read under guards.
    """
    kind = type(value)
    names = _fields(kind, shown)
    own = getattr(value, "__dict__", None)
    whole = kind in SHOWN_WHOLE
    found = (
        [(name, part) for name, part in own.items() if whole or name in names] if type(own) is dict else []
    )
    for base in kind.__mro__:
        for name in names & vars(base).keys():
            part = vars(base)[name]  # a slot, or the class's own value
            with contextlib.suppress(AttributeError):  # an empty slot
                found.append(
                    (name, part.__get__(value) if type(part) is types.MemberDescriptorType else part)
                )
    return [part for _name, part in found]


def _fields(kind: type, shown: bool) -> set[str]:
    """Return the attributes that are unfolded by the methods that Python makes for dataclasses and Enums."""
    fields = getattr(kind, "__dataclass_fields__", {}).values()
    names = {each.name for each in fields if (each.repr if shown else each.compare or each.hash)}
    return names | {"_name_", "_value_"} if isinstance(kind, enum.EnumType) else names


_METAS: Final = (type, abc.ABCMeta)

may_call_scripts(globals())
