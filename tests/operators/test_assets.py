# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel Assets, operated without a window: timers do not fire there, so the tests turn them by hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import folders, settings
from bl_ext.user_default.mcp_bridge.importers.hyper3d import importing as hyper3d
from bl_ext.user_default.mcp_bridge.importers.hyper3d.orders import Orders
from bl_ext.user_default.mcp_bridge.importers.opening import confined
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.operators.assets import PREFIX, asset_view
from bl_ext.user_default.mcp_bridge.panels.assets import MCP_BRIDGE_PT_assets, _fitting

from support.on_screen.asset_timers import settle
from support.on_screen.layout import Drawn, draw
from support.services.opening import in_fork
from support.services.polyhaven import SKY, PolyHavenServer
from support.services.rodin import KEY, RodinServer
from support.services.sketchfab import TOKEN, UID, SketchfabServer, record
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("empty_scene", "_fresh")


@pytest.fixture
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(folders, "_folder", tmp_path)
    bpy.context.preferences.system.use_online_access = True
    asset_view.unregister()
    asset_view.register()
    yield
    settle()
    asset_view.unregister()
    asset_view.register()
    for name in ("service", "kind", "shown", "query", "category", "resolution", "size", "mark", "prompt"):
        bpy.context.window_manager.property_unset(PREFIX + name)
    settings.set_preferences({})
    bpy.context.preferences.system.use_online_access = False


@pytest.fixture
def polyhaven(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PolyHavenServer]:
    files = tmp_path_factory.getbasetemp() / "polyhaven-panel"
    files.mkdir(exist_ok=True)
    with PolyHavenServer(files) as started:
        monkeypatch.setenv("BLENDER_MCP_POLYHAVEN_API", started.url)
        yield started


def shown() -> Drawn:
    return draw(MCP_BRIDGE_PT_assets)


def choose(**values: Any) -> None:
    for name, value in values.items():
        setattr(bpy.context.window_manager, PREFIX + name, value)
    settle()


def test_at_rest_it_offers_to_show_assets_and_names_its_source() -> None:
    drawn = shown()
    assert drawn.operators() == ["mcp_bridge.search_assets", "wm.url_open", "mcp_bridge.copy_credits"]
    assert drawn.labels == ["Poly Haven, polyhaven.com"]
    assert [name.removeprefix(PREFIX) for name in drawn.properties] == [
        "service",
        "query",
        "shown",
        "kind",
        "category",
        "resolution",
        "mark",
    ]


def test_search_fills_the_grid_and_the_categories(polyhaven: PolyHavenServer) -> None:
    bpy.ops.mcp_bridge.search_assets()
    assert "Searching…" in shown().labels
    settle()
    assert [entry.title for entry in asset_view.view.entries] == ["Brick Wall", "Brick Wall 02"]
    assert [path for path, _, _ in asset_view.view.categories] == [
        "ALL",
        "architecture",
        "architecture/walls",
    ]
    choose(category="architecture/walls")
    assert [entry.id for entry in asset_view.view.entries] == ["brick_wall"]
    choose(kind="hdris")
    assert [entry.id for entry in asset_view.view.entries] == [SKY]


def test_thumbnails_appear_when_they_are_there(polyhaven: PolyHavenServer, tmp_path: Path) -> None:
    picture = bpy.data.images.new("thumbnail", 8, 8)
    picture.filepath_raw, picture.file_format = str(tmp_path / "t.png"), "PNG"
    picture.save()
    polyhaven.routes["/thumb.png"] = Reply((tmp_path / "t.png").read_bytes())
    polyhaven.records[SKY]["thumbnail_url"] = polyhaven.url + "/thumb.png?width=256"
    choose(kind="hdris")
    [entry] = asset_view.view.entries
    assert asset_view._icons[entry.id].image_size[:] == (8, 8), (
        "without a window it has no icon, but its picture"
    )


def test_pages(polyhaven: PolyHavenServer) -> None:
    for number in range(20):
        polyhaven.records[f"sky_{number}"] = polyhaven.records[SKY] | {"name": f"Sky {number}"}
    choose(kind="hdris")
    assert (len(asset_view.view.entries), "Page 1" in shown().labels) == (12, True)
    bpy.ops.mcp_bridge.search_assets(page="next")
    settle()
    assert (len(asset_view.view.entries), "Page 2" in shown().labels) == (9, True)
    bpy.ops.mcp_bridge.search_assets(page="previous")
    settle()
    assert len(asset_view.view.entries) == 12


