# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that look alike, for errors that help."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ("did_you_mean", "quoted")

#: Comparing is quadratic in the length of a name, so a scene with many objects is not searched to its end.
_MOST = 20_000
_LONGEST = 255
#: As much of somebody else's text as an error repeats.
_SHOWN = 80


def quoted(text: str) -> str:
    """`text` as an error repeats it: in quotes, and no more than fits."""
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
