# SPDX-License-Identifier: GPL-3.0-or-later
"""Import an asset of any service: the import, and the mark for the Asset Browser.

Each service makes an `ImportPlan`. The panel and the tools then do the same with it: they ask if `size_question`
returns a question, and call `import_asset`.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from ..base.errors import BridgeError
from . import append, environment
from .append import Imported
from .import_plan import ImportPlan
from .work import Work

if TYPE_CHECKING:
    from .browse import Entry

__all__ = ("import_asset", "mark_collection")


def mark_collection(work: Work, imported: Imported) -> None:
    """Mark the collection of an import for the Asset Browser, in a catalogue of its service's name."""
    work.in_blender(partial(append.mark_model, imported))


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
        (plan.mark or mark_collection)(work, imported)
    if entry is not None:
        with contextlib.suppress(BridgeError):  # an import stays even if the list cannot be written
            environment.shelf().imported(entry)
    return imported
