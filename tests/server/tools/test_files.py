# SPDX-License-Identifier: GPL-3.0-or-later
"""Exporting, saving and opening by a real client: in the named folders, and not past the user."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.files import exporting
from bl_ext.user_default.mcp_bridge.scene import events
from bl_ext.user_default.mcp_bridge.server.tools import files

from support.clients.tool_calls import ToolError, Tools
from support.running import fork

YES = {"action": "accept", "content": {}}
NO = {"action": "decline"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    named = tmp_path / "named"
    named.mkdir()
    monkeypatch.setenv("BLENDER_MCP_FOLDERS", str(named))
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    return named


@pytest.fixture
def tools(folder: Path) -> Iterator[Tools]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    approvals.close()
    started = Tools(elicitation={"form": {}})
    yield started
    started.stop()
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def asked(tools: Tools, tool: str, answer: dict[str, Any], **arguments: Any) -> tuple[str, dict[str, Any]]:
    """Call a tool that asks once; the question, and what became of the call after the answer."""
    first = tools.raw(tool, arguments)
    assert first.get("resultType") == "input_required", first
    [(key, request)] = first["inputRequests"].items()
    rounds = {"inputResponses": {key: answer}, "requestState": first["requestState"]}
    return request["params"]["message"], tools.raw(tool, arguments, **rounds)


def triangles(path: Path) -> int:
    """What a binary STL says."""
    return struct.unpack("<I", path.read_bytes()[80:84])[0]


@pytest.mark.parametrize("suffix", ["glb", "gltf", "fbx", "obj", "usd", "usda", "usdc", "stl", "ply"])
def test_every_format_is_written(folder: Path, suffix: str) -> None:
    def write() -> Any:
        bpy.ops.wm.read_homefile(use_factory_startup=True)
        return Tools()("export_file", path=f"out.{suffix}", objects=["Cube"])

    # In a copy of this Blender: one without a window that has exported glTF crashes when it ends.
    written = fork.run(write)
    assert (written["path"], written["objects"]) == (str(folder / f"out.{suffix}"), 1)
    assert sorted(written["files"]) == sorted(str(found) for found in folder.rglob("*"))
    assert written["bytes"] == sum(found.stat().st_size for found in folder.rglob("*")) > 100


def test_what_is_exported_can_be_chosen_and_selection_and_mode_stay(tools: Tools, folder: Path) -> None:
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    group = bpy.data.collections.new("Group")
    bpy.context.scene.collection.children.link(group)
    group.objects.link(plane)
    bpy.ops.object.mode_set(mode="EDIT")
    for name, choice, count in (
        ("plane", {"collection": "Group"}, 2),
        ("selected", {"selected_only": True}, 2),
        ("cube", {"objects": ["Cube"]}, 12),
        ("all", {}, 14),
    ):
        tools("export_file", path=f"{name}.stl", **choice)
        assert triangles(folder / f"{name}.stl") == count
        assert bpy.context.mode == "EDIT_MESH"
        assert bpy.context.view_layer.objects.active == plane
        assert [item.name for item in bpy.context.selected_objects] == ["Plane"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objects": ["Nobody"]}, "There is no object 'Nobody'"),
        ({"objects": ["Cube"], "selected_only": True}, "Give one of objects, collection and selected_only"),
        ({"collection": "Empty"}, "There is nothing to export"),
        ({"objects": ["Cube", "Light"]}, "Hidden objects are not exported: Light"),
    ],
)
def test_impossible_exports_are_refused(tools: Tools, folder: Path, arguments: Any, message: str) -> None:
    bpy.data.collections.new("Empty")
    bpy.data.objects["Light"].hide_set(True)
    with pytest.raises(ToolError, match=message):
        tools("export_file", path="a.glb", **arguments)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("tool", ["export_file", "save_file", "save_copy", "open_file"])
@pytest.mark.parametrize("path", ["../out.{}", "/etc/out.{}", "nul.{}", ".x/out.{}", "//out.{}"])
def test_nothing_outside_is_touched(tools: Tools, folder: Path, tool: str, path: str) -> None:
    with pytest.raises(ToolError):
        tools(tool, path=path.format("glb" if tool == "export_file" else "blend"))
    assert list(folder.parent.rglob("out.*")) == []


@pytest.mark.parametrize("tool", ["export_file", "save_file", "save_copy", "open_file"])
def test_without_a_named_folder_there_are_no_files(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    monkeypatch.delenv("BLENDER_MCP_FOLDERS")
    with pytest.raises(ToolError, match="No folder is named for files"):
        tools(tool, path="a.glb" if tool == "export_file" else "a.blend")


def test_blenders_own_settings_are_no_place(
    tools: Tools, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpy.utils, "resource_path", lambda kind: str(folder))
    with pytest.raises(ToolError, match="among Blender's own settings"):
        tools("save_copy", path="startup.blend")


def test_overwriting_asks_for_every_file_that_would_go(tools: Tools, folder: Path) -> None:
    (folder / "out.mtl").write_text("kept")
    question, answer = asked(tools, "export_file", NO, path="out.obj", objects=["Cube"])
    assert question == f"Overwrite {folder / 'out.mtl'}?"
    assert answer["isError"]
    assert "The user said no" in answer["content"][0]["text"]
    assert [found.name for found in folder.iterdir()] == ["out.mtl"]
    assert (folder / "out.mtl").read_text() == "kept"
    _, answer = asked(tools, "export_file", YES, path="out.obj", objects=["Cube"])
    assert answer["structuredContent"]["status"] == "success"
    assert (folder / "out.mtl").read_bytes() != b"kept"


def test_files_beside_it_go_over_no_link(tools: Tools, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def export(to: Path, _items: Any, **_: Any) -> None:
        (to.parent / "textures").mkdir()
        (to.parent / "textures" / "wood.png").write_text("wood")
        to.write_text("model")

    monkeypatch.setattr(exporting, "export", export)
    tools("export_file", path="good.usda")
    assert (folder / "textures" / "wood.png").read_text() == "wood"
    (folder / "textures" / "wood.png").unlink()
    (folder / "textures").rmdir()
    (folder.parent / "elsewhere").mkdir()
    (folder / "textures").symlink_to(folder.parent / "elsewhere")
    with pytest.raises(ToolError, match="textures is a link, so nothing is written there"):
        tools("export_file", path="bad.usda")
    assert list((folder.parent / "elsewhere").iterdir()) == []


def test_a_client_that_cannot_ask_overwrites_nothing(tools: Tools, folder: Path) -> None:
    (folder / "a.blend").write_text("kept")
    tools.capabilities = {}
    with pytest.raises(
        ToolError, match="overwriting needs the user's approval, which this client can't ask for"
    ):
        tools("save_copy", path="a.blend")
    assert (folder / "a.blend").read_text() == "kept"


def test_a_yes_to_one_file_is_none_to_another(tools: Tools, folder: Path) -> None:
    for name in ("a.blend", "b.blend"):
        (folder / name).write_text("kept")
    first = tools.raw("save_copy", {"path": "a.blend"})
    [key] = first["inputRequests"]
    again = tools.raw("save_copy", {"path": "b.blend"}, inputResponses={key: YES})
    assert again.get("resultType") == "input_required" or again["isError"]
    assert (folder / "b.blend").read_text() == "kept"


def test_a_copy_leaves_the_open_file_what_it_is_and_saving_names_it(tools: Tools, folder: Path) -> None:
    tools("save_copy", path="copy.blend")
    assert bpy.data.filepath == ""
    with pytest.raises(ToolError, match="has no name yet: give a path"):
        tools("save_file")
    saved = tools("save_file", path="mine.blend")
    assert bpy.data.filepath == saved["path"] == str(folder / "mine.blend")
    assert tools("save_file")["bytes"] > 1000  # its own file, as it left it: nobody is asked
    os.utime(folder / "mine.blend", (1, 1))  # somebody else had it
    question, answer = asked(tools, "save_file", YES)
    assert question == f"Overwrite {folder / 'mine.blend'}?"
    assert answer["structuredContent"]["bytes"] > 1000
    lines = [json.loads(line) for line in journal.current().path.read_text().splitlines()]
    assert [line["path"] for line in lines if line["event"] == "file_saved"][-1] == str(folder / "mine.blend")


def test_a_file_that_lies_elsewhere_is_not_saved(tools: Tools, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(elsewhere))
    before = elsewhere.read_bytes()
    bpy.ops.mesh.primitive_cube_add()
    with pytest.raises(ToolError, match="not in a folder that the user named"):
        tools("save_file")
    assert elsewhere.read_bytes() == before


def test_opening_asks_says_what_is_lost_and_runs_no_scripts(tools: Tools, folder: Path) -> None:
    text = bpy.data.texts.new("start.py")
    text.use_module = True
    text.write("import bpy\nbpy.context.scene['ran'] = True\n")
    cube = bpy.data.objects["Cube"]
    driver = cube.driver_add("location", 0).driver
    driver.expression = "len([1, 2, 3])"
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "other.blend"), copy=True)
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    bpy.ops.mesh.primitive_monkey_add()
    question, answer = asked(tools, "open_file", NO, path="other.blend")
    assert question == f"Open {folder / 'other.blend'}? Unsaved changes in the unnamed file will be lost."
    assert answer["isError"]
    assert "Suzanne" in bpy.data.objects
    _, answer = asked(tools, "open_file", YES, path="other.blend")
    facts = answer["structuredContent"]
    assert (facts["status"], facts["objects"]) == ("success", 3)
    assert facts["blocked"]
    assert "Suzanne" not in bpy.data.objects
    assert "ran" not in bpy.context.scene
    assert tools("get_scene_info")["file"] == str(folder / "other.blend")


def test_a_yes_is_void_once_another_file_is_open(tools: Tools, folder: Path) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "other.blend"), copy=True)
    first = tools.raw("open_file", {"path": "other.blend"})
    [key] = first["inputRequests"]
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    bpy.ops.mesh.primitive_monkey_add()
    again = tools.raw(
        "open_file", {"path": "other.blend"}, inputResponses={key: YES}, requestState=first["requestState"]
    )
    assert again.get("resultType") == "input_required"
    assert "Suzanne" in bpy.data.objects


def test_a_file_that_is_no_blend_is_not_opened(tools: Tools, folder: Path) -> None:
    (folder / "bad.blend").write_text("nothing")
    _, answer = asked(tools, "open_file", YES, path="bad.blend")
    assert "Blender could not open" in answer["content"][0]["text"]
    assert "Cube" in bpy.data.objects


def test_a_save_that_was_agreed_for_another_file_is_refused(tools: Tools, folder: Path) -> None:
    with pytest.raises(Exception, match="Another file was opened meanwhile, so nothing was saved"):
        files._save(folder / "a.blend", copy=False, number=events.loads() - 1, overwrite=False)
    assert list(folder.iterdir()) == []
