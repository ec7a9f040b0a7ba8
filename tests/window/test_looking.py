# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking with a window: the viewport draws the sheet."""

from __future__ import annotations

import base64
from pathlib import Path

from support.blender import EXTENSION
from support.window import Window

_PICTURES = Path(__file__).resolve().parents[2] / "build" / "pictures"


def test_a_sheet_is_drawn_by_the_viewport(window: Window) -> None:
    code = f"""
import base64, importlib
sheet = importlib.import_module({EXTENSION!r} + ".scene.sheet")
before = len(bpy.data.objects)
made = sheet.make(max_size=512)
tiles = [made.pixels[y + 40 : y + 256, x : x + 256, :3] for y in (0, 256) for x in (0, 256)]
data = base64.b64encode(made.encoded()).decode()
result = [list(made.pixels.shape), [float(t.std()) for t in tiles], made.note, len(bpy.data.objects) - before, data]
"""
    shape, spread, note, left, data = window.run(code)
    (_PICTURES / "sheet.png").write_bytes(base64.b64decode(data))
    assert shape == [512, 512, 4]
    assert min(spread) > 0.01
    assert note.startswith("2 columns, 2 rows: front (the bar is ")
    assert left == 0
