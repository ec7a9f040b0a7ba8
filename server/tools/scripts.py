# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes scripts with which tools change the scene: they run as `execute_blender_code` runs an assistant's script.

So they are rehearsed, shown to the user and rolled back like any other. The assistant's values are data in the script,
never a part of its text.
"""

from __future__ import annotations

import pprint
from typing import Any

__all__ = ("with_data",)


def with_data(source: str, name: str, data: Any, function: str) -> str:
    """Return a script that calls `function` of `source` with `data`. The data comes first: the user reads it.

    `data` is JSON. Raises TypeError for a value that is not plain JSON.
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
