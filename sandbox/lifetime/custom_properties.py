# SPDX-License-Identifier: GPL-3.0-or-later
"""Invalidates parts of custom properties when Blender frees them.

A group or an array of custom properties is a bare pointer, and has no type that could be made null. So the sandbox
notes the parts that a script reads of a struct. Whenever custom properties may be gone, it looks up the struct's parts
again, and invalidates each noted part that is no longer there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from . import layout
from .existing import Now, root_of
from .held import ALONE
from .layout import IS_PART as PARTS
from .memory import is_cut_off

__all__ = ("DEEP", "PARTS", "PropertyParts")

DEEP = 1_000_000
"""The depth of a part of which nobody knows where it lies."""


class PropertyParts:
    """The parts of custom properties that the script of one run has read."""

    def __init__(self) -> None:
        self.noted: dict[int, tuple[Any, Any, int]] = {}
        """Each part, the struct it was read from, and its depth there, by the part's id.

        A running expression may hold a part unseen.
        """
        self._most = 64

    def give(self, holder: Any, found: Any, deeper: int = 1) -> Any:
        """Note `found`, a custom property of the struct or group `holder`, and return it, or a copy, to the script.

        `deeper`: how many levels below `holder` it lies.
        """
        if type(found) is list:  # a list of groups
            return [self.give(holder, each, deeper + 1) for each in found]
        if not PARTS[type(found)]:
            return found
        known = self.noted.get(id(holder))
        root = known[1] if known else None if PARTS[type(holder)] else holder
        if not (root is None or _is_certain(root)):
            return found.to_dict() if hasattr(found, "to_dict") else found.to_list()
        if len(self.noted) >= self._most:
            used = [each for each in self.noted.items() if sys.getrefcount(each[1][0]) > ALONE]
            self.noted = dict(used)
            self._most = max(64, 2 * len(used))
        self.noted[id(found)] = found, root, self.depth(holder) + deeper
        return found

    def depth(self, holder: Any) -> int:
        """Return how many levels of groups and lists lead from a struct to a part, the part included.

        0 for a struct itself; `DEEP` if nobody knows where the part lies.
        """
        if not PARTS[type(holder)]:
            return 0
        known = self.noted.get(id(holder))
        if known is not None and known[0] is holder:
            return known[2]
        owner, prop = layout.part_pointers(holder)
        return next((depth for part, depth in _parts(Now().block(owner)) if _place(part) == prop), DEEP)

    def gone(self, held: Iterable[Any]) -> list[Any]:
        """Return the parts that no longer exist, of those that the script has read and those that it holds (`held`)."""
        parts = {id(part): (part, None, 0) for part in held} | self.noted
        now = Now()
        roots: dict[int, tuple[Any, dict[int, type]]] = {}
        found = []
        for part, root, _depth in parts.values():
            if is_cut_off(part):
                continue
            owner, prop = layout.part_pointers(part)
            if root is None:
                root = now.block(owner)
            if id(root) not in roots:
                roots[id(root)] = root, {_place(each): type(each) for each, _depth in _parts(root)}
            if roots[id(root)][1].get(prop) is not type(part):
                found.append(part)
        return found


def _is_certain(holder: Any) -> bool:
    """Return whether one can always know if a struct still exists: not of evaluated copies and structs of add-ons."""
    owner = holder.id_data
    if owner is None or owner.is_evaluated:
        return False
    return holder is owner or root_of(type(holder)) is not None


def _place(part: Any) -> int:
    """Return the address of a part."""
    address: int = layout.part_pointers(part)[1]
    return address


def _parts(root: Any) -> Iterator[tuple[Any, int]]:
    """Yield the parts of a struct's custom properties, each with its depth."""
    try:
        level = [] if root is None else list(root.values())
    except (
        ReferenceError,
        TypeError,
    ):  # the struct is gone, or another one without custom properties lies there
        return
    depth = 0
    while level:
        depth += 1
        following: list[Any] = []
        for value in level:
            if type(value) is list:
                following += value
            elif PARTS[type(value)]:
                yield value, depth
                following += value.values() if hasattr(value, "values") else ()
        level = following
