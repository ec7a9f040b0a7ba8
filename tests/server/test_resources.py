# SPDX-License-Identifier: GPL-3.0-or-later
"""What a real client reads of a real Blender, and hears of its changes."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import bpy
import mcp
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals.request import InjectScriptRequest
from bl_ext.user_default.mcp_bridge.base import jobs, journal, main_thread, settings
from bl_ext.user_default.mcp_bridge.server import bridge, resources
from bl_ext.user_default.mcp_bridge.server.assembly import Bridge

from support.bridges.live import websocket_transport

pytestmark = pytest.mark.usefixtures("empty_scene")

Json = dict[str, Any]


@pytest.fixture
def running() -> Iterator[Bridge]:
    yield bridge.start(settings.load(environ={}))
    bridge.stop()


@pytest.fixture
def use(running: Bridge) -> Callable[[Callable[[mcp.Client], Awaitable[Any]]], Any]:
    """Gives a function that runs a client's work in another thread while this one is Blender's."""

    def run(work: Callable[[mcp.Client], Awaitable[Any]], mode: str = "2026-07-28") -> Any:
        outcome: list[Any] = []

        async def session() -> Any:
            url = f"{running.websocket_url}?token={running.token}"
            async with mcp.Client(websocket_transport(url), mode=mode) as client:
                return await asyncio.wait_for(work(client), 20)

        def thread() -> None:
            try:
                outcome.append(asyncio.run(session()))
            except BaseException as error:
                outcome.append(error)

        worker = threading.Thread(target=thread)
        worker.start()
        main_thread.pump(worker.is_alive)
        worker.join()
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return outcome[0]

    return run


async def read(client: mcp.Client, uri: str) -> Any:
    (contents,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    assert contents.uri == uri
    return json.loads(contents.text)


def test_every_listed_resource_can_be_read(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_last_render", None)
    journal.current().write("test", client="local")
    journal.current().write("test", client="somebody else", note='"client":"local"')
    journal.current().write("nobody")
    bpy.ops.mesh.primitive_cube_add()

    async def work(client: mcp.Client) -> None:
        listed = {one.uri: one for one in (await client.list_resources()).resources}
        assert set(listed) == {
            "blender://scene", "blender://objects", "blender://selection", "blender://materials",
            "blender://events",
            "blender://journal", "blender://render/last",
        }  # fmt: skip
        assert all(one.description and one.mime_type and one.annotations for one in listed.values())
        assert (await read(client, "blender://scene"))["name"] == "Scene"
        assert [one["name"] for one in await read(client, "blender://objects")] == ["Cube"]
        selection = await read(client, "blender://selection")
        assert (selection["active_object"], selection["objects"][0]["name"]) == ("Cube", "Cube")
        assert await read(client, "blender://materials") == []
        lines = (await client.read_resource("blender://journal")).contents[0].text.splitlines()
        assert {json.loads(line)["client"] for line in lines} == {"local"}
        assert json.loads(lines[-1])["event"] == "test"
        with pytest.raises(mcp.MCPError, match="Resource not found: blender://render/last"):
            await client.read_resource("blender://render/last")

    use(work)


def test_templates_know_any_name(use: Any) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.name = "Küche / 100 %?"
    material = bpy.data.materials.new("Red")
    if bpy.app.version < (5, 0, 0):
        material.use_nodes = True
    bpy.context.object.data.materials.append(material)
    bpy.context.scene.collection.children.link(bpy.data.collections.new("Props"))

    async def work(client: mcp.Client) -> None:
        templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
        assert templates == {
            "blender://object/{name}", "blender://material/{name}", "blender://collection/{name}",
            "blender://request/{id}",
            "blender://file/{id}",
            "blender://file/{id}/{part}",
        }  # fmt: skip
        found = await read(client, "blender://object/K%C3%BCche%20%2F%20100%20%25%3F")
        assert (found["name"], found["mesh"]["vertices"]) == ("Küche / 100 %?", 8)
        red = await read(client, "blender://material/Red")
        assert red["objects"] == ["Küche / 100 %?"]
        (principled,) = [node for node in red["nodes"] if node["type"] == "ShaderNodeBsdfPrincipled"]
        assert principled["inputs"]["Base Color"] == [0.8, 0.8, 0.8, 1.0]
        assert red["links"] == [["Principled BSDF/BSDF", "Material Output/Surface"]]
        assert (await read(client, "blender://collection/Props"))["objects"] == []
        for gone in ("object/Cube", "material/Blue", "collection/X", "request/1"):
            with pytest.raises(mcp.MCPError, match=f"Resource not found: blender://{gone}"):
                await client.read_resource(f"blender://{gone}")

    use(work)


def test_requests_are_read_by_their_owner_alone(use: Any) -> None:
    mine = jobs.registry.begin("render", "Render", "local")
    mine.report(1, 4)
    other = jobs.registry.begin("render", "Render", "somebody else")

    async def work(client: mcp.Client) -> None:
        found = await read(client, f"blender://request/{mine.id}")
        assert (found["state"], found["progress"], found["total"]) == ("working", 1, 4)
        with pytest.raises(mcp.MCPError):
            await client.read_resource(f"blender://request/{other.id}")

    use(work)


def test_a_request_in_the_queue_is_told_step_by_step(use: Any) -> None:
    queue = approvals.current()
    assert queue is not None
    for name, owner in (("mine1", "local"), ("other1", "somebody else")):
        queue.submit(
            InjectScriptRequest(name, "Client", "contextual", "x = 1", 0.0, owner, title="A chair"),
            asks="panel",
        )
        queue.store_script(name, "x = 1")
        queue.store_validation(name, {"is_valid": True})

    async def work(client: mcp.Client) -> None:
        uri = "blender://request/mine1"
        assert (await read(client, uri))["state"] == "working"
        async with client.listen(resource_subscriptions=[uri]) as heard:
            news = heard.__aiter__()
            queue.store_rehearsal("mine1", {}, "Object 'Chair' would be added.", 3)
            queue.ask("mine1", revision=3)
            await news.__anext__()
            waiting = await read(client, uri)
            assert (waiting["state"], waiting["request"]["state"]) == ("input_required", "waiting")
            assert waiting["request"]["rehearsal"] == "Object 'Chair' would be added."
            queue.deny("mine1", "no chairs")
            await news.__anext__()
        denied = await read(client, uri)
        assert (denied["state"], denied["message"], denied["title"]) == ("failed", "no chairs", "A chair")
        assert denied["request"]["user_confirmed"] is False
        with pytest.raises(mcp.MCPError, match="Resource not found"):
            await client.read_resource("blender://request/other1")

    use(work)


def test_the_last_render_is_a_picture(use: Any, running: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_last_render", None)

    async def work(client: mcp.Client) -> None:
        async with client.listen(resource_subscriptions=[resources.RENDER]) as heard:
            resources.remember_render(b"picture", "image/png")
            await heard.__aiter__().__anext__()
        (contents,) = (await client.read_resource(resources.RENDER)).contents
        assert (base64.b64decode(contents.blob), contents.mime_type) == (b"picture", "image/png")
        listed = {one.uri: one.size for one in (await client.list_resources(cache_mode="bypass")).resources}
        assert listed[resources.RENDER] == len(b"picture")

    use(work)


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_changes_are_told_once_for_many(use: Any, mode: str) -> None:
    bpy.ops.mesh.primitive_cube_add()
    heard: list[str] = []

    def change() -> None:
        for step in range(50):
            bpy.data.objects["Cube"].location.x = step
            bpy.context.view_layer.update()

    async def changed() -> None:
        await asyncio.wrap_future(main_thread.run(change))
        await asyncio.sleep(3 * resources.DEBOUNCE_S)

    async def work(client: mcp.Client) -> None:
        uris = ["blender://object/Cube", "blender://object/Other", "blender://materials"]
        if mode == "legacy":
            for uri in uris:
                if uri != "blender://object/Other":
                    await client.subscribe_resource(uri)
            await changed()
            return
        async with client.listen(resource_subscriptions=uris) as stream:
            await changed()
            events = stream.__aiter__()
            heard.append((await events.__anext__()).uri)
            await changed()
            heard.append((await events.__anext__()).uri)

    if mode == "legacy":
        seen = _notifications(use, work)
        assert seen == ["blender://object/Cube"]
    else:
        use(work)
        assert heard == ["blender://object/Cube"] * 2


def _notifications(use: Any, work: Any) -> list[str]:
    """Updates that a handshake client was sent while `work` ran."""
    seen: list[str] = []

    async def watching(client: mcp.Client) -> None:
        original = client.session._message_handler

        async def handler(message: Any) -> None:
            if getattr(message, "method", "") == "notifications/resources/updated":
                seen.append(message.params.uri)
            await original(message)

        client.session._message_handler = handler
        await work(client)

    use(watching, "legacy")
    return seen


def test_undo_and_load_tell_everything_that_is_subscribed(use: Any) -> None:
    def load() -> None:
        bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)

    async def work(client: mcp.Client) -> list[str]:
        uris = ["blender://materials", "blender://object/Any"]
        async with client.listen(resource_subscriptions=uris) as stream:
            await asyncio.wrap_future(main_thread.run(load))
            events = stream.__aiter__()
            return [(await events.__anext__()).uri for _ in range(2)]

    assert sorted(use(work)) == ["blender://materials", "blender://object/Any"]


def test_names_are_completed(use: Any) -> None:
    for name in ("Chair", "Armchair", "Table"):
        bpy.data.objects.new(name, None)

    async def work(client: mcp.Client) -> None:
        template = mcp.types.ResourceTemplateReference(type="ref/resource", uri="blender://object/{name}")
        found = await client.complete(template, {"name": "name", "value": "cha"})
        assert found.completion.values == ["Chair", "Armchair"]
        prompt = mcp.types.PromptReference(type="ref/prompt", name="turntable")
        found = await client.complete(prompt, {"name": "object", "value": "Ta"})
        assert found.completion.values == ["Table"]

    use(work)


def test_prompts_and_instructions(use: Any) -> None:
    bpy.ops.mesh.primitive_cube_add()

    async def work(client: mcp.Client) -> None:
        names = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert names >= {"format-to-bpy", "contextual", "model-object", "turntable"}
        prompt = await client.get_prompt("contextual", {"request": "paint the cube"})
        assert "paint the cube" in prompt.messages[0].content.text
        assert json.loads(prompt.messages[1].content.resource.text)["objects"][0]["name"] == "Cube"

    use(work)
    core = bridge.current().app.core  # type: ignore[union-attr]
    assert 500 < len(core.instructions) <= 1500
    for tool in ("get_scene_info", "execute_blender_code"):
        assert tool in core.instructions


def test_every_operator_has_a_name() -> None:
    names = resources.datablocks.operators()
    assert "mesh.primitive_cube_add" in names
    assert len(names) > 1000
