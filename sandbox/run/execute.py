# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a script: gates, namespace, undo step, roll-back, clean-up, result, journal.

The bridge calls `run` on Blender's main thread; `execute_blender_code` is the same as a plain Python entry point. The
functions import Blender and the extension's libraries when they are called: so a Python without them can load this
module, and gets an error that says what is missing.
"""

from __future__ import annotations

import contextlib
import gc
import secrets
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...base import settings
from ...base.errors import (
    BridgeError,
    ExternalServiceError,
    HandlerError,
    InvalidParamsError,
    LimitExceeded,
    PolicyError,
)
from ...base.process import collector
from ...base.telemetry import tracing
from ..facts.policy import LEVELS, Policy, policy
from ..guard.ending import ScriptExit, ended_well, failed
from ..guard.measured import Measured
from ..language import hooks
from .gates import RateLimit, check, text_of
from .hints import hinted
from .record import Record, refuse
from .result import to_json
from .safe_error import safe_error
from .wall import Armed
from .watchdog import Interrupted, Limits, ScriptStopped, Watchdog

if TYPE_CHECKING:
    from ...base.settings import Settings
    from ..blender.host import BlenderHost
    from ..guard.guards import Guard
    from ..language.analysis.reached import Reached
    from ..language.compile import Compiled
    from .cleanup import Snapshot
    from .undo import UndoStep

__all__ = (
    "COMMAND",
    "FILENAME",
    "execute_blender_code",
    "require_blender",
    "run",
)

COMMAND = "execute_blender_code"
#: The file name of the script's frames in a traceback.
FILENAME = "<script>"


def execute_blender_code(params: Mapping[str, Any]) -> dict[str, Any]:
    """Run `params["code"]` in Blender now, on the calling thread, which must be Blender's main thread.

    This never rehearses, since Blender's main thread would have to wait. It refuses a script whose estimate is above
    the limit.

    Returns `{"status": "success", "result": …, "stdout": …}`, or `{"status": "success", "dry_run": True,
    "message": …}` where the settings ask for a dry run.

    Raises:
        InvalidParamsError: `code` is missing, empty or no text.
        ExternalServiceError: there is no Blender in this Python.
        PolicyError: refused before the run or by a guard.
        LimitExceeded: time, memory, output, source, geometry (NeedsRehearsal), or too many runs in a short time.
        HandlerError: the script's own error, as `original`.
    """
    given = params if isinstance(params, Mapping) else {}
    title = given.get("title", "")
    title, request_id = title if isinstance(title, str) else "", secrets.token_hex(8)
    try:
        code, asked = text_of("code", given.get("code")), given.get("level")
        if asked is not None and not isinstance(asked, str):
            raise InvalidParamsError(f"the parameter 'level' is a text: one of {', '.join(LEVELS)}")
        require_blender()
        return run(code, requester="python", level=asked, request_id=request_id, title=title)
    except BridgeError as error:
        refuse(error, given.get("code"), requester="python", request_id=request_id, title=title)
        raise


def require_blender() -> None:
    """Raise ExternalServiceError in a Python without Blender."""
    try:
        import bpy  # noqa: F401
    except ImportError:
        raise ExternalServiceError("Blender (bpy) not available") from None


def run(
    script: str,
    *,
    request_id: str,
    title: str = "",
    requester: str,
    client_id: str = "",
    level: str | None = None,
    cancelled: Callable[[], bool] | None = None,
    dry_run: bool = False,
    rehearsed: bool = False,
    growth: Measured | None = None,
    reached: Reached | None = None,
) -> dict[str, Any]:
    """Run a script of a request that the user agreed to. Results and errors are those of `execute_blender_code`.

    `level` may ask for less than the settings allow, never for more. Another thread calls `cancelled`. `requester` is
    the client's name, `client_id` the id of its token. `rehearsed`: the script ran to its end on a copy of the scene,
    so its time is known. `growth` has what a rehearsal measured for estimates above the limit; in a rehearsal it
    collects them. Any other estimate above the limit raises NeedsRehearsal. `reached` records each statement that
    runs.
    """
    now = settings.current()
    record = Record(script, requester=requester, client_id=client_id, request_id=request_id, title=title)
    try:
        chosen = check(script, level)
        record.level = chosen
        rules = policy(chosen)
        from ..language.compile import compile_script
        from . import dry

        compiled = (
            None if chosen == "arithmetic" else compile_script(script, filename=FILENAME, reached=reached)
        )
        if dry_run or now.dry_run:
            said = dry.report(script, compiled, rules)
            record.write("execute_dry_run")
            return said
        _rate.take(now.rate_limit, now.rate_window_s)
        record.write("execute_started")
        with tracing.span("run script", level=chosen), _rate.refused_not_counted():
            outcome = (
                _execute(compiled, rules, _limits(now, rehearsed, growth), (title, request_id), cancelled)
                if compiled
                else _calculate(script)
            )
    except BridgeError as error:
        record.failed(error)
        raise
    record.note("execute_succeeded", seconds=outcome.seconds, removed=outcome.removed)
    return outcome.shown()


_rate = RateLimit()


# --- the run ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Outcome:
    result: Any
    stdout: str
    seconds: float
    removed: list[str]
    """A sentence for each thing that the clean-up removed."""
    warnings: list[str]
    """A sentence for each thing that the script asked for and did not get."""

    def shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"status": "success", "result": self.result, "stdout": self.stdout}
        if warnings := self.warnings + self.removed:
            shown["warnings"] = warnings
        return shown


def _calculate(script: str) -> _Outcome:
    from ..language.arithmetic import evaluate

    began = time.perf_counter()
    return _Outcome(to_json(evaluate(script)), "", time.perf_counter() - began, [], [])


def _limits(now: Settings, rehearsed: bool, growth: Measured | None) -> Limits:
    return Limits(
        time_s=now.time_limit(rehearsed=rehearsed),
        memory_bytes=now.memory_limit_mb << 20,
        output_chars=now.output_limit_kb << 10,
        cut_references=now.cut_references,
        growth=growth or Measured(),
    )


def _execute(
    compiled: Compiled,
    rules: Policy,
    limits: Limits,
    step_of: tuple[str, str],
    cancelled: Callable[[], bool] | None,
) -> _Outcome:
    """Run the compiled script inside one undo step with this title and request id.

    If this raises, the scene is as before.
    """
    from ..growth.geometry import check_instances
    from .cleanup import Snapshot
    from .undo import UndoFailed, UndoStep

    step = UndoStep(*step_of)
    step.begin()
    began = time.perf_counter()
    # The collector may discard a generator, whose `finally` could free what Blender or a guard is using.
    with collector.off():
        before = Snapshot()
        try:
            meter = Watchdog(limits, cancelled)
            result, stdout = _run_guarded(compiled, rules, meter, before)
            check_instances(meter)
            removed = before.remove_left_behind()
            step.commit()
        except BaseException as error:
            failure = _as_bridge_error(error)
            try:
                _roll_back(before, step)
            except (UndoFailed, RuntimeError, ReferenceError) as undo:
                failure.add_note(f"The scene may not be as before: {undo}")
            raise failure from (error if isinstance(error, Exception) else None)
        finally:
            gc.collect(0)  # the cycles that the script made: its classes, and what refers to itself
    return _Outcome(result, stdout, time.perf_counter() - began, removed, meter.warnings)


def _roll_back(before: Snapshot, step: UndoStep) -> None:
    """Restore everything from before the script: the scene, what is outside it, and what undo does not restore."""
    try:
        before.remove_left_behind()
    finally:
        try:
            step.roll_back()
        finally:
            before.restore_session()


def _run_guarded(compiled: Compiled, rules: Policy, meter: Watchdog, before: Snapshot) -> tuple[Any, str]:
    with contextlib.ExitStack() as after, meter:
        guard, running = prepare(compiled, rules, meter, before.keep_pixels)
        after.callback(guard.end)
        namespace = guard.namespace
        # Python shows a library's warning with its source line, for which it would open a file.
        quiet = warnings.catch_warnings(action="ignore")
        with quiet, Armed(meter.trip, before.called_by_blender()), running:
            try:
                exec(compiled.code, namespace)  # noqa: S102 - the transformer compiled it, which is what the sandbox is
            except ScriptExit as ending:
                if not ended_well(ending):
                    raise safe_error(failed(ending), namespace[hooks.SHOW]) from None
            except Exception as error:
                if meter.error is not None:  # C code may have replaced the stop by its own error
                    raise Interrupted(meter.error).with_traceback(error.__traceback__) from None
                raise safe_error(hinted(error, rules.imports), namespace[hooks.SHOW]) from None
            if meter.error is not None:  # C code may have dropped the stop
                meter.stop()
            # Convert before the run ends: a script's own classes work only until then.
            return to_json(namespace.get("result")), meter.output()


def prepare(
    compiled: Compiled,
    rules: Policy,
    meter: Watchdog,
    keep_pixels: Callable[[Any], None] = lambda _image: None,
) -> tuple[Guard, contextlib.AbstractContextManager[None]]:
    """Return the guards of `compiled`, and the context in which its code has to run in their namespace."""
    from ..facts import reasons
    from .namespace import build_guard

    reasons.load()  # load now: no file can be opened while a script runs
    if not rules.has_blender:
        return build_guard(compiled, rules, None, meter), contextlib.nullcontext()
    from ..blender.host import BlenderHost
    from ..blender.operators import python_operators

    python_operators.trust(rules.operators)
    host = BlenderHost(rules, meter, keep_pixels)
    guard = build_guard(compiled, rules, host, meter)
    _recall(guard.namespace, compiled, host)
    return guard, host.running(guard.namespace)


def _recall(namespace: dict[str, Any], compiled: Compiled, host: BlenderHost) -> None:
    """Leave out guards that earlier runs found to be unnecessary."""
    namespace[hooks.ITEMS].update(host.known("[]", False))
    namespace[hooks.SET_ITEMS].update(host.known("[]", True))
    for name in compiled.attributes_read:
        namespace[hooks.reads(name)].update(host.known(name, False))
    for name in compiled.attributes_written:
        namespace[hooks.writes(name)].update(host.known(name, True))


def _as_bridge_error(error: BaseException) -> BridgeError:
    line = _line(error)
    _forget_frames(error)
    if isinstance(error, ScriptStopped):
        stopped = error.error
        if isinstance(stopped, (PolicyError, LimitExceeded)) and stopped.line is None:
            stopped.line = line
        return stopped
    if isinstance(error, BridgeError):
        return error
    if isinstance(error, (KeyboardInterrupt, MemoryError)):
        limit = "memory" if isinstance(error, MemoryError) else "cancelled"
        return LimitExceeded(f"the script was stopped: {type(error).__name__}", limit=limit, line=line)
    return HandlerError(COMMAND, error, line=line)


def _line(error: BaseException) -> int | None:
    """Return the line of the script's innermost frame in a traceback; read no source for it."""
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == FILENAME]
    return lines[-1] if lines else None


def _forget_frames(error: BaseException) -> None:
    """Drop the script's frames: their references into Blender are invalid after a roll-back."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            waiting += (each.__cause__, each.__context__)
