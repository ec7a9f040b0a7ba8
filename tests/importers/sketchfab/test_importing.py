# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, PolicyError
from bl_ext.user_default.mcp_bridge.importers import append
from bl_ext.user_default.mcp_bridge.importers.append import Imported
from bl_ext.user_default.mcp_bridge.importers.network.transport import Cancelled
from bl_ext.user_default.mcp_bridge.importers.sketchfab import importing
from bl_ext.user_default.mcp_bridge.importers.sketchfab.api import Sketchfab
from bl_ext.user_default.mcp_bridge.importers.work import Work
from bl_ext.user_default.mcp_bridge.sandbox.confinement.folder import RunFolder

from support.clients.tool_calls import on_worker
from support.running import blender
from support.services.sketchfab import TOKEN, UID, SketchfabServer, record
from support.services.traces import traces
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("empty_scene", "server", "_quick_child")


def imported(work: Work, **more: Any) -> Imported:
    wanted = {"size": None, "location": None} | more
    return on_worker(lambda: importing.run(work, Sketchfab(TOKEN).model(UID), **wanted))


def test_a_model_arrives_standing_at_the_cursor_with_its_credit(work: Work, server: SketchfabServer) -> None:
    bpy.context.scene.cursor.location = (4, 5, 6)
    before = traces()
    found = imported(work, size=1.0)
    assert found.objects == ("Old Lamp",), "the wrappers are gone"
    assert found.dimensions == pytest.approx((1, 0.5, 0.25), abs=1e-4)
    assert bpy.data.objects["Old Lamp"].location[:] == pytest.approx((4, 5, 6.125), abs=1e-4)
    credit = bpy.data.objects["Old Lamp"]["asset_credit"]
    assert (credit["author"], credit["licence"], credit["service"]) == (
        "Ada L.",
        "CC Attribution",
        "Sketchfab",
    )
    assert credit["note"].startswith("Author must be credited")
    assert all(image.packed_file for image in bpy.data.images if image.source == "FILE")
    after = traces()
    assert (after["temporary"], after["work"]) == (before["temporary"], before["work"])


def test_the_token_never_reaches_the_storage(work: Work, server: SketchfabServer) -> None:
    imported(work)
    assert [request.headers.get("authorization") for request in server.storage.seen] == [None]
    assert TOKEN not in str(server.storage.seen)


def test_a_password_goes_to_the_service_and_not_to_the_storage(work: Work, server: SketchfabServer) -> None:
    imported(work, password="päss")
    sent = {request.path: request.headers.get("x-skfb-model-pwd") for request in server.seen}
    assert sent == {f"/v3/models/{UID}": None, f"/v3/models/{UID}/download": "cMOkc3M="}
    assert [request.headers.get("x-skfb-model-pwd") for request in server.storage.seen] == [None]
    server.routes[f"/v3/models/{UID}"] = Reply({"detail": "Password required."}, 403)
    with pytest.raises(
        ExternalServiceError, match=r"Password required\. A model that is protected needs its"
    ):
        Sketchfab(TOKEN).model(UID)


def test_how_long_blender_was_held_up_is_noted(work: Work) -> None:
    assert 0 < imported(work).held_up < 5


def test_what_a_killed_blender_leaves_is_removed_by_the_next(server: SketchfabServer, tmp_path: Path) -> None:
    server.archive = bytes(1 << 20)
    server.storage.routes["/archives/1.zip"] = Reply(server.archive, pause=0.05, piece=1000)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env = blender.environment(
        tmp_path,
        TMPDIR=str(temporary),
        BLENDER_MCP_SKETCHFAB_API=server.base,
        BLENDER_MCP_SKETCHFAB_TOKEN=TOKEN,
    )
    other = subprocess.Popen(blender.command(_IMPORT.format(uid=UID)), env=env)
    until = time.monotonic() + 60
    while not list(temporary.rglob("*.part")):
        assert other.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    other.send_signal(signal.SIGKILL)
    other.wait()
    [runs] = temporary.glob("mcp-runs-*")
    RunFolder.make(runs).close()
    assert [path for path in temporary.rglob("*") if path.is_file()] == []


_IMPORT = """
from pathlib import Path
from bl_ext.user_default.mcp_bridge.importers import environment
from bl_ext.user_default.mcp_bridge.importers.sketchfab import importing
from bl_ext.user_default.mcp_bridge.importers.sketchfab.api import Sketchfab
from bl_ext.user_default.mcp_bridge.importers.work import Work
bpy.context.preferences.system.use_online_access = True
importing.run(Work(environment.asset_cache()), Sketchfab(None).model("{uid}"), size=None, location=None)
"""


def test_an_expired_link_is_asked_for_once_more(work: Work, server: SketchfabServer) -> None:
    expired = Reply(
        "<Error><Code>AccessDenied</Code></Error>", 403, headers={"Content-Type": "application/xml"}
    )
    server.storage.routes["/archives/1.zip"] = expired
    assert imported(work).objects == ("Old Lamp",)
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
    before = traces()
    with pytest.raises(ExternalServiceError, match=text):
        imported(work)
    assert traces() == before


@pytest.mark.parametrize("reply", [Reply(b"x", 404), Reply(b"x" * 99, cut=9), Reply("<Error/>", 500)])
def test_a_failed_download_leaves_nothing(work: Work, server: SketchfabServer, reply: Reply) -> None:
    server.storage.routes["/archives/1.zip"] = reply
    before = traces()
    with pytest.raises(ExternalServiceError, match=r"Sketchfab|connection"):
        imported(work)
    assert traces() == before


@pytest.mark.parametrize("stage", ["Downloading", "Opening", "Adding"])
def test_cancel_at_each_stage_leaves_nothing(work: Work, server: SketchfabServer, stage: str) -> None:
    cancelled = threading.Event()

    def report(_percent: float, message: str) -> None:
        if message.startswith(stage):
            cancelled.set()

    before = traces()
    with pytest.raises((Cancelled, Exception), match="ancelled"):
        imported(replace(work, cancelled=cancelled, report=report))
    assert traces() == before


def test_an_append_that_fails_half_way_leaves_nothing(
    work: Work, server: SketchfabServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = traces()
    monkeypatch.setattr(append, "_select", lambda _collection: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        imported(work)
    assert traces() == before


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
