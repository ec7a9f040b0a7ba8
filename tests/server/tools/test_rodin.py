# SPDX-License-Identifier: GPL-3.0-or-later
"""Ordering through the tools: the cost is shown and agreed to first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals import whom_to_ask
from bl_ext.user_default.mcp_bridge.approvals.request import Entry
from bl_ext.user_default.mcp_bridge.importers.hyper3d import importing
from bl_ext.user_default.mcp_bridge.importers.hyper3d.orders import Orders

from support.clients.tool_calls import ToolError, Tools
from support.services.rodin import KEY, ORDER, RodinServer, form

pytestmark = pytest.mark.usefixtures("empty_scene")


@pytest.fixture
def server(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RodinServer]:
    files = tmp_path_factory.getbasetemp() / "rodin-tools"
    files.mkdir(exist_ok=True)
    with RodinServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_HYPER3D_API", started.url)
        monkeypatch.setenv("BLENDER_MCP_HYPER3D_KEY", KEY)
        monkeypatch.setattr(importing, "orders", lambda: Orders(tmp_path / "rodin"))
        bpy.context.preferences.system.use_online_access = True
        yield started
        bpy.context.preferences.system.use_online_access = False


@pytest.fixture
def tools(server: RodinServer) -> Iterator[Tools]:
    started = Tools()
    yield started
    started.stop()


def test_a_client_that_cannot_ask_is_told_the_cost(tools: Tools, server: RodinServer) -> None:
    said = r"Generate a model with Rodin \(Regular\)\? It costs 0.5 credit or more. The account has 12.5 credits."
    with pytest.raises(ToolError, match=said):
        tools("create_rodin_job", prompt="a lamp")
    assert server.orders() == []


def test_a_client_that_can_ask_asks(tools: Tools, server: RodinServer) -> None:
    tools.capabilities = {"elicitation": {"form": {}}}
    asked = tools.raw("create_rodin_job", {"prompt": "a lamp"})
    assert asked["resultType"] == "input_required"
    assert server.orders() == []
    more = {"inputResponses": {"cost": {"action": "decline"}}, "requestState": asked["requestState"]}
    answer = tools.raw("create_rodin_job", {"prompt": "a lamp"}, **more)
    assert (answer["isError"], server.orders()) == (True, [])
    more["inputResponses"] = {"cost": {"action": "accept", "content": {}}}
    answer = tools.raw("create_rodin_job", {"prompt": "a lamp"}, **more)
    assert answer["structuredContent"]["order_id"] == ORDER
    assert len(server.orders()) == 1


def test_with_a_window_the_cost_is_asked_about_in_the_panel(
    tools: Tools, server: RodinServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whom_to_ask, "has_window", lambda: True)
    queue = approvals.current()
    assert queue is not None

    def decide(entry: Entry) -> None:
        if entry.state == "waiting":
            queue.confirm(entry.id, sha256=entry.sha256, revision=0, by="the user in the panel")

    unlisten = queue.listen(decide)
    answer = tools.raw("create_rodin_job", {"prompt": "a lamp"})
    unlisten()
    assert answer["structuredContent"]["order_id"] == ORDER
    entry = queue.entries()[0]
    assert (entry.state, entry.title, entry.request.tool) == ("applied", "Generate with Rodin", "question")
    assert "It costs 0.5 credit or more" in entry.summary

    def refuse(entry: Entry) -> None:
        if entry.state == "waiting":
            queue.deny(entry.id, "too dear")

    unlisten = queue.listen(refuse)
    answer = tools.raw("create_rodin_job", {"prompt": "a lamp"})
    unlisten()
    assert "credits.): too dear" in answer["content"][0]["text"]
    assert len(server.orders()) == 1


def test_order_poll_and_import(tools: Tools, server: RodinServer) -> None:
    bpy.data.images.new("Sketch", 4, 4)
    found = tools("create_rodin_job", images=["Sketch"], bounding_box=[1, 2, 3], confirm_cost=True)
    assert found["order_id"] == ORDER
    assert form(server.orders()[0])["images"][0].startswith(b"\x89PNG")
    assert tools("poll_rodin_job_status", order_id=ORDER)["state"] == "done"
    found = tools("import_generated_asset", order_id=ORDER, name="Lamp", target_size=2)
    assert (found.get("collection"), found["objects"]) == (None, ["Lamp"])
    assert found["dimensions_m"] == [2, 1, 0.5]
    assert tools("check_rodin_balance") == {
        "provider": "hyper3d",
        "credits": 12.5,
        "unit": "credits",
    }


def test_parameters_are_checked(tools: Tools, server: RodinServer) -> None:
    for arguments, text in (
        ({}, "Give a prompt, pictures, or both"),
        ({"prompt": "x", "bounding_box": [0, 1, 2]}, "bounding_box"),
        ({"prompt": "x", "seed": 70000}, "seed"),
        ({"prompt": "x", "tier": "Best"}, "tier"),
        ({"images": ["none"]}, "no image 'none'"),
    ):
        with pytest.raises(ToolError, match=text):
            tools("create_rodin_job", confirm_cost=True, **arguments)
    assert server.orders() == []
