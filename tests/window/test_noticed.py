# SPDX-License-Identifier: GPL-3.0-or-later
"""A request that waits is noticed, and reviewed, wherever the user looks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.on_screen import window as window_support
from support.on_screen.asking import CHAIR, TOKEN, Asking, Bridge
from support.on_screen.reading import Rectangle
from support.running.ports import free_port

PORT = free_port()
WORKSPACES = ("Layout", "UV Editing", "Shading", "Compositing", "Rendering", "Scripting")
SIZES = ((1024, 640), (1920, 1080))
SCALES = (0.75, 1.0, 2.0)
#: How high the top bar and the status bar are at most, at a scale of 1.
BAR = 32
WAITS = "waits"
#: A narrow top bar has no place for more than how many wait.
SHORT = "1"


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    env = {"BLENDER_PORT": str(PORT), "BLENDER_MCP_TOKEN": TOKEN}
    with window_support.start("noticed", env=env, size=SIZES[-1]) as started:
        bridge = Bridge(started, PORT, "noticed")
        started.shade_plainly()
        # A workspace changes the mode, and so the scene, of an object that is active alone.
        started.run("bpy.context.view_layer.objects.active = None")
        yield bridge


@pytest.fixture(scope="module")
def asking(bridge: Bridge) -> Asking:
    return bridge.asks(CHAIR, "Simple chair")


def bars(window: window_support.Window, scale: float) -> dict[str, Rectangle]:
    """The top bar and the status bar."""
    high = int(BAR * scale)
    return {
        "top": Rectangle(0, 0, window.width, high),
        "status": Rectangle(0, window.height - high, window.width, high),
    }


class Item:
    """The item in a bar. Where it looks as it did when it was read last, it is not read again: that takes long."""

    text = WAITS

    def __init__(self, window: window_support.Window, bar: Rectangle) -> None:
        self._window, self._bar = window, bar
        self.place = bar
        self._look = ""

    def find(self) -> None:
        if self._window.look(self.place) != self._look:
            self.place = self._window.find(self.text, self._bar)
            self._look = self._window.look(self.place)


def opens(bridge: Bridge, item: Rectangle) -> None:
    """A click there opens *Review*; it is closed again."""
    bridge.run(f"{LISTS}._listed = ('', '')")
    bridge.window.click(*item.middle)
    bridge.until(lambda: bridge.run(f"result = {LISTS}._listed[0]") != "", "a click does not open Review")
    bridge.window.settle(0.2)


LISTS = "import_module(f'{name}.operators.request_lists')"


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_it_is_noticed_and_reviewed_in_every_workspace(
    bridge: Bridge, asking: Asking, size: tuple[int, int], scale: float
) -> None:
    window = bridge.window
    window.resize(*size)
    bridge.run(f"bpy.context.preferences.view.ui_scale = {scale}")
    window.show_workspace(WORKSPACES[0])
    window.move(*(side // 2 for side in size))
    items = {bar: Item(window, part) for bar, part in bars(window, scale).items()}
    if size[0] < NARROW * scale:
        items["top"].text = SHORT
    for number, workspace in enumerate(WORKSPACES):
        window.show_workspace(workspace)
        window.move(*(side // 2 for side in size))
        for item in items.values():
            item.find()
        if scale == 1.0:
            window.picture(f"noticed-{workspace}-{size[0]}x{size[1]}".replace(" ", "-"))
        opens(bridge, items["top" if number % 2 else "status"].place)
        if not number:
            window.find("Apply")
            window.find("Deny")
            window.picture(f"noticed-opened-{size[0]}x{size[1]}-{scale:g}x")
        window.press("Escape")
    assert bridge.state() == "waiting"


#: Pixels at a scale of 1 below which the top bar shows the item in short.
NARROW = 900


def test_from_the_top_bar_it_is_applied(bridge: Bridge, asking: Asking) -> None:
    bridge.run("bpy.context.preferences.view.ui_scale = 1.0")
    bridge.window.show_workspace("Layout")
    bridge.window.press_on(WAITS, bars(bridge.window, 1.0)["top"])
    bridge.window.press_on("Apply")
    bridge.becomes("applied")
    asking.join(30)
    assert asking.result["status"] == "success"


def test_a_job_has_a_row_with_its_progress_and_is_cancelled(bridge: Bridge) -> None:
    bridge.run(
        "jobs = import_module(f'{name}.base.jobs')\n"
        "import sys\n"
        "sys.job = jobs.registry.begin('render', 'Render Camera', 'local')\n"
        "sys.job.report(40, 100, 'Frame 4 of 10')"
    )
    bridge.window.find("40", bars(bridge.window, 1.0)["status"])
    bridge.window.find("Frame 4 of 10", bridge.tab)
    bridge.picture("job")
    bridge.press("Cancel")
    bridge.until(lambda: bridge.run("import sys\nresult = sys.job.cancelled.is_set()"), "the job goes on")
    bridge.until(
        lambda: not bridge.run("result = len(import_module(f'{name}.operators.state').view.jobs)"),
        "the row is still there",
    )


def test_a_window_without_bars_has_it_in_its_header(bridge: Bridge) -> None:
    asking = bridge.asks(CHAIR.replace("Chair", "Stool"), "A stool")
    bridge.run("bpy.ops.wm.window_new()")
    bridge.window.find(WAITS, Rectangle(0, 0, bridge.window.width, bridge.window.height))
    bridge.picture("second-window")
    bridge.run(
        "with bpy.context.temp_override(window=bpy.context.window_manager.windows[-1]):\n"
        "    bpy.ops.wm.window_close()\n"
        "e = import_module(f'{name}.approvals').current().entries()[0]\n"
        "bpy.ops.mcp_bridge.deny_request(request_id=e.id)"
    )
    asking.join(30)
