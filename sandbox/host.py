# SPDX-License-Identifier: GPL-3.0-or-later
"""The seam between the language's guards and whoever guards Blender."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

__all__ = ("Host", "Reader", "Writer")

Reader = Callable[[Any, Any, str], Any]
"""(host, value, name) -> `value.name`, checked."""
Writer = Callable[[Any, Any, str, Any], None]
"""(host, value, name, new): `value.name = new`, checked."""


class Host(Protocol):
    """The guard of values whose type comes from Blender. Refuse by `meter.refuse(message)` (a `Refused`)."""

    def modules(self, wanted: Collection[str]) -> Mapping[str, object]:
        """What `import bpy`, `import bmesh`, `from bpy_extras import …` give, by dotted name, for the roots `wanted`.

        Values are `modules.View`s (immutable, read natively by scripts) or objects whose type the host owns. Dotted
        names that can be imported are all listed ('bpy', 'bpy.types', 'mathutils.noise', …).
        """

    @property
    def owned(self) -> Mapping[type, bool]:
        """What `owns` said, by type."""

    def owns(self, kind: type) -> bool:
        """Is a value of exactly this type the host's to guard? Remembered in `owned`; False for plain Python."""

    def plain(self, kind: type, name: str, write: bool) -> bool:
        """May `value.name` run natively, unguarded, for every value of exactly this type from now on?

        Asked when a script first reads (`write=False`) or sets (`write=True`: implies reading) that attribute on
        that type; then the answer True removes the guard from the script's hot path: the check becomes one look-up in
        a set. Say True only if whatever the attribute gives is safe to hand out and to call as it is, and if writing
        it needs no look at the new value. `False` costs a call of `getattr`/`setattr` below each time.
        """

    def plain_items(self, kind: type, write: bool) -> bool:
        """The same for `value[key]` (`write=True`: also `value[key] = …` and `del value[key]`)."""

    def getattr(self, value: object, name: str) -> object:
        """`value.name`, checked; what it returns is safe to hold, call and pass on (wrap what is not).

        Vectors, matrices and arrays that alias Blender's memory are written natively by scripts (`v.co.z += 1`):
        return a copy or a frozen one where the property may be read but not written.
        Raises AttributeError where Blender would, `Refused` where policy says no. Also asked for classes
        that it owns, which scripts get by `type(value)`.
        """

    @property
    def readers(self) -> Mapping[tuple[type, str], Reader]:
        """What `reader` said, by type and name, in this run and in earlier ones: a decision holds for all runs."""

    def reader(self, kind: type, name: str) -> Reader:
        """`getattr` for that attribute of every value of exactly this type, from now on. Remembered in `readers`."""

    def setattr(self, value: object, name: str, new: object) -> None:
        """`value.name = new`, checked."""

    @property
    def writers(self) -> Mapping[tuple[type, str], Writer]:
        """What `writer` said, as `readers`."""

    def writer(self, kind: type, name: str) -> Writer:
        """`setattr` for that attribute of every value of exactly this type, from now on. Remembered in `writers`."""

    def delattr(self, value: object, name: str) -> None:
        """`del value.name`, checked."""

    def getitem(self, value: object, key: object) -> object:
        """`value[key]`, checked."""

    def setitem(self, value: object, key: object, new: object) -> None:
        """`value[key] = new`, checked (slices too)."""

    def iterated(self, value: object) -> object:
        """What a loop over any value draws from: something that survives whatever the loop does to it."""

    def delitem(self, value: object, key: object) -> None:
        """`del value[key]`, checked."""
