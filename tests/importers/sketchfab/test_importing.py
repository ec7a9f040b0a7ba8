# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.errors import ExternalServiceError, PolicyError
from bl_ext.user_default.mcp_bridge.importers.download import Cancelled
from bl_ext.user_default.mcp_bridge.importers.place import Imported
from bl_ext.user_default.mcp_bridge.importers.sketchfab import importing
from bl_ext.user_default.mcp_bridge.importers.sketchfab.api import Sketchfab
from bl_ext.user_default.mcp_bridge.importers.work import Work

from support.sketchfab import TOKEN, UID, SketchfabServer, record
from support.tool_calls import on_worker
from support.web import Reply

pytestmark = pytest.mark.usefixtures("empty_scene", "server", "_quick_child")


def imported(work: Work, **more: Any) -> Imported:
    wanted = {"size": None, "location": None} | more
    return on_worker(lambda: importing.run(work, Sketchfab(TOKEN).model(UID), **wanted))


def everything() -> tuple[Any, ...]:
    return tuple(
        sorted(getattr(bpy.data, kind).keys()) for kind in ("objects", "meshes", "images", "collections")
    )


def temporary() -> set[str]:
    return {path.name for path in Path(tempfile.gettempdir()).glob("mcp-bridge-*")}


def test_a_model_arrives_standing_at_the_cursor_with_its_credit(work: Work, server: SketchfabServer) -> None:
    bpy.context.scene.cursor.location = (4, 5, 6)
    before = temporary()
    found = imported(work, size=1.0)
    assert found.objects == ("box",), "the wrappers are gone"
    assert found.dimensions == pytest.approx((1, 0.5, 0.25), abs=1e-4)
    assert bpy.data.objects["box"].location[:] == pytest.approx((4, 5, 6.125), abs=1e-4)
    credit = bpy.data.collections["Old Lamp"]["asset_credit"]
    assert (credit["author"], credit["licence"], credit["service"]) == (
        "Ada L.",
        "CC Attribution",
        "Sketchfab",
    )
    assert credit["note"].startswith("Author must be credited")
    assert all(image.packed_file for image in bpy.data.images if image.source == "FILE")
    assert temporary() == before


def test_the_token_never_reaches_the_storage(work: Work, server: SketchfabServer) -> None:
    imported(work)
    assert [request.headers.get("authorization") for request in server.storage.seen] == [None]
    assert TOKEN not in str(server.storage.seen)


def test_an_expired_link_is_asked_for_once_more(work: Work, server: SketchfabServer) -> None:
    expired = Reply(
        "<Error><Code>AccessDenied</Code></Error>", 403, headers={"Content-Type": "application/xml"}
    )
    server.storage.routes["/archives/1.zip"] = expired
    assert imported(work).objects == ("box",)
    assert server.links == 2
    server.storage.routes["/archives/3.zip"] = server.storage.routes["/archives/4.zip"] = expired
    with pytest.raises(ExternalServiceError, match="Sketchfab answered 403"):
        imported(work)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"PK nothing", "damaged or of an unknown kind"),
        (b"", "damaged or of an unknown kind"),
    ],
)
def test_an_archive_that_is_none_leaves_nothing(
    work: Work, server: SketchfabServer, data: bytes, text: str
) -> None:
    server.archive = data
    before = everything(), temporary()
    with pytest.raises(ExternalServiceError, match=text):
        imported(work)
    assert (everything(), temporary()) == before


@pytest.mark.parametrize("reply", [Reply(b"x", 404), Reply(b"x" * 99, cut=9), Reply("<Error/>", 500)])
def test_a_failed_download_leaves_nothing(work: Work, server: SketchfabServer, reply: Reply) -> None:
    server.storage.routes["/archives/1.zip"] = reply
    before = everything(), temporary()
    with pytest.raises(ExternalServiceError, match=r"Sketchfab|connection"):
        imported(work)
    assert (everything(), temporary()) == before


@pytest.mark.parametrize("stage", ["Downloading", "Opening", "Adding"])
def test_cancel_at_each_stage_leaves_nothing(work: Work, server: SketchfabServer, stage: str) -> None:
    cancelled = threading.Event()

    def report(_percent: float, message: str) -> None:
        if message.startswith(stage):
            cancelled.set()

    before = everything(), temporary()
    with pytest.raises((Cancelled, Exception), match="ancelled"):
        imported(replace(work, cancelled=cancelled, report=report))
    assert (everything(), temporary()) == before


def test_a_licence_that_limits_use_has_to_be_accepted(server: SketchfabServer) -> None:
    limited = {"label": "CC Attribution-NonCommercial", "requirements": "No commercial use."}
    server.routes[f"/v3/models/{UID}"] = Reply(record(license=limited))
    model = Sketchfab(None).model(UID)
    with pytest.raises(
        PolicyError, match=r"under “CC Attribution-NonCommercial” \(No commercial use\.\), which limits"
    ):
        importing.check_licence(model, None)
    importing.check_licence(model, "CC Attribution-NonCommercial")
    with pytest.raises(PolicyError, match="does not offer it for download"):
        importing.check_licence(replace(model, downloadable=False), None)


def test_without_a_token_nothing_is_asked(
    work: Work, server: SketchfabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BLENDER_MCP_SKETCHFAB_TOKEN")
    with pytest.raises(PolicyError, match="needs the user's API token"):
        imported(work)
    assert server.links == 0
