# SPDX-License-Identifier: GPL-3.0-or-later
"""Exporting, saving and opening in a Blender with its window, where work comes from a timer without a context."""

from __future__ import annotations

import http.client
import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from support.on_screen import window as window_support
from support.on_screen.window import Window
from support.running.ports import free_port

_START = """
from bl_ext.user_default.mcp_bridge.server import bridge
running = bridge.start()
result = [running.port, bridge.token_store().mint("Test")[1]]
"""
_VERSION = "2026-07-28"
_FOLDER = window_support.FOLDER / "exports"


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Window, int, str]]:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    for file in _FOLDER.iterdir():
        file.unlink()
    env = {
        "BLENDER_PORT": str(free_port()),
        "BLENDER_MCP_CONFIRM": "client",
        "BLENDER_MCP_FOLDERS": str(_FOLDER),
    }
    with window_support.start("files", env=env) as window:
        port, token = window.run(_START)
        yield window, port, token


def _post(served: tuple[Window, int, str], tool: str, arguments: Any, **more: Any) -> dict[str, Any]:
    _, port, token = served
    meta = {
        "io.modelcontextprotocol/protocolVersion": _VERSION,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta, **more}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    connection.request("POST", "/mcp", json.dumps(body), headers)
    text = connection.getresponse().read().decode()
    connection.close()
    lines = [line[5:] for line in text.splitlines() if line.startswith("data:") and "{" in line]
    result: dict[str, Any] = json.loads(lines[-1] if lines else text)["result"]
    return result


def _call(served: tuple[Window, int, str], tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, with a yes to what it asks."""
    result = _post(served, tool, arguments)
    if result.get("resultType") == "input_required":
        answers = {key: {"action": "accept", "content": {}} for key in result["inputRequests"]}
        result = _post(served, tool, arguments, inputResponses=answers, requestState=result["requestState"])
    assert not result.get("isError"), result
    facts: dict[str, Any] = result["structuredContent"]
    return facts


def test_export_in_edit_mode_leaves_the_user_where_they_were(served: tuple[Window, int, str]) -> None:
    window = served[0]
    window.run(
        "import bpy\nwith bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):\n"
        "    bpy.ops.object.mode_set(mode='EDIT')\nresult = None"
    )
    _call(served, "export_file", path="cube.stl", objects=["Cube"])
    assert struct.unpack("<I", (_FOLDER / "cube.stl").read_bytes()[80:84])[0] == 12
    assert window.run("import bpy\nresult = bpy.context.active_object.mode") == "EDIT"
    for suffix in ("glb", "obj", "ply"):
        assert _call(served, "export_file", path=f"cube.{suffix}", objects=["Cube"])["objects"] == 1
        assert (_FOLDER / f"cube.{suffix}").stat().st_size > 100


def test_save_then_open_in_place_of_what_is_there_and_go_on(served: tuple[Window, int, str]) -> None:
    window = served[0]
    _call(served, "save_file", path="first.blend")
    window.run("import bpy\nbpy.data.objects['Cube'].name = 'Renamed'\nresult = None")
    for _ in range(3):  # the timer that does the work lives through each load
        opened = _call(served, "open_file", path="first.blend")
        assert opened["path"] == str(_FOLDER / "first.blend")
        names = [one["name"] for one in _call(served, "get_scene_info")["objects"]]
        assert "Cube" in names
        assert "Renamed" not in names
    assert window.run(
        "import bpy\nresult = [bpy.data.filepath, len(bpy.context.window_manager.windows)]"
    ) == [
        str(_FOLDER / "first.blend"),
        1,
    ]
