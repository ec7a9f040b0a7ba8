# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel Assets in every workspace, size and scale: its previews, what a download takes, and where assets go."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np
import pytest

from support.on_screen import window as window_support
from support.on_screen.asset_panel import Assets, served, thumbnail
from support.on_screen.reading import Rectangle
from support.on_screen.window import TABS
from support.services.polyhaven import BRICK, CHAIR, PolyHavenServer
from support.services.web import Reply

LARGE, SMALL = (1920, 1080), (1024, 640)
#: Each workspace, and each size with each scale; what an artist does there with an asset.
LOOKS = (
    ("Shading", LARGE, 2.0, "onto the selected object"),
    ("Rendering", LARGE, 0.75, "at the 3D cursor"),
    ("Scripting", LARGE, 1.0, "at the mouse"),
    ("UV Editing", SMALL, 0.75, "onto the selected object"),
    ("Compositing", SMALL, 1.0, "at the 3D cursor"),
    ("Layout", SMALL, 2.0, "at the mouse"),
)
STOOL = "stool"
#: The two models, and a texture, by names that are easily read when they are small.
NAMES = {STOOL: "Stool", CHAIR: "Bench", BRICK: "Brick Wall"}
#: The colours of their previews; nothing else in Blender's window has them.
COLOURS = {STOOL: (0, 255, 255), CHAIR: (255, 0, 255), BRICK: (255, 255, 0)}

# Pixels at a scale of 1.
#: A preview's smallest side.
PREVIEW = 128
#: How high what belongs to a preview is below it; the middle of its name, which is the button that imports it; where
#: from the preview's right lower corner *Place Asset* is.
BELOW, NAME, PLACE = 50, 13, (-22, 35)
#: How far from everything else a click into the scene is, at least.
APART = 12


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assets]:
    folder = tmp_path_factory.mktemp("polyhaven")
    with served(folder) as server:
        add_stool(server)
        for slug, colour in COLOURS.items():
            even = tuple(part / 255 for part in colour)
            server.routes[f"/thumbs/{slug}.png"] = Reply(thumbnail(folder / f"{slug}.png", even, even=True))
        env = {"BLENDER_MCP_POLYHAVEN_API": server.url}
        with window_support.start("assets-looks", env=env, size=LARGE) as window:
            panel = Assets(window)
            window.shade_plainly()
            for workspace, *_ in LOOKS:
                switch(panel, workspace)
                panel.open_here()
            yield panel


def add_stool(server: PolyHavenServer) -> None:
    """Another model, which comes first, as it is downloaded more often; its files are the chair's."""
    server.records[CHAIR]["name"] = NAMES[CHAIR]
    server.records[STOOL] = server.records[CHAIR] | {
        "name": NAMES[STOOL],
        "download_count": 4,
        "thumbnail_url": f"{server.url}/thumbs/{STOOL}.png?width=256&v=1",
    }
    server.routes[f"/info/{STOOL}"] = Reply(server.records[STOOL])
    server.routes[f"/files/{STOOL}"] = Reply(server.files[CHAIR])


def switch(assets: Assets, workspace: str) -> None:
    """Show a workspace. Where it has no 3D view, make its largest editor one, by the key for it."""
    assets.window.show_workspace(workspace)
    if middle := assets.run(LARGEST):
        x, y = middle
        assets.window.move(x, assets.window.height - y)
        assets.window.settle(0.1)
        assets.window.press("shift+F5")
        assets.window.settle()


#: The middle of the largest editor where none is a 3D view.
LARGEST = """
areas = bpy.context.window_manager.windows[0].screen.areas
area = max(areas, key=lambda area: area.width * area.height)
shown = any(area.type == 'VIEW_3D' for area in areas)
result = None if shown else [area.x + area.width // 2, area.y + area.height // 2]
"""


