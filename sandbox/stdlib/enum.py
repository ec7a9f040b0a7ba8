# SPDX-License-Identifier: GPL-3.0-or-later
"""`enum` for scripts."""

from __future__ import annotations

import enum
from typing import Any

from ..guard.classes import ENUMS, Auto
from ..guard.seam import Guard

__all__ = ("enum_members",)


def enum_members(guard: Guard) -> dict[str, object]:
    """Return the members of `enum`, for one run."""

    def unique(kind: Any) -> Any:
        if not (isinstance(kind, enum.EnumType) and kind in guard.own):
            raise TypeError("unique() decorates an Enum of the script")
        return enum.unique(kind)  # type: ignore[type-var]

    return {kind.__name__: kind for kind in ENUMS} | {"auto": lambda: Auto(), "unique": unique}
