# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts of ours through which tools change the scene: `execute_blender_code` rehearses, asks about, runs and rolls
them back like any other.

What the assistant gave is data in the script, never a part of its text.
"""

from __future__ import annotations

import pprint
from typing import Any

__all__ = ("with_data",)


def with_data(source: str, name: str, data: Any, function: str) -> str:
    """The script that calls `function` of `source` with `data`, which stands first: it is what the user reads.

    `data` is JSON; what is no plain JSON value is refused with a TypeError.
    """
    _check_plain(data)
    written = pprint.pformat(data, width=110, compact=True, sort_dicts=False)
    return f"{name} = {written}\n\n{source}\n\nresult = {function}({name})\n"


def _check_plain(data: Any) -> None:
    if isinstance(data, dict):
        for key, value in data.items():
            _check_plain(key)
            _check_plain(value)
    elif isinstance(data, list):
        for value in data:
            _check_plain(value)
    elif type(data) not in (str, int, float, bool, type(None)):
        raise TypeError(f"{data!r} is no JSON")
