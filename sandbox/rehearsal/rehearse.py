# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a report from a script (copy of the scene, warm child, answer, report), or a changed copy from a file."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ...base import settings
from ...base.errors import Breakout, BridgeError, ExternalServiceError, LimitExceeded, PolicyError
from ...base.telemetry import tracing
from .. import confinement as supervisor
from ..confinement.config import Sandbox
from ..confinement.process import LIMITS, ProcessStatus
from ..run import gates
from . import copies, snapshot
from .pool import ChildFailed, Needs, Pool
from .program import find
from .protocol import Answer, Garbled, Request, Save, check_answer
from .report import Confinement, Held, Report, failed, from_answer, pictures_of

__all__ = (
    "Prepared",
    "Rehearsed",
    "last_failure",
    "prepare",
    "prepare_file",
    "rehearse",
    "shutdown",
)

#: The seconds that a script has in a rehearsal by default.
TIME_LIMIT_S = 30.0
#: The extra seconds to open and compare, by size of the scene.
_OVERHEAD_S, _OVERHEAD_S_PER_MB = 30.0, 0.1
_MB = 1024 * 1024
#: The MB of a copy from which a Blender of its own rehearses it, with all processors.
_LARGE_MB = 32


@dataclass(slots=True, eq=False, weakref_slot=True)
class Prepared:
    """A copy of the scene or a file, what a child needs to work on it, and the pool of children.

    It keeps the pool of the moment when it was prepared: after a shutdown nobody would end a new pool.
    """

    copy: snapshot.Snapshot
    needs: Needs
    pool: Pool
    #: How to save a file that the script changed; None for the open scene, which a rehearsal never saves.
    save: Save | None = None
    #: Releases the copy of the scene, once: after the rehearsal, or when this object is gone (a client hung up). Does
    #: nothing for a file.
    release: Callable[[], object] = bool


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The report, and the pictures `before` and `after` as PNG files, if there are any."""

    report: Report
    pictures: dict[str, bytes]


def prepare() -> Prepared:
    """Copy the open scene. Main thread.

    Raises Unconfined if nothing can confine a child, ExternalServiceError if no child can start.
    """
    pool = _pool()
    with _failure_noted(pool):
        pool.supervisor.means()
        copy = snapshot.take(pool.supervisor.shared_folder())
        made = Prepared(copy, _needs(copy, pool.supervisor.config.sandbox), pool)
        made.release = weakref.finalize(made, snapshot.release, copy)
        return made


def prepare_file(path: Path, folder: Path, *, compress: bool, relative: bool) -> Prepared:
    """Prepare a .blend on disk; the script does not see the open scene. Main thread.

    The confined Blender may also read `folder`, for files that the .blend links. The result is saved compressed if
    `compress` is true; its paths stay relative if `relative` is true, else they become absolute.

    Raises Unconfined if nothing can confine a child, ExternalServiceError if no child can start; OSError.
    """
    pool = _pool()
    with _failure_noted(pool):
        pool.supervisor.means()
        size = path.stat().st_size
        copy = snapshot.Snapshot(path, (), {}, (), size, 0.0, -1)
        save = Save(name="saved.blend", compress=compress, relative=relative)
        needs = replace(_needs(copy, pool.supervisor.config.sandbox), folders=frozenset({folder}))
        return Prepared(copy, needs, pool, save)


@tracing.span("rehearse")
def rehearse(
    prepared: Prepared,
    script: str,
    *,
    title: str = "",
    level: str | None = None,
    pictures: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
    to: Path | None = None,
) -> Rehearsed:
    """Run `script` in a confined Blender on the copy, once. Worker threads: it takes from 0.3 s to a minute.

    `to`, for a file: the path to which the changed file is copied if the script succeeds.

    Raises the errors of `gates.check` if this script, or any script, may not run; PolicyError in a dry run;
    ExternalServiceError if no child could start; Cancelled once `cancelled` returns True. The script's own outcome,
    also a failure, is in the report.
    """
    begin, lost = time.perf_counter(), None
    copy, pool = prepared.copy, prepared.pool
    seconds = _time_limit() + _OVERHEAD_S + _OVERHEAD_S_PER_MB * copy.size / _MB
    try:
        request = _request(prepared, script, title, _level(script, level), pictures)
        with _failure_noted(pool), pool.child(prepared.needs, cancelled) as child:
            try:
                answer, broken = check_answer(child.ask(request, seconds, cancelled)), None
                found = pictures_of(answer)
            except (ChildFailed, Garbled) as error:
                answer, broken, found = None, error, {}
            if answer and answer["outcome"] == "success" and prepared.save and to is not None:
                try:
                    copies.take(child.folder / prepared.save["name"], to)
                except ExternalServiceError as error:
                    lost = error
            status = child.status()
            total = copy.seconds + time.perf_counter() - begin
            if _was_unusual(answer):
                pool.renew()
    finally:
        prepared.release()
    confinement = Confinement(means=status.confinement.means, in_force=list(status.confinement.in_force))
    held = Held(confinement, copy.seconds, total, status.peak_memory_mb, copy.warnings)
    pool.failure = ""
    if lost is not None:
        raise lost
    if answer is None:
        why = _why_broken_off(broken, status)
        if not isinstance(why, LimitExceeded):  # a limit that a script passes is a rehearsal's result
            pool.failure = f"The last rehearsal could not be held to its end: {broken}."
        return Rehearsed(failed(why, held), {})
    return Rehearsed(from_answer(answer, held), found)


def last_failure() -> str:
    """Return a sentence that says why the last rehearsal did not start or finish; "" if it did.

    Never waits, so a panel may call it.
    """
    return "" if _the_pool is None else _the_pool.failure


@contextmanager
def _failure_noted(pool: Pool) -> Iterator[None]:
    try:
        yield
    except ExternalServiceError as error:
        pool.failure = f"The last rehearsal could not be held: {str(error).rstrip('.')}."
        raise


def _was_unusual(answer: Answer | None) -> bool:
    """Return whether the script crashed Blender, passed a limit, answered invalidly, or tried to break out."""
    return answer is None or answer.get("error", {}).get("cause") == Breakout.__name__


def _why_broken_off(error: ChildFailed | Garbled | None, status: ProcessStatus) -> BridgeError:
    """Return the error of a rehearsal without an answer: a limit stopped the child, or the child failed."""
    why = f"The rehearsal was broken off: {error}."
    if status.reason in LIMITS:
        return LimitExceeded(why, limit=status.reason)
    if isinstance(error, ChildFailed) and status.state == "running":
        return LimitExceeded(why, limit="time")
    return ExternalServiceError(why)


def _level(script: str, asked: str | None) -> str:
    """Return the script's level. Raises if the script may not run in the open scene: a rehearsal runs it, too."""
    if settings.current().dry_run:
        raise PolicyError("a rehearsal runs the script, and the settings ask for a dry run", code="dry_run")
    return gates.check(script, asked)


