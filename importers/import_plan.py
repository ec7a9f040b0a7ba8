# SPDX-License-Identifier: GPL-3.0-or-later
"""An import that can start, and the question to the user about its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base import settings
from .network.transport import megabytes

if TYPE_CHECKING:
    from .append import Imported
    from .work import Work

__all__ = ("ImportPlan", "size_question")


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """An import that can start. Nothing of the asset has been fetched yet.

    `size` is in bytes, None if the service does not tell it. `run` fetches the asset and adds it to the scene; `mark`
    marks the imported data-blocks for the Asset Browser, if that is not only the collection.
    """

    title: str
    size: int | None
    run: Callable[[Work], Imported]
    mark: Callable[[Work, Imported], None] | None = None


def size_question(plan: ImportPlan) -> str:
    """The question to the user before a large download; "" if the size is within the user's limit."""
    if (plan.size or 0) <= settings.current().ask_above_mb * 1_000_000:
        return ""
    return f"Download {megabytes(plan.size or 0)} for “{plan.title}”?"
