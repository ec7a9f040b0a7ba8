# SPDX-License-Identifier: GPL-3.0-or-later
"""Import an asset of any service: the question about its size, the import, the mark for the Asset Browser.

Each service makes an `ImportPlan`. The panel and the tools then do the same with it: ask where `size_question` gives
a question, and call `import_asset`.
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
from .network.download import megabytes
from .work import Work

if TYPE_CHECKING:
    from .browse import Entry

__all__ = ("ImportPlan", "import_asset", "mark_collection", "size_question")


def mark_collection(work: Work, imported: Imported) -> None:
    """Mark the collection of an import for the Asset Browser, in a catalogue of its service's name."""
    work.in_blender(partial(append.mark_model, imported))


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """An import that can begin. Nothing of the asset has been fetched yet.

    `size` is in bytes, None where the service does not say it. `run` fetches the asset and brings it into the scene;
    `mark` marks what came in for the Asset Browser.
    """

    title: str
    size: int | None
    run: Callable[[Work], Imported]
    mark: Callable[[Work, Imported], None] = mark_collection


def size_question(plan: ImportPlan) -> str:
    """What to ask the user before something this large is fetched; "" where the plan is within the user's limit."""
    if (plan.size or 0) <= settings.current().ask_above_mb * 1_000_000:
        return ""
    return f"Download {megabytes(plan.size or 0)} for “{plan.title}”?"


def import_asset(work: Work, plan: ImportPlan, *, mark: bool = False, entry: Entry | None = None) -> Imported:
    """Fetch the asset, bring it into the scene, and mark it where that is wanted. Worker threads.

    `entry` is the panel's entry of the asset, which is then listed among the recent ones.

    Raises:
        ExternalServiceError: the service, the disk or the confined Blender failed; the scene is as before.
        PolicyError: the service needs a key, or may not be used.
        Cancelled: somebody cancelled.
    """
    imported = plan.run(work)
    if mark:
        plan.mark(work, imported)
    if entry is not None:
        with contextlib.suppress(BridgeError):  # a list that cannot be written does not undo an import
            environment.shelf().imported(entry)
    return imported
