# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking with a window: the viewport draws the sheet."""

from __future__ import annotations

import base64

from support.on_screen.window import Window, picture_path
from support.running.blender import EXTENSION


def test_a_sheet_is_drawn_by_the_viewport(window: Window) -> None:
    code = f"""
import base64, importlib
sheet = importlib.import_module({EXTENSION!r} + ".scene.look.sheet")
before = len(bpy.data.objects)
made = sheet.make(max_size=512)
tiles = [made.bare[y + 40 : y + 256, x : x + 256, :3] / 255 for y in (0, 256) for x in (0, 256)]
overlay = next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == "VIEW_3D").spaces[0].overlay
assert overlay.show_extras and overlay.show_outline_selected
assert (made.pixels != made.bare).any()
data = base64.b64encode(made.encoded('png')).decode()
result = [list(made.pixels.shape), [float(t.std()) for t in tiles], made.note, len(bpy.data.objects) - before, data]
"""
    shape, spread, note, left, data = window.run(code)
    picture_path("sheet").write_bytes(base64.b64decode(data))
    assert shape == [512, 512, 4]
    assert min(spread) > 0.01
    assert note.startswith("2 columns, 2 rows: front (the bar is ")
    assert left == 0


def test_each_view_shows_its_side(window: Window) -> None:
    """A bar of 8 x 4 x 1 has another outline from each side."""
    code = f"""
import importlib
sheet = importlib.import_module({EXTENSION!r} + ".scene.look.sheet")
bpy.ops.mesh.primitive_cube_add(location=(60, 60, 60))
bar = bpy.context.object
bar.dimensions = (8, 4, 1)
bpy.context.view_layer.update()
made = sheet.make(objects=[bar.name], views=["front", "right", "top", "left"], max_size=512)
space = next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == "VIEW_3D").spaces[0]
result = []
for y, x in ((256, 0), (256, 256), (0, 0), (0, 256)):
    tile = made.bare[y + 60 : y + 250, x + 4 : x + 252, :3].astype(float)
    covered = abs(tile - tile[-1, 0]).max(axis=2) > 40
    rows, columns = covered.any(axis=1).nonzero()[0], covered.any(axis=0).nonzero()[0]
    result.append([int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)])
bpy.data.objects.remove(bar)
"""
    shapes = [width / height for width, height in window.run(code)]
    for shape, expected in zip(shapes, (8, 4, 2, 4), strict=True):
        assert abs(shape / expected - 1) < 0.35, shapes


_AREAS = f"""
import base64, importlib
picture = importlib.import_module({EXTENSION!r} + ".scene.look.picture")
areas = {{area.type: area for area in bpy.context.window_manager.windows[0].screen.areas}}
images = len(bpy.data.images)
kind = areas["PROPERTIES"].ui_type
areas["PROPERTIES"].ui_type = "ShaderNodeTree"
result = {{}}
for name in ("node editor", "ShaderNodeTree", "OUTLINER", "view 3d"):
    shot = picture.area(name, max_size=300, picture_format="png")
    result[name] = [shot.width, shot.height, shot.source, base64.b64encode(shot.data).decode()]
areas["PROPERTIES"].ui_type = "PREFERENCES"
for name in ("preferences", "NODE_EDITOR"):
    try:
        picture.area(name, max_size=300, picture_format="png")
    except Exception as error:
        result[name] = [type(error).__name__, str(error)]
areas["PROPERTIES"].ui_type = kind
assert len(bpy.data.images) == images
"""


def test_other_editors_are_seen_and_private_ones_are_not(window: Window) -> None:
    shown = window.run(_AREAS)
    for name in ("preferences", "NODE_EDITOR"):
        kind, message = shown.pop(name)
        assert kind == "InvalidParamsError"
        begin = f"No editor {name!r} is open, or it may not be shown; the open ones are "
        listed = message.partition(begin)[2]
        assert "OUTLINER" in listed
        assert name.upper() not in listed
    for name, (width, height, source, data) in shown.items():
        assert source == "screenshot"
        assert max(width, height) in range(200, 301)
        picture_path(f"area-{name.replace(' ', '-')}").write_bytes(base64.b64decode(data))
    assert shown["node editor"] == shown["ShaderNodeTree"]
    sizes = {name: len(data) for name, (*_, data) in shown.items()}
    assert min(sizes.values()) > 2000, sizes  # an empty picture is smaller
