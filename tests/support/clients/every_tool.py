# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls every tool at least once with the official client, over a real socket; services have local stand-ins.

The client knows the schema of every result, since it reads the whole list first, and refuses a result that breaks it.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bl_ext.user_default.mcp_bridge.server.tools import all_tools
from mcp import Client
from mcp_types import ElicitResult

from support.bridges.serving import Served
from support.clients.sdk import transport
from support.services import rodin, sketchfab
from support.services.polyhaven import BRICK, CHAIR, PolyHavenServer

__all__ = ("CHOICES", "services", "tell")

Part = Callable[["_Teller"], Awaitable[None]]

CHOICES = {"BLENDER_MCP_CONFIRM": "client", "BLENDER_MCP_REHEARSE": "never"}
"""The settings that the story needs, as variables; BLENDER_MCP_FOLDERS has to name a folder besides."""

FRAMES = 3
#: Longer than any test waits: the story cancels it.
LONG = {"resolution": [1920, 1080], "samples": 60000}
_OBJ = b"v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n"


class _Teller:
    """A client's session: its calls succeed, and return the structured result, or the pictures with their text.

    `asked` has the questions to the user, who agrees to everything.
    """

    def __init__(self, client: Any, asked: list[str]) -> None:
        self._client = client
        self.asked = asked
        self.called: set[str] = set()

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self._call(tool, arguments)
        return result.structured_content if result.structured_content is not None else result.content

    async def whole(self, tool: str, **arguments: Any) -> Any:
        """Return all blocks of the answer, even if it has a structured result."""
        return (await self._call(tool, arguments)).content

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        self.called.add(tool)
        result = await self._client.call_tool(tool, arguments)
        assert not result.is_error, (tool, result.content)
        return result


async def _looks(tell: _Teller) -> None:
    for tool, arguments in (("get_viewport_screenshot", {"max_size": 64}), ("look", {"max_size": 128})):
        image, note = await tell(tool, **arguments)
        assert base64.b64decode(image.data).startswith(b"\xff\xd8\xff"), "a JPEG"
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
    used = await tell("use_tool", name="get_object_info", arguments={"name": "Camera"})
    assert used["type"] == "CAMERA"
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
    assert any("Lift" in text for text in tell.asked)
    undone = await tell("undo_request", request_id=ran["request_id"])
    assert undone["status"] == "success"
    assert (await tell("get_object_info", name="Cube"))["location"] == [0, 0, 0]


async def _works_on_files(tell: _Teller) -> None:
    # No glTF: after an export of it, Python's end crashes the bpy module, even without the extension.
    done = await tell("export_file", path="cube.obj", objects=["Cube"])
    assert (done["objects"], [Path(name).name for name in done["files"]]) == (1, ["cube.obj", "cube.mtl"])
    saved = await tell("save_file", path="scene.blend")
    assert (
        Path((await tell("save_copy", path="copy.blend"))["path"])
        .read_bytes()
        .startswith((b"BLENDER", b"\x28\xb5\x2f\xfd"))
    )
    tried = await tell(
        "run_in_files",
        paths=["copy.blend"],
        code="import bpy\nresult = len(bpy.data.objects)",
        save_as="{name}_new.blend",
        wait_seconds=45,
    )
    assert [(one["status"], one["result"]) for one in tried["files"]] == [("saved", 4)], tried
    opened = await tell("open_file", path=saved["path"])
    assert (opened["path"], opened["objects"]) == (saved["path"], 4)
    assert any("Open" in text for text in tell.asked)


async def _sends_and_fetches(tell: _Teller) -> None:
    sent = await tell("upload_file", name="part.obj", data=base64.b64encode(_OBJ).decode())
    brought = await tell("import_file", file=sent["file"], target_size=1)
    assert brought["dimensions_m"] == [1, 0, 0.5]  # OBJ has Y up
    [shown, _facts] = await tell.whole("download_file", file=sent["file"])
    assert base64.b64decode(shown.resource.blob) == _OBJ
    assert [one["name"] for one in (await tell("list_files"))["files"]] == ["part.obj"]
    assert (await tell("remove_file", file=sent["file"]))["files"] == []


