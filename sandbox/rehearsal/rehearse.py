# SPDX-License-Identifier: GPL-3.0-or-later
"""From a script to a report: snapshot, warm child, answer, report."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from ... import settings
from .. import supervisor
from ..supervisor.config import Sandbox
from . import snapshot
from .pool import ChildFailed, Needs, Pool
from .program import find
from .protocol import Garbled, Request, check_answer
from .report import Confinement, Held, Report, failed, from_answer, pictures_of

__all__ = ("Prepared", "Rehearsed", "prepare", "rehearse", "shutdown")

#: What a script may use in a rehearsal, and what opening and comparing may take besides, by size of the scene.
TIME_LIMIT_S = 30.0
_OVERHEAD_S, _OVERHEAD_S_PER_MB = 30.0, 0.1
_MB = 1024 * 1024


@dataclass(slots=True, eq=False, weakref_slot=True)
class Prepared:
    """A copy of the scene, what a child needs to work on it, and where there are children.

    With the pool, because another one would be made once everything was shut down, and nobody would end that.
    """

    copy: snapshot.Snapshot
    needs: Needs
    pool: Pool
    #: Gives the copy back, once: after the rehearsal, or when nobody can rehearse any more (a client hung up).
    release: Callable[[], object] = field(init=False)

    def __post_init__(self) -> None:
        self.release = weakref.finalize(self, snapshot.release, self.copy)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The report, and pictures as PNG files: `before` and `after`, where there are any."""

    report: Report
    pictures: dict[str, bytes]


def prepare() -> Prepared:
    """Copy the open scene. Main thread.

    Raises Unconfined where nothing confines a child, ExternalServiceError where there is none to start.
    """
    pool = _pool()
    pool.supervisor.means()
    copy = snapshot.take(pool.supervisor.shared_folder())
    return Prepared(copy, _needs(copy, pool.supervisor.config.sandbox), pool)


def rehearse(
    prepared: Prepared,
    script: str,
    *,
    title: str = "",
    level: str | None = None,
    pictures: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
) -> Rehearsed:
    """Run `script` in a confined Blender on the copy, once. Not on the main thread: from 0.3 s to a minute.

    Raises ExternalServiceError where no child could be started, RehearsalCancelled once `cancelled` says so;
    whatever becomes of the script is in the report.
    """
    begin = time.perf_counter()
    copy = prepared.copy
    request = _request(prepared, script, title, level, pictures)
    seconds = TIME_LIMIT_S + _OVERHEAD_S + _OVERHEAD_S_PER_MB * copy.size / _MB
    try:
        with prepared.pool.child(prepared.needs, cancelled) as child:
            try:
                answer, why = check_answer(child.ask(request, seconds, cancelled)), ""
                found = pictures_of(answer)
            except (ChildFailed, Garbled) as error:
                answer, found, why = None, {}, str(error)
            status = child.status()
            total = copy.seconds + time.perf_counter() - begin
    finally:
        prepared.release()
    confinement = Confinement(means=status.confinement.means, in_force=list(status.confinement.in_force))
    held = Held(confinement, copy.seconds, total, status.peak_memory_mb, copy.warnings)
    if answer is None:
        return Rehearsed(failed(f"The rehearsal was broken off: {why}.", held), {})
    return Rehearsed(from_answer(answer, held), found)


def _request(prepared: Prepared, script: str, title: str, level: str | None, pictures: bool) -> Request:
    now, copy = settings.current(), prepared.copy
    return Request(
        scene=str(copy.path),
        pixels={name: str(path) for name, path in copy.pixels.items()},
        script=script,
        title=title,
        level=level or now.level,
        time_limit_s=TIME_LIMIT_S,
        memory_limit_mb=prepared.needs.memory_mb,
        output_limit_kb=now.output_limit_kb,
        pictures=pictures,
    )


def shutdown() -> None:
    """End the child that waits, and every other process of the supervisor."""
    global _the_pool
    with _lock:
        pool, _the_pool = _the_pool, None
    if pool is not None:
        pool.close()
    supervisor.shutdown()


def _needs(copy: snapshot.Snapshot, sandbox: Sandbox) -> Needs:
    size_mb = copy.size // _MB
    return Needs(
        find(settings.current().rehearsal_blender),
        frozenset(copy.files),
        # Steps, so that a scene that grows a little finds the warm child good enough.
        memory_mb=sandbox.blender_mem_mb * (1 + 8 * size_mb // sandbox.blender_mem_mb),
        disk_mb=sandbox.disk_mb * (1 + 3 * size_mb // sandbox.disk_mb),
    )


_the_pool: Pool | None = None
_lock = threading.Lock()


def _pool() -> Pool:
    global _the_pool
    current = supervisor.current()
    with _lock:
        if _the_pool is None or _the_pool.supervisor is not current:
            _the_pool = Pool(current)
        return _the_pool
