# SPDX-License-Identifier: GPL-3.0-or-later
"""Methods of Python's builtin types and builtin functions that a script's text alone does not show to be harmless.

The transformer looks them up by name, and the guards by type; with one table both mean the same methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = (
    "CALLED_BY_C",
    "CALLING_BUILTINS",
    "CHANGING_SETS",
    "GUARDED_METHODS",
    "HASHING",
    "HASHING_ALL",
    "PLAIN_METHODS",
    "TABLE_TYPES",
    "plain_methods",
)

CALLED_BY_C: Final = frozenset(
    {"__complex__", "__float__", "__getitem__", "__index__", "__iter__", "__len__", "__length_hint__"}
    | {"__next__", "__setitem__"}
)
"""Methods of a script's classes that C code calls. Each checks from where it is called (`guard.reentry`)."""
CALLING_BUILTINS: Final = frozenset("all any bin bool chr complex float hex len list next oct tuple".split())
"""Python's own builtins that call such methods. If a script defines such methods, the guards make the call."""

TABLE_TYPES: Final[tuple[type, ...]] = (set, frozenset, dict, type({}.keys()), type({}.items()))
"""Types of tables with hashed items; their subclasses count, too."""
HASHING: Final = frozenset({"add", "discard", "get", "move_to_end", "pop", "remove", "setdefault"})
"""Methods of tables that hash their first argument."""
HASHING_ALL: Final = frozenset(
    {"fromkeys", "isdisjoint", "issubset", "issuperset", "subtract", "update", "union", "intersection"}
    | {"difference", "symmetric_difference", "intersection_update", "difference_update"}
    | {"symmetric_difference_update"}
)
"""Methods of tables that hash the items of their arguments."""
CHANGING_SETS: Final = frozenset(
    {"add", "clear", "difference_update", "discard", "intersection_update", "pop", "remove"}
    | {"symmetric_difference_update", "update"}
)
"""Methods that change a set. If a script has classes, the guards make the call (`guard.values.sets`)."""

_SEARCHING: Final = frozenset(
    {"endswith", "lstrip", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "startswith", "strip"}
)
"""Methods of texts that may compare each character of one text with each of another."""

GUARDED_METHODS: Final[dict[type, frozenset[str]]] = {
    str: frozenset(
        {
            "center",
            "encode",
            "expandtabs",
            "format",
            "format_map",
            "join",
            "ljust",
            "replace",
            "rjust",
            "translate",
            "zfill",
        }
        | _SEARCHING
    ),
    bytes: frozenset(
        {"center", "decode", "expandtabs", "join", "ljust", "replace", "rjust", "translate", "zfill"}
        | _SEARCHING
    ),
    list: frozenset({"extend", "sort", "count", "index", "remove"}),
    tuple: frozenset({"count", "index"}),
    int: frozenset({"to_bytes", "from_bytes"}),
    **{
        kind: frozenset(name for name in (HASHING | HASHING_ALL) if hasattr(kind, name))
        for kind in TABLE_TYPES
        if kind is not set
    },
    set: CHANGING_SETS | frozenset(name for name in (HASHING | HASHING_ALL) if hasattr(set, name)),
}
"""Public methods of builtin types that need a guard, by type."""


def plain_methods(kind: type, guarded: Mapping[type, frozenset[str]] = GUARDED_METHODS) -> frozenset[str]:
    """Return the public methods of `kind` that need no guard: all but those in `guarded`."""
    excepted = frozenset().union(*(guarded.get(base, frozenset()) for base in kind.__mro__))
    return frozenset(name for name in dir(kind) if not name.startswith("_") and name not in excepted)


PLAIN_METHODS: Final[dict[str, frozenset[str]]] = {
    kind.__name__: plain_methods(kind) for kind in (str, int, float, list, tuple)
} | {kind.__name__: plain_methods(kind) | GUARDED_METHODS[kind] for kind in (dict, set)}
"""Methods that need no guard, by kind; for dict and set also those whose calls the transformer checks."""
