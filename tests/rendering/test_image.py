# SPDX-License-Identifier: GPL-3.0-or-later
"""A real render: started, watched, polled and cancelled by a real client of each era."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import bpy
import mcp
import pytest
from bl_ext.user_default.mcp_bridge.base import jobs, main_thread, settings
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.files import client_files
from bl_ext.user_default.mcp_bridge.rendering import image
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.assembly import Bridge
from bl_ext.user_default.mcp_bridge.server.tools import pictures
from websockets.asyncio.client import connect

from support.bridges.live import websocket_transport
from support.bridges.protocol import handshake, notification, request, stateless

Json = dict[str, Any]
TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
SMALL = {"resolution": [64, 32], "samples": 4, "format": "png"}
LONG = {"resolution": [1920, 1080], "samples": 60000}


@pytest.fixture(autouse=True)
def _scene(empty_scene: None) -> None:
    bpy.ops.mesh.primitive_monkey_add()
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location.z = 8
    bpy.context.scene.collection.objects.link(camera)
    bpy.context.scene.camera = camera


@pytest.fixture
def running() -> Iterator[Bridge]:
    yield bridge.start(settings.load(environ={}))
    bridge.stop()


@pytest.fixture
def use(running: Bridge) -> Callable[[Callable[[str], Awaitable[Any]]], Any]:
    """Gives a function that runs a client's work in another thread while this one is Blender's."""

    def run(work: Callable[[str], Awaitable[Any]]) -> Any:
        outcome: list[Any] = []
        url = f"{running.websocket_url}?token={running.token}"

        def thread() -> None:
            try:
                outcome.append(asyncio.run(asyncio.wait_for(work(url), 60)))
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


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG")
    return struct.unpack("!II", png[16:24])


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_picture_with_progress(use: Any, mode: str) -> None:
    async def work(url: str) -> None:
        seen: list[tuple[float, float]] = []

        async def progressed(progress: float, total: float, _message: Any) -> None:
            seen.append((progress, total))

        async with mcp.Client(websocket_transport(url), mode=mode) as client:
            result = await client.call_tool("render_image", SMALL, progress_callback=progressed)
            assert not result.is_error, result.content
            assert size_of(base64.b64decode(result.content[0].data)) == (64, 32)
            assert result.structured_content is None  # which some clients would show in place of the picture
            assert json.loads(result.content[-1].text)["engine"] == "CYCLES"
            assert seen[-1] == (4, 4)
            (contents,) = (await client.read_resource("blender://render/last")).contents
            assert contents.blob == result.content[0].data

    use(work)


def test_a_large_picture_is_a_link_to_the_clients_own_copy(use: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MOST_BYTES", 10)

    async def work(url: str) -> None:
        async with mcp.Client(websocket_transport(url)) as client:
            first = await client.call_tool("render_image", SMALL)
            await client.call_tool("render_image", SMALL | {"resolution": [32, 32]})
            preview, words, link, facts = first.content
            assert preview.mime_type == "image/jpeg"
            assert base64.b64decode(preview.data).startswith(b"\xff\xd8\xff")
            assert words.text.endswith("this is a preview, the whole picture is behind the link")
            assert (link.type, link.uri) == ("resource_link", json.loads(facts.text)["uri"])
            (contents,) = (await client.read_resource(link.uri)).contents
            assert size_of(base64.b64decode(contents.blob)) == (64, 32)
            monkeypatch.setattr(client_files, "_MOST_FILES", 2)  # no room for a third
            third = await client.call_tool("render_image", SMALL)
            assert third.content[2].uri == "blender://render/last"

    use(work)


class Wire:
    """A WebSocket on which messages are sent and picked out."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.seen: list[Json] = []

    async def send(self, message: Json) -> None:
        await self._socket.send(json.dumps(message))

    async def find(self, wanted: Callable[[Json], Any]) -> Json:
        while True:
            message = json.loads(await self._socket.recv())
            self.seen.append(message)
            if wanted(message):
                return message

    async def ask(self, message: Json) -> Json:
        await self.send(message)
        answer = await self.find(lambda one: one.get("id") == message["id"])
        found: Json = answer["result"]
        return found


def processes() -> int:
    return confinement.counts().running


def test_a_session_cancels_a_render(use: Any) -> None:
    async def work(url: str) -> None:
        async with connect(url) as socket:
            wire = Wire(socket)
            await wire.ask(handshake(0))
            call = request(1, "tools/call", name="render_image", arguments=LONG, _meta={"progressToken": "p"})
            await wire.send(call)
            await wire.find(lambda one: one.get("method") == "notifications/progress")
            assert processes() == 1
            begin = time.monotonic()
            await wire.send(notification("notifications/cancelled", requestId=1))
            while processes():
                await asyncio.sleep(0.01)
            assert time.monotonic() - begin < 30
            jobs_of = (await wire.ask(request(2, "tools/call", name="list_jobs")))["structuredContent"][
                "jobs"
            ]
            assert (jobs_of[0]["kind"], jobs_of[0]["state"]) == ("render", "cancelled")
            assert not [one for one in wire.seen if one.get("id") == 1]

    use(work)


