# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the size of the download of an entry in the panel, on worker threads."""

from __future__ import annotations

from .browse import Entry
from .network.transport import megabytes
from .polyhaven import planning
from .work import Work

__all__ = ("download_size",)


def download_size(work: Work, entry: Entry, resolution: str) -> str:
    """Return the size for people, with the resolution if there is one; "" if nobody knows. Raises BridgeError."""
    if entry.service != "polyhaven":
        return megabytes(entry.size) if entry.size else ""
    plan = planning.plan(work, entry.id, usual=resolution)
    return f"{plan.resolution.upper()} · {megabytes(plan.size)}"