@pytest.mark.timeout(600)  # the first one also waits until Blender has started, and all workspaces are ready
@pytest.mark.parametrize(
    ("workspace", "size", "scale", "act"), LOOKS, ids=[look[0].replace(" ", "-") for look in LOOKS]
)
def test_assets_are_seen_and_brought_in(
    assets: Assets, workspace: str, size: tuple[int, int], scale: float, act: str
) -> None:
    if assets.window.size != size:
        assets.window.resize(*size)
    assets.run(f"bpy.context.preferences.view.ui_scale = {scale}")
    switch(assets, workspace)
    look = Look(assets, scale, f"{workspace}-{size[0]}x{size[1]}-{scale:g}x".replace(" ", "-"))
    look.make_room()
    look.show("models")
    look.see(STOOL)
    preview = look.see(CHAIR)
    match act:
        case "at the mouse":
            look.place(preview)
        case "at the 3D cursor":
            look.place_at_cursor(preview)
        case _:
            look.show("textures")
            look.texture(look.see(BRICK))
    look.leave()


class Look:
    """The panel in one workspace, size and scale."""

    def __init__(self, assets: Assets, scale: float, name: str) -> None:
        self.assets, self.window, self.scale, self.name = assets, assets.window, scale, name
        self.large = False

    def make_room(self) -> None:
        """Where Blender hides the sidebar, or nothing of the scene is left beside it: maximise the editor, by keys."""
        wide, free, *_ = self.assets.run(ROOM)
        if not wide or free < APART * self.scale:
            self.window.move(*self.window.region("HEADER").middle)
            self.window.settle(0.1)
            self.window.press("ctrl+space")
            self.window.settle()
            self.large = True
        wide, free, *_ = self.assets.run(ROOM)
        assert wide, self.failed("the sidebar is hidden")
        assert free >= APART * self.scale, self.failed("nothing of the scene is free")
        sidebar = self.window.region()
        self.tab = Rectangle(sidebar.x, sidebar.y, sidebar.width - round(TABS * self.scale), sidebar.height)

    def leave(self) -> None:
        if self.large:
            self.window.press("ctrl+space")
            self.window.settle(0.2)

    def failed(self, why: str) -> str:
        return f"{self.name}: {why}, see {self.window.picture('assets-look-failed')}"

    def show(self, kind: str) -> None:
        """Have assets of a kind listed, and turn to the panel's beginning."""
        self.assets.choose(kind=kind)
        self.assets.until(
            "not view.searching and len(view.entries) == 2"
            " and all(map(asset_view.icon, view.entries)) and all(view.sizes.values()) and len(view.sizes) == 2"
        )
        self.window.move(*self.tab.middle)
        self.turn(-30)

    def see(self, slug: str) -> Rectangle:
        """Look at an entry: its preview, its name, and how large the download is; return where the preview is."""
        preview = self.reach(slug)
        assert preview.width >= PREVIEW * self.scale, self.failed(f"{slug} is small: {preview}")
        below = Rectangle(preview.x, preview.y + preview.height, preview.width, round(BELOW * self.scale))
        self.window.find(NAMES[slug], below)
        self.window.find("bytes", below)
        self.window.picture(f"assets-look-{self.name}-{slug}")
        return preview

    def reach(self, slug: str) -> Rectangle:
        """Turn the wheel on until the preview's end is seen, with all that stands below it."""
        end = self.tab.y + self.tab.height - BELOW * self.scale
        for _ in range(40):
            seen = self.seen(COLOURS[slug])
            if seen and seen.y + seen.height <= end:
                return seen
            self.turn(1 if seen else 2)
        raise AssertionError(self.failed(f"{slug} cannot be reached"))

    def turn(self, notches: int) -> None:
        """Turn the mouse's wheel over the sidebar, towards its end where `notches` is positive."""
        button = "5" if notches > 0 else "4"
        self.window.screen.run("xdotool", "click", "--repeat", str(abs(notches)), "--delay", "10", button)
        self.window.settle(0.2)

    def seen(self, colour: tuple[int, int, int]) -> Rectangle | None:
        """What is seen of the preview that has this colour."""
        tab = self.tab
        crop = f"{tab.width}x{tab.height}+{tab.x}+{tab.y}"
        take = f"import -window root -crop {crop} +repage -depth 8 rgb:- | base64 -w0"
        taken = base64.b64decode(self.window.screen.run("sh", "-c", take))
        pixels = np.frombuffer(taken, dtype=np.uint8).reshape(tab.height, tab.width, 3).astype(int)
        rows, columns = np.nonzero((abs(pixels - colour) < 30).all(axis=2))
        if not rows.size:
            return None
        x, y = int(columns.min()), int(rows.min())
        return Rectangle(tab.x + x, tab.y + y, int(columns.max()) - x + 1, int(rows.max()) - y + 1)

    def place(self, preview: Rectangle) -> None:
        """Place the model at a pixel of the scene that nothing lies over."""
        right, down = (round(side * self.scale) for side in PLACE)
        self.window.click(preview.x + preview.width + right, preview.y + preview.height + down)
        *_, x, y = self.assets.run(ROOM)
        pixel = x, self.window.height - y
        self.window.move(*pixel)
        self.window.settle()
        self.window.picture(f"assets-look-{self.name}-placing")
        self.window.click(*pixel)
        assert self.assets.pixel(*self.brought()) == pytest.approx(pixel, abs=3), self.name

    def place_at_cursor(self, preview: Rectangle) -> None:
        self.assets.run("bpy.context.scene.cursor.location = (2, -1, 0.5)")
        self.press(preview)
        assert self.brought() == pytest.approx([2, -1, 0.5], abs=1e-3), self.name

    def press(self, preview: Rectangle) -> None:
        """Press the name below a preview, which imports the asset."""
        self.window.click(preview.middle[0], preview.y + preview.height + round(NAME * self.scale))

    def brought(self) -> list[float]:
        """Wait for the model, and return where it is; take it away again."""
        self.assets.until("view.done and view.job is None")
        self.window.picture(f"assets-look-{self.name}-placed")
        place: list[float] = self.assets.run(BROUGHT)
        return place

    def texture(self, preview: Rectangle) -> None:
        self.assets.run(SELECT)
        self.press(preview)
        self.assets.until("view.done and view.job is None")
        self.window.picture(f"assets-look-{self.name}-textured")
        told, material = self.assets.run(TEXTURED)
        assert (told, material[: len(NAMES[BRICK])]) == (f"Put {NAMES[BRICK]} onto Cube", NAMES[BRICK])


