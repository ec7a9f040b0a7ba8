# SPDX-License-Identifier: GPL-3.0-or-later
"""Follow Blender's own undo and redo, so that the panel shows a script whose step was undone as undone.

A request's undo step has the id of its request. An undo to any other step counts as the undo of a request only if
Blender stood exactly at that request's step before, and nothing has happened since.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent

from ..base.enabling import early
from ..base.enabling.late import late

if TYPE_CHECKING:
    from .. import approvals
    from ..approvals.request import Entry
    from ..sandbox.run import undo
    from ..scene import events, history
else:
    approvals, undo = late("approvals"), late("sandbox.run.undo")
    events, history = late("scene.events"), late("scene.history")

__all__ = ("register", "unregister")

#: Changes within this many seconds after an undo or a run count as part of it.
_TOGETHER_S = 0.3

#: The id of the request at whose step Blender stands, and the time when it got there.
_mark = ("", 0.0)
#: The id of that request at the start of an undo; "" if something has happened since.
_left = ""


def _unlisten() -> None:
    """Replaced in `register` by the function that stops listening to the queue."""


def _note_run(entry: Entry) -> None:
    """Note that Blender is now at the undo step of a run that has just succeeded."""
    global _mark
    if entry.state == "applied" and not entry.undone:
        _mark = (entry.id, time.time())


@persistent
def _before_undo(*_: Any) -> None:
    global _left
    request_id, since = _mark
    latest = max((event.at for event in history.since(0)), default=0.0)
    _left = "" if latest > since + _TOGETHER_S else request_id


@persistent
def _after_undo(*_: Any) -> None:
    if undo.is_looking():
        return
    landed = undo.landed()
    if not landed and _left:
        _note(_left, undone=True)
    elif landed:
        for request_id in _later_than(landed):
            _note(request_id, undone=True)
    _stand(landed)


@persistent
def _after_redo(*_: Any) -> None:
    if undo.is_looking():
        return
    landed = undo.landed()
    if landed:
        _note(landed, undone=False)
    _stand(landed)


def _stand(request_id: str) -> None:
    global _mark
    _mark = (request_id, time.time())


def _later_than(request_id: str) -> list[str]:
    """The requests whose runs came after this one's and are not undone."""
    queue = approvals.current()
    done = [entry for entry in queue.entries() if entry.state == "applied"] if queue else []
    ids = [entry.id for entry in sorted(done, key=lambda entry: entry.updated) if not entry.undone]
    return ids[ids.index(request_id) + 1 :] if request_id in ids else []


def _note(request_id: str, *, undone: bool) -> None:
    queue = approvals.current()
    entry = next((e for e in queue.entries() if e.id == request_id), None) if queue else None
    if queue is None or entry is None or entry.state != "applied" or entry.undone is undone:
        return
    queue.note_undo(request_id, again_at=None if undone else events.revision())


def _handlers() -> list[tuple[list[Any], Any]]:
    lists = bpy.app.handlers
    return [
        (lists.undo_pre, _before_undo),
        (lists.undo_post, _after_undo),
        (lists.redo_post, _after_redo),
    ]


def register() -> None:
    """Listen to undo and redo, before the server does: it removes the marker of a request's undo step."""
    global _unlisten
    _unlisten = early.request_changed.connect(_note_run)
    for handlers, handler in _handlers():
        handlers.append(handler)


def unregister() -> None:
    """Stop listening."""
    _unlisten()
    for handlers, handler in _handlers():
        handlers.remove(handler)
