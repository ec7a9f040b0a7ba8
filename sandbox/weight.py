# SPDX-License-Identifier: GPL-3.0-or-later
"""How much work a value is to compare, hash or turn into text: what C code would do in one uninterruptible call.

A few lists inside lists can stand for 2**50 comparisons, and no tick stops those; so containers are weighed first.
"""

from __future__ import annotations

import abc
import collections
import contextlib
import functools
import types
from itertools import chain
from typing import Final

from .plain import SCALAR_TYPES

__all__ = ("TooHeavy", "has_containers", "weigh")

MAX_DEPTH: Final = 200


class TooHeavy(Exception):
    """The value weighs more than the budget, or is nested too deeply."""


def has_containers(value: object) -> bool:
    """Whether comparing or showing the value may take long at all."""
    return type(value) not in SCALAR_TYPES


def weigh(value: object, budget: int) -> int:
    """Count the values and characters that `value` unfolds to, what is shared as often as it is met.

    Raises:
        TooHeavy: more than `budget`, or nested more than 200 deep.
    """
    total = 0
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        following: list[object] = []
        for each in level:
            kind = type(each)
            if kind is str or kind is bytes:
                total += len(each)  # type: ignore[arg-type]
            elif kind not in SCALAR_TYPES:
                parts = _parts(each)
                total += len(parts) if isinstance(each, list | tuple) else len(parts) + _INSTANCE
                if total > budget:
                    raise TooHeavy
                if not _ONLY_SMALL.issuperset(map(type, parts)):
                    following.extend(parts)
            if total + len(following) > budget:
                raise TooHeavy
        if not following:
            return total
        level = following
    raise TooHeavy


_arguments: Final = BaseException.args.__get__  # type: ignore[attr-defined]
"""`error.args`, whatever the script's class says that is."""
_INSTANCE: Final = 20
"""What it costs to look into anything but a list."""
_ONLY_SMALL: Final = SCALAR_TYPES - {str, bytes}


def _parts(value: object) -> list[object] | tuple[object, ...]:
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, dict):
        return list(chain(dict.keys(value), dict.values(value)))
    if isinstance(value, set | frozenset | collections.deque):
        return list(value)
    if isinstance(value, type({}.keys()) | type({}.values()) | type({}.items())):
        return list(value)
    if isinstance(value, BaseException):
        return _arguments(value)  # type: ignore[no-any-return]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    return _attributes(value) if type(type(value)) in (type, abc.ABCMeta) else ()


def _attributes(value: object) -> list[object]:
    """What an instance holds in its `__dict__` and in the slots of classes of the script."""
    own = getattr(value, "__dict__", None)
    found = list(own.values()) if type(own) is dict else []
    for kind in type(value).__mro__:
        if kind.__module__ == "<script>" and "__slots__" in vars(kind):
            slots = [each for each in vars(kind).values() if type(each) is types.MemberDescriptorType]
            with contextlib.suppress(AttributeError):  # a slot that nothing was put in
                found += [slot.__get__(value) for slot in slots]
    return found
