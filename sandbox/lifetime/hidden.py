# SPDX-License-Identifier: GPL-3.0-or-later
"""The items that edit mode hides: the splines of a curve and the points of a lattice as they were before edit mode.

In edit mode Blender edits a copy of these and shows only the copy. The data-block's own items stay untouched until edit
mode ends and the copy replaces them. Until then references to them are valid, as in plain Blender, although no walk
through the data-block finds them. So the sandbox notes the items before edit mode hides them, and treats them as
existing until something runs that may touch them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import bpy

__all__ = ("Hidden",)

#: Operators that enter edit mode from object mode.
_ENTERING = frozenset({"object.mode_set", "object.editmode_toggle"})
#: How the names of operators begin that only change the copies.
_ON_COPIES = ("curve.", "lattice.", "transform.", "object.select_", "object.hook_", "view3d.")
#: Operators among these that also make or change another data-block.
_ON_MORE = ("curve.separate", "curve.primitive_", "transform.delete_orientation")
_OF_CURVES = ("Spline", "SplinePoint", "BezierSplinePoint", "SplinePoints", "SplineBezierPoints")
_ROOTS = {"CURVE": _OF_CURVES, "SURFACE": _OF_CURVES, "LATTICE": ("LatticePoint",)}
_HIDDEN = frozenset({*_OF_CURVES, "LatticePoint"})


class _Items(Protocol):
    def has(self, owner: Any, root: str, pointer: int, kind: type) -> bool: ...


class Hidden:
    """The data-blocks in edit mode, each with the items that it had before."""

    def __init__(self, look: Callable[[], _Items]) -> None:
        """`look` returns an object that looks up what data-blocks have now."""
        self._look = look
        self.noted: dict[Any, _Items] = {}

    def before(self, idname: str) -> None:
        """Note the items that an operator is about to hide by entering edit mode."""
        if idname not in _ENTERING or bpy.context.mode != "OBJECT":
            return
        self.noted.clear()
        layer: Any = bpy.context.view_layer
        objects = {
            layer.objects.active,
            bpy.context.object,
            *layer.objects.selected,
            *bpy.context.selected_objects,
        }
        for each in objects:
            if each is not None and each.type in _ROOTS and each.data not in self.noted:
                items = self.noted[each.data] = self._look()
                for root in _ROOTS[each.type]:
                    items.has(each.data, root, 0, object)  # looks up all items

    def after(self, idname: str) -> None:
        """Forget the items that an operator may have freed."""
        if self.noted:
            kept = idname in _ENTERING or (idname.startswith(_ON_COPIES) and not idname.startswith(_ON_MORE))
            self.noted = {block: items for block, items in self.noted.items() if kept and _is_edited(block)}

    def forget(self, block: Any) -> None:
        """Forget the items of `block`, of which something may have been freed, or of every data-block if it is None."""
        if self.noted:
            self.noted = {
                each: items
                for each, items in self.noted.items()
                if block is not None and each != block and _is_edited(each)
            }

    def has(self, owner: Any, root: str, pointer: int, kind: type) -> bool:
        """Return whether edit mode hides an item of this type at this address."""
        return root in _HIDDEN and owner in self.noted and self.noted[owner].has(owner, root, pointer, kind)


def _is_edited(block: Any) -> bool:
    try:
        return bool(block.is_editmode)
    except ReferenceError:
        return False
