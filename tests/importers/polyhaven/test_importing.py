# SPDX-License-Identifier: GPL-3.0-or-later
"""From an id to the scene, over real HTTP, with real files and a really confined child."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError
from bl_ext.user_default.mcp_bridge.importers import append
from bl_ext.user_default.mcp_bridge.importers.append import Imported
from bl_ext.user_default.mcp_bridge.importers.network.transport import Cancelled
from bl_ext.user_default.mcp_bridge.importers.polyhaven import importing, planning, scene
from bl_ext.user_default.mcp_bridge.importers.polyhaven.api import PolyHaven
from bl_ext.user_default.mcp_bridge.importers.work import Work

from support.clients.tool_calls import on_worker
from support.services.polyhaven import BRICK, CHAIR, SKY, PolyHavenServer
from support.services.traces import traces
from support.services.web import Reply

pytestmark = pytest.mark.usefixtures("empty_scene", "server", "_quick_child")


def imported(work: Work, asset_id: str, *, run: dict[str, Any] | None = None, **plan: Any) -> Imported:
    return on_worker(lambda: importing.run(work, planning.plan(work, asset_id, **plan), **(run or {})))


def names() -> dict[str, list[str]]:
    kinds = ("objects", "meshes", "materials", "images", "collections", "worlds", "texts", "libraries")
    return {kind: sorted(getattr(bpy.data, kind).keys()) for kind in kinds}


def source(socket: Any) -> Any:
    """The node that an input is connected to."""
    assert socket.links, f"{socket.name} is not connected"
    return socket.links[0].from_node


def test_an_hdri_becomes_a_new_world_with_the_picture_in_the_file(work: Work) -> None:
    own = bpy.data.worlds.new("Mine")
    bpy.context.scene.world = own
    found = imported(work, SKY)
    world = bpy.context.scene.world
    assert (found.world, world.name) == ("Studio Sky", "Studio Sky")
    assert own.use_fake_user
    output = next(node for node in world.node_tree.nodes if node.type == "OUTPUT_WORLD")
    background = source(output.inputs["Surface"])
    picture = source(background.inputs["Color"])
    mapping = source(picture.inputs["Vector"])
    assert source(mapping.inputs["Vector"]).bl_idname == "ShaderNodeTexCoord"
    image = picture.image
    assert image.size[:] == (16, 16)
    assert (image.packed_file is not None, image.filepath_raw) == (True, f"//{image.name}")
    assert image.pixels[0] == pytest.approx(2.0, rel=0.02)
    assert world["asset_credit"]["licence"] == "CC0 1.0"


@pytest.mark.parametrize("asset_id", [SKY, BRICK])
def test_an_import_is_one_undo_step(work: Work, asset_id: str) -> None:
    bpy.ops.ed.undo_push(message="before")
    before = names()
    imported(work, asset_id)
    assert names() != before
    bpy.ops.ed.undo()
    assert names() == before


def test_a_texture_becomes_a_material_with_every_map_in_its_place(
    work: Work, server: PolyHavenServer
) -> None:
    found = imported(work, BRICK, resolution="1k")
    material = bpy.data.materials[found.materials[0]]
    tree = material.node_tree
    output = next(node for node in tree.nodes if node.type == "OUTPUT_MATERIAL")
    shader = source(output.inputs["Surface"])
    colour = source(shader.inputs["Base Color"])
    rough = source(shader.inputs["Roughness"])
    normal = source(shader.inputs["Normal"])
    raised = source(output.inputs["Displacement"])
    metal = source(shader.inputs["Metallic"])
    assert (colour.image.colorspace_settings.name, colour.label) == ("sRGB", "Diffuse")
    assert (rough.image.colorspace_settings.name, rough.label) == ("Non-Color", "Rough")
    assert normal.bl_idname == "ShaderNodeNormalMap"
    assert source(normal.inputs["Color"]).label == "nor_gl"
    assert source(normal.inputs["Color"]).image.colorspace_settings.name == "Non-Color"
    assert raised.inputs["Midlevel"].default_value == 0.5
    assert source(raised.inputs["Height"]).label == "Displacement"
    assert shader.inputs["Metallic"].links[0].from_socket.name == "Blue"
    assert source(metal.inputs["Color"]).label == "arm"
    assert source(colour.inputs["Vector"]).vector_type == "POINT"
    assert all(image.packed_file for image in bpy.data.images if image.source == "FILE")
    assert sorted(server.downloads()) == [
        "brick_Diffuse_1k.jpg",
        "brick_Displacement_1k.png",
        "brick_Rough_1k.jpg",
        "brick_arm_1k.jpg",
        "brick_nor_gl_1k.jpg",
    ]


def test_directx_normals_are_flipped(work: Work, server: PolyHavenServer) -> None:
    del server.files[BRICK]["nor_gl"]
    found = imported(work, BRICK, resolution="1k", ambient_occlusion=True)
    tree = bpy.data.materials[found.materials[0]].node_tree
    shader = next(node for node in tree.nodes if node.type == "BSDF_PRINCIPLED")
    join = source(source(shader.inputs["Normal"]).inputs["Color"])
    assert join.bl_idname == "ShaderNodeCombineColor"
    turn = source(join.inputs["Green"])
    assert (turn.operation, turn.inputs[0].default_value) == ("SUBTRACT", 1.0)
    mix = source(shader.inputs["Base Color"])
    assert (mix.blend_type, mix.inputs["Factor"].default_value) == ("MULTIPLY", 1.0)


def test_a_texture_seen_once_comes_back_without_the_network(work: Work, server: PolyHavenServer) -> None:
    imported(work, BRICK)
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    bpy.context.preferences.system.use_online_access = False
    asked = len(server.seen)
    assert imported(work, BRICK).materials == ("Brick Wall",)
    assert len(server.seen) == asked


def textured(work: Work, name: str, **more: Any) -> Any:
    """Set the texture; the material that the object has then."""

    def run() -> Imported:
        plan = planning.plan(work, BRICK, resolution="1k")
        return importing.texture_object(work, plan, plan.asset, name, more.get("slot"))

    return bpy.data.materials[on_worker(run).materials[0]]


def mapping_of(material: Any) -> Any:
    return next(node for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeMapping")


def test_a_texture_on_an_object_has_its_real_size_and_leaves_the_other_slots(work: Work) -> None:
    bpy.ops.mesh.primitive_plane_add(size=3)
    plane = bpy.context.object
    for name in ("first", "second"):
        plane.data.materials.append(bpy.data.materials.new(name))
    material = textured(work, "Plane", slot=1)
    assert [slot.material.name for slot in plane.material_slots] == ["first", material.name]
    assert mapping_of(material).inputs["Scale"].default_value[:] == pytest.approx((6, 6, 6)), "3 m of 0.5 m"
    assert bpy.data.materials["second"].users == 0


def test_objects_of_other_sizes_get_their_own_scale_and_share_the_pictures(work: Work) -> None:
    bpy.ops.mesh.primitive_plane_add(size=1)
    bpy.ops.mesh.primitive_plane_add(size=2)
    one, two = textured(work, "Plane"), textured(work, "Plane.001")
    assert one != two
    assert [mapping_of(each).inputs["Scale"].default_value[0] for each in (one, two)] == pytest.approx([2, 4])
    assert len([image for image in bpy.data.images if image.source == "FILE"]) == 5


def test_an_object_that_shares_its_mesh_is_changed_alone(work: Work) -> None:
    bpy.ops.mesh.primitive_plane_add()
    twin = bpy.context.object.copy()
    bpy.context.scene.collection.objects.link(twin)
    material = textured(work, "Plane")
    assert bpy.data.objects["Plane"].material_slots[0].material == material
    assert twin.material_slots[0].material is None


def test_without_a_uv_map_the_texture_is_projected(work: Work) -> None:
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    plane.data.uv_layers.remove(plane.data.uv_layers[0])
    material = textured(work, "Plane")
    mapping = mapping_of(material)
    assert mapping.inputs["Vector"].links[0].from_socket.name == "Object"
    assert mapping.inputs["Scale"].default_value[0] == pytest.approx(2.0)
    assert {
        node.projection for node in material.node_tree.nodes if node.bl_idname == "ShaderNodeTexImage"
    } == {"BOX"}


@pytest.mark.parametrize(
    ("name", "slot", "text"),
    [
        ("Plan", None, r"no object 'Plan'. Did you mean 'Plane'"),
        ("Camera", None, "type CAMERA, which takes no material"),
        ("Plane", 3, "slot 3: 'Plane' has 1 material slots, counted from 0"),
    ],
)
def test_a_texture_that_cannot_be_set_leaves_nothing(
    work: Work, name: str, slot: int | None, text: str
) -> None:
    bpy.ops.mesh.primitive_plane_add()
    bpy.context.object.data.materials.append(bpy.data.materials.new("own"))
    bpy.ops.object.camera_add()
    before = names()
    with pytest.raises(InvalidParamsError, match=text):
        textured(work, name, slot=slot)
    assert names() == before


def test_a_model_of_one_object_goes_into_the_active_collection_at_the_cursor(work: Work) -> None:
    bpy.context.scene.cursor.location = (1, 2, 3)
    found = imported(work, CHAIR, resolution="1k")
    assert (found.collection, found.objects) == (None, ("Chair",))
    assert found.dimensions == pytest.approx((2, 1, 0.5))
    assert bpy.data.objects.keys() == bpy.context.collection.objects.keys() == ["Chair"]
    chair = bpy.data.objects["Chair"]
    assert chair.location[:] == (1, 2, 3)
    assert chair.select_get()
    assert [image.packed_file is not None for image in bpy.data.images if image.source == "FILE"] == [True]
    assert chair["asset_credit"]["author"] == "Ada"
    assert names()["libraries"] == []


def test_a_model_twice_has_no_name_clash_and_a_choice_of_detail(work: Work) -> None:
    imported(work, CHAIR, resolution="1k", run={"location": (0, 0, 0)})
    found = imported(work, CHAIR, resolution="1k", run={"lod": 1, "location": (5, 0, 0)})
    assert found.objects == ("Chair.001",)
    twin = bpy.data.objects["Chair.001"]
    assert (twin.location.x, twin.data.name) == (5, "chair_LOD1")


def test_a_blend_of_a_newer_blender_gives_way_to_gltf(
    work: Work, server: PolyHavenServer, tmp_path: Path
) -> None:
    server.files[CHAIR]["blend"]["1k"]["blend"] |= server.add_file(
        "/dl/new.blend", b"BLENDER17-01v9900" + bytes(99)
    )
    found = imported(work, CHAIR, resolution="1k")
    assert found.objects == ("Chair",)
    assert "chair_diff_1k.jpg" not in server.downloads(), "the .blend's pictures are not fetched in vain"
    del server.files[CHAIR]["gltf"]
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    with pytest.raises(
        ExternalServiceError, match=r"as blend: it was written by Blender 99\.0, which is newer"
    ):
        on_worker(
            lambda: importing.run(Work(work.cache), planning.plan(fresh(tmp_path), CHAIR, resolution="1k"))
        )


def fresh(folder: Path) -> Work:
    """A cache that knows no documents."""
    from bl_ext.user_default.mcp_bridge.importers.network.cache import Cache

    return Work(Cache(folder / "fresh", quota=10**9))


def test_a_model_in_edit_mode_leaves_the_user_there(work: Work) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.object.mode_set(mode="EDIT")
    imported(work, CHAIR, resolution="1k")
    assert bpy.context.object.mode == "EDIT"
    assert bpy.context.object.name == "Cube"
    assert "Chair" in bpy.data.objects
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("asset_id", [SKY, BRICK, CHAIR])
def test_the_resolution_can_be_switched(work: Work, asset_id: str) -> None:
    imported(work, asset_id, resolution="1k")
    before = sorted(image.name for image in bpy.data.images if "1k" in image.name)
    assert before
    imported(work, asset_id, resolution="2k", run={"switch": True})
    after = [image for image in bpy.data.images if image.source == "FILE"]
    assert sorted(image.name.replace("2k", "1k").split(".")[0] for image in after) == sorted(
        name.split(".")[0] for name in before
    )
    assert all("2k" in image.name and image.users and image.packed_file for image in after)


def test_switching_what_is_not_there_says_so(work: Work) -> None:
    with pytest.raises(InvalidParamsError, match="No pictures of 'brick_wall' are in this file"):
        imported(work, BRICK, run={"switch": True})


@pytest.mark.parametrize(
    "reply", [Reply("gone", 404), Reply(b"damaged"), Reply(b"x" * 50, cut=3), Reply("<html>", 403)]
)
@pytest.mark.parametrize("asset_id", [SKY, BRICK, CHAIR])
def test_a_failed_download_leaves_nothing(
    work: Work, server: PolyHavenServer, tmp_path: Path, asset_id: str, reply: Reply
) -> None:
    before = traces()
    for path in [path for path in server.routes if path.startswith("/dl/")]:
        server.routes[path] = reply
    with pytest.raises(ExternalServiceError):
        imported(work, asset_id, resolution="1k")
    assert traces() == before
    left = [path for path in tmp_path.rglob("*") if path.is_file() and "documents" not in path.parts]
    assert [path for path in left if path.suffix != ".lock"] == []


@pytest.mark.parametrize("asset_id", [SKY, BRICK])
def test_a_file_that_is_no_picture_is_reported(work: Work, server: PolyHavenServer, asset_id: str) -> None:
    junk = server.add_file("/dl/junk", b"<html>sorry</html>")
    server.files[asset_id] = {"hdri": {"1k": {"hdr": junk}}, "Diffuse": {"1k": {"jpg": junk}}}
    before = traces()
    with pytest.raises(ExternalServiceError, match="Poly Haven sent a file that is no picture"):
        imported(work, asset_id)
    assert traces() == before


@pytest.mark.parametrize(
    ("asset_id", "stage"),
    [(SKY, "Downloading"), (BRICK, "Downloading"), (BRICK, "Adding"), (CHAIR, "Opening"), (CHAIR, "Adding")],
)
def test_cancel_at_each_stage_leaves_nothing(work: Work, asset_id: str, stage: str) -> None:
    cancelled = threading.Event()

    def report(_percent: float, message: str) -> None:
        if message.startswith(stage):
            cancelled.set()

    before = traces()
    with pytest.raises((Cancelled, main_thread.Cancelled)):
        imported(replace(work, cancelled=cancelled, report=report), asset_id, resolution="1k")
    assert traces() == before


@pytest.mark.parametrize("asset_id", [SKY, BRICK, CHAIR])
def test_progress_only_grows_and_ends_with_the_import(work: Work, asset_id: str) -> None:
    told: list[float] = []
    imported(replace(work, report=lambda percent, _message: told.append(percent)), asset_id, resolution="1k")
    assert told == sorted(told)
    assert (told[-1], told[0] > 0) == (99.0, True), "the rest is the append itself"


def test_assets_with_similar_names_are_told_apart(work: Work) -> None:
    found = imported(work, "brick_wall_02", resolution="1k")
    assert found.materials == ("Brick Wall 02",)
    assert (scene.has_material("brick_wall_02"), scene.has_material(BRICK)) == (True, False)
    bpy.data.materials["Brick Wall 02"].name = "Brick Wall"
    assert imported(work, BRICK, resolution="1k").materials == ("Brick Wall.001",)
    assert [item.id for item in append.credits_of()] == [BRICK, "brick_wall_02"]


def test_the_users_own_material_keeps_its_nodes(work: Work) -> None:
    bpy.ops.mesh.primitive_plane_add()
    own = bpy.data.materials.new("own")
    own.use_nodes = True
    own.node_tree.nodes.new("ShaderNodeTexNoise")
    before = sorted(node.name for node in own.node_tree.nodes)
    bpy.context.object.data.materials.append(own)
    material = textured(work, "Plane")
    assert material != own
    assert sorted(node.name for node in own.node_tree.nodes) == before


def test_the_wrong_kind_is_told(work: Work) -> None:
    with pytest.raises(InvalidParamsError, match="'brick_wall' is one of the textures, not of the models"):
        planning.plan(work, BRICK, kind="models")


def test_credits_are_listed_once_an_asset(work: Work, service: PolyHaven) -> None:
    imported(work, CHAIR, resolution="1k")
    imported(work, CHAIR, resolution="1k")
    imported(work, SKY)
    assert [item.title for item in append.credits_of()] == ["Chair", "Studio Sky"]


def test_an_import_is_marked_for_the_asset_browser_in_its_category(work: Work, tmp_path: Path) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))

    def run() -> Imported:
        plan = planning.plan(work, BRICK, resolution="1k")
        found = importing.run(work, plan)
        importing.mark(work, found, plan)
        return found

    material = bpy.data.materials[on_worker(run).materials[0]]
    facts = material.asset_data
    walls = "22222222-2222-4222-8222-222222222222"
    assert (facts.catalog_id, facts.author, facts.license) == (walls, "Ada", "CC0 1.0")
    assert [tag.name for tag in facts.tags] == ["old"]
    assert (
        f"{walls}:Poly Haven/textures/architecture/walls:"
        in (tmp_path / "blender_assets.cats.txt").read_text()
    )
