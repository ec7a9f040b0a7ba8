# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs inside the Blender with a window: runs the code that tests put into a mailbox. No part of the extension.

The mailbox is the folder named by MCP_BRIDGE_MAILBOX. A file `N.py` there runs on the main thread, with `bpy`
imported; `N.json` answers with the value of its `result`, or with the traceback.
"""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path

import bpy

_MAILBOX = Path(os.environ["MCP_BRIDGE_MAILBOX"])
_INTERVAL = 0.02


def _answer(letter: Path) -> None:
    names: dict[str, object] = {"bpy": bpy, "result": None}
    try:
        exec(compile(letter.read_text(encoding="utf-8"), letter.name, "exec"), names)
        answer = json.dumps({"result": names["result"]})
    except Exception:
        answer = json.dumps({"error": traceback.format_exc()})
    letter.unlink()
    written = letter.with_suffix(".part")
    written.write_text(answer, encoding="utf-8")
    written.rename(letter.with_suffix(".json"))


def _look() -> float:
    for letter in sorted(_MAILBOX.glob("*.py")):
        _answer(letter)
    return _INTERVAL


bpy.context.preferences.view.show_splash = False
bpy.context.preferences.use_preferences_save = False
bpy.app.timers.register(_look, persistent=True)