async def _ended(tell: _Teller, answer: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a call; if the call was answered by a job, wait for the job."""
    while "frames" not in answer:
        job = await tell("get_job", job_id=answer["job_id"], wait_seconds=20)
        assert job["state"] in ("working", "completed"), job
        answer = job.get("result", answer)
    return answer


async def _renders(tell: _Teller) -> None:
    picture, _note, facts = await tell.whole("render_image", resolution=[32, 18], samples=1, format="png")
    assert base64.b64decode(picture.data).startswith(b"\x89PNG")
    assert json.loads(facts.text)["width"] == 32
    answer = await tell(
        "render_animation", path="film.png", start=1, end=FRAMES, resolution=[32, 18], samples=1
    )
    done = await _ended(tell, answer)
    assert (done["frames"], done["first"], done["last"]) == (FRAMES, "film_0001.png", "film_0003.png")
    begun = await tell("render_image", **LONG, wait_seconds=0)
    assert (await tell("get_job", job_id=begun["job_id"]))["state"] == "working"
    assert (await tell("cancel_job", job_id=begun["job_id"]))["state"] == "cancelled"


async def _has_scripts_tried_and_run(tell: _Teller) -> None:
    add = "import bpy\nbpy.context.collection.objects.link(bpy.data.objects.new('Marker', None))"
    tried = await tell("rehearse_script", code=add)
    assert [one["name"] for one in tried["difference"]["added"]] == ["Marker"]
    before = {one["name"] for one in (await tell("get_scene_info"))["objects"]}
    ran = await tell("inject_bpy_script", script=f"Here it is:\n\n```python\n{add}\n```", title="Mark")
    assert ran["status"] == "success"
    after = {one["name"] for one in (await tell("get_scene_info"))["objects"]}
    assert after - before == {"Marker"}
    assert any("“Mark”" in text for text in tell.asked)


async def _fetches_from_poly_haven(tell: _Teller) -> None:
    found = await tell("search_polyhaven_assets", query="chair")
    assert CHAIR in [one["id"] for one in found["assets"]]
    assert (await tell("get_polyhaven_categories"))["categories"]["models"]
    chair = await tell("download_polyhaven_asset", asset_id=CHAIR, resolution="1k")
    assert chair["dimensions_m"] == [2, 1, 0.5]
    walled = await tell("set_texture", object_name="Cube", texture_id=BRICK, resolution="1k")
    assert walled["status"] == "success"
    credits = await tell("get_asset_credits")
    assert {one["title"] for one in credits["credits"]} == {"part.obj", "Chair", "Brick Wall"}


async def _fetches_from_sketchfab(tell: _Teller) -> None:
    [found] = (await tell("search_sketchfab_models", query="lamp"))["models"]
    lamp = await tell("download_sketchfab_model", uid=found["uid"], target_size=1)
    assert lamp["dimensions_m"] == [1, 0.5, 0.25]


async def _has_a_model_generated(tell: _Teller) -> None:
    assert (await tell("check_rodin_balance"))["credits"] == 12.5
    order = (await tell("create_rodin_job", prompt="a lamp"))["order_id"]
    assert any("0.5 credit" in text for text in tell.asked)
    assert (await tell("poll_rodin_job_status", order_id=order))["state"] == "done"
    made = await tell("import_generated_asset", order_id=order, name="Generated", target_size=1)
    assert made["objects"] == ["Generated"]


#: In this order, since one step builds on the scene of another.
PARTS: tuple[Part, ...] = (
    _looks,
    _reads,
    _changes,
    _tells_what_happens,
    _has_scripts_tried_and_run,
    _renders,
    _works_on_files,
    _sends_and_fetches,
    _fetches_from_poly_haven,
    _fetches_from_sketchfab,
    _has_a_model_generated,
)


def tell(served: Served) -> set[str]:
    """Run the story in a Blender with the factory scene; return the names of the called tools."""
    return asyncio.run(_story(served))


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
        tell = _Teller(client, asked)
        listed = {one.name for one in (await client.list_tools()).tools}
        others = [one.name for one in all_tools() if one.name not in listed]
        # At once, since each call waits a while for the client to request the list again.
        await asyncio.gather(*(tell("find_tools", query=name, limit=1) for name in others))
        listed = {one.name for one in (await client.list_tools(cache_mode="bypass")).tools}
        for part in PARTS:
            await part(tell)
        assert tell.called <= listed
        return tell.called


@contextmanager
def services(folder: Path) -> Iterator[dict[str, str]]:
    """Start local stand-ins for the asset services, with files in `folder`; yield the variables for Blender."""
    homes = [folder / name for name in ("polyhaven-tools", "sketchfab-tools", "rodin-tools")]
    for home in homes:
        home.mkdir(parents=True, exist_ok=True)
    haven, fab, hyper = homes
    with (
        PolyHavenServer(haven) as polyhaven,
        sketchfab.SketchfabServer(fab) as models,
        rodin.RodinServer(hyper) as hyper3d,
    ):
        yield {
            "BLENDER_MCP_POLYHAVEN_API": polyhaven.url,
            "BLENDER_MCP_SKETCHFAB_API": models.base,
            "BLENDER_MCP_SKETCHFAB_TOKEN": sketchfab.TOKEN,
            "BLENDER_MCP_HYPER3D_API": hyper3d.url,
            "BLENDER_MCP_HYPER3D_KEY": rodin.KEY,
        }
