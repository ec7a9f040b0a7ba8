# SPDX-License-Identifier: GPL-3.0-or-later
"""What a script may use without a guard from the first time on: no guard has to learn it."""

from __future__ import annotations

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
    reads = {name: {View} | _tables(name) for name in compiled.attributes_read}
    writes: dict[str, set[type]] = {name: set() for name in compiled.attributes_written}
    for types, listed in ((reads, readable), (writes, writable)):
        for kind, names in listed.items():
            if kind is not type:  # what may be read of a class depends on the class
                for name in types.keys() & names:
                    types[name].add(kind)
    return {hooks.reads(name): kinds for name, kinds in reads.items()} | {
        hooks.writes(name): kinds for name, kinds in writes.items()
    }


def _tables(name: str) -> set[type]:
    """The types of tables whose method a call may use as it is: the transformer has its arguments looked at."""
    hashes = name in HASHING or name in HASHING_ALL
    return {kind for kind in PLAIN_TYPES if hashes and issubclass(kind, TABLE_TYPES) and hasattr(kind, name)}
