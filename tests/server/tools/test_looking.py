# SPDX-License-Identifier: GPL-3.0-or-later
"""Looking at objects from several sides, by a client."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.scene import events, history
from bl_ext.user_default.mcp_bridge.server.tools import pictures

from support.clients.tool_calls import ToolError, Tools

_PICTURES = Path(__file__).resolve().parents[3] / "build" / "pictures"


@pytest.fixture
def tools(empty_scene: None) -> Iterator[Tools]:
    bpy.ops.mesh.primitive_monkey_add()
    made = Tools()
    yield made
    made.stop()


def _look(tools: Tools, tool: str = "look", **arguments: Any) -> tuple[Any, str]:
    """The picture as (height, width, 4), its rows from the top, and the note."""
    result = tools.raw(tool, arguments)
    assert not result.get("isError"), result["content"]
    shown, note = result["content"]
    _PICTURES.mkdir(parents=True, exist_ok=True)
    path = _PICTURES / f"{tool}-{'-'.join(arguments) or 'default'}.png"
    path.write_bytes(base64.b64decode(shown["data"]))
    image = bpy.data.images.load(str(path))
    pixels = np.array(image.pixels[:]).reshape(image.size[1], image.size[0], 4)[::-1]
    bpy.data.images.remove(image)
    return pixels, note["text"]


def test_four_views_and_what_has_changed_since(tools: Tools) -> None:
    before = {kind: len(getattr(bpy.data, kind)) for kind in ("objects", "cameras", "lights")}
    pixels, note = _look(tools, max_size=256)
    assert pixels.shape == (256, 256, 4)
    assert note.startswith(
        "2 columns, 2 rows: front (the bar is 0.5); right (the bar is 0.5); top (the bar is 0.5); perspective."
    )
    for row in (0, 128):
        for column in (0, 128):
            assert (
                pixels[row : row + 110, column : column + 128, :3].std() > 0.02
            )  # there is something to see
    assert {kind: len(getattr(bpy.data, kind)) for kind in before} == before
    view = re.search(r"view_id (\w+)", note)[1]
    same, told = _look(tools, "compare_views", view_id=view)
    assert same.shape == (256, 768, 4)
    assert float(re.search(r"([\d.]+) % of", told)[1]) < 1.0
    bpy.data.objects["Suzanne"].scale = (0.3, 0.3, 2.0)
    _, told = _look(tools, "compare_views", view_id=view)
    assert float(re.search(r"([\d.]+) % of", told)[1]) > 3.0


def test_what_moves_is_seen_to_move_and_names_are_there(tools: Tools) -> None:
    monkey = bpy.data.objects["Suzanne"]
    bpy.ops.mesh.primitive_cube_add(location=(0, 0, -2))
    bpy.context.object.name = "立方体"
    monkey.keyframe_insert("location", frame=1)
    monkey.location.x = 6
    monkey.keyframe_insert("location", frame=20)
    pixels, note = _look(tools, frames=[1, 20], max_size=400)
    assert note.startswith("2 columns, 1 rows: frame 1; frame 20; (2) is 立方体.")
    first, last = (pixels[:160, begin : begin + 200, :3].max(axis=2) for begin in (0, 200))
    across = [np.average(np.arange(200), weights=(each > 0.2).sum(axis=0) + 1e-9) for each in (first, last)]
    assert across[1] - across[0] > 10


def test_looking_changes_nothing_that_a_yes_is_bound_to(tools: Tools) -> None:
    revision, newest = events.settled(), history.newest()
    tools.raw("look", {"frames": [1, 5], "max_size": 64})
    tools.raw("get_viewport_screenshot", {"max_size": 64})
    assert (events.settled(), history.newest()) == (revision, newest)
    bpy.data.objects["Suzanne"].location.x = 1
    assert events.settled() > revision


def test_an_editor_needs_a_window(tools: Tools) -> None:
    with pytest.raises(
        ToolError, match=r"without a window, so there are no editors to see: leave `area` out"
    ):
        tools("get_viewport_screenshot", area="NODE_EDITOR")


def test_a_turntable_and_frames(tools: Tools) -> None:
    _, note = _look(tools, turntable=3, max_size=128)
    assert "0 deg; 120 deg; 240 deg" in note
    scene = bpy.context.scene
    scene.frame_set(7)
    _, note = _look(tools, frames=[1, 20], max_size=128)
    assert "frame 1; frame 20" in note
    assert scene.frame_current == 7


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"objects": ["Suzane"]}, "There is no object 'Suzane' in this file. Did you mean 'Suzanne'"),
        ({"views": ["camera"]}, "the scene has no camera"),
        ({"max_size": 100_000}, "max_size"),
        ({"views": ["inside"]}, "views"),
    ],
)
def test_look_says_why_it_cannot_show_something(tools: Tools, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolError) as caught:
        tools("look", **arguments)
    assert says in str(caught.value)


def test_an_unknown_view(tools: Tools) -> None:
    with pytest.raises(ToolError, match="there is no view 'ffff' any more"):
        tools("compare_views", view_id="ffff")


def test_pictures_are_small_by_default_and_png_where_that_is_asked_for(tools: Tools) -> None:
    for tool in ("look", "get_viewport_screenshot"):
        sizes = {}
        for kind, begin in (("jpeg", b"\xff\xd8\xff"), ("png", b"\x89PNG")):
            [block, *_] = tools.raw(tool, {"max_size": 512, "format": kind})["content"]
            data = base64.b64decode(block["data"])
            assert (block["mimeType"], data.startswith(begin)) == (f"image/{kind}", True)
            sizes[kind] = len(data)
        assert sizes["jpeg"] * 2 < sizes["png"]
        assert tools.raw(tool, {"max_size": 512})["content"][0]["mimeType"] == "image/jpeg"


def test_a_picture_that_is_too_large_for_a_prompt_is_a_link(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "MOST_BYTES", 100)
    [link, *_] = tools.raw("get_viewport_screenshot", {"max_size": 64})["content"]
    assert (link["type"], link["mimeType"]) == ("resource_link", "image/jpeg")
    assert base64.b64decode(tools.read(link["uri"])["blob"]).startswith(b"\xff\xd8\xff")
