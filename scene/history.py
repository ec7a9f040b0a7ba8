# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the recent events in Blender and their author: the assistant while one of its calls runs, otherwise the user.

The handlers of `events` add events on the main thread; any thread may read them. A continuing action (dragging,
playing, painting) is one event that is updated, so that one second of it does not become a hundred entries.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..base import main_thread
from ..base.signal import Signal

__all__ = (
    "Event",
    "What",
    "complete_since",
    "forget_listeners",
    "listen",
    "name_last_change",
    "newest",
    "record",
    "record_changes",
    "since",
)

What = Literal["change", "selection", "active", "mode", "frame", "undo", "redo", "load", "save", "render"]
Actor = Literal["assistant", "user"]

_MOST = 1000
#: The most names of one kind that an event stores.
_MOST_NAMES = 100
#: Equal events by the same author within this many seconds are one event.
_TOGETHER_S = 1.0


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `number` grows with each event and each update.

    `at` is in seconds since the epoch; `by_what` names the call.
    """

    number: int
    what: What
    by: Actor
    at: float
    revision: int
    by_what: str = ""
    title: str = ""
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


_events: deque[Event] = deque(maxlen=_MOST)
_number = 0
_lock = threading.Lock()
_listeners: Signal[[Event]] = Signal()
_seen: dict[str, Any] = {}


def newest() -> int:
    """Return the number of the newest event."""
    return _number


def since(number: int, whats: Collection[str] = ()) -> list[Event]:
    """Return the events after this number, oldest first; only of these kinds if any are given."""
    with _lock:
        return [one for one in _events if one.number > number and (not whats or one.what in whats)]


def complete_since(revision: int) -> bool:
    """Return whether the history still has every event after this revision."""
    with _lock:
        return len(_events) < _MOST or _events[0].revision <= revision


def listen(listener: Callable[[Event], None]) -> Callable[[], None]:
    """Call `listener` with each event, on the thread where it happened. Returns a function that ends this."""
    return _listeners.connect(listener)


def record(
    what: What, revision: int, *, names: Mapping[str, Collection[str]] | None = None, **facts: Any
) -> None:
    """Record an event, or update the last one if it continues."""
    global _number
    label = main_thread.working()
    by: Actor = "assistant" if label else "user"
    now = time.time()
    with _lock:
        _number += 1
        new = Event(_number, what, by, now, revision, label, "", _bounded(names or {}), facts)
        last = next((one for one in reversed(_events) if one.what == what), None)
        if last is not None and _goes_on(last, new):
            _events.remove(last)
            merged = {
                kind: last.names.get(kind, frozenset()) | new.names.get(kind, frozenset())
                for kind in last.names.keys() | new.names.keys()
            }
            new = replace(new, names=_bounded(merged))
        _events.append(new)
    _listeners.emit(new)


def record_changes(revision: int, names: Mapping[str, Collection[str]], *, selection: bool) -> None:
    """Record what changed when Blender evaluated the scene: data-blocks, selection, active object and mode."""
    import bpy

    if any(names.values()):
        record("change", revision, names=names)
    active = bpy.context.view_layer.objects.active if bpy.context.view_layer else None
    now = {"active": active.name if active else None, "mode": bpy.context.mode}
    before = dict(_seen)
    _seen.update(now)
    if selection:
        record("selection", revision)
    for what, value in now.items():
        if what in before and before[what] != value:
            record(what, revision, **{what: value})  # type: ignore[arg-type]


def name_last_change(title: str) -> None:
    """Give the assistant's last change this title; the next change becomes a new event."""
    with _lock:
        last = next((one for one in reversed(_events) if one.what == "change"), None)
        if last is not None and last.by == "assistant" and not last.title and main_thread.working():
            _events[_events.index(last)] = replace(last, title=title)


def forget_listeners() -> None:
    """Remove all listeners; the recorded events stay."""
    _listeners.clear()
    _seen.clear()


def _goes_on(last: Event, new: Event) -> bool:
    """Return whether `new` continues `last`. Each undo, load, render and call is a separate event."""
    return (
        new.what not in ("undo", "redo", "load", "save", "render")
        and (last.by, last.by_what) == (new.by, new.by_what)
        and not last.title
        and new.at - last.at < _TOGETHER_S
    )


def _bounded(names: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    return {kind: frozenset(sorted(found)[:_MOST_NAMES]) for kind, found in names.items() if found}
