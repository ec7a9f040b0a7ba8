# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripts that are read in a text editor: opened in a window of its own, and gone once they are decided about."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import bpy

from ..base.enabling.late import late
from . import redraw, state

if TYPE_CHECKING:
    from ..approvals.request import Entry
    from ..scene import events, override
else:
    events, override = late("scene.events"), late("scene.override")

__all__ = ("close_ended", "is_long", "is_unchanged", "open_window", "request_of")

#: The most lines of a script that a dialog shows.
_LONG = 80

#: Request -> the text data-block that the user opened to read its script.
_texts: dict[str, str] = {}


def is_long(script: str) -> bool:
    """Whether a script is read in a text editor, and not in a dialog."""
    return script.count("\n") >= _LONG


def open_window(context: bpy.types.Context, entry: Entry) -> None:
    """Open the script in a window of its own, with what it would change beside it."""
    with events.apart():  # to read a script changes nothing in the scene that it was rehearsed on
        text = bpy.data.texts.get(_texts.get(entry.id, "")) or bpy.data.texts.new(f"{entry.title}.py")
        text.use_fake_user = False
        text.from_string(entry.script)
        text.cursor_set(0)
        _texts[entry.id] = text.name
        if bpy.app.background:
            return
        bpy.ops.wm.window_new()
        area = context.window_manager.windows[-1].screen.areas[0]
        area.type = "TEXT_EDITOR"
    space: Any = area.spaces.active
    space.text, space.show_line_numbers, space.show_syntax_highlight = text, True, True
    space.show_word_wrap = True
    space.show_region_ui = True
    redraw.choose_tab(area)


def request_of(context: Any) -> Entry | None:
    """The request whose script this text editor shows, while it is open."""
    text = context.space_data.text if context.space_data else None
    for request_id, name in _texts.items():
        if text is not None and text.name == name:
            return state.request(request_id)
    return None


def is_unchanged(context: Any, entry: Entry) -> bool:
    """Whether the text is still what was sent."""
    shown: str = context.space_data.text.as_string()
    return shown.rstrip("\n") == entry.script.rstrip("\n")


def close_ended() -> None:
    """Remove the texts of requests that were decided about, with the windows that showed them."""
    for request_id, name in tuple(_texts.items()):
        entry = state.request(request_id)
        if entry is not None and not entry.ended and not entry.running and entry.state != "confirmed":
            continue
        del _texts[request_id]
        text = bpy.data.texts.get(name)
        if any(_shows(window, text) for window in bpy.context.window_manager.windows):
            # Not now: the button that was pressed may be in that window.
            bpy.app.timers.register(partial(_close, name), first_interval=0.1)
        else:
            _remove(text)


def _close(name: str) -> None:
    text = bpy.data.texts.get(name)
    for window in [window for window in bpy.context.window_manager.windows if _shows(window, text)]:
        with override.pausing_override(window=window):
            bpy.ops.wm.window_close()
    _remove(text)


def _remove(text: Any) -> None:
    if text is not None:
        with events.apart():
            bpy.data.texts.remove(text)


def _shows(window: Any, text: Any) -> bool:
    """Whether this window was opened for the text: it shows nothing else."""
    areas = window.screen.areas
    return (
        window.parent is not None
        and len(areas) == 1
        and getattr(areas[0].spaces.active, "text", None) == text
    )
