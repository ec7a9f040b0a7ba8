# SPDX-License-Identifier: GPL-3.0-or-later
"""`value in container` for the guards: it may call methods of a script's classes, as the script's instruction may.

The container may be one of Blender's, which the permission of `reentry` otherwise excludes: where the script's text
shows that the value is simple, its own instruction does exactly the same.
"""

from __future__ import annotations

from typing import Any

from ..reentry import may_call_scripts

__all__ = ("contains", "lacks")


def contains(value: Any, container: Any) -> bool:
    """Return `value in container`."""
    return value in container


def lacks(value: Any, container: Any) -> bool:
    """Return `value not in container`."""
    return value not in container


may_call_scripts(globals(), by_instruction=True)
