# SPDX-License-Identifier: GPL-3.0-or-later
"""In a window, too, two copies of an unchanged scene are of the same scene: so a rehearsal need not open it again."""

from __future__ import annotations

from support.on_screen.window import Window
from support.running.blender import EXTENSION

_COPY = f"""
import importlib, tempfile
from pathlib import Path
snapshot = importlib.import_module({EXTENSION!r} + ".sandbox.rehearsal.snapshot")
saved_file = importlib.import_module({EXTENSION!r} + ".scene.fingerprint.saved_file")
folder = Path(tempfile.gettempdir()) / "copies of the scene"
folder.mkdir(exist_ok=True)
former = [*folder.glob("*.blend")]
copy = snapshot.take(folder)
result = [saved_file.same_scenes(each, copy.path) for each in former]
for each in former:
    each.unlink()
"""


def test_drawing_and_the_mouse_change_no_copy(window: Window) -> None:
    assert window.run(_COPY) == []
    view = window.region("WINDOW")
    for step in (3, 2):
        window.move(view.x + view.width // step, view.y + view.height // step)
        window.settle()
        assert window.run(_COPY) == [True]
    window.run("bpy.context.view_layer.objects.active.location.x += 1\nresult = None")
    window.settle()
    assert window.run(_COPY) == [False]
    window.run("bpy.context.view_layer.objects.active.location.x -= 1\nresult = None")
    assert window.run(_COPY) == [False]
    assert window.run(_COPY + "copy.remove()\nfolder.rmdir()") == [True]
