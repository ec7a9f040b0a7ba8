# SPDX-License-Identifier: GPL-3.0-or-later
"""Knows what a script may do without a guard: sets of types in its namespace, for each attribute it reads or sets.

Some types are in these sets from the beginning. The guards add others as they see them, and remove those whose
attributes may move in memory.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any

from ..language import hooks
from ..language.builtin_methods import CHANGING_SETS, HASHING, HASHING_ALL, TABLE_TYPES
from ..language.hooks import finite
from .values.plain import PLAIN_TYPES

__all__ = (
    "finite",
    "guard_items",
    "guard_sets",
    "guard_writes",
    "initial_types",
    "reads_natively",
    "writes_natively",
)

Listed = Mapping[type, frozenset[str]]


def initial_types(
    read: Collection[str], written: Collection[str], readable: Listed, writable: Listed, views: set[type]
) -> dict[str, Any]:
    """Return, by hook, the types of which a script may natively read or set the attributes `read` and `written`.

    The hook `ALL_WRITES` has the sets of all attributes in `written`, in a list.
    The guard would allow these at the first use: the attributes that are listed by exact type (neither the host's types
    nor the script's own), and `views`, the classes of what the script imports.
    """
    readers, writers = _by_name(tuple(readable.items())), _by_name(tuple(writable.items()))
    sets = {hooks.writes(name): set(writers.get(name, _NONE)) for name in written}
    return {
        **{hooks.reads(name): views | _tables(name) | readers.get(name, _NONE) for name in read},
        **sets,
        hooks.ALL_WRITES: [*sets.values()],
    }


_NONE: frozenset[type] = frozenset()


@functools.lru_cache(maxsize=16)  # runs differ by what they import
def _by_name(listed: tuple[tuple[type, frozenset[str]], ...]) -> dict[str, set[type]]:
    """Return the types by attribute, without `type`: what a script may read of a class depends on the class."""
    found: defaultdict[str, set[type]] = defaultdict(set)
    for kind, names in listed:
        if kind is not type:
            for name in names:
                found[name].add(kind)
    return found


@functools.cache
def _kinds_of_tables() -> dict[str, frozenset[type]]:
    """Return, by method, the types of tables whose method needs no guard as long as the script has no classes.

    The transformer has its arguments checked.
    """
    kinds = [kind for kind in PLAIN_TYPES if issubclass(kind, TABLE_TYPES)]
    names = HASHING | HASHING_ALL | CHANGING_SETS
    return {name: frozenset(kind for kind in kinds if hasattr(kind, name)) for name in names}


def _tables(name: str) -> frozenset[type]:
    return _kinds_of_tables().get(name, _NONE)


# --- while the script runs ----------------------------------------------------------------------------------------


def reads_natively(namespace: Mapping[str, Any], name: str, kind: type) -> None:
    """Let the script of this namespace read `name` of values of this type without a guard from now on."""
    _add(namespace, hooks.reads(name), kind)


def writes_natively(namespace: Mapping[str, Any], name: str, kind: type) -> None:
    """Let the script of this namespace set `name` of values of this type without a guard from now on."""
    _add(namespace, hooks.writes(name), kind)


def _add(namespace: Mapping[str, Any], hook: str, kind: type) -> None:
    known = namespace.get(hook)
    if known is not None:
        known.add(kind)


def guard_items(namespace: Mapping[str, Any], kinds: Collection[type]) -> None:
    """Guard `value[key]` of values of these types from now on."""
    namespace[hooks.ITEMS].difference_update(kinds)


def guard_writes(namespace: Mapping[str, Any], of: type | tuple[type, ...]) -> None:
    """Guard the setting of any attribute of values of these types from now on."""
    for kinds in namespace[hooks.ALL_WRITES]:
        kinds.difference_update([kind for kind in kinds if issubclass(kind, of)])


def guard_sets(namespace: Mapping[str, Any]) -> None:
    """Guard the methods that change a set from now on."""
    for name in CHANGING_SETS:
        namespace.get(hooks.reads(name), set()).discard(set)
