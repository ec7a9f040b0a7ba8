# SPDX-License-Identifier: GPL-3.0-or-later
"""Real clients drive a real Blender: they list the tools, page through 10,000 objects, build a table, look at it,
and are refused what they may not do. The same story is told by every SDK over every transport."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from support.bridges.serving import TOKEN, Served
from support.clients import foreign
from support.clients.sdk import dump, transport

_HERE = Path(__file__).parent
Report = dict[str, Any]

TABLE = """
import bpy
import math

for old in [each for each in bpy.data.objects if each.name.startswith("Table")]:
    bpy.data.objects.remove(old)

def box(name, size, location):
    bpy.ops.mesh.primitive_cube_add(size=1, location=location)
    part = bpy.context.active_object
    part.name = name
    part.scale = size
    return part

top = box("Table Top", (1.6, 0.9, 0.05), (0, 0, 0.75))
for index in range(4):
    angle = math.pi / 4 + index * math.pi / 2
    x, y = math.copysign(0.7, math.cos(angle)), math.copysign(0.35, math.sin(angle))
    leg = box(f"Table Leg {index + 1}", (0.06, 0.06, 0.725), (x, y, 0.3625))
    leg.parent = top
    leg.matrix_parent_inverse = top.matrix_world.inverted()
print("built", top.name)
result = {"legs": len(top.children), "top": top.location}
"""

#: (tool, arguments), for a Blender with its factory scene.
STORY: list[tuple[str, dict[str, object]]] = [
    ("execute_blender_code", {"code": TABLE, "title": "Build a Table"}),
    ("get_object_info", {"name": "Table Top"}),
    ("get_viewport_screenshot", {"max_size": 128}),
    ("execute_blender_code", {"code": "import os\nresult = os.listdir('/')"}),
    ("get_object_info", {"nmae": "Table Top"}),
]

#: For a Blender with 10,000 objects and more: (tool, arguments) of a first page, to be followed by its cursor.
PAGES: tuple[str, dict[str, object]] = ("get_scene_info", {"limit": 1000, "fields": ["type"]})


async def _tell(kind: str, mode: str, served: Served, story: list[Any], pages: Any) -> Report:
    async with Client(transport(kind, served), mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        results = [dump(await client.call_tool(name, arguments)) for name, arguments in story]
        objects: list[str] = []
        cursor = None
        while pages:
            name, arguments = pages
            page = (
                await client.call_tool(name, arguments | ({"cursor": cursor} if cursor else {}))
            ).structured_content
            objects += [item["name"] for item in page["objects"]]
            cursor = page.get("next_cursor")
            if cursor is None:
                break
        return {"tools": tools, "results": results, "objects": objects}


def _python_2(kind: str, mode: str, served: Served, story: list[Any], pages: Any) -> Report:
    return asyncio.run(_tell(kind, mode, served, story, pages))


def _python_1(served: Served, story: list[Any], pages: Any) -> Report:
    url = f"ws://127.0.0.1:{served.port}/mcp?token={TOKEN}"
    code = (_HERE / "story_python_1.py").read_text(encoding="utf-8")
    return json.loads(foreign.python_1(code, url, json.dumps(story), json.dumps(pages)))


def _typescript(served: Served, story: list[Any], pages: Any) -> Report:
    url = f"ws://127.0.0.1:{served.port}/mcp?token={TOKEN}"
    code = (_HERE / "story_typescript.mjs").read_text(encoding="utf-8")
    told = json.dumps({"url": url, "story": story, "pages": pages})
    return json.loads(foreign.typescript(code, STORY=told))


_CLIENTS: dict[str, Callable[[Served, list[Any], Any], Report]] = {
    "Python SDK 1, WebSocket": _python_1,
    "TypeScript SDK, WebSocket": _typescript,
    **{
        f"Python SDK 2, {kind}, {mode}": partial(_python_2, kind, mode)
        for kind in ("websocket", "http", "stdio")
        for mode in ("legacy", "2026-07-28", "auto")
    },
}
every_client = pytest.mark.parametrize("client", _CLIENTS.values(), ids=_CLIENTS)


@every_client
def test_tells_the_story(client: Callable[[Served, list[Any], Any], Report], factory: Served) -> None:
    report = client(factory, STORY, None)
    assert {"get_scene_info", "get_object_info", "get_viewport_screenshot", "execute_blender_code"} <= {
        *report["tools"]
    }
    built, info, picture, refused, wrong = report["results"]
    assert not built.get("isError"), built
    assert built["structuredContent"] == {
        "status": "success",
        "result": {"legs": 4, "top": [0.0, 0.0, 0.75]},
        "stdout": "built Table Top\n",
    }
    assert info["structuredContent"]["children"] == [f"Table Leg {number}" for number in (1, 2, 3, 4)]
    image = next(block for block in picture["content"] if block["type"] == "image")
    assert base64.b64decode(image["data"]).startswith(b"\xff\xd8\xff")
    assert refused["isError"] is True
    assert refused["structuredContent"]["error"] == "PolicyError"
    assert "os" in refused["structuredContent"]["message"]
    assert wrong["isError"] is True
    assert "nmae" in wrong["content"][0]["text"]


@every_client
def test_reads_ten_thousand_objects_page_by_page(
    client: Callable[[Served, list[Any], Any], Report], large: Served
) -> None:
    report = client(large, [], PAGES)
    assert len(report["objects"]) == len(set(report["objects"])) == 10_003
    assert report["objects"] == sorted(report["objects"])
