# SPDX-License-Identifier: GPL-3.0-or-later
"""`base64` and `unicodedata` for scripts: C functions of text and bytes, with a limit on the length."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable
from itertools import groupby
from typing import Any, Final

from ..guard.seam import Guard

__all__ = ("base64_members", "unicodedata_members")

_CODES: Final = (
    *(
        "b64decode",
        "b64encode",
        "standard_b64decode",
        "standard_b64encode",
        "urlsafe_b64decode",
        "urlsafe_b64encode",
    ),
    *("b32decode", "b32encode", "b16decode", "b16encode"),
)
_OF_CHARACTERS: Final = (
    *("bidirectional", "category", "combining", "decimal", "decomposition", "digit", "east_asian_width"),
    *("mirrored", "name", "numeric", "lookup"),
)
_WIDEST: Final = 18
"""The most characters into which normalisation may turn one character."""


_MARKS: Final = 1_000
"""The most combining marks in a row: to order them takes the square of their number."""
_MARKS_BY_PARTS: Final = frozenset("\u0f73\u0f75\u0f81")
"""Characters that are no marks themselves, but are made of nothing else."""


def _longest_row_of_marks(text: str) -> int:
    rows = groupby(text, lambda each: bool(unicodedata.combining(each)) or each in _MARKS_BY_PARTS)
    return max((sum(1 for _ in row) for is_mark, row in rows if is_mark), default=0)


def base64_members(guard: Guard) -> dict[str, object]:
    """Return the members of `base64`, for one run."""

    def coding(function: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        def code(data: Any) -> bytes:
            if type(data) not in (str, bytes, bytearray):
                raise TypeError(f"a bytes-like object is required, not {type(data).__name__}")
            guard.operators.length(2 * len(data), "text")
            return function(data)

        return code

    return {name: coding(getattr(base64, name)) for name in _CODES}


def unicodedata_members(guard: Guard) -> dict[str, object]:
    """Return the members of `unicodedata`, for one run."""

    def normalize(form: Any, text: Any) -> str:
        if type(text) is str:
            guard.operators.length(_WIDEST * len(text), "text")
            if len(text) > _MARKS and _longest_row_of_marks(text) > _MARKS:
                guard.meter.exceed(
                    f"normalize(): more than {_MARKS} combining marks in a row are over the limit",
                    limit="work",
                )
        return unicodedata.normalize(form, text)

    plain = {name: getattr(unicodedata, name) for name in _OF_CHARACTERS}
    return {**plain, "normalize": normalize, "unidata_version": unicodedata.unidata_version}
