# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit wall (PEP 578): stops a script where Python itself would open a file, start a process or import.

Python calls a hook before each file, process, socket, import and frame that code asks for, in whatever way. While a
script runs, the hook allows an event that is harmless, or that code of ours with a grant raises (`guard/audit.py`);
anything else is an attempt to break out, which ends the run.

The hook relies on nothing that the walls before it promise. So no name leads to the hook, to the grants that it keeps
or to the switch: a script that has found all modules finds functions that raise an event (`audit.CONTROL`), and the
hook checks which code raises it.

A script cannot make code while it runs (`compile`, `exec`, `code.__new__` and `function.__new__` are events). So a
frame belongs to a script or driver exactly if its code has a script's or driver's file name.

Blender's own C code raises no events: the hook does not see it read and write files.
"""

from __future__ import annotations

import linecache
import sys
import tokenize
import traceback
import types
from collections.abc import Callable, Iterable, Mapping
from threading import get_ident
from typing import Any, Final

from ...base.errors import Breakout, BridgeError
from ..guard import audit
from .watchdog import ScriptStopped

__all__ = ("Armed", "Broken")

_SCRIPT: Final = "<script>"
_DRIVER: Final = "<bpy driver>"
_FOREIGN: Final = frozenset({_SCRIPT, _DRIVER})
"""File names of code that gets no grant from its callers: `execute.FILENAME`, and Blender's name for drivers."""
_SHOWING: Final = frozenset({"sys.excepthook", "sys.unraisablehook"})
_SHOWN: Final = frozenset({"open", "compile", "object.__getattr__", "sys._getframe", "import"})
"""Events that Python raises to show an error that Blender's C code has caught: it reads the lines of the source."""


class Broken(ScriptStopped):
    """Ends a script that tried to break out; `error` is a Breakout."""


class Armed:
    """A context that keeps the wall up for what this thread runs inside: `with Armed(trip): exec(…)`.

    It calls `trip` with the error of the first attempt. It raises this error there as `Broken` and, if the script
    swallowed it, again at the end. `trusted` are callables that were there before and that Blender may call meanwhile:
    handlers of other extensions, which may raise any event.
    """

    __slots__ = ("_trip", "_trusted")

    def __init__(self, trip: Callable[[BridgeError], None], trusted: Iterable[object] = ()) -> None:
        self._trip = trip
        self._trusted = trusted

    def __enter__(self) -> None:
        _install()
        trusted = {id(code): code for each in self._trusted if (code := audit.code_of(each)) is not None}
        sys.audit(audit.CONTROL, "arm", self._trip, trusted)

    def __exit__(self, *_exc: object) -> None:
        sys.audit(audit.CONTROL, "disarm")


def _showers() -> frozenset[str]:
    """Return the file names of the code that shows an error: Python's own, and Blender's that calls operators."""
    functions: tuple[Any, ...] = (traceback.print_exception, linecache.getline, tokenize.open)
    operators = getattr(sys.modules.get("bpy.ops"), "__file__", None)
    return frozenset(
        {*(each.__code__.co_filename for each in functions), *([operators] if operators else [])}
    )


_installed = False


def _install() -> None:
    global _installed
    if not _installed:
        sys.addaudithook(_hook())
        _installed = True