def test_import_with_progress_and_credits(polyhaven: PolyHavenServer) -> None:
    choose(kind="hdris", mark=True)
    bpy.ops.mcp_bridge.import_asset(asset_id=SKY)
    drawn = shown()
    assert any("Import Studio Sky" in label or "[" in label for label in drawn.labels)
    assert "mcp_bridge.cancel_asset" in drawn.operators()
    assert not bpy.ops.mcp_bridge.import_asset.poll()
    settle()
    assert bpy.context.scene.world.name == "Studio Sky"
    assert bpy.context.scene.world.asset_data.license == "CC0 1.0"
    assert "Imported Studio Sky" in shown().text
    bpy.ops.mcp_bridge.copy_credits()


def test_the_size_of_each_is_shown_before_anything_of_it_is_fetched(polyhaven: PolyHavenServer) -> None:
    for size, there in polyhaven.files[SKY]["hdri"].items():
        there["hdr"]["size"] = 3_000_000 if size == "1k" else 12_000_000
    choose(kind="hdris")
    assert "2K · 12 MB" in shown().labels
    choose(resolution="1k")
    assert "1K · 3.0 MB" in shown().labels
    assert polyhaven.downloads() == []


def test_the_sizes_are_of_the_resolution_that_is_chosen_during_a_search(polyhaven: PolyHavenServer) -> None:
    found = polyhaven.routes["/assets"]
    chosen = threading.Event()
    polyhaven.routes["/assets"] = lambda request: chosen.wait(10.0) and found(request)
    setattr(bpy.context.window_manager, PREFIX + "kind", "hdris")
    setattr(bpy.context.window_manager, PREFIX + "resolution", "1k")
    chosen.set()
    settle()
    assert [size.partition(" ")[0] for size in asset_view.view.sizes.values()] == ["1K"]


def test_a_texture_goes_onto_the_selected_objects_as_one_step(polyhaven: PolyHavenServer) -> None:
    for add in (
        bpy.ops.mesh.primitive_cube_add,
        bpy.ops.mesh.primitive_cylinder_add,
        bpy.ops.object.camera_add,
    ):
        add()
    for item in bpy.data.objects:
        item.select_set(True)
    choose(kind="textures")
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.mcp_bridge.import_asset(asset_id="brick_wall")
    settle()
    assert "Put Brick Wall onto 2 objects" in shown().text
    for name in ("Cube", "Cylinder"):
        assert bpy.data.objects[name].active_material.name.startswith("Brick Wall")
    bpy.ops.ed.undo()
    assert [bpy.data.objects[name].active_material for name in ("Cube", "Cylinder")] == [None, None]