def _time_limit() -> float:
    """Return the script's time limit in seconds: the default, or the user's own if that is longer."""
    now = settings.current()
    return max(TIME_LIMIT_S, now.time_limit_s if "time_limit_s" in now.origins else 0.0)


def _request(prepared: Prepared, script: str, title: str, level: str, pictures: bool) -> Request:
    now, copy = settings.current(), prepared.copy
    request = Request(
        scene=str(copy.path),
        pixels={name: str(path) for name, path in copy.pixels.items()},
        script=script,
        title=title,
        level=level,
        time_limit_s=_time_limit(),
        memory_limit_mb=prepared.needs.memory_mb,
        output_limit_kb=now.output_limit_kb,
        live_memory_limit_mb=now.memory_limit_mb,
        pictures=pictures,
    )
    if prepared.save is not None:
        request["save"] = prepared.save
    return request


def shutdown() -> None:
    """End the waiting children, and every other process of the supervisor."""
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
        # In steps: if the scene grows a little, the waiting child still has enough memory.
        memory_mb=sandbox.blender_mem_mb * (1 + 8 * size_mb // sandbox.blender_mem_mb),
        disk_mb=sandbox.disk_mb * (1 + 3 * size_mb // sandbox.disk_mb),
        large=size_mb >= _LARGE_MB,
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
