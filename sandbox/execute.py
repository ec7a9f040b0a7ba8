# SPDX-License-Identifier: GPL-3.0-or-later
"""The run of a script: gates, namespace, undo step, roll-back, clean-up, result, journal.

`run` is what the bridge calls on Blender's main thread; `execute_blender_code` is the same as a plain Python entry
point. `bpy` is imported in the call, so that the module loads, and says what is missing, without Blender.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import journal, settings
from ..errors import (
    BridgeError,
    ExternalServiceError,
    HandlerError,
    InvalidParamsError,
    LimitExceeded,
    PolicyError,
)
from . import collector, hooks
from .compile import Compiled, compile_script
from .policy import LEVELS, Level, Policy, policy
from .result import to_json
from .told import told
from .watchdog import Interrupted, Limits, ScriptStopped, Watchdog

if TYPE_CHECKING:
    from ..settings import Settings
    from .cleanup import Snapshot
    from .guarded_bpy import BlenderHost
    from .undo import UndoStep

__all__ = ("COMMAND", "FILENAME", "RateLimit", "check", "execute_blender_code", "run")

COMMAND = "execute_blender_code"
#: What the script's own frames are called in a traceback.
FILENAME = "<script>"


def execute_blender_code(params: Mapping[str, Any]) -> dict[str, Any]:
    """Run `params["code"]` in Blender now, on the calling thread, which must be Blender's main thread.

    Returns `{"status": "success", "result": …, "stdout": …}`, or `{"status": "success", "dry_run": True,
    "message": …}` where the settings ask for a dry run.

    Raises:
        InvalidParamsError: `code` is missing, empty or no text.
        ExternalServiceError: there is no Blender in this Python.
        PolicyError: refused before the run or by a guard.
        LimitExceeded: time, memory, output, source, geometry, or too many runs in a short time.
        HandlerError: the script's own error, as `original`.
    """
    code = params.get("code") if isinstance(params, Mapping) else None
    if not isinstance(code, str) or not code.strip():
        raise InvalidParamsError("the parameter 'code' is missing: give the Python script as a text")
    asked = params.get("level")
    if asked is not None and not isinstance(asked, str):
        raise InvalidParamsError(f"the parameter 'level' is a text: one of {', '.join(LEVELS)}")
    title = params.get("title", "")
    return run(
        code,
        request_id=secrets.token_hex(8),
        title=title if isinstance(title, str) else "",
        requester="python",
        level=asked,
    )


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
) -> dict[str, Any]:
    """Run a script of a request that the user agreed to. Results and errors as `execute_blender_code`.

    `level` may ask for less than the settings allow, never for more. `cancelled` is asked from another thread.
    `requester` is the client's name, `client_id` what its token stands for.
    """
    now = settings.current()
    record = _Record(request_id, client_id, requester, title, script, now.journal_code)
    try:
        chosen = check(script, level)
        if chosen != "arithmetic":
            _require_blender()
        record.level = chosen
        rules = policy(chosen)
        compiled = None if chosen == "arithmetic" else compile_script(script, filename=FILENAME)
        if dry_run or now.dry_run:
            record.write("execute_dry_run")
            return _dry(compiled)
        _rate.take(now.rate_limit, now.rate_window_s)
        record.write("execute_started")
        outcome = (
            _execute(compiled, rules, now, (title, request_id), cancelled) if compiled else _calculate(script)
        )
    except BridgeError as error:
        record.failed(error)
        raise
    record.note("execute_succeeded", seconds=outcome.seconds, removed=outcome.removed)
    return outcome.shown()


# --- gates --------------------------------------------------------------------------------------------------


def check(script: str, level: str | None = None) -> Level:
    """The level that such a script would get. Raises, as `run` does, where it may not run whatever it says."""
    now = settings.current()
    chosen = _choose_level(level, now)
    _check_gates(script, now)
    return chosen


class RateLimit:
    """At most so many runs in a window of time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self, count: int, window_s: float) -> None:
        """Note one more run; raises LimitExceeded when `count` runs began within the last `window_s` seconds."""
        with self._lock:
            now = self._clock()
            while self._times and self._times[0] <= now - window_s:
                self._times.popleft()
            if len(self._times) >= count:
                wait = self._times[0] + window_s - now
                raise LimitExceeded(
                    f"{count} scripts ran within {window_s:g} s, which is the limit: try again in {wait:.0f} s",
                    limit="rate",
                )
            self._times.append(now)

    def clear(self) -> None:
        """Forget all runs."""
        with self._lock:
            self._times.clear()


_rate = RateLimit()


def _choose_level(asked: str | None, now: Settings) -> Level:
    if asked is None:
        return now.level
    if asked not in LEVELS:
        raise InvalidParamsError(f"level {asked!r} is unknown: use {', '.join(LEVELS)}")
    if LEVELS.index(asked) > LEVELS.index(now.level):
        raise PolicyError(
            f"level {asked!r} is more than the settings allow ({now.level!r}): a request may ask for less",
            code="level",
        )
    return asked


def _check_gates(script: str, now: Settings) -> None:
    if not now.execute_enabled:
        raise PolicyError(
            "running scripts is switched off (the MCP panel, or BLENDER_MCP_EXECUTE=off): ask the user to switch it on",
            code="endpoint_off",
        )
    size = len(script.encode("utf-8", "replace"))
    if size > now.source_limit_kb * 1024:
        raise LimitExceeded(
            f"the script has {size / 1024:,.0f} KiB, more than the {now.source_limit_kb:,} KiB that are allowed: "
            "send it in parts",
            limit="source",
        )


def _require_blender() -> None:
    try:
        import bpy  # noqa: F401
    except ImportError:
        raise ExternalServiceError("Blender (bpy) not available") from None


