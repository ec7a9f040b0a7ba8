# SPDX-License-Identifier: GPL-3.0-or-later
"""The BMeshes that a script makes: the sandbox frees each when the script can no longer use anything of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .. import layout, memory
from ..held import ALONE, Held
from ..references import LOOSE, in_generator, is_loose
from .removals import OF_MESH

__all__ = ("OwnMeshes",)


class OwnMeshes:
    """The BMeshes of one run; references are written within the context `writing()`."""

    def __init__(self, held: Held, writing: Callable[[], AbstractContextManager[None]]) -> None:
        self._held, self._writing = held, writing
        self._made: list[Any] = []
        """The BMeshes that the script did not free."""
        self._spared: list[Any] = []
        """BMeshes that the script freed but still holds something of: they live as long as the run."""

    def keep(self, mesh: Any) -> None:
        """Keep a new BMesh: else Blender would free it with the last reference to it, whatever of it the script holds.

        Frees the earlier BMeshes that the script no longer holds.
        """
        made = self._made
        for at in reversed([at for at in range(len(made)) if sys.getrefcount(made[at]) == ALONE]):
            self.free(made[at])
        made.append(mesh)

    def free(self, mesh: Any) -> None:
        """Free a BMesh if the script holds nothing of its layers: nothing could invalidate such a pointer.

        Otherwise the BMesh lives as long as the run.
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
        """Drop all BMeshes when the script is over."""
        self._spared.clear()
        self._made.clear()
