# SPDX-License-Identifier: GPL-3.0-or-later
"""The server in a Blender with its window: real pictures, and work that waits for the user instead of disturbing."""

from __future__ import annotations

import base64
import re
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from support.clients.raw_client import RawClient
from support.on_screen import window as window_support
from support.on_screen.window import HEIGHT, WIDTH, Window
from support.running.ports import free_port, is_open

_START = """
from bl_ext.user_default.mcp_bridge.server import bridge
running = bridge.start()
result = [running.port, bridge.token_store().mint("Test")[1]]
"""


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Window, int, str]]:
    env = {"BLENDER_PORT": str(free_port()), "BLENDER_MCP_CONFIRM": "auto"}
    with window_support.start("bridge", env=env) as window:
        port, token = window.run(_START)
        yield window, port, token


@pytest.fixture
def window(served: tuple[Window, int, str]) -> Window:
    return served[0]


@pytest.fixture
def client(served: tuple[Window, int, str]) -> Iterator[RawClient]:
    connected = RawClient(*served[1:])
    yield connected
    connected.close()


def _pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of an 8-bit RGB picture (PNG, RFC 2083; Blender writes no interlaced ones)."""
    width, height, depth, kind = struct.unpack("!IIBB", png[16:26])
    assert (depth, kind) == (8, 2)
    data, at = b"", 8
    while at < len(png):
        length, name = struct.unpack("!I4s", png[at : at + 8])
        if name == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += length + 12
    raw, rows, before = zlib.decompress(data), [], bytes(width * 3)
    for row in range(height):
        start = row * (width * 3 + 1)
        before = _unfilter(raw[start], raw[start + 1 : start + 1 + width * 3], before)
        rows.append(before)
    return width, height, rows


def _unfilter(kind: int, line: bytes, above: bytes) -> bytes:
    out = bytearray(line)
    for i, value in enumerate(line):
        left, up = (out[i - 3] if i >= 3 else 0), above[i]
        corner = above[i - 3] if i >= 3 else 0
        guess = left + up - corner
        paeth = min((left, up, corner), key=lambda each: abs(guess - each))
        out[i] = (value + (0, left, up, (left + up) // 2, paeth)[kind]) & 0xFF
    return bytes(out)


def _red_share(client: RawClient) -> float:
    """The share of pixels in the screenshot tool's picture that are clearly red."""
    result = client.call("get_viewport_screenshot", max_size=400, format="png")
    png = base64.b64decode(next(block["data"] for block in result["content"] if block["type"] == "image"))
    width, height, rows = _pixels(png)
    assert max(width, height) == 400
    red = sum(
        row[i] > 90 and row[i] > 3 * max(row[i + 1], row[i + 2])
        for row in rows
        for i in range(0, width * 3, 3)
    )
    return red / (width * height)


def _run(client: RawClient, code: str) -> object:
    result = client.call("execute_blender_code", code=code)["structuredContent"]
    assert result["status"] == "success", result
    return result["result"]


def test_an_object_that_turns_red_turns_red_in_the_picture(window: Window, client: RawClient) -> None:
    before = _red_share(client)
    _run(client, "import bpy\nbpy.data.objects['Cube'].active_material.diffuse_color = (1, 0, 0, 1)")
    after = _red_share(client)
    window.picture("red-cube")
    assert before < 0.005
    assert after > before + 0.005  # the cube is a hundredth of the picture


def _pictured(result: dict[str, Any], text: str) -> str:
    """What stands in the note of a picture between `text` and the next colon or percent sign."""
    picture, note = result["content"]
    assert picture["mimeType"] == "image/jpeg"
    assert base64.b64decode(picture["data"]).startswith(b"\xff\xd8\xff")
    return re.split("[:%]", note["text"].partition(text)[2])[0].strip()


def test_a_client_looks_from_all_sides_and_sees_what_has_changed(client: RawClient) -> None:
    view = _pictured(client.call("look", max_size=256), "view_id ")
    assert _pictured(client.call("compare_views", view_id=view), "what differs: ") == "0.0"
    _run(client, "import bpy\nbpy.data.objects['Cube'].scale.x = 2")
    assert float(_pictured(client.call("compare_views", view_id=view), "what differs: ")) > 1
    _run(client, "import bpy\nbpy.data.objects['Cube'].scale.x = 1")


