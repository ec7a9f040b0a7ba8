# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of the standard library that cannot crash the process when a million of them hold one another.

Python frees nested lists, dicts and instances of Python classes in bounded depth. `deque`, `property` and the like,
written in C, recurse once per level and overflow the stack; as instances of Python classes they are freed in bounded
depth, too.
"""

from __future__ import annotations

import builtins
import collections
from typing import Any

from ..audit import may_raise
from ..facade import Sealed

__all__ = ("classmethod", "defaultdict", "deque", "namedtuple", "property", "staticmethod")


class deque(collections.deque, metaclass=Sealed):  # type: ignore[type-arg]
    """Python's `collections.deque` as a class that Python frees in bounded depth."""

    __slots__ = ()


class defaultdict(collections.defaultdict, metaclass=Sealed):  # type: ignore[type-arg]
    """Python's `collections.defaultdict` as a class that Python frees in bounded depth."""

    __slots__ = ()


class property(builtins.property, metaclass=Sealed):  # noqa: A001
    """Python's `property` as a class that Python frees in bounded depth."""


class staticmethod(builtins.staticmethod, metaclass=Sealed):  # type: ignore[type-arg]  # noqa: A001
    """Python's `staticmethod` as a class that Python frees in bounded depth."""


class classmethod(builtins.classmethod, metaclass=Sealed):  # type: ignore[type-arg]  # noqa: A001
    """Python's `classmethod` as a class that Python frees in bounded depth."""


@may_raise("compile", "exec", "object.__setattr__", "sys._getframe", "sys._getframemodulename")
def namedtuple(name: str, fields: list[str], **options: Any) -> type:
    """Make a `collections.namedtuple` whose `_asdict` uses its true fields: others would be hashed in one call."""
    make: Any = collections.namedtuple  # mypy wants literals
    made: type = make(name, fields, **options)
    true: tuple[str, ...] = made._fields  # type: ignore[attr-defined]
    made._asdict = lambda self: dict(zip(true, self, strict=False))  # type: ignore[attr-defined]
    return made
