# SPDX-License-Identifier: GPL-3.0-or-later
"""`bpy.utils.units` for scripts: Blender compiles the text of a quantity as Python, so only quantities may reach it."""

from __future__ import annotations

import re
from typing import Any

import bpy

__all__ = ("to_value",)

_LONGEST = 200
#: A number and its unit, such as `1.5m`, `5'` or `2 feet`. The only word of Python that is a unit is `in`.
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_UNIT = r"(?:(?!(?:and|or|if|else|is|not|for|lambda)\b)[A-Za-zµ°²³]{1,12}|['\"])"
_QUANTITY = rf"[-+]?\s*{_NUMBER}(?:\s*{_UNIT})?"
#: Quantities one after the other, or with one of `+ - * /` between them and parentheses around some.
_BETWEEN = r"(?:\s*\)*\s*(?:[-+/]|\*(?!\*))\s*\(*\s*|\s+|(?<=[A-Za-zµ°²³'\"]))"
_TEXT = re.compile(rf"\s*\(*\s*{_QUANTITY}(?:{_BETWEEN}{_QUANTITY})*\s*\)*\s*")


def to_value(unit_system: Any, unit_category: Any, str_input: Any, str_ref_unit: Any = None) -> float:
    """Return a quantity, such as `1m 20cm` or `3 * 2ft`, in Blender's units.

    Raises:
        TypeError: an argument is no text.
        ValueError: the text is no quantity of at most 200 characters.
    """
    texts = (unit_system, unit_category, str_input, *(() if str_ref_unit is None else (str_ref_unit,)))
    for text in texts:
        if type(text) is not str:
            raise TypeError(f"bpy.utils.units.to_value() takes texts, not {type(text).__name__}")
    if len(str_input) > _LONGEST or not _TEXT.fullmatch(str_input):
        raise ValueError(
            "bpy.utils.units.to_value() takes a quantity here, such as '1.5m', '5' 3\"' or '3 * 2cm': "
            "compute with the number that it gives"
        )
    if str_ref_unit is not None and not re.fullmatch(_UNIT, str_ref_unit):
        raise ValueError(f"{str_ref_unit[:40]!r} is no unit: use 'm', 'cm', 'ft', …")
    reference = {} if str_ref_unit is None else {"str_ref_unit": str_ref_unit}
    return bpy.utils.units.to_value(unit_system, unit_category, str_input, **reference)