def test_a_session_that_does_not_wait_polls(use: Any) -> None:
    async def work(url: str) -> None:
        async with connect(url, max_size=None) as socket:
            wire = Wire(socket)
            await wire.ask(handshake(0))
            arguments = {**SMALL, "wait_seconds": 0}
            pending = await wire.ask(request(1, "tools/call", name="render_image", arguments=arguments))
            job_id = pending["structuredContent"]["job_id"]
            assert pending["structuredContent"]["status"] == "pending"
            asked = {"job_id": job_id, "wait_seconds": 30}
            found = await wire.ask(request(2, "tools/call", name="get_job", arguments=asked))
            told = json.loads(found["content"][0]["text"])
            assert (told["state"], told["result"]["width"]) == ("completed", 64)
            assert found["content"][1]["type"] == "image"
            arguments = {**LONG, "wait_seconds": 0}
            pending = await wire.ask(request(3, "tools/call", name="render_image", arguments=arguments))
            cancelled = {"job_id": pending["structuredContent"]["job_id"]}
            found = await wire.ask(request(4, "tools/call", name="cancel_job", arguments=cancelled))
            assert found["structuredContent"]["state"] == "cancelled"
            while processes():
                await asyncio.sleep(0.01)

    use(work)


def test_a_task_is_watched_polled_and_cancelled(use: Any) -> None:
    async def work(url: str) -> None:
        async with connect(url, max_size=None) as socket:
            wire = Wire(socket)
            created = await wire.ask(stateless(1, "tools/call", TASKS, name="render_image", arguments=LONG))
            assert (created["resultType"], created["status"]) == ("task", "working")
            task_id = created["taskId"]
            wanted = {"taskIds": [task_id]}
            await wire.send(stateless("w", "subscriptions/listen", TASKS, notifications=wanted))
            told = await wire.find(
                lambda one: (
                    "of 60000" in one.get("params", {}).get("statusMessage", "")
                    and one["method"] == "notifications/tasks"
                )
            )
            assert told["params"]["status"] == "working"
            await wire.ask(stateless(2, "tasks/cancel", TASKS, taskId=task_id))
            task = await wire.ask(stateless(3, "tasks/get", TASKS, taskId=task_id))
            assert task["status"] == "cancelled"
            while processes():
                await asyncio.sleep(0.01)
            created = await wire.ask(stateless(4, "tools/call", TASKS, name="render_image", arguments=SMALL))
            while True:
                task = await wire.ask(stateless(5, "tasks/get", TASKS, taskId=created["taskId"]))
                if task["status"] != "working":
                    break
                await asyncio.sleep(0.05)
            assert (task["status"], task["result"]["content"][0]["type"]) == ("completed", "image")

    use(work)


def test_the_scene_and_blender_stay_as_they_are(use: Any) -> None:
    before = (bpy.context.scene.render.resolution_x, bpy.context.scene.render.engine, bpy.data.is_dirty)
    other = bpy.data.objects.new("Other", bpy.data.cameras.new("Other"))
    bpy.context.scene.collection.objects.link(other)

    async def work(url: str) -> None:
        async with mcp.Client(websocket_transport(url)) as client:
            rendering = asyncio.create_task(
                client.call_tool("render_image", {**SMALL, "samples": 400, "camera": "Other", "frame": 7})
            )
            while not processes():
                await asyncio.sleep(0.01)
            begin = time.monotonic()
            assert (await client.call_tool("get_scene_info", {})).structured_content["camera"] == "Camera"
            assert time.monotonic() - begin < 10  # Blender answers while the other one renders
            assert not (await rendering).is_error

    use(work)
    scene = bpy.context.scene
    assert (scene.render.resolution_x, scene.render.engine, bpy.data.is_dirty) == before
    assert (scene.camera.name, scene.frame_current) == ("Camera", 1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"camera": "Suzanne"}, "'Suzanne' is no camera. Cameras: Camera"),
        ({"camera": "Camra"}, "Did you mean 'Camera'?"),
        ({"engine": "LUXCORE"}, "engine: must be one of"),
        ({"resolution": [64]}, "resolution: must contain at least 2 items"),
        ({"samples": 0}, "samples: must be bigger than or equal to 1"),
    ],
)
def test_a_wrong_argument_is_named(use: Any, arguments: Json, says: str) -> None:
    async def work(url: str) -> Any:
        async with mcp.Client(websocket_transport(url)) as client:
            return await client.call_tool("render_image", arguments)

    result = use(work)
    assert result.is_error
    assert says in result.content[0].text
    assert processes() == 0


def test_without_a_camera_nothing_is_begun() -> None:
    bpy.context.scene.camera = None
    with pytest.raises(InvalidParamsError, match="The scene has no camera"):
        image.prepare()
    assert jobs.registry.list("local") == [] or all(job.ended for job in jobs.registry.list("local"))


def test_a_copy_that_nobody_renders_goes() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    plan = image.prepare()
    path = plan.copy.path
    assert path.exists()
    del plan
    assert not path.exists()


def test_renders_at_once_are_bounded(use: Any) -> None:
    async def work(url: str) -> None:
        async with connect(url) as socket:
            wire = Wire(socket)
            ids = [
                (await wire.ask(stateless(n, "tools/call", TASKS, name="render_image", arguments=LONG)))[
                    "taskId"
                ]
                for n in range(3)
            ]
            states: list[str] = []
            while "completed" not in states:
                tasks = [await wire.ask(stateless(f"g{i}", "tasks/get", TASKS, taskId=i)) for i in ids]
                states = [task["status"] for task in tasks]
                await asyncio.sleep(0.05)
            refused = tasks[states.index("completed")]["result"]
            assert refused["isError"]
            assert "2 renders are under way" in refused["content"][0]["text"]
            for task_id in ids:
                await wire.ask(stateless(f"c{task_id}", "tasks/cancel", TASKS, taskId=task_id))
            while processes():
                await asyncio.sleep(0.01)

    use(work)
