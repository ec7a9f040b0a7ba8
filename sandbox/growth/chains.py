# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures how long the chains of data-blocks are that a script links: Blender follows them by recursion.

Objects by parents, constraints, drivers and modifiers, collections and node groups in one another, custom properties
that point to data-blocks: Blender's dependency graph visits what a data-block uses before it has finished with it. With
a stack of 8 MiB it crashes at 6,500 objects that drive one another, and at 8,000 to 15,000 in other chains; on Windows
the stack is a quarter of that.

To measure takes some ten milliseconds in a large scene. So `Chains` counts the links that a script makes, and measures
only when these could have joined measured chains to one that is too long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final

import bpy

from ..facts.members import names
from ..guard.meter import closed

__all__ = ("LONGEST", "Chains", "links", "longest_chain")

LONGEST: Final = 1_000
"""How many data-blocks may be in a chain; in a scene with a longer one, as many as in that."""
_ENDS: Final = frozenset(
    """
    ACTION ARMATURE CAMERA CURVE CURVES FONT GPENCIL GREASEPENCIL IMAGE LATTICE LIGHT LIGHT_PROBE MASK MATERIAL MESH
    META MOVIECLIP PALETTE POINTCLOUD SOUND SPEAKER TEXT VOLUME
    """.split()
)
"""Types of data-blocks to which a link need not be counted: a chain ends there, or goes on to another type by a link
that is counted. A link by a driver, or from a data-block of the same type, is counted all the same.
"""


class Chains:
    """The chains of data-blocks that one run may have made longer; `refuse(message)` stops the run."""

    def __init__(self, refuse: Callable[[str], Any]) -> None:
        self.refuse = refuse
        #: Which data-blocks the script linked to which since the last measurement, by their types.
        self._linked: defaultdict[tuple[str, str], tuple[set[int], set[int]]] = defaultdict(
            lambda: (set(), set())
        )
        #: How many links `link_somewhere` noted since then: each chain may have got all of them.
        self._others = 0
        #: How many data-blocks the longest chain had when it was last measured, or more; 0 before the first link.
        self._longest = 0
        #: How many data-blocks a chain may have in this run.
        self._most = LONGEST
        #: Whether the script linked anything since the last check.
        self._linked_more = False

    def link(self, owner: Any, target: Any, *, by_driver: bool = False) -> None:
        """Note that a script is about to make the data-block `owner` use `target`, before it does."""
        kinds = owner.id_type, target.id_type
        if kinds[1] in _ENDS and kinds[0] != kinds[1] and not by_driver:
            return
        self._begin()
        owners, targets = self._linked[kinds]
        owners.add(owner.session_uid)
        targets.add(target.session_uid)

    def link_somewhere(self) -> None:
        """Note a step that may link any data-blocks, but gives no chain more than one new link."""
        self._begin()
        self._others += 1

    def _begin(self) -> None:
        self._linked_more = True
        if self._longest:
            return
        self._longest = count = _count_blocks()
        if count > LONGEST:
            self._longest = longest_chain()
            self._most = max(LONGEST, self._longest)

    def check(self) -> None:
        """Refuse a chain that is too long, before Blender follows it."""
        if self._linked_more:
            self._check()
            self._linked_more = False

    @closed("how long chains of data-blocks are")
    def _check(self) -> None:
        if not self._may_be_long():
            return
        self._longest = longest_chain()
        self._linked.clear()
        self._others = 0
        if self._longest > self._most:
            _take_out()
            self.refuse(
                f"{self._longest:,} data-blocks in a chain, each of which uses the next one, are more than the "
                f"{self._most:,} that Blender can follow: let many use the same one, such as one parent for all"
            )

    def abandon(self) -> None:
        """Leave no chain that may be too long for Blender to follow before the roll-back of a run that failed."""
        if self._may_be_long():
            _take_out()

    def _may_be_long(self) -> bool:
        if not (self._linked or self._others) or _count_blocks() <= LONGEST:
            return False
        joints = sum(min(len(owners), len(targets)) for owners, targets in self._linked.values())
        return (self._others + joints + 1) * self._longest > self._most


def links(idname: str) -> bool:
    """Return whether an operator may link data-blocks that were there before."""
    return not idname.startswith(_LINKING_NOTHING)


_LINKING_NOTHING: Final = tuple(names("operators that link nothing"))


def longest_chain() -> int:
    """Return how many data-blocks are in the longest chain of which each uses the next one."""
    used: defaultdict[Any, list[Any]] = defaultdict(list)
    find_users: Any = bpy.data.user_map
    for block, users in find_users().items():
        for user in users:
            used[user].append(block)
    lengths: dict[Any, int] = {}
    for start in list(used):
        if start not in lengths:
            _measure(start, used, lengths)
    return max(lengths.values(), default=1)


def _measure(start: Any, used: dict[Any, list[Any]], lengths: dict[Any, int]) -> None:
    """Find the lengths of the chains from `start`, without recursion; a link back into a chain does not count."""
    lengths[start] = 0
    path: list[tuple[Any, Iterator[Any], int]] = [(start, iter(used.get(start, ())), 1)]
    while path:
        block, following, length = path.pop()
        for each in following:
            found = lengths.get(each)
            if found is None:
                lengths[each] = 0  # in the path: its length is not known yet
                path += [(block, following, length), (each, iter(used.get(each, ())), 1)]
                break
            if found:
                length = max(length, found + 1)
        else:
            lengths[block] = length
            if path:
                before, rest, longest = path[-1]
                path[-1] = before, rest, max(longest, length + 1)


def _count_blocks() -> int:
    return sum(map(len, _collections(bpy.data)))


_collections: Callable[[Any], tuple[Any, ...]] = attrgetter(
    *(prop.identifier for prop in bpy.types.BlendData.bl_rna.properties if prop.type == "COLLECTION")
)
"""The collections of all data-blocks, read at once."""


def _take_out() -> None:
    """Leave nothing in the scenes that Blender would follow before the roll-back, which puts everything back."""
    for scene in bpy.data.scenes:
        scene.background_set = None
        for child in list(scene.collection.children):
            scene.collection.children.unlink(child)
        for user in list(scene.collection.objects):
            scene.collection.objects.unlink(user)
