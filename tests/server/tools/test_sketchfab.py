# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools as a client calls them, over a socket."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest

from support.clients.tool_calls import ToolError, Tools
from support.services.sketchfab import TOKEN, UID, SketchfabServer, record
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("empty_scene")


@pytest.fixture
def server(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SketchfabServer]:
    files = tmp_path_factory.getbasetemp() / "sketchfab-tools"
    files.mkdir(exist_ok=True)
    with SketchfabServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_API", started.base)
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_TOKEN", TOKEN)
        bpy.context.preferences.system.use_online_access = True
        yield started
        bpy.context.preferences.system.use_online_access = False


@pytest.fixture
def tools(server: SketchfabServer) -> Iterator[Tools]:
    started = Tools()
    yield started
    started.stop()


def test_search_shows_the_licence_and_needs_no_token(tools: Tools, server: SketchfabServer) -> None:
    found = tools("search_sketchfab_models", query="lamp", max_faces=1000, licence="by")
    assert found["source"] == "Sketchfab"
    assert found["models"] == [
        {
            "uid": UID,
            "name": "Old Lamp",
            "author": "Ada L.",
            "licence": "CC Attribution",
            "licence_limits_use": False,
            "faces": 12,
            "animations": 0,
            "url": f"https://sketchfab.com/3d-models/{UID}",
            "size_mb": 0.0,
            "thumbnail_url": "https://media.sketchfab.com/small.jpeg",
        }
    ]
    assert server.seen[0].query["max_face_count"] == "1000"
    assert "authorization" not in server.seen[0].headers


def test_download_tells_the_size_the_credit_and_how_long_blender_was_held_up(
    tools: Tools, server: SketchfabServer
) -> None:
    found = tools("download_sketchfab_model", uid=UID, target_size=1, location=[1, 0, 0], password="geheim")
    assert (found["status"], found.get("collection"), found["objects"]) == ("success", None, ["Old Lamp"])
    assert found["dimensions_m"] == [1, 0.5, 0.25]
    assert 0 < found["append_ms"] < 5000
    assert found["credit"]["line"].startswith(
        "“Old Lamp” by Ada L., CC Attribution, from Sketchfab: https://"
    )
    assert {request.headers.get("x-skfb-model-pwd") for request in server.seen} == {"Z2VoZWlt"}
    assert tools("get_asset_credits")["text"] == found["credit"]["line"]


def test_a_licence_that_limits_use_is_shown_before_anything_is_fetched(
    tools: Tools, server: SketchfabServer
) -> None:
    server.routes[f"/v3/models/{UID}"] = Reply(record(license={"label": "CC Attribution-NonCommercial"}))
    with pytest.raises(ToolError, match=r'call again with accept_licence="CC Attribution-NonCommercial"'):
        tools("download_sketchfab_model", uid=UID)
    assert server.links == 0


def test_parameters_are_checked(tools: Tools, server: SketchfabServer) -> None:
    for arguments, text in (
        ({"uid": "../me"}, "uid"),
        ({"uid": "https://evil.example/x"}, "uid"),
        ({"uid": UID, "target_size": 0}, "target_size"),
        ({"uid": UID, "url": "https://evil.example/x"}, "url"),
        ({"uid": UID, "location": [1, 2]}, "location"),
    ):
        with pytest.raises(ToolError, match=text):
            tools("download_sketchfab_model", **arguments)
    assert server.seen == []
