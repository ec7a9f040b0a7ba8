# SPDX-License-Identifier: GPL-3.0-or-later
"""Import an asset of any service: the question about its size, the import, the mark for the Asset Browser.

Each service makes an `ImportPlan`. The panel and the tools then do the same with it: they ask if `size_question`
returns a question, and call `import_asset`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..base import settings
from ..base.errors import BridgeError
from . import append, environment
from .append import Imported
from .network.transport import megabytes
from .work import Work

if TYPE_CHECKING:
    from .browse import Entry

__all__ = ("ImportPlan", "import_asset", "mark_collection", "size_question")


def mark_collection(work: Work, imported: Imported) -> None:
    """Mark the collection of an import for the Asset Browser, in a catalogue of its service's name."""
    work.in_blender(partial(append.mark_model, imported))


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """An import that can start. Nothing of the asset has been fetched yet.

    `size` is in bytes, None if the service does not tell it. `run` fetches the asset and adds it to the scene; `mark`
    marks the imported data-blocks for the Asset Browser.
    """

    title: str
    size: int | None
    run: Callable[[Work], Imported]
    mark: Callable[[Work, Imported], None] = mark_collection


def size_question(plan: ImportPlan) -> str:
    """The question to the user before a large download; "" if the size is within the user's limit."""
    if (plan.size or 0) <= settings.current().ask_above_mb * 1_000_000:
        return ""
    return f"Download {megabytes(plan.size or 0)} for “{plan.title}”?"


def import_asset(work: Work, plan: ImportPlan, *, mark: bool = False, entry: Entry | None = None) -> Imported:
    """Fetch the asset, add it to the scene, and mark it if `mark` is true. Worker threads.

    `entry` is the panel's entry of the asset; it is added to the list of recent assets.

    Raises:
        ExternalServiceError: the service, the disk or the confined Blender failed; the scene is as before.
        PolicyError: the service needs a key, or the settings forbid it.
        Cancelled: somebody cancelled.
    """
    imported = plan.run(work)
    if mark:
        plan.mark(work, imported)
    if entry is not None:
        with contextlib.suppress(BridgeError):  # an import stays even if the list cannot be written
            environment.shelf().imported(entry)
    return imported
