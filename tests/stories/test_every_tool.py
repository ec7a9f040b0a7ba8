# SPDX-License-Identifier: GPL-3.0-or-later
"""The official client calls the tools that look, read, animate, build nodes and tell what happens, each at least once.

It knows the schema of every result, since the whole list is shown to it first, and refuses a result that breaks it.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bl_ext.user_default.mcp_bridge.server.tools import all_tools
from mcp import Client
from mcp_types import ElicitResult

from support.sdk import transport
from support.serving import Served, serving

Call = Callable[..., Awaitable[Any]]

#: Tools whose stories are told elsewhere: they reach services, ask the user, work on files or render.
ELSEWHERE = frozenset(
    """
    inject_bpy_script rehearse_script render_image render_animation cancel_job get_job
    search_polyhaven_assets get_polyhaven_categories download_polyhaven_asset set_texture search_sketchfab_models
    download_sketchfab_model create_rodin_job poll_rodin_job_status import_generated_asset check_rodin_balance
    get_asset_credits export_file save_file save_copy open_file import_file
    upload_file download_file list_files remove_file
    """.split()
)


class _Teller:
    """A client's session: its calls succeed, and give the structured result, or the pictures with their text."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.called: set[str] = set()

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        self.called.add(tool)
        result = await self._client.call_tool(tool, arguments)
        assert not result.is_error, (tool, result.content)
        return result.structured_content if result.structured_content is not None else result.content


async def _looks(tell: _Teller) -> None:
    for tool, arguments in (("get_viewport_screenshot", {"max_size": 64}), ("look", {"max_size": 128})):
        image, note = await tell(tool, **arguments)
        assert base64.b64decode(image.data).startswith(b"\x89PNG")
    view = note.text.partition("view_id ")[2].partition(":")[0]
    image, note = await tell("compare_views", view_id=view)
    assert note.text.startswith("Left before, middle after")


async def _reads(tell: _Teller) -> None:
    scene = await tell("get_scene_info")
    assert {"Camera", "Cube", "Light"} <= {one["name"] for one in scene["objects"]}
    assert (await tell("get_object_info", name="Cube"))["type"] == "MESH"
    await tell("get_file_info")
    found = await tell("search_api_docs", query="bevel edges")
    assert any("bevel" in one["name"] for one in found["results"])
    [docs] = await tell("get_api_docs", name="bpy.ops.mesh.bevel")
    assert "offset" in docs.text
    assert (await tell("list_operators", prefix="mesh.bevel"))["operators"]
    assert (await tell("calculate", code="6 * 7"))["result"] == {"result": 42}
    assert await tell("inspect_tool", tool_name="bpy.ops.mesh.bevel")
    assert (await tell("list_jobs"))["jobs"] == []


async def _changes(tell: _Teller) -> None:
    tree = await tell("get_node_tree", kind="material", name="Material")
    tree["nodes"].append({"name": "Noise", "type": "ShaderNodeTexNoise", "inputs": {"Scale": 7.5}})
    tree["links"].append(["Noise", "Color", "Principled BSDF", "Base Color"])
    done = await tell("set_node_tree", kind="material", name="Material", tree=tree)
    assert done["result"] == {"nodes": 3, "links": 2}
    assert (await tell("get_node_tree", kind="material", name="Material"))["links"] == tree["links"]

    path = 'node_tree.nodes["Noise"].inputs["Scale"].default_value'
    material = {"kind": "material", "name": "Material"}
    await tell("set_keyframes", **material, data_path=path, keys=[[1, 7.5], [20, 1.0]])
    await tell("set_frame", frame=20, end=40)
    told = await tell("get_animation", **material)
    [part] = told["animated"]
    assert (told["frame"], told["end"], len(part["curves"][0]["keys"])) == (20, 40, 2)

    calls = [{"tool": "get_object_info", "arguments": {"name": name}} for name in ("Cube", "Light")]
    both = await tell("batch", calls=calls)
    assert [one["is_error"] for one in both["results"]] == [False, False]


async def _tells_what_happens(tell: _Teller) -> None:
    before = await tell("wait_for_event", timeout_seconds=0)
    run = "import bpy\nbpy.data.objects['Cube'].location.z = 3"
    ran = await tell("execute_blender_code", code=run, title="Lift")
    event = await tell("wait_for_event", events=["change"], after=before["newest"], timeout_seconds=20)
    assert event["events"][0]["by"] == "assistant"
    changes = (await tell("list_changes"))["changes"]
    assert any("Cube" in one.get("names", {}).get("objects", ()) for one in changes), changes
    assert changes[-1]["title"] == "Lift"
    undone = await tell("undo_request", request_id=ran["request_id"])
    assert undone["status"] == "success"
    assert (await tell("get_object_info", name="Cube"))["location"] == [0, 0, 0]


async def _story(served: Served) -> set[str]:
    asked: list[str] = []

    async def agree(_context: Any, params: Any) -> Any:
        asked.append(params.message)
        yes = {
            name: True
            for name, of in params.requested_schema["properties"].items()
            if of["type"] == "boolean"
        }
        return ElicitResult(action="accept", content=yes)

    async with Client(transport("websocket", served), elicitation_callback=agree) as client:
        tell = _Teller(client)
        for one in all_tools():
            if not one.listed:
                await tell("find_tools", query=one.name, limit=1)
        listed = {one.name for one in (await client.list_tools()).tools}
        for part in (_looks, _reads, _changes, _tells_what_happens):
            await part(tell)
        assert tell.called <= listed
        assert any("Lift" in text for text in asked)
        return tell.called


def test_the_official_client_calls_every_tool(tmp_path: Path) -> None:
    with serving(tmp_path, BLENDER_MCP_CONFIRM="client", BLENDER_MCP_REHEARSE="never") as served:
        called = asyncio.run(_story(served))
    names = {one.name for one in all_tools()}
    assert names - called - ELSEWHERE == set()
