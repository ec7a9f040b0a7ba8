# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script may use without a guard from the first time on: no guard has to learn it."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping

from . import hooks
from .compile import Compiled
from .modules import View
from .plain import HASHING, HASHING_ALL, PLAIN_TYPES, TABLE_TYPES

__all__ = ("foreseen",)

Listed = Mapping[type, frozenset[str]]


def foreseen(compiled: Compiled, readable: Listed, writable: Listed) -> dict[str, set[type]]:
    """By hook, the types of which the script may read or set an attribute natively.

    These are what the guard would say at the first use: the attributes that are listed by exact type, which are
    neither the host's types nor the script's own.
    """
    read, written = _by_name(tuple(readable.items())), _by_name(tuple(writable.items()))
    return {
        hooks.reads(name): {View} | _tables(name) | read.get(name, _NONE) for name in compiled.attributes_read
    } | {hooks.writes(name): set(written.get(name, _NONE)) for name in compiled.attributes_written}


_NONE: frozenset[type] = frozenset()


@functools.lru_cache(maxsize=16)  # runs differ by what they import
def _by_name(listed: tuple[tuple[type, frozenset[str]], ...]) -> dict[str, set[type]]:
    """The types by attribute; what may be read of a class depends on the class."""
    found: defaultdict[str, set[type]] = defaultdict(set)
    for kind, names in listed:
        if kind is not type:
            for name in names:
                found[name].add(kind)
    return found


@functools.cache
def _kinds_of_tables() -> dict[str, frozenset[type]]:
    """By method, the types of tables whose method a call may use as it is: the transformer looks at its arguments."""
    kinds = [kind for kind in PLAIN_TYPES if issubclass(kind, TABLE_TYPES)]
    return {name: frozenset(kind for kind in kinds if hasattr(kind, name)) for name in HASHING | HASHING_ALL}


def _tables(name: str) -> frozenset[type]:
    return _kinds_of_tables().get(name, _NONE)
