# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a script in a forked Blender, and reports its outcome: the product's answer, and the harm.

The product's word on harm does not count. The parent checks files, the network, memory and the way the process ended.
In the child a second hook for Python's audit events is added after the product's, so that it sees what got past that;
the process's functions, classes, modules and handlers are compared before and after; and every value that the script
holds at the end is classified, as in tests/sandbox/test_world.py.
"""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import functools
import io
import os
import signal
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import bpy
from bl_ext.user_default.mcp_bridge.base.errors import Breakout, LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.guard.audit import CONTROL, LISTED, may_raise
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import ScriptRefused, compile_script
from bl_ext.user_default.mcp_bridge.sandbox.language.hooks import GETATTR

from support.running import fork
from support.sandboxing import sandbox_cases, world

__all__ = ("CRASH", "HARM", "OUTCOMES", "WALL", "Judge", "Verdict", "guarded", "plain")

ACCEPTED, BEFORE, WITHIN, LIMIT = "accepted", "refused before", "refused within", "limit"
OWN_ERROR, WALL, HARM, CRASH = "own error", "audit wall", "HARM", "CRASH"
OUTCOMES: Final = (ACCEPTED, OWN_ERROR, BEFORE, WITHIN, LIMIT, WALL, HARM, CRASH)
"""The outcomes of a script. "audit wall" is no harm, but the walls before it have a hole."""

#: A function that runs a script's text and leaves its globals, hooks too, in the dict.
Runner = Callable[[str, dict[str, Any]], str]

_SCRIPT: Final = "<script>"
_MEMORY_MB: Final = 1_700
"""More than the limit of a run and what a warm Blender takes; the limit is polled, so one step may overshoot."""
_VALUES_MOST: Final = 3_000
_UNSAFE: Final = (types.ModuleType, types.CodeType, types.FrameType)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a script: one of OUTCOMES, and the evidence."""

    outcome: str
    seen: str
    seconds: float


guarded = functools.partial(sandbox_cases.guarded, ends=False)
"""Runs a script through the product's own entry point; its guards stay, since the oracles look at them."""


def plain(code: str, names: dict[str, Any]) -> str:
    """Run a script without any wall, to test the oracles themselves."""
    names["__name__"] = "__main__"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, _SCRIPT, "exec"), names)
    return out.getvalue()


class Judge:
    """The places that scripts attack, and the checks for harm: `with Judge() as judge: judge.verdict(code)`."""

    def __init__(self, runner: Runner = guarded) -> None:
        self._runner = runner
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Judge:
        self._open()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    def verdict(self, code: str) -> Verdict:
        """Run a script in a fork of this Blender, and judge it."""
        filled = sandbox_cases.fill(code, self._places)
        if self._runner is guarded:
            try:
                compile_script(filled)
            except ScriptRefused as refused:  # no Blender needed
                return Verdict(BEFORE, str(refused), 0.0)
        stderr = Path(self._places["@DIR@"]).parent / "stderr"
        answer, status, seconds, grown_mb = sandbox_cases.in_child(
            _child, filled, self._places, self._runner, str(stderr)
        )
        found = answer or {}
        harm = [*found.get("harm", ()), *self._harm_outside()]
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGKILL:
            return self._judged(
                CRASH, f"{signal.Signals(os.WTERMSIG(status)).name}\n{_tail(stderr)}", seconds
            )
        if answer is None:
            harm.append(
                f"no end within {seconds:.0f} s, {grown_mb:.0f} MB\n{_tail(stderr)}"
                if os.WIFSIGNALED(status)
                else f"left the process with status {status}"
            )
        elif found.get("outcome") is None:
            harm.append(f"{found.get('error')} reached the host")
        if grown_mb > _MEMORY_MB:
            harm.append(f"used {grown_mb:.0f} MB")
        if harm:
            return self._judged(HARM, "; ".join(harm), seconds)
        return Verdict(found["outcome"], found["said"], seconds)

    def _judged(self, outcome: str, seen: str, seconds: float) -> Verdict:
        """Return a verdict, and make fresh places after each finding."""
        self._stack.close()
        self._open()
        return Verdict(outcome, seen, seconds)

    def _open(self) -> None:
        self._stack = contextlib.ExitStack()
        self._places = self._stack.enter_context(sandbox_cases.surroundings())
        self._contacted = self._stack.enter_context(sandbox_cases.listener())
        self._places["@PORT@"] = str(self._contacted.port)
        self._files = self._listing()

    def _listing(self) -> dict[str, int]:
        """Return every file of the places, and its size."""
        root = Path(self._places["@DIR@"]).parent
        return {
            str(path.relative_to(root)): path.stat().st_size
            for path in root.rglob("*")
            if path.is_file() and path != root / "stderr"
        }

    def _harm_outside(self) -> Iterator[str]:
        now = self._listing()
        for path in sorted(now.keys() ^ self._files.keys()):
            yield f"the file {path} {'was made' if path in now else 'vanished'}"
        yield from (
            f"the file {path} changed" for path, size in self._files.items() if now.get(path, size) != size
        )
        if self._contacted.reached.is_set():
            yield "the network was reached"


