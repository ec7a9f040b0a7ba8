# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses NaN for properties that Blender limits: it limits by comparison, which NaN passes, and relies on the limits.

NaN that got through becomes any integer: a number of frames, an index, or a size. The numbers of F-curves count as
limited, too, since Blender writes what it computes from them into the properties that they animate.
"""

from __future__ import annotations

from typing import Any, Final

import bpy

from ....base.per_type import is_static
from ...growth.vectors import KINDS
from ...guard.seam import BlenderHost, Reader, Writer
from ..plain_values import are_finite, as_plain, has_nan, held_items

__all__ = ("check_items", "check_value", "finite_writer", "is_limited", "noting_reader")

_LARGEST: Final = 3.4028234663852886e38
"""The largest number of 32 bits: RNA's limit of a property without one."""
_ANIMATING: Final = (bpy.types.Keyframe, bpy.types.FModifier)


def is_limited(kind: type, prop: Any) -> bool:
    """Return whether a property of this type is a floating-point number, or an array of these, that Blender limits."""
    if prop is None or prop.type != "FLOAT":
        return False
    return prop.hard_min > -_LARGEST or prop.hard_max < _LARGEST or issubclass(kind, _ANIMATING)


def noting_reader(kind: type, prop: Any, read: Reader) -> Reader:
    """Return the reader of a limited property: that of vectors notes each one, whose numbers a script may then set.

    Of the types of keyframes and of modifiers of F-curves, `growth.curves` looks at the numbers themselves.
    """
    if not prop.is_array or prop.subtype == "NONE" or issubclass(kind, _ANIMATING):
        return read

    def noted(host: BlenderHost, value: Any, name: str) -> Any:
        found = read(host, value, name)
        if type(found) in KINDS:
            host.geometry.vectors.note(found)
        return found

    return noted


def finite_writer(write: Writer | None) -> Writer:
    """Return the writer of a limited property: it refuses NaN, and then calls `write` or, without one, sets it."""

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        if type(new) is not float or new != new:
            new = _finite(value, name, new)
        write(host, value, name, new)

    def written_natively(_host: BlenderHost, value: Any, name: str, new: Any) -> None:
        if type(new) is not float or new != new:
            new = _finite(value, name, new)
        setattr(value, name, new)

    return written_natively if write is None else written


def _finite(value: Any, name: str, new: Any) -> Any:
    kind = type(new)
    if kind is int or ((kind is tuple or kind is list) and are_finite(new)):
        return new
    new = _held(new)
    check_value(value, name, new)
    return new


def _held(new: Any) -> Any:
    """Return a plain value whose items no code of a script can change or hide."""
    plain = as_plain(new)
    return plain if is_static(type(plain)) else held_items(plain)


def check_value(owner: Any, name: str, new: Any) -> None:
    """Check a plain value, or the values of many items, for a limited property.

    Raises:
        ValueError: it is or contains NaN.
    """
    if has_nan(new):
        raise ValueError(
            f"{type(owner).__name__}.{name} may not be NaN, which is not a number: set a finite one"
        )


def check_items(array: Any, new: Any) -> Any:
    """Return the plain values of new items for an array of Blender's, after a check if Blender limits them.

    Raises:
        ValueError: there is a NaN among them.
    """
    if type(new) is float and new == new:
        return new
    new = _held(new)
    if has_nan(new) and _may_be_limited(array):
        raise ValueError(
            "an array that Blender limits may not hold NaN, which is not a number: set a finite one"
        )
    return new


def _may_be_limited(array: Any) -> bool:
    """Return whether the property of this array is limited; True also if nobody can tell which property it is."""
    try:
        owner, name = array.data, array.path_from_id().rpartition(".")[2]
    except (AttributeError, ValueError):
        return True
    prop = owner.bl_rna.properties.get(name)
    return prop is None or is_limited(type(owner), prop)
