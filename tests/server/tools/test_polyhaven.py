# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools as a client calls them, over a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import folders, settings

from support.clients.tool_calls import ToolError, Tools
from support.services.polyhaven import BRICK, CHAIR, SKY, PolyHavenServer
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("empty_scene")


@pytest.fixture
def server(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PolyHavenServer]:
    files = tmp_path_factory.getbasetemp() / "polyhaven-tools"
    files.mkdir(exist_ok=True)
    monkeypatch.setattr(folders, "_folder", tmp_path)
    with PolyHavenServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_POLYHAVEN_API", started.url)
        bpy.context.preferences.system.use_online_access = True
        yield started
        bpy.context.preferences.system.use_online_access = False


@pytest.fixture
def tools(server: PolyHavenServer) -> Iterator[Tools]:
    started = Tools()
    yield started
    started.stop()
    settings.set_preferences({})


def test_search_page_by_page(tools: Tools, server: PolyHavenServer) -> None:
    first = tools("search_polyhaven_assets", limit=3)
    assert first["source"] == "Poly Haven (polyhaven.com)"
    assert (len(first["assets"]), first["total"], first["next_cursor"]) == (3, 4, "3")
    assert first["assets"][0] | {} == {
        "id": BRICK,
        "name": "Brick Wall",
        "type": "textures",
        "description": "Old red bricks",
        "authors": ["Ada"],
        "categories": ["walls"],
        "tags": ["old"],
        "size_m": [0.5, 0.5],
        "max_resolution": [8192, 8192],
        "downloads": 9,
        "url": "https://polyhaven.com/a/brick_wall",
        "thumbnail_url": f"{server.url}/thumbs/x.png?width=256&height=256&v=1",
    }
    second = tools("search_polyhaven_assets", limit=3, cursor=first["next_cursor"])
    assert (len(second["assets"]), second.get("next_cursor")) == (1, None)
    assert tools("search_polyhaven_assets", query="bricks", asset_type="hdris")["assets"] == []


def test_categories(tools: Tools) -> None:
    found = tools("get_polyhaven_categories", asset_type="textures")["categories"]
    assert [item["path"] for item in found["textures"]] == ["architecture", "architecture/walls"]
    assert list(tools("get_polyhaven_categories")["categories"]) == ["hdris", "textures", "models"]


def test_download_texture_credits_and_set_texture(tools: Tools, server: PolyHavenServer) -> None:
    bpy.ops.mesh.primitive_plane_add()
    found = tools("download_polyhaven_asset", asset_id=BRICK, asset_type="textures", resolution="1k")
    assert (found["status"], found["materials"], found["dimensions_m"]) == (
        "success",
        ["Brick Wall"],
        [0.5, 0.5],
    )
    assert found["credit"]["licence"] == "CC0 1.0"
    asked = len(server.downloads())
    set_to = tools("set_texture", object_name="Plane", texture_id=BRICK)
    assert bpy.data.objects["Plane"].material_slots[0].material.name == set_to["materials"][0]
    assert len(server.downloads()) == asked
    credits = tools("get_asset_credits")
    assert [item["title"] for item in credits["credits"]] == ["Brick Wall"]
    assert credits["text"].startswith("“Brick Wall” by Ada, CC0 1.0, from Poly Haven")


def test_a_model_is_opened_in_confinement(tools: Tools) -> None:
    found = tools("download_polyhaven_asset", asset_id=CHAIR, resolution="1k", location=[1, 2, 0])
    assert (found.get("collection"), found["objects"]) == (None, ["Chair"])
    assert (found["dimensions_m"], found.get("left_out")) == ([2, 1, 0.5], None)
    assert 0 < found["append_ms"] < 5000
    [image] = [image for image in bpy.data.images if image.source == "FILE"]
    assert image.packed_file is not None
    found = tools("download_polyhaven_asset", asset_id=CHAIR, resolution="2k", switch_resolution=True)
    assert [image.name for image in bpy.data.images if image.source == "FILE"] == ["chair_diff_2k.jpg"]


def test_a_large_asset_is_asked_about(tools: Tools, server: PolyHavenServer) -> None:
    settings.set_preferences({"ask_above_mb": 1})
    server.files[SKY]["hdri"]["1k"]["hdr"]["size"] = 3_000_000
    with pytest.raises(
        ToolError, match=r"“Studio Sky” has 3.0 MB, and more than 1 MB are fetched only after"
    ):
        tools("download_polyhaven_asset", asset_id=SKY, resolution="1k")
    tools.capabilities = {"elicitation": {"form": {}}}
    asked = tools.raw("download_polyhaven_asset", {"asset_id": SKY, "resolution": "1k"})
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"]["size"]["params"]["message"] == "Download 3.0 MB for “Studio Sky”?"
    assert server.downloads() == []


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"asset_id": "../x"}, "asset_id"),
        ({"asset_id": "https://evil.example/x.hdr"}, "asset_id"),
        ({"asset_id": SKY, "resolution": "3k"}, "resolution"),
        ({"asset_id": SKY, "file_format": "py"}, "file_format"),
        ({"asset_id": SKY, "url": "http://x"}, "url"),
        ({"asset_id": SKY, "asset_type": "models"}, "is one of the hdris, not of the models"),
        ({"asset_id": SKY, "resolution": "16k"}, "there are 1k, 2k"),
    ],
)
def test_parameters_are_checked(
    tools: Tools, server: PolyHavenServer, arguments: dict[str, str], text: str
) -> None:
    with pytest.raises(ToolError, match=text):
        tools("download_polyhaven_asset", **arguments)
    assert server.downloads() == []


def test_a_fault_of_the_service_is_a_result_that_says_so(tools: Tools, server: PolyHavenServer) -> None:
    server.routes["/assets"] = Reply("<html>", 404)
    with pytest.raises(ToolError, match="Poly Haven answered 404 Not Found"):
        tools("search_polyhaven_assets")


def test_offline_says_how_to_allow_it(tools: Tools, server: PolyHavenServer) -> None:
    bpy.context.preferences.system.use_online_access = False
    with pytest.raises(ToolError, match="Preferences › System › Network › Allow Online Access"):
        tools("search_polyhaven_assets")
    assert server.seen == []