def _tail(path: Path) -> str:
    """Return what the child printed when it crashed: Python's own frames."""
    try:
        return "\n".join(path.read_text("utf-8", "replace").splitlines()[:25])
    except OSError:
        return ""


# --- in the child -------------------------------------------------------------------------------------------------


def _child(code: str, places: dict[str, str], runner: Runner, stderr: str) -> dict[str, Any]:
    sandbox_cases.enter(places)
    os.dup2(os.open(stderr, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
    faulthandler.enable(all_threads=False)
    fork.overwrite_freed()
    before = _process()
    names: dict[str, Any] = {}
    events = _watch()
    outcome, said, error = None, "", None
    try:
        said = runner(code, names)
        outcome = ACCEPTED
    except BaseException as raised:
        error = raised
        outcome = _outcome(raised)
        said = f"{type(raised).__name__}: {raised}"
    harm = [f"audit event {event} was not stopped" for event in events]
    events.append("")  # the events that follow are the oracle's own
    harm += _changes(before, _process())
    if sandbox_cases.SECRET in said + repr(type(error)):
        harm.append("the secret was read")
    harm += _leaks(names)
    return {
        "outcome": outcome,
        "said": said[:2_000],
        "error": type(error).__name__,
        "harm": sorted(set(harm)),
    }


def _outcome(error: BaseException) -> str | None:
    """Return the outcome for an error; None for an error that must not reach the host."""
    match error:
        case ScriptRefused():
            return BEFORE
        case Breakout():
            return WALL
        case PolicyError():
            return WITHIN
        case LimitExceeded():
            return LIMIT
        case Exception():
            return OWN_ERROR
    return None


@may_raise("sys._getframe", "object.__getattr__")
def _watch() -> list[str]:
    """Note from now on the events of scripts that should have been stopped; an empty text in the list ends it."""
    noted: list[str] = []
    denied = frozenset(LISTED["deny"]) | {"exec", "compile"}
    frame_at = sys._getframe

    def hook(event: str, details: tuple[Any, ...]) -> None:
        if event not in denied or event == CONTROL or (noted and not noted[-1]) or len(noted) > 9:
            return
        frame: types.FrameType | None = frame_at(1)
        if event == "compile" and len(details) > 1 and details[1] == "<bpy driver>":
            return
        while frame is not None:
            name = frame.f_code.co_filename
            if name == _SCRIPT:
                noted.append(f"{event} {[each for each in details if type(each) is str][:1]}")
                return
            if name.endswith(".py"):  # code of the product or of Blender, which may: the wall has checked it
                return
            frame = frame.f_back

    sys.addaudithook(hook)
    return noted


def _process() -> dict[str, Any]:
    """Return the functions, classes and modules of the process that scripts are near to, and Blender's hooks."""
    found: dict[str, Any] = {}
    wanted = {"builtins", "sys", "os", *policy("blender").imports}
    for name, module in list(sys.modules.items()):
        near = name in wanted or ".sandbox." in name or name.startswith("bpy")
        if near and isinstance(module, types.ModuleType):
            for member, value in list(vars(module).items()):
                if isinstance(
                    value, types.FunctionType | types.BuiltinFunctionType | type | types.ModuleType
                ):
                    found[f"{name}.{member}"] = _parts(value)
    handlers = bpy.app.handlers
    found["bpy.app.handlers"] = [
        list(each) for each in (getattr(handlers, name) for name in dir(handlers)) if isinstance(each, list)
    ]
    found["bpy.app.driver_namespace"] = sorted(bpy.app.driver_namespace)
    found["registered classes"] = len(dir(bpy.types))
    found["sys.path"], found["os.environ"] = list(sys.path), dict(os.environ)
    found["working folder"] = os.getcwd()
    found["texts that run"] = sorted(each.name for each in bpy.data.texts if each.use_module)
    found["drivers"] = sorted(
        curve.driver.expression
        for block in (*bpy.data.objects, *bpy.data.materials, *bpy.data.meshes, *bpy.data.scenes)
        if block.animation_data
        for curve in block.animation_data.drivers
        if "_" in curve.driver.expression
    )
    return found


def _parts(value: Any) -> tuple[object, ...]:
    """Return the parts of a function or class that may not change; keeping the values keeps their addresses in use."""
    if isinstance(value, types.FunctionType):
        return (value, value.__code__, value.__defaults__, value.__closure__, sorted(vars(value)))
    if isinstance(value, type) and value.__flags__ & _HEAP_TYPE and value.__module__ != "bpy.types":
        members = {name: part for name, part in vars(value).items() if callable(part) and name[:2] == "__"}
        return (value, value.__bases__, members)
    return (value,)


_HEAP_TYPE: Final = 1 << 9


def _changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name, value in before.items():
        try:
            same = after.get(name) == value
        except Exception as error:
            same, name = False, f"{name}, which cannot be compared: {type(error).__name__}"
        if not same:
            yield f"{name} changed"


def _leaks(names: dict[str, Any]) -> Iterator[str]:
    """Yield values that a script holds at the end and may not."""
    hook = names.get(GETATTR)
    guard = hook.__self__ if hook is not None else None
    waiting = deque((name, value) for name, value in names.items() if not name.startswith(("<", "__")))
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _VALUES_MOST:
        path, value = waiting.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if said := _outside(guard, value):
            yield f"the script holds {path}: {said}"
        if isinstance(value, str) and sandbox_cases.SECRET in value:
            yield f"the secret was read: {path}"
        waiting += [(f"{path}[…]", part) for part in _contents(guard, value)]


def _outside(guard: Any, value: Any) -> str:
    if guard is None:
        raw = isinstance(value, _UNSAFE) or value in (builtins.open, builtins.exec, builtins.eval)
        return object.__repr__(value) if raw else ""
    try:
        world.classify(guard, value)
    except world.Outside as error:
        return str(error)
    except Exception as error:
        return f"not to be classified: {type(error).__name__}"
    return ""


def _contents(guard: Any, value: Any) -> list[Any]:
    """Return the contents of a container or of an instance of the script's."""
    if isinstance(value, dict):
        return [*dict.keys(value), *dict.values(value)][:200]
    for kind in (list, tuple, set, frozenset):
        if isinstance(value, kind):
            return list(kind.__iter__(value))[:200]
    if guard is not None and type(value) in guard.own:
        with contextlib.suppress(AttributeError):
            return list(object.__getattribute__(value, "__dict__").values())
    return []