def test_a_texture_leaves_out_what_is_selected_but_linked(polyhaven: PolyHavenServer, tmp_path: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.data.libraries.write(str(tmp_path / "other.blend"), {bpy.context.object.data})
    bpy.ops.mesh.primitive_cube_add()
    with bpy.data.libraries.load(str(tmp_path / "other.blend"), link=True) as (there, here):
        here.meshes = there.meshes
    bpy.context.object.data = here.meshes[0]
    bpy.data.objects["Cube"].select_set(True)
    choose(kind="textures")
    bpy.ops.mcp_bridge.import_asset(asset_id="brick_wall")
    settle()
    assert "Put Brick Wall onto Cube" in shown().text


def test_a_texture_without_a_selected_object_says_so(polyhaven: PolyHavenServer) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.object.select_all(action="DESELECT")
    choose(kind="textures")
    bpy.ops.mcp_bridge.import_asset(asset_id="brick_wall")
    settle()
    assert "Imported Brick Wall as a material: no object was selected" in shown().text
    assert bpy.data.objects["Cube"].active_material is None


def test_what_the_mouse_names_counts_instead_of_the_selection(polyhaven: PolyHavenServer) -> None:
    for name in ("Selected", "Pointed At"):
        bpy.ops.mesh.primitive_cube_add()
        bpy.context.object.name = name
    bpy.data.objects["Selected"].select_set(True)
    choose(kind="textures")
    bpy.ops.mcp_bridge.import_asset(asset_id="brick_wall", placed=True, onto="Pointed At")
    settle()
    assert "Put Brick Wall onto Pointed At" in shown().text
    assert bpy.data.objects["Selected"].active_material is None


def test_another_resolution_replaces_the_pictures_in_place(polyhaven: PolyHavenServer) -> None:
    bpy.ops.mesh.primitive_cube_add()
    choose(kind="textures", resolution="1k")
    assert "mcp_bridge.switch_resolution" not in shown().operators()
    bpy.ops.mcp_bridge.import_asset(asset_id="brick_wall")
    settle()
    material = bpy.context.object.active_material
    [button] = [asked for name, asked in shown().buttons if name == "mcp_bridge.switch_resolution"]
    assert button.asset_id == "brick_wall"
    assert {tuple(image.size) for image in bpy.data.images if image.get("asset_id")} == {(8, 8)}
    bpy.ops.mcp_bridge.switch_resolution(asset_id=button.asset_id, resolution="4k")
    settle()
    assert "Brick Wall has its pictures in 2K now" in shown().text, "the largest that is offered"
    assert {tuple(image.size) for image in bpy.data.images if image.get("asset_id")} == {(16, 16)}
    assert bpy.context.object.active_material == material


@pytest.mark.parametrize(("width", "columns"), [(100, 1), (220, 1), (400, 2), (600, 3)])
def test_previews_have_at_least_128_pixels_and_use_the_space(width: int, columns: int) -> None:
    count, size = _fitting(width)
    assert count == columns
    assert size * 20 >= 128
    assert size * 20 * count <= max(width, 140)


def test_favourites_and_what_was_imported_last_are_shown_offline(polyhaven: PolyHavenServer) -> None:
    choose(shown="recent")
    assert "Nothing yet" in shown().labels
    assert PREFIX + "kind" not in shown().properties
    choose(shown="all", kind="textures")
    bpy.ops.mcp_bridge.favour_asset(asset_id="brick_wall_02")
    choose(kind="hdris")
    bpy.ops.mcp_bridge.import_asset(asset_id=SKY)
    settle()
    asked = len(polyhaven.seen)
    bpy.context.preferences.system.use_online_access = False
    choose(shown="recent")
    assert [entry.id for entry in asset_view.view.entries] == [SKY]
    choose(shown="favourites")
    assert [entry.id for entry in asset_view.view.entries] == ["brick_wall_02"]
    assert asset_view.view.favourites == {"brick_wall_02"}
    bpy.ops.mcp_bridge.favour_asset(asset_id="brick_wall_02")
    assert asset_view.view.favourites == set()
    choose(service="sketchfab")
    assert (asset_view.view.entries, len(polyhaven.seen)) == ((), asked)


def test_a_failure_is_shown_and_nothing_stays(polyhaven: PolyHavenServer) -> None:
    choose(kind="hdris")
    for path in [path for path in polyhaven.routes if path.startswith("/dl/")]:
        polyhaven.routes[path] = Reply("gone", 404)
    worlds = len(bpy.data.worlds)
    bpy.ops.mcp_bridge.import_asset(asset_id=SKY)
    settle()
    assert "Poly Haven answered 404 Not Found" in shown().text
    assert len(bpy.data.worlds) == worlds


def test_cancel(polyhaven: PolyHavenServer) -> None:
    choose(kind="hdris")
    for path in [path for path in polyhaven.routes if path.startswith("/dl/")]:
        polyhaven.routes[path].pause = 20
    bpy.ops.mcp_bridge.import_asset(asset_id=SKY)
    bpy.ops.mcp_bridge.cancel_asset()
    begin = time.monotonic()
    settle()
    assert time.monotonic() - begin < 15  # and not the 20 s of a piece
    assert (asset_view.view.job, asset_view.view.error) == (None, "")


def test_something_large_is_asked_about(polyhaven: PolyHavenServer) -> None:
    settings.set_preferences({"ask_above_mb": 1})
    for there in polyhaven.files[SKY]["hdri"].values():
        there["hdr"]["size"] = 3_000_000
    choose(kind="hdris")
    bpy.ops.mcp_bridge.import_asset(asset_id=SKY)
    settle()
    drawn = shown()
    assert "Download 3.0 MB for “Studio Sky”?" in drawn.text
    [again] = [
        made
        for name, made in drawn.buttons
        if name == "mcp_bridge.import_asset" and hasattr(made, "size_agreed")
    ]
    assert (again.asset_id, again.size_agreed) == (SKY, True)
    assert polyhaven.downloads() == []
    bpy.ops.mcp_bridge.import_asset(asset_id=again.asset_id, size_agreed=True)
    settle()
    assert polyhaven.downloads() != []


def test_offline_it_says_so_and_offers_the_preference() -> None:
    bpy.context.preferences.system.use_online_access = False
    drawn = shown()
    assert "Blender is not allowed online." in drawn.text
    bpy.ops.mcp_bridge.search_assets()
    settle()
    assert "Allow Online Access" in shown().text


def test_a_service_that_is_not_allowed_is_not_asked(polyhaven: PolyHavenServer) -> None:
    """Neither from the panel nor by a tool: nothing gets past where connections are opened."""
    settings.set_preferences({"asset_services": {"sketchfab"}})
    state.refresh()
    assert "Not among the Asset Services in the preferences." in shown().text
    bpy.ops.mcp_bridge.search_assets()
    settle()
    assert (
        "Poly Haven can't be reached: it is not among the Asset Services that are allowed in the preferences of "
        "MCP Bridge." in shown().text
    )
    assert polyhaven.paths() == []
    settings.set_preferences({})
    state.refresh()


def test_sketchfab_with_its_licence(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path_factory.getbasetemp() / "sketchfab-panel"
    files.mkdir(exist_ok=True)
    with SketchfabServer(files) as server:
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_API", server.base)
        limited = record(
            license={"label": "CC Attribution-NonCommercial", "requirements": "No commercial use."}
        )
        server.routes["/v3/search"] = Reply({"results": [limited]})
        choose(service="sketchfab")
        [entry] = asset_view.view.entries
        assert (entry.licence, entry.requirements) == ("CC Attribution-NonCommercial", "No commercial use.")
        bpy.ops.mcp_bridge.import_asset(asset_id=UID)
        settle()
        assert "needs the user's API token" in shown().text
        settings.set_preferences({"sketchfab_token": TOKEN})
        bpy.ops.mcp_bridge.test_key(service="sketchfab")
        settle()
        assert asset_view.view.key_said == "Accepted: ada"


def test_a_protected_model_of_sketchfab_comes_in_marked_and_its_password_is_not_kept(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path_factory.getbasetemp() / "sketchfab-panel"
    files.mkdir(exist_ok=True)
    monkeypatch.setattr(confined, "run", in_fork)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    with SketchfabServer(files) as server:
        monkeypatch.setenv("BLENDER_MCP_SKETCHFAB_API", server.base)
        settings.set_preferences({"sketchfab_token": TOKEN, "ask_above_mb": 1})
        large = record(archives={"gltf": {"size": 3_000_000, "textureCount": 1}})
        server.routes["/v3/search"] = Reply({"results": [large]})
        server.routes[f"/v3/models/{UID}"] = Reply(large)
        choose(service="sketchfab", mark=True)
        bpy.ops.mcp_bridge.import_asset(asset_id=UID, password="geheim")
        settle()
        question = asset_view.view.question
        assert question is not None
        assert "geheim" not in repr(asset_view.view)
        [again] = [p for name, p in shown().buttons if vars(p).get("size_agreed")]
        assert (again.asset_id, again.password) == (UID, "geheim")
        bpy.ops.mcp_bridge.import_asset(asset_id=UID, size_agreed=True, password=again.password)
        settle()
        sent = {request.path: request.headers.get("x-skfb-model-pwd") for request in server.seen}
        assert sent[f"/v3/models/{UID}/download"] == "Z2VoZWlt"
        [lamp] = [item for item in bpy.data.objects if item.asset_data]
        assert lamp.asset_data.author == "Ada L."
        assert ":Sketchfab:" in (tmp_path / "blender_assets.cats.txt").read_text(encoding="utf-8")
        bpy.ops.wm.save_mainfile()
        assert b"geheim" not in (tmp_path / "scene.blend").read_bytes()
        last = bpy.context.window_manager.operator_properties_last("mcp_bridge.import_asset")
        assert not last.password


def test_generating(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path_factory.getbasetemp() / "rodin-panel"
    files.mkdir(exist_ok=True)
    monkeypatch.setattr(hyper3d, "orders", lambda: Orders(tmp_path / "rodin"))
    monkeypatch.setattr(confined, "run", in_fork)
    with RodinServer(files) as server:
        monkeypatch.setenv("BLENDER_MCP_HYPER3D_API", server.url)
        monkeypatch.setenv("BLENDER_MCP_HYPER3D_KEY", KEY)
        choose(service="hyper3d")
        assert "mcp_bridge.generate_asset" in shown().operators()
        assert "12.5 credits left" in shown().labels
        assert not bpy.ops.mcp_bridge.generate_asset.poll()
        choose(prompt="a lamp")
        bpy.ops.mcp_bridge.generate_asset()
        settle()
        assert "Imported a lamp" in shown().text
        assert len(server.orders()) == 1
        bpy.ops.mcp_bridge.test_key(service="hyper3d")
        settle()
        assert asset_view.view.key_said == "Accepted: 12.5 credits left"
        monkeypatch.setenv("BLENDER_MCP_FAL_API", server.url)
        monkeypatch.setenv("BLENDER_MCP_FAL_KEY", KEY)
        bpy.ops.mcp_bridge.test_key(service="fal")
        settle()
        assert asset_view.view.key_said == "Accepted: 24.5 USD left"