def _dry(compiled: Compiled | None) -> dict[str, Any]:
    imports = sorted({i.module for i in compiled.imports}) if compiled else []
    used = f"; it imports {', '.join(imports)}" if imports else ""
    message = f"dry run: the script is well-formed and was not executed{used}"
    return {"status": "success", "dry_run": True, "message": message}


# --- the run ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Outcome:
    result: Any
    stdout: str
    seconds: float
    removed: list[str]

    def shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"status": "success", "result": self.result, "stdout": self.stdout}
        if self.removed:
            shown["warnings"] = self.removed
        return shown


def _calculate(script: str) -> _Outcome:
    from .arithmetic import calculate

    began = time.perf_counter()
    return _Outcome(to_json(calculate(script)), "", time.perf_counter() - began, [])


def _limits(now: Settings) -> Limits:
    return Limits(
        time_s=now.time_limit_s,
        memory_bytes=now.memory_limit_mb << 20,
        output_chars=now.output_limit_kb << 10,
    )


def _execute(
    compiled: Compiled,
    rules: Policy,
    now: Settings,
    step_of: tuple[str, str],
    cancelled: Callable[[], bool] | None,
) -> _Outcome:
    """Run the compiled script inside the undo step of this title and request.

    On any failure the scene is as before when this raises.
    """
    from .cleanup import Snapshot
    from .guarded_bpy.geometry import check_instances
    from .undo import UndoFailed, UndoStep

    step = UndoStep(*step_of)
    step.begin()
    before = Snapshot()
    began = time.perf_counter()
    try:
        meter = Watchdog(_limits(now), cancelled)
        result, stdout = _run_guarded(compiled, rules, meter, before.keep_pixels)
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
    return _Outcome(result, stdout, time.perf_counter() - began, removed)


def _roll_back(before: Snapshot, step: UndoStep) -> None:
    """Everything as before the script: what is outside the scene, the scene, and what undo leaves alone."""
    try:
        before.remove_left_behind()
    finally:
        try:
            step.roll_back()
        finally:
            before.restore_session()


def _run_guarded(
    compiled: Compiled, rules: Policy, meter: Watchdog, keep_pixels: Callable[[Any], None]
) -> tuple[Any, str]:
    # what is thrown away may be a generator, whose `finally` could free what Blender or a guard is at work on
    with collector.off(), meter:
        namespace, running = prepare(compiled, rules, meter, keep_pixels)
        with running:
            try:
                exec(compiled.code, namespace)  # noqa: S102 - the transformer compiled it, which is what the sandbox is
            except Exception as error:
                if meter.error is not None:  # C code may make an error of its own of what stops the run
                    raise Interrupted(meter.error).with_traceback(error.__traceback__) from None
                raise told(error, namespace[hooks.SHOW]) from None
            if meter.error is not None:  # or forget it
                meter.stop()
            # Converted while the run is alive: a script's own classes answer only then.
            return to_json(namespace.get("result")), meter.output()


def prepare(
    compiled: Compiled,
    rules: Policy,
    meter: Watchdog,
    keep_pixels: Callable[[Any], None] = lambda _image: None,
) -> tuple[dict[str, Any], contextlib.AbstractContextManager[None]]:
    """The globals that `compiled.code` runs in, and the context in which it has to run."""
    from .guards import build_namespace

    if not rules.has_blender:
        return build_namespace(compiled, rules, None, meter), contextlib.nullcontext()
    from .guarded_bpy import BlenderHost

    host = BlenderHost(rules, meter, keep_pixels)
    namespace = build_namespace(compiled, rules, host, meter)
    _recall(namespace, compiled, host)
    return namespace, host.running(namespace)


def _recall(namespace: dict[str, Any], compiled: Compiled, host: BlenderHost) -> None:
    """What earlier runs found to need no guard needs none now."""
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
    """The script's line that was running: the innermost frame that is the script's own."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == FILENAME]
    return lines[-1] if lines else None


def _forget_frames(error: BaseException) -> None:
    """Let go of the script's frames: what they hold of Blender does not outlive a roll-back."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            waiting += (each.__cause__, each.__context__)


# --- the journal --------------------------------------------------------------------------------------------


class _Record:
    """What the journal keeps of one run."""

    def __init__(
        self, request_id: str, client_id: str, requester: str, title: str, script: str, keep_code: bool
    ) -> None:
        self.level: str | None = None
        self._whose = {"request_id": request_id, "client": client_id}
        self._about: dict[str, Any] = {
            **self._whose,
            "requester": requester,
            "title": title,
            "characters": len(script),
            "sha256": hashlib.sha256(script.encode("utf-8", "replace")).hexdigest(),
        }
        self._code = script if keep_code else None
        self._started = False

    def write(self, event: str, **fields: Any) -> None:
        """Write a record; the first one has all there is to know about the request."""
        journal.current().write(event, **self._about_request(), **fields)

    def note(self, event: str, **fields: Any) -> None:
        """The same for what has happened already."""
        journal.current().note(event, **self._about_request(), **fields)

    def _about_request(self) -> dict[str, Any]:
        about: dict[str, Any] = dict(self._whose if self._started else self._about)
        if not self._started:
            about["level"] = self.level
        if not self._started and self._code is not None:
            about["script"] = self._code
        self._started = True
        return about

    def failed(self, error: BridgeError) -> None:
        """Write what stopped it."""
        event = "execute_failed" if self._started else "execute_refused"
        line = getattr(error, "line", None)
        reason = getattr(error, "code", None) or getattr(error, "limit", None)
        self.write(event, error=type(error).__name__, reason=reason, line=line, message=str(error)[:2000])
