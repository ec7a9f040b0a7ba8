# SPDX-License-Identifier: GPL-3.0-or-later
"""References to items of arrays that a data-block shares with copies of it.

When Blender evaluates the scene, or copies a mesh, the copy shares the arrays of vertices, edges, corners and layers
with the mesh. Whoever writes next, or only looks into an array as one that may be written, gets an array of its own:
the mesh's items lie somewhere else, and references to them point into memory that goes with the copy. So what a script
holds of such arrays is noted before what may share them; after it the mesh is made to have its own, and the references
follow their items there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..facts.members import names
from .existing import ATTRIBUTE_VALUES, arrays
from .layout import pointers
from .memory import move

__all__ = ("ROOTS", "Noted", "note")

#: Structs that are items of such arrays.
ROOTS = ATTRIBUTE_VALUES | names("items of shared arrays")


class Noted(NamedTuple):
    """References to the items of one array, each with the place of its item."""

    owner: Any
    root: str
    which: int
    first: int
    last: int
    length: int
    held: list[tuple[Any, int]]
    """Each reference, and the place of its item."""

    def follow(self) -> None:
        """Let the references point where their items lie now."""
        try:
            now = _arrays(self.owner, self.root)
        except ReferenceError:  # it was removed
            return
        first, _last, length = now[self.which] if self.which < len(now) else (0, -1, 0)
        if length == self.length and first != self.first:
            for reference, offset in self.held:
                move(reference, first + offset)


def note(references: Iterable[tuple[Any, str]]) -> list[Noted]:
    """Note references, each with its root."""
    noted: dict[tuple[int, str], list[Noted]] = {}
    for reference, root in references:
        block, struct, pointer = pointers(reference)
        if struct == 0:  # it was made invalid
            continue
        arrays_of = noted.get((block, root))
        if arrays_of is None:
            owner = reference.id_data
            found = _arrays(owner, root) if owner is not None else []
            arrays_of = [Noted(owner, root, which, *array, []) for which, array in enumerate(found)]
            noted[block, root] = arrays_of
        for each in arrays_of:
            if each.first <= pointer <= each.last:
                each.held.append((reference, pointer - each.first))
                break
    return [each for group in noted.values() for each in group if each.held]


def _arrays(owner: Any, root: str) -> list[tuple[int, int, int]]:
    """The first and last address of each array, and how many items it has: to ask makes it the owner's own."""
    return [
        (items[0].as_pointer(), items[length - 1].as_pointer(), length)
        if (length := len(items))
        else (0, -1, 0)
        for items in arrays(owner, root)
    ]