BROUGHT = """
added = [item for item in bpy.data.objects if item.name not in ('Camera', 'Cube', 'Light')]
result = list(next(item for item in added if item.parent is None).matrix_world.translation)
bpy.data.batch_remove(added)
asset_view.change(done='')
"""
SELECT = """
cube = bpy.data.objects['Cube']
cube.active_material = None
for item in bpy.context.view_layer.objects:
    item.select_set(item == cube)
bpy.context.view_layer.objects.active = cube
"""
TEXTURED = """
result = [asset_view.view.done, bpy.data.objects['Cube'].active_material.name]
asset_view.change(done='')
"""
#: Whether the sidebar is shown; how far the pixel of the scene is from anything else that is farthest from its edges
#: and from what lies over it; that pixel.
ROOM = """
area = next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == 'VIEW_3D')
scene = next(r for r in area.regions if r.type == 'WINDOW')
over = [r for r in area.regions if r != scene and min(r.width, r.height) > 1]
def far(x, y):
    gaps = [max(r.x - x, x - r.x - r.width, r.y - y, y - r.y - r.height) for r in over]
    return min(gaps + [x - scene.x, scene.x + scene.width - x, y - scene.y, scene.y + scene.height - y])
points = [(x, y) for x in range(scene.x, scene.x + scene.width, 8)
          for y in range(scene.y, scene.y + scene.height, 8)]
x, y = max(points, key=lambda point: far(*point))
result = [any(r.type == 'UI' for r in over), far(x, y), x, y]
"""
