# SPDX-License-Identifier: GPL-3.0-or-later
"""Has a confined Blender open a large scene while the assistant thinks, before the next rehearsal needs it.

A rehearsal opens nothing if its own copy is of the same scene, which the child finds out. If the scene has changed,
that child ends, and another one opens the new copy: a child never opens two scenes. So an old copy costs time only.
"""

from __future__ import annotations

import logging
import threading
from functools import partial

from ...base import main_thread
from ...base.errors import BridgeError
from ...base.process import threads
from ...base.process.resident_memory import available_bytes
from .pool import Pool
from .prepare import Prepared, prepare_for
from .protocol import Garbled

__all__ = ("after_run", "open_copy")

_log = logging.getLogger(__name__)

_MB = 1024 * 1024

#: The longest that the window may stand still for a copy that no rehearsal needs yet, in seconds.
_MOST_STILL_S = 0.1

#: A lock: the thread that holds it chooses a child.
_choice = threading.Lock()
#: The newest copy. Only for this one is a child chosen; the child that was chosen for an older copy then ends.
_newest: Prepared | None = None
#: If the scene of the last rehearsal was large: its pool, and how long the window stood still for the copy.
_last: tuple[Pool, float] | None = None


def after_run() -> None:
    """Have the scene as a script has left it opened, if the scene of the last rehearsal was large. Never waits."""
    last = _last
    if last is not None and not last[0].closed and last[1] <= _MOST_STILL_S:
        main_thread.run(partial(_copy, last[0]), changes=False, label="the copy for the next rehearsal")


def open_copy(prepared: Prepared) -> None:
    """Have a child open this copy if its scene is large, and release the copy. Never waits."""
    global _last, _newest
    if not _is_worth_it(prepared):
        _last = None
        prepared.release()
        return
    _newest, _last = prepared, (prepared.pool, prepared.copy.seconds)
    threads.start(_open, prepared, name="next rehearsal")


def _copy(pool: Pool) -> None:
    try:
        open_copy(prepare_for(pool))
    except BridgeError as error:
        _log.info("the scene is not opened for the next rehearsal: %s", error)


def _is_worth_it(prepared: Prepared) -> bool:
    """Return whether opening the scene takes long, a later rehearsal can use it, and there is memory for it."""
    needs = prepared.needs
    return (
        needs.large
        and prepared.save is None
        and not prepared.copy.pixels
        and available_bytes() > needs.memory_mb * _MB
    )


def _open(prepared: Prepared) -> None:
    """Have the next child open a copy, unless there is a newer one; release the copy."""
    child = None
    try:
        with _choice:
            if prepared is _newest:
                child = prepared.pool.choose(prepared.needs)
        if child is not None:
            child.ready()
            child.open_ahead(prepared.copy, prepared.seconds_besides_script)
    except (BridgeError, Garbled, OSError) as error:
        _log.info("the scene is not opened for the next rehearsal: %s", error)
        prepared.pool.drop(child)
    finally:
        prepared.release()
