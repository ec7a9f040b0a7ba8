# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel *Assets* in a Blender with its window, and Poly Haven as a local server with coloured previews."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

from support.on_screen.reading import Rectangle
from support.on_screen.window import TABS, Window
from support.running.blender import EXTENSION
from support.services.polyhaven import CHAIR, SKY, PolyHavenServer
from support.services.web import Reply

__all__ = ("Assets", "served", "thumbnail")

COLOURS = {
    "brick_wall": (0.8, 0.3, 0.2),
    "brick_wall_02": (0.4, 0.4, 0.5),
    SKY: (0.3, 0.6, 0.9),
    CHAIR: (0.6, 0.4, 0.2),
}
#: Pixels from the right end of the panels to the button *Place Asset* of an entry in the grid's last column, and from
#: the middle of one row to the next.
PLACE, ROW = 46, 21


class Assets:
    """The panel *Assets* of a window's first 3D view."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._tab: Rectangle | None = None
        self._name: tuple[int, int] | None = None
        self.run("bpy.context.preferences.system.use_online_access = True")

    def run(self, code: str) -> Any:
        return self.window.run(
            f"from importlib import import_module\n"
            f"asset_view = import_module('{EXTENSION}.operators.assets.asset_view')\n{code}"
        )

    def open(self) -> Rectangle:
        """Open the tab and the panel in it, once; return the tab's place."""
        if self._tab is None:
            self._tab = self.open_here()
        return self._tab

    def open_here(self) -> Rectangle:
        """Open the tab and the panel in the workspace that is shown; return the tab's place.

        The panel's name is read once: it is at the same place of every sidebar.
        """
        self.run("bpy.ops.mcp_bridge.open_tab()")
        self.window.settle(1.0)
        tab = self.window.region()
        if self._name is None:
            x, y = self.window.find_at_rest("Assets", tab).middle
            self._name = x - tab.x, y - tab.y
        self.run(_COUNT_DRAWING)
        self.window.click(tab.x + self._name[0], tab.y + self._name[1])
        self.window.settle(0.5)
        assert self.run("result = bpy.app.driver_namespace['assets_drawn']"), "the panel is not open"
        return Rectangle(tab.x, tab.y, tab.width - TABS, tab.height)

    def pixel(self, *place: float) -> tuple[int, int]:
        """Return the place on the screen of a place in the scene."""
        x, y = self.run(_PIXEL.format(place=place))
        return round(x), round(self.window.height - y)

    def place(self, name: str, tab: Rectangle) -> None:
        """Press the button *Place Asset* of an entry: an icon below its name."""
        entry = self.window.find_at_rest(name, tab, which=-1)
        self.window.click(tab.x + tab.width - PLACE, entry.middle[1] + ROW)

    def choose(self, **values: Any) -> None:
        for name, value in values.items():
            self.run(f"bpy.context.window_manager.mcp_bridge_asset_{name} = {value!r}")

    def until(self, condition: str) -> None:
        """Wait until an expression over `view` is true."""
        end = time.monotonic() + 60
        while not self.run(f"view = asset_view.view; result = bool({condition})"):
            assert time.monotonic() < end, self.run("result = repr(asset_view.view)")
            time.sleep(0.1)
        self.window.settle(1.0)


@contextmanager
def served(folder: Path) -> Iterator[PolyHavenServer]:
    """Serve Poly Haven, with a preview for each asset; `folder` is for its files."""
    with PolyHavenServer(folder) as server:
        for slug, colour in COLOURS.items():
            server.routes[f"/thumbs/{slug}.png"] = Reply(thumbnail(folder / f"{slug}.png", colour))
            server.records[slug]["thumbnail_url"] = f"{server.url}/thumbs/{slug}.png?width=256&v=1"
        yield server


def thumbnail(path: Path, colour: tuple[float, float, float], *, even: bool = False) -> bytes:
    """Return a picture of 64 × 64 pixels that grows darker downwards, unless it is `even`."""
    image = bpy.data.images.new(path.name, 64, 64)
    image.pixels = [
        value
        for y in range(64)
        for _ in range(64)
        for value in (*(part if even else part * y / 64 for part in colour), 1.0)
    ]
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)
    return path.read_bytes()


_PIXEL = """
from bpy_extras.view3d_utils import location_3d_to_region_2d
area = next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == 'VIEW_3D')
region = next(r for r in area.regions if r.type == 'WINDOW')
x, y = location_3d_to_region_2d(region, region.data, {place!r})
result = [region.x + x, region.y + y]
"""

#: An expression that tells whether the panel is drawn, which it is while it is open.
_COUNT_DRAWING = """
panel, space = bpy.types.MCP_BRIDGE_PT_assets, bpy.app.driver_namespace
space['assets_drawn'] = 0
if 'draws_assets' not in space:
    drawing = space['draws_assets'] = panel.draw
    def draw(self, context):
        space['assets_drawn'] += 1
        drawing(self, context)
    panel.draw = draw
"""
