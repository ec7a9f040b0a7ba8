# SPDX-License-Identifier: GPL-3.0-or-later
"""A request that waits is noticed, and reviewed, wherever the user looks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support import window as window_support
from support.asking import CHAIR, TOKEN, Bridge
from support.ports import free_port
from support.reading import Rectangle

PORT = free_port()
WORKSPACES = ("Layout", "UV Editing", "Shading", "Compositing", "Rendering", "Scripting")
#: Screens, and the resolution scales that are tried on them.
SCREENS = {(1024, 640): (1.0, 0.75), (1920, 1080): (1.0, 2.0)}
#: How high the top bar and the status bar are at most, at a scale of 1.
BAR = 32
WAITS = "1 request waits"


@pytest.fixture(scope="module", params=SCREENS, ids=lambda size: f"{size[0]}x{size[1]}")
def bridge(request: pytest.FixtureRequest) -> Iterator[Bridge]:
    env = {"BLENDER_PORT": str(PORT), "BLENDER_MCP_TOKEN": TOKEN}
    with window_support.start("noticed", env=env, size=request.param) as started:
        yield Bridge(started, PORT, "noticed")


def bars(bridge: Bridge, scale: float) -> tuple[Rectangle, Rectangle]:
    """The top bar and the status bar."""
    width, height, high = bridge.window.width, bridge.window.height, int(BAR * scale)
    return Rectangle(0, 0, width, high), Rectangle(0, height - high, width, high)


def switch(bridge: Bridge, workspace: str) -> None:
    bridge.run(f"bpy.context.window_manager.windows[0].workspace = bpy.data.workspaces[{workspace!r}]")


@pytest.mark.parametrize("which", [0, 1], ids=["first scale", "second scale"])
def test_it_is_reviewed_from_both_bars_in_every_workspace(bridge: Bridge, which: int) -> None:
    asking = bridge.asks(CHAIR, f"Simple chair {which}")
    scale = SCREENS[bridge.window.width, bridge.window.height][which]
    size = f"{bridge.window.width}x{bridge.window.height}-{scale:g}x"
    bridge.run(f"bpy.context.preferences.view.ui_scale = {scale}")
    top, status = bars(bridge, scale)
    for workspace in WORKSPACES:
        switch(bridge, workspace)
        bridge.becomes("waiting")  # modes of a workspace change the scene: it is rehearsed again by itself
        bridge.window.find(WAITS, top)
        bridge.window.find(WAITS, status)
        bridge.window.picture(f"noticed-{workspace}-{size}".replace(" ", "-"))
    bridge.window.press_on(WAITS, status)
    bridge.window.find("Deny")
    bridge.picture(f"opened-{size}")
    bridge.window.press("Escape")
    bridge.run("bpy.context.preferences.view.ui_scale = 1.0")
    switch(bridge, "Layout")
    bridge.becomes("waiting")
    top, _ = bars(bridge, 1.0)
    bridge.window.press_on(WAITS, top)
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
    _, status = bars(bridge, 1.0)
    bridge.window.find("40", status)
    bridge.window.find("Frame 4 of 10", bridge.tab)
    bridge.picture(f"job-{bridge.window.width}")
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
    bridge.picture(f"second-window-{bridge.window.width}")
    bridge.run(
        "with bpy.context.temp_override(window=bpy.context.window_manager.windows[-1]):\n"
        "    bpy.ops.wm.window_close()\n"
        "e = import_module(f'{name}.approvals').current().entries()[0]\n"
        "bpy.ops.mcp_bridge.deny_request(request_id=e.id)"
    )
    asking.join(30)
