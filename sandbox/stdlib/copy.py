# SPDX-License-Identifier: GPL-3.0-or-later
"""`copy` for scripts: copies plain containers and instances of the script's classes.

Python's own `copy` calls methods that the value itself names, and sets attributes on their results. Here only the
class of the value decides how to copy it.
"""

from __future__ import annotations

import enum
import types
from typing import Any, Final

from ..guard.reentry import may_call_scripts
from ..guard.seam import Guard
from ..guard.values import deep_nesting
from ..guard.values.counter import Counter
from ..guard.values.ordered_dict import OrderedDict
from ..guard.values.plain import PLAIN_TYPES

__all__ = ("copy_instance", "copy_members")

_TABLES: Final = (dict, OrderedDict, deep_nesting.defaultdict, Counter)


def copy_members(guard: Guard) -> dict[str, object]:
    """Return the members of `copy`, for one run."""

    def copy(value: Any) -> Any:
        kind = type(value)
        if kind in guard.own:
            return copy_instance(value)
        if kind in PLAIN_TYPES or "copy" in guard.allowed.get(kind, ()):
            return value.copy() if hasattr(value, "copy") else value
        if isinstance(value, type) or callable(value):
            return value
        raise TypeError(f"cannot copy {kind.__name__!r}: Blender's data has a method copy()")

    def deepcopy(value: Any, _memo: Any = None) -> Any:
        return walk(value, {})

    def walk(value: Any, seen: dict[int, Any]) -> Any:
        guard.meter.tick()
        kind = type(value)
        if id(value) in seen:
            return seen[id(value)][1]
        if kind in (list, set, deep_nesting.deque):
            made: Any = kind()
            seen[id(value)] = (value, made)
            parts = [walk(part, seen) for part in list(value)]
            if kind is set:  # the parts may know the set, and change it
                guard.operators.sets.use((made,), set.update, made, parts, changed=made)
            else:
                made.extend(parts)
        elif kind in _TABLES:
            made = value.copy()
            made.clear()
            seen[id(value)] = (value, made)
            for key, part in list(value.items()):
                made[walk(key, seen)] = walk(part, seen)
        elif kind is tuple:
            made = tuple([walk(part, seen) for part in value])
        elif kind in guard.own and not issubclass(kind, enum.Enum | tuple):
            made = copy_instance(value)
            seen[id(value)] = (value, made)
            for name, part in list(vars(value).items()) if hasattr(value, "__dict__") else ():
                vars(made)[name] = walk(part, seen)
        else:
            return copy(value) if kind in PLAIN_TYPES or "copy" in guard.allowed.get(kind, ()) else value
        seen[id(value)] = (value, made)
        return made

    return {"copy": copy, "deepcopy": deepcopy}


def copy_instance(value: Any) -> Any:
    """Return a copy of an instance of a script's class: its items, its attributes and its slots."""
    kind = type(value)
    if issubclass(kind, enum.Enum | tuple | str | int | float):
        return value
    made: Any
    if issubclass(kind, BaseException):
        made = kind.__new__(kind, *value.args)
        made.args = value.args
    elif issubclass(kind, dict):
        made = dict.__new__(kind)
        dict.update(made, dict(dict.items(value)))
    elif issubclass(kind, list):
        made = list.__new__(kind)
        list.extend(made, list.__iter__(value))
    elif issubclass(kind, set):
        made = set.__new__(kind)
        set.update(made, set.__iter__(value))
    else:
        made = object.__new__(kind)
    if hasattr(value, "__dict__"):
        vars(made).update(vars(value))
    for base in kind.__mro__:
        for name, slot in vars(base).items():
            if type(slot) is types.MemberDescriptorType and name not in ("__dict__", "__weakref__"):
                try:
                    slot.__set__(made, slot.__get__(value))
                except (AttributeError, TypeError):
                    continue  # a slot without a value, or one that only Python can write
    return made


may_call_scripts(globals())
