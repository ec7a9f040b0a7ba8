# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that opens foreign files, on files that Blender made; run in forks, each a Blender of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.importers.opening import child, scrub

from support.running import fork
from support.services import assets


def job(**changes: Any) -> child.Job:
    plain = {"format": "gltf", "file": "scene.gltf", "title": "Thing", "collections": []}
    return plain | {"size": None, "ground": False, "unwrap": True} | changes


def convert(folder: Path, files: Path, **changes: Any) -> dict[str, Any]:
    """Do a job on a folder of files; the report, and what came out (see `_contents`)."""
    target = folder / "child"
    shutil.copytree(files, target / "files")
    (target / "job.json").write_text(json.dumps(job(**changes)))
    report = dict(fork.run(child.main, target))
    if "error" not in report:
        report["found"] = fork.run(_contents, target / "asset.blend", report["collection"])
    return report


def _contents(path: Path, collection: str) -> dict[str, Any]:
    bpy.ops.wm.read_homefile(use_factory_startup=True, use_empty=True)
    before = set(scrub.all_ids())
    with bpy.data.libraries.load(str(path)) as (there, taken):
        assert list(there.collections) == [collection]
        taken.collections = [collection]
    taken_over = [item for item in scrub.all_ids() if item not in before]
    again = scrub.strip(taken_over)
    bpy.context.scene.collection.children.link(taken.collections[0])
    bpy.context.view_layer.update()
    return {
        "objects": {
            item.name: (
                item.type,
                [round(length, 4) for length in item.dimensions],
                item.matrix_world.translation[:],
            )
            for item in taken.collections[0].all_objects
        },
        "others": sorted(
            item.name for item in bpy.data.objects if item.name not in taken.collections[0].all_objects
        ),
        "images": {
            image.name: (image.packed_file is not None, image.source, image.filepath)
            for image in bpy.data.images
        },
        "drivers": sum(len(item.animation_data.drivers) for item in bpy.data.objects if item.animation_data),
        "texts": len(bpy.data.texts),
        "nodes": sorted(
            {node.bl_idname for material in bpy.data.materials for node in material.node_tree.nodes}
        ),
        "modifiers": [modifier.type for item in bpy.data.objects for modifier in item.modifiers],
        "caches": [s.point_cache.filepath for item in bpy.data.objects for s in item.particle_systems],
        "own": [item.name for item in scrub.all_ids() if "asset_credit" in item],
        "scenes": len(bpy.data.scenes),
        "libraries": [item.name for item in bpy.data.libraries if item.users_id],
        "collections": sorted(bpy.data.collections.keys()),
        "actions": len(bpy.data.actions),
        "again": again,
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assets")


def test_a_gltf_becomes_a_collection_with_packed_pictures(tmp_path: Path, made: Path) -> None:
    report = convert(tmp_path, assets.gltf(made).parent)
    assert report["roots"] == ["box"]
    assert report["dimensions"] == pytest.approx([2, 1, 0.5], abs=1e-4)
    found = report["found"]
    assert found["collections"] == ["Thing"]
    assert list(found["objects"]) == ["box"]
    assert [packed for packed, _, _ in found["images"].values()] == [True]
    assert all(path.startswith("//") and "/" not in path[2:] for _, _, path in found["images"].values())


def test_size_and_ground_are_as_asked(tmp_path: Path, made: Path) -> None:
    report = convert(tmp_path, assets.gltf(made).parent, size=0.5, ground=True)
    assert report["dimensions"] == pytest.approx([0.5, 0.25, 0.125], abs=1e-4)
    kind, dimensions, place = report["found"]["objects"]["box"]
    assert (kind, dimensions) == ("MESH", [0.5, 0.25, 0.125])
    assert place == pytest.approx((0, 0, 0.0625), abs=1e-4)


def test_wrappers_go_and_what_they_hold_stays_where_it_is(tmp_path: Path, made: Path) -> None:
    report = convert(tmp_path, assets.gltf(made, wrapped=True).parent)
    assert list(report["found"]["objects"]) == ["box"]
    assert report["found"]["objects"]["box"][1] == pytest.approx([2, 1, 0.5], abs=1e-4)
    kept = convert(tmp_path / "kept", assets.gltf(made, wrapped=True).parent, unwrap=False)
    assert len(kept["found"]["objects"]) == 4


def test_what_is_animated_keeps_its_wrapper_and_gets_a_parent_to_be_placed_by(
    tmp_path: Path, made: Path
) -> None:
    report = convert(tmp_path, assets.gltf(made, animated=True).parent, size=4.0)
    assert report["roots"] == ["Thing"]
    assert report["found"]["actions"] == 1
    assert report["found"]["objects"]["box"][1] == [4, 2, 1]
    assert report["dimensions"][0] == pytest.approx(4.0)


@pytest.mark.parametrize("level", [0, 1])
def test_of_a_blend_only_the_chosen_level_comes(tmp_path: Path, made: Path, level: int) -> None:
    assets.blend(made, "chair")
    wanted = [f"chair_LOD{level}", "chair"]
    report = convert(tmp_path, made, format="blend", file="chair.blend", collections=wanted)
    assert list(report["found"]["objects"]) == [f"chair_LOD{level}"]
    assert report["found"]["others"] == []
    assert report["found"]["images"] == {"chair_diff_1k.jpg": (True, "FILE", "//chair_diff_1k.jpg")}
    assert report["removed"] == {}


def test_a_blend_without_the_collection_says_what_it_has(tmp_path: Path, made: Path) -> None:
    assets.blend(made, "chair")
    report = convert(tmp_path, made, format="blend", file="chair.blend", collections=["table"])
    assert report["error"] == (
        "None of the collections ['table'] is in the file; it has: 'chair_LOD0', 'chair_LOD1'."
    )


def test_nothing_that_runs_or_reads_files_comes_through(tmp_path: Path, made: Path) -> None:
    assets.blend(made, "chair", hostile=True)
    report = convert(tmp_path, made, format="blend", file="chair_hostile.blend", collections=["chair_LOD0"])
    assert report["removed"] == {
        "scripted drivers": 2,
        "text blocks": 4,
        "nodes that run scripts or read files": 2,
        "pictures whose file is missing": 2,
        "modifiers that read files": 2,
        "folders of baked data": 1,
        "simulations cached in files": 1,
        "libraries": 1,
        "scenes": 1,
    }
    found = report["found"]
    assert sorted(found["objects"]) == ["Thing", "chair_LOD0"], "and what the driven one is placed by"
    assert (found["drivers"], found["texts"], found["modifiers"]) == (1, 0, ["NODES", "PARTICLE_SYSTEM"])
    assert "ShaderNodeScript" not in found["nodes"]
    assert found["images"]["spy"] == found["images"]["own.png"] == (False, "GENERATED", "")
    assert (found["caches"], found["own"], found["scenes"], found["libraries"]) == ([""], [], 1, [])
    assert found["again"] == {}
    assert not (made / "ran").exists()


def test_pictures_from_elsewhere_do_not_come_along(tmp_path: Path, made: Path) -> None:
    """A glTF and an FBX that point to a picture of the user's own."""
    assets.blend(made, "chair")
    own = assets.picture_outside(made)
    files = tmp_path / "files"
    shutil.copytree(assets.gltf(made).parent, files)
    scene = json.loads((files / "scene.gltf").read_text())
    for number, uri in enumerate((f"../../../{made.name}-private/own.png", str(own), f"file://{own}")):
        scene["images"][0] = {"uri": uri}
        (files / "scene.gltf").write_text(json.dumps(scene))
        report = convert(tmp_path / str(number), files)
        assert [packed for packed, _, _ in report["found"]["images"].values()] == [False], uri
        assert report["removed"] == {"pictures whose file is missing": 1}
    assets.fbx(files / "own.fbx", own)
    report = convert(tmp_path / "fbx", files, format="fbx", file="own.fbx")
    assert report["found"]["images"] == {"own.png": (False, "GENERATED", "")}


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("scene.gltf", b"", "gltf"),
        ("scene.gltf", b"{}", "gltf"),
        ("scene.gltf", b"<html>", "gltf"),
        ("scene.glb", b"glTF\x02\0\0\0\xff\xff\xff\xff", "gltf"),
        ("thing.blend", b"BLENDER-v402 not really", "blend"),
        ("thing.fbx", b"Kaydara FBX Binary  \0", "fbx"),
        ("missing.fbx", None, "fbx"),
    ],
)
def test_what_is_no_such_file_is_an_error(tmp_path: Path, name: str, data: bytes | None, kind: str) -> None:
    files = tmp_path / "files"
    files.mkdir()
    if data is not None:
        (files / name).write_bytes(data)
    report = convert(tmp_path, files, format=kind, file=name, collections=["x"])
    assert report["error"]
    assert not (tmp_path / "child" / "asset.blend").exists()