def _hook() -> Callable[[str, tuple[Any, ...]], None]:
    """Return the hook.

    While it checks an event it calls nothing that a script could have changed: its names, builtins too, are bound
    here, and it neither compares nor shows a value of the script's. The code that makes the error runs after the hook
    is up again.
    """

    class Run:
        """A run in progress: the frame that armed it, its thread, whom to tell, what ends it, the run around it."""

        frame: types.FrameType | None
        thread: int
        trip: Callable[[BridgeError], None]
        trusted: Mapping[int, types.CodeType]
        shown: tuple[types.FrameType, int] | None
        """The frame in which Python shows an error, and the current instruction there."""
        broken: Broken | None
        outer: Run | None
        __slots__ = ("broken", "frame", "outer", "shown", "thread", "trip", "trusted")

    current: Run | None = None
    grants: dict[int, tuple[types.CodeType, frozenset[str]]] = {}
    busy = False
    control, free, nothing = audit.CONTROL, audit.FREE, frozenset[str]()
    everything, errors, showers = audit.EVERYTHING, audit.SHOWN_ERRORS, _showers()
    foreign, showing, shown, driver, script = _FOREIGN, _SHOWING, _SHOWN, _DRIVER, _SCRIPT
    frame_at, thread_id, id_of, type_of, text, size = sys._getframe, get_ident, id, type, str, len

    def hook(event: str, details: tuple[Any, ...]) -> None:
        nonlocal busy
        run = current
        if run is None:
            if event != control:
                return
        elif event != control and (event in free or busy or thread_id() != run.thread):
            return
        broken, line = None, None
        looks = run is not None and thread_id() == run.thread
        if looks:
            busy = True  # the code below raises events, too
        try:
            place = frame_at(1)
            if run is None or event == control:
                allowed, broken = switched(place, details)
            else:
                allowed = may(run, place, event, details)
            if not allowed:
                line = line_of(place)
        finally:
            if looks:
                busy = False
        if broken is not None:
            raise broken
        if not allowed:
            raise stopped(run, event, details, line)

    def may(run: Run, place: types.FrameType, event: str, details: tuple[Any, ...]) -> bool:
        if event in showing:
            run.shown = (place, place.f_lasti)
            return True
        if event == "compile" and size(details) > 1 and type_of(details[1]) is text and details[1] == driver:
            return True  # Blender compiles a driver; running that code in any other way is an event, too
        frame: types.FrameType | None = place
        shows = True
        while frame is not None:
            if run.shown is not None and run.shown == (frame, frame.f_lasti) and event in shown:
                return True
            if frame is run.frame:
                return frame is place  # the frame that runs the script
            code = frame.f_code
            if code.co_filename in foreign:
                return False
            key = id_of(code)  # `id` raises an event: call it once
            if key in run.trusted:
                return True
            if key in grants:
                events = grants[key][1]
                if event in events or everything in events or (shows and errors in events and event in shown):
                    return True
            shows = shows and code.co_filename in showers
            frame = frame.f_back
        return False

    def switched(place: types.FrameType, details: tuple[Any, ...]) -> tuple[bool, Broken | None]:
        """Do what `audit.CONTROL` asks for; return whether that is allowed here, and what ends the run."""
        nonlocal current
        asked = details[0] if details and type_of(details[0]) is text else ""
        if asked == "disarm":
            if current is None or current.frame is not place.f_back:
                return False, None
            run, current = current, current.outer
            return True, run.broken
        if is_within_foreign(place):
            return False, None
        if asked == "arm":
            run = Run()
            run.frame, run.thread, run.shown, run.broken = place.f_back, thread_id(), None, None
            _asked, run.trip, run.trusted = details
            run.outer, current = current, run
        elif asked == "grant":
            take(details[1])
        return True, None

    def take(given: Iterable[tuple[types.CodeType, frozenset[str]]]) -> None:
        for code, events in given:
            known = grants.get(id_of(code))
            grants[id_of(code)] = code, events | (nothing if known is None else known[1])

    def is_within_foreign(frame: types.FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_filename in foreign:
                return True
            frame = frame.f_back
        return False

    def line_of(frame: types.FrameType | None) -> int | None:
        """Return the line of the script, from 1."""
        while frame is not None:
            if frame.f_code.co_filename == script:
                return frame.f_lineno
            frame = frame.f_back
        return None

    def stopped(run: Run | None, event: str, details: tuple[Any, ...], line: int | None) -> Broken:
        message = f"attempt to break out of the sandbox: the script tried to {audit.attempt(event, details)}"
        broken = Broken(Breakout(f"{message}, and was stopped", line=line))
        if run is None:
            return broken
        if run.broken is None:
            run.broken = broken
            run.trip(broken.error)
        return run.broken

    take(audit.granted())
    return hook
