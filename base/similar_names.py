# SPDX-License-Identifier: GPL-3.0-or-later
"""Suggest similar names in error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ("did_you_mean", "quoted")

#: Names compared at most: the cost grows with the square of a name's length, and a scene may have many objects.
_MOST = 20_000
_LONGEST = 255
#: How many characters of a caller's text an error repeats.
_SHOWN = 80


def quoted(text: str) -> str:
    """`text` in quotes and shortened, for use in an error message."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def did_you_mean(name: str, known: Iterable[str], *, most: int = 3) -> str:
    """` Did you mean 'a' or 'b'?` with the known names nearest to `name`, or an empty text."""
    if len(name) > _LONGEST:
        return ""
    by_folded = {item.lower(): item for item in list(known)[:_MOST]}
    near = difflib.get_close_matches(name.lower(), by_folded, n=most, cutoff=0.6)
    if not near:
        return ""
    quoted = [repr(by_folded[item]) for item in near]
    listed = quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
    return f" Did you mean {listed}?"
