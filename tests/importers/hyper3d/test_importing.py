# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import stat
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from bl_ext.user_default.mcp_bridge.importers.append import Imported
from bl_ext.user_default.mcp_bridge.importers.hyper3d import importing, scene
from bl_ext.user_default.mcp_bridge.importers.hyper3d.api import Order
from bl_ext.user_default.mcp_bridge.importers.hyper3d.orders import Orders
from bl_ext.user_default.mcp_bridge.importers.network.transport import Cancelled
from bl_ext.user_default.mcp_bridge.importers.work import Work

from support.clients.tool_calls import on_worker
from support.services.rodin import KEY, ORDER, RodinServer
from support.services.traces import traces
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("empty_scene", "server", "_quick_child")


def imported(work: Work, **more: Any) -> Imported:
    wanted = {"name": "My Lamp", "size": 1.5, "location": (1, 0, 0)} | more
    return on_worker(lambda: importing.run(work, ORDER, **wanted))


@pytest.mark.parametrize("provider", ["hyper3d", "fal"])
def test_from_an_order_to_the_scene(work: Work, server: RodinServer, provider: Any) -> None:
    ticket = importing.place_order(provider, Order("a lamp"))
    assert importing.progress(ticket.id).state == "done"
    found = imported(work)
    assert (found.collection, found.objects) == (None, ("My Lamp",))
    assert found.dimensions == pytest.approx((1.5, 0.75, 0.375), abs=1e-4)
    assert bpy.data.objects["My Lamp"].location[:] == pytest.approx((1, 0, 0.1875), abs=1e-4)
    assert bpy.data.objects["My Lamp"]["asset_credit"]["note"] == "generated from: a lamp"
    downloads = [request for request in server.seen if request.path.startswith("/files/")]
    assert [(request.path, request.headers.get("authorization")) for request in downloads] == [
        ("/files/model.glb", None)
    ]


def test_an_order_survives_a_restart_and_is_readable_by_its_user_alone(tmp_path: Path) -> None:
    importing.place_order("hyper3d", Order("a lamp"))
    again = Orders(tmp_path / "rodin")
    assert again.get(ORDER).ticket.facts == {"subscription_key": "sub-key"}
    assert [placed.title for placed in again.all()] == ["a lamp"]
    [path] = (tmp_path / "rodin").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert KEY not in path.read_text()


@pytest.mark.parametrize("order_id", ["unknown", "../../etc/passwd", ""])
def test_an_order_that_is_not_there_is_told(order_id: str) -> None:
    with pytest.raises(InvalidParamsError, match=r"no order|not the id of an order"):
        importing.progress(order_id)


def test_an_unfinished_order_is_not_imported(work: Work, server: RodinServer) -> None:
    importing.place_order("hyper3d", Order("a lamp"))
    server.states = ["Done", "Generating"]
    with pytest.raises(InvalidParamsError, match=r"The order is generating, not done\. 1 of 2 steps done"):
        imported(work)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply({"list": []}, 201), "has no GLB model; there is nothing. Try again in a minute"),
        (Reply({"list": [{"name": "a.obj", "url": "http://x/a.obj"}, {}, 3]}), "there is a.obj"),
        (Reply({"list": [{"name": "a.glb", "url": "http://10.0.0.1/a.glb"}]}), "not https: refused"),
        (
            Reply({"list": [{"name": "a.glb", "url": "https://evil.example/a.glb"}]}),
            "not one of its own: refused",
        ),
    ],
)
def test_results_without_a_model_are_reported(
    work: Work, server: RodinServer, reply: Reply, text: str
) -> None:
    importing.place_order("hyper3d", Order("a lamp"))
    server.routes["/api/v2/download"] = reply
    with pytest.raises(ExternalServiceError, match=text):
        imported(work)
    assert list(bpy.data.objects) == []


def test_a_model_that_is_none_leaves_nothing(work: Work, server: RodinServer) -> None:
    importing.place_order("hyper3d", Order("a lamp"))
    server.routes["/files/model.glb"] = Reply(b"glTF\x02")
    before = traces()
    with pytest.raises(ExternalServiceError, match="“My Lamp” can't be opened"):
        imported(work)
    assert traces() == before


@pytest.mark.parametrize(
    "reply", [Reply("gone", 404), Reply("<Error/>", 403), Reply(b"x" * 99, cut=9), Reply(b"", 500)]
)
def test_a_failed_download_leaves_nothing(work: Work, server: RodinServer, reply: Reply) -> None:
    importing.place_order("hyper3d", Order("a lamp"))
    server.routes["/files/model.glb"] = reply
    before = traces()
    with pytest.raises(ExternalServiceError, match="Hyper3D Rodin"):
        imported(work)
    assert traces() == before


@pytest.mark.parametrize("stage", ["Downloading", "Opening", "Adding"])
def test_cancel_at_each_stage_leaves_nothing(work: Work, stage: str) -> None:
    importing.place_order("hyper3d", Order("a lamp"))
    cancelled = threading.Event()

    def report(_percent: float, message: str) -> None:
        if message.startswith(stage):
            cancelled.set()

    before = traces()
    with pytest.raises((Cancelled, main_thread.Cancelled)):
        on_worker(
            lambda: importing.run(
                replace(work, cancelled=cancelled, report=report), ORDER, name="x", size=None, location=None
            )
        )
    assert traces() == before


def test_without_a_key_nothing_is_asked(server: RodinServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert importing.choose(None) == "hyper3d"
    monkeypatch.delenv("BLENDER_MCP_HYPER3D_KEY")
    assert importing.choose(None) == "fal"
    with pytest.raises(PolicyError, match=r"needs the user's own API key .* BLENDER_MCP_HYPER3D_KEY or"):
        importing.choose("hyper3d")
    assert server.seen == []


@pytest.mark.parametrize(
    "value", ["YOUR_API_KEY_GOES_HERE", "short", "has spaces in it, yes", "xxxxxxxxxxxxxxxxxxxxxx"]
)
def test_a_key_that_cannot_be_one_is_neither_sent_nor_shown(
    server: RodinServer, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("BLENDER_MCP_FAL_KEY", value)
    with pytest.raises(
        PolicyError, match=r"The API key of fal.ai in the settings is (not valid|an example)"
    ) as caught:
        importing.place_order("fal", Order("a lamp"))
    assert value not in str(caught.value)
    assert server.seen == []


def test_an_image_of_the_file_becomes_a_picture_and_stays_as_it_is() -> None:
    image = bpy.data.images.new("Sketch", 4, 4)
    before = sorted(bpy.data.images.keys()), image.source, image.filepath
    assert scene.picture("Sketch").kind == "png"
    assert (sorted(bpy.data.images.keys()), image.source, image.filepath) == before
    with pytest.raises(InvalidParamsError, match=r"no image 'Sketc' in this file\. Did you mean 'Sketch'"):
        scene.picture("Sketc")


def test_no_key_is_in_the_file(work: Work, tmp_path: Path) -> None:
    importing.place_order("hyper3d", Order("a lamp"))
    imported(work)
    path = tmp_path / "saved.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
    assert KEY.encode() not in path.read_bytes()
    assert b"sub-key" not in path.read_bytes()
