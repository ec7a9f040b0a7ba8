# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves references to items of arrays that a data-block shares with copies of it.

When Blender evaluates the scene, or copies a mesh, the copy shares the arrays of vertices, edges, corners and layers
with the mesh. Whoever writes next, or only reads an array in a way that allows writing, gets an array of its own: the
mesh's items then lie somewhere else, and references to them point into memory that is freed with the copy. So the
sandbox notes a script's references to such arrays before a step that may share them. After the step it has the mesh
make its own arrays, and moves the references to the items there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..facts.members import names
from .existing import ATTRIBUTE_VALUES, arrays
from .layout import pointers
from .memory import move

__all__ = ("ROOTS", "ArrayReferences", "note")

#: Structs that are items of such arrays.
ROOTS = ATTRIBUTE_VALUES | names("items of shared arrays")


class ArrayReferences(NamedTuple):
    """The script's references to the items of one array, each with the distance of its item from the first."""

    owner: Any
    root: str
    which: int
    first: int
    last: int
    length: int
    held: list[tuple[Any, int]]
    """Each reference, with the distance in bytes of its item from the first."""

    def follow(self) -> None:
        """Point the references at the new addresses of their items."""
        try:
            now = _arrays(self.owner, self.root)
        except ReferenceError:  # the data-block was removed
            return
        first, _last, length = now[self.which] if self.which < len(now) else (0, -1, 0)
        if length == self.length and first != self.first:
            for reference, offset in self.held:
                move(reference, first + offset)


def note(references: Iterable[tuple[Any, str]]) -> list[ArrayReferences]:
    """Note references; each comes with its root."""
    noted: dict[tuple[int, str], list[ArrayReferences]] = {}
    for reference, root in references:
        block, struct, pointer = pointers(reference)
        if struct == 0:  # already invalid
            continue
        arrays_of = noted.get((block, root))
        if arrays_of is None:
            owner = reference.id_data
            found = _arrays(owner, root) if owner is not None else []
            arrays_of = [ArrayReferences(owner, root, which, *array, []) for which, array in enumerate(found)]
            noted[block, root] = arrays_of
        for each in arrays_of:
            if each.first <= pointer <= each.last:
                each.held.append((reference, pointer - each.first))
                break
    return [each for group in noted.values() for each in group if each.held]


def _arrays(owner: Any, root: str) -> list[tuple[int, int, int]]:
    """Return each array's first and last address and number of items; reading it makes it the owner's own array."""
    return [
        (items[0].as_pointer(), items[length - 1].as_pointer(), length)
        if (length := len(items))
        else (0, -1, 0)
        for items in arrays(owner, root)
    ]
