# SPDX-License-Identifier: GPL-3.0-or-later
"""How much would be downloaded for an entry of the panel. Worker threads."""

from __future__ import annotations

from .browse import Entry
from .network.download import megabytes
from .polyhaven import importing
from .work import Work

__all__ = ("told",)


def told(work: Work, entry: Entry, resolution: str) -> str:
    """The size for people, with the resolution if the entry has one; "" if nobody knows it. Raises BridgeError."""
    if entry.service != "polyhaven":
        return megabytes(entry.size) if entry.size else ""
    plan = importing.plan(work, entry.id, usual=resolution)
    return f"{plan.resolution.upper()} · {megabytes(plan.size)}"
