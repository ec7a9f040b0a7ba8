# SPDX-License-Identifier: GPL-3.0-or-later
"""Has a warm child run a script on a copy of the scene or on a file, and makes a report of its answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...base import settings
from ...base.errors import Breakout, BridgeError, ExternalServiceError, LimitExceeded, PolicyError
from ...base.telemetry import tracing
from ..confinement.process import LIMITS, ProcessStatus
from ..run import gates
from . import ahead, copies
from .pool import ChildFailed
from .prepare import Prepared
from .protocol import Answer, Garbled, Request, check_answer
from .report import Confinement, Held, Report, failed, from_answer, pictures_of

__all__ = ("Rehearsed", "rehearse")

#: The seconds that a script has in a rehearsal by default.
TIME_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """The report, and the pictures `before` and `after` as PNG files, if there are any."""

    report: Report
    pictures: dict[str, bytes]


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
    seconds = _time_limit() + prepared.seconds_besides_script
    try:
        request = _request(prepared, script, title, _level(script, level), pictures)
        with (
            pool.failures_noted(),
            pool.child(
                prepared.needs,
                cancelled,
                None if prepared.save else copy,
                prepared.seconds_besides_script,
            ) as child,
        ):
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
        ahead.open_copy(prepared)
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
