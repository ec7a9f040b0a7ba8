# SPDX-License-Identifier: GPL-3.0-or-later
"""The BMeshes that a script makes: each is freed where nothing of it can be used any more, and not by Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .. import layout, memory
from ..held import ALONE, Held
from ..references import LOOSE, in_generator, is_loose
from .removals import OF_MESH

__all__ = ("Made",)


class Made:
    """The BMeshes of one run. `writing()` is the context in which references are written."""

    def __init__(self, held: Held, writing: Callable[[], AbstractContextManager[None]]) -> None:
        self._held, self._writing = held, writing
        self._made: list[Any] = []
        """Those that the script did not free."""
        self._spared: list[Any] = []
        """Those that it freed, and of which it holds something: they live as long as the run."""

    def keep(self, mesh: Any) -> None:
        """A BMesh was made: Blender would free it with the last reference to it, whatever else the script holds of it.

        Those that the script let go of are freed when it makes another.
        """
        made = self._made
        for at in reversed([at for at in range(len(made)) if sys.getrefcount(made[at]) == ALONE]):
            self.free(made[at])
        made.append(mesh)

    def free(self, mesh: Any) -> None:
        """`mesh.free()`, where the script holds nothing of its layers: such a pointer nothing invalidates.

        Else the mesh lives as long as the run.
        """
        self._made[:] = [each for each in self._made if each is not mesh]
        held = self._held.find(LOOSE)
        if in_generator() or any(is_loose(each) for each in held if type(each) not in OF_MESH):
            self._spared.append(mesh)
        else:
            address = layout.address_of_mesh(mesh)
            mesh.free()
            with self._writing():
                memory.forget_mesh(address, [each for each in held if type(each) in OF_MESH])

    def close(self) -> None:
        """The script is over."""
        self._spared.clear()
        self._made.clear()
