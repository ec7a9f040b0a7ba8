# SPDX-License-Identifier: GPL-3.0-or-later
"""`base64` and `unicodedata` for scripts: C functions of text and bytes, with a limit on the length."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Callable
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
        return unicodedata.normalize(form, text)

    plain = {name: getattr(unicodedata, name) for name in _OF_CHARACTERS}
    return {**plain, "normalize": normalize, "unidata_version": unicodedata.unidata_version}