def test_a_script_is_one_undo_step_of_the_user(window: Window, client: RawClient) -> None:
    before = window.run("result = sorted(o.name for o in bpy.data.objects)")
    _run(
        client, "import bpy\nfor x in range(3):\n    bpy.ops.mesh.primitive_uv_sphere_add(location=(x, 0, 0))"
    )
    assert len(window.run("result = sorted(o.name for o in bpy.data.objects)")) == len(before) + 3
    window.move(WIDTH // 3, HEIGHT // 2)
    window.press("ctrl+z")
    window.settle()
    assert window.run("result = sorted(o.name for o in bpy.data.objects)") == before


def test_changes_wait_while_the_user_moves_an_object_and_reading_goes_on(
    window: Window, client: RawClient, served: tuple[Window, int, str]
) -> None:
    window.move(WIDTH // 3, HEIGHT // 2)
    window.press("g")
    window.settle()
    done: list[object] = []
    changing = RawClient(*served[1:])
    script = "import bpy\nbpy.data.objects['Light'].location.z = 9\nresult = 'changed'"
    thread = threading.Thread(target=lambda: done.append(_run(changing, script)))
    thread.start()
    time.sleep(1.0)
    assert done == []
    assert client.call("get_object_info", name="Light")["structuredContent"]["location"][2] < 9
    window.press("Escape")
    thread.join(20)
    changing.close()
    assert done == ["changed"]
    assert client.call("get_object_info", name="Light")["structuredContent"]["location"][2] == 9


def test_calls_go_on_over_loading_a_file_and_undo(window: Window, client: RawClient) -> None:
    assert "Cube" in {item["name"] for item in client.call("get_scene_info")["structuredContent"]["objects"]}
    window.run("bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)")
    assert client.call("get_scene_info")["structuredContent"]["objects"] == []
    window.run("bpy.ops.wm.read_homefile(use_factory_startup=True)")
    window.run(
        "bpy.ops.ed.undo_push(message='a'); bpy.data.objects['Cube'].name = 'Box'; bpy.ops.ed.undo_push()"
    )
    window.run("bpy.ops.ed.undo()")
    assert client.call("get_object_info", name="Cube")["structuredContent"]["type"] == "MESH"


def test_a_picture_is_rendered_beside_the_window(window: Window, client: RawClient) -> None:
    settings = "[scene.render.engine, scene.render.resolution_x, scene.cycles.samples]"
    before = window.run(f"import bpy; scene = bpy.context.scene; result = {settings}")
    result = client.call("render_image", resolution=[64, 48], samples=4, format="png")
    assert not result["isError"], result["content"]
    width, height, _ = struct.unpack("!IIB", base64.b64decode(result["content"][0]["data"])[16:25])
    assert (width, height) == (64, 48)
    assert window.run(f"import bpy; scene = bpy.context.scene; result = {settings}") == before


def test_disabling_the_extension_answers_what_waits_and_leaves_nothing(
    window: Window, served: tuple[Window, int, str]
) -> None:
    port = served[1]
    left = window.run(
        """
import addon_utils, threading
addon_utils.disable("bl_ext.user_default.mcp_bridge")
lists = [found for name in dir(bpy.app.handlers) if isinstance(found := getattr(bpy.app.handlers, name), list)]
handlers = [handler for found in lists for handler in found if "mcp_bridge" in getattr(handler, "__module__", "")]
result = [[t.name for t in threading.enumerate() if "MCP" in t.name], len(handlers)]
"""
    )
    assert left == [[], 0]
    assert not is_open(port)
    addon_utils = (
        "import addon_utils; addon_utils.enable('bl_ext.user_default.mcp_bridge', default_set=True)\n"
    )
    port, token = window.run(addon_utils + _START)
    again = RawClient(port, token)
    assert again.call("get_scene_info")["structuredContent"]["matching"] == 3
    again.close()
