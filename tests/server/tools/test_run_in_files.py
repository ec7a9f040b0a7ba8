# SPDX-License-Identifier: GPL-3.0-or-later
"""One script on files of the named folders, by a real client, with real confined Blenders behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.clients.tool_calls import ToolError, Tools
from support.confinement.rehearsing import rehearsals

YES, NO = {"action": "accept", "content": {}}, {"action": "decline"}
LIFT = (
    "import bpy\nbpy.data.objects['Cube'].location.z = 7\nresult = bpy.data.filepath[-7:]\nprint('lifted')\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    named = tmp_path / "named"
    (named / "out").mkdir(parents=True)
    monkeypatch.setenv("BLENDER_MCP_FOLDERS", str(named))
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))
    with rehearsals(tmp_path):
        yield named


@pytest.fixture
def tools(folder: Path) -> Iterator[Tools]:
    approvals.close()
    execute._rate.clear()
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    started = Tools(elicitation={"form": {}})
    yield started
    started.stop()
    bpy.ops.wm.read_homefile(use_factory_startup=True)


def written(path: Path, *, compress: bool = False) -> Path:
    """What is open, saved there, and the factory scene open again."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=compress)
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    return path


def asked(tools: Tools, answer: dict[str, Any] = YES, **given: Any) -> tuple[str, dict[str, Any]]:
    """What the user is asked, and the result, waited for."""
    given = {"code": LIFT, "save_as": "out/{name}_new.blend", "wait_seconds": 45, **given}
    first = tools.raw("run_in_files", given)
    assert first.get("resultType") == "input_required", first
    [(key, request)] = first["inputRequests"].items()
    rounds = {"inputResponses": {key: answer}, "requestState": first["requestState"]}
    return request["params"]["message"], tools.raw("run_in_files", given, **rounds)


def looked_at(path: Path, expression: str) -> Any:
    """The value of an expression in this file."""
    bpy.ops.wm.open_mainfile(filepath=str(path), load_ui=True, use_scripts=False)
    try:
        return eval(expression, {"bpy": bpy})
    finally:
        bpy.ops.wm.read_homefile(use_factory_startup=True)


def test_each_file_becomes_a_copy_after_one_yes(tools: Tools, folder: Path) -> None:
    bpy.data.objects["Cube"].location.x = 3
    bpy.context.workspace.name = "My Workspace"
    a = written(folder / "a.blend")
    bpy.data.objects["Cube"].location.x = 4
    b = written(folder / "b.blend", compress=True)
    before = {path: path.read_bytes() for path in (a, b)}
    said, answer = asked(tools, paths=["a.blend", str(b)])
    assert "Run a script in 2 files" in said
    assert f"{a} → {folder}/out/a_new.blend" in said
    assert f"{b} → {folder}/out/b_new.blend" in said
    assert said.endswith(LIFT)
    facts = answer["structuredContent"]
    assert (facts["saved"], facts["failed"]) == (2, 0)
    assert [one["result"] for one in facts["files"]] == ["a.blend", "b.blend"]
    assert [one["stdout"] for one in facts["files"]] == ["lifted\n"] * 2
    copies = [Path(one["saved_as"]) for one in facts["files"]]
    assert copies == [folder / "out" / "a_new.blend", folder / "out" / "b_new.blend"]
    assert {path: path.read_bytes() for path in (a, b)} == before
    assert sorted((folder / "out").iterdir()) == copies
    assert copies[0].read_bytes().startswith(b"BLENDER")
    assert copies[1].read_bytes().startswith(b"\x28\xb5\x2f\xfd")
    for x, copy in zip((3, 4), copies, strict=True):
        assert looked_at(copy, "tuple(bpy.data.objects['Cube'].location)") == (x, 0, 7)
    assert looked_at(copies[0], "bpy.context.workspace.name") == "My Workspace"
    assert bpy.data.objects["Cube"].location.z == 0, "the open scene is another one"
    lines = [json.loads(line) for line in journal.current().path.read_text().splitlines()]
    [begun] = [line for line in lines if line["event"] == "run_in_files"]
    assert (begun["script"], len(begun["files"])) == (LIFT, 2)
    assert [line["path"] for line in lines if line["event"] == "file_saved"] == [*map(str, copies)]
    # What it wrote itself it may fetch, unasked.
    assert tools("download_file", path="out/a_new.blend", length=8)["file"]["name"] == "a_new.blend"


def test_a_file_that_fails_says_why_and_the_others_are_saved(tools: Tools, folder: Path) -> None:
    written(folder / "a.blend")
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    written(folder / "b.blend")
    (folder / "c.blend").write_bytes(b"no .blend at all")
    _, answer = asked(tools, paths=["b.blend", "c.blend", "a.blend"])
    facts = answer["structuredContent"]
    assert (facts["saved"], facts["failed"]) == (1, 2)
    b, c, a = facts["files"]
    assert (b["status"], b["error"], b["line"]) == ("failed", "HandlerError", 2)
    assert b["message"] == """KeyError: 'bpy_prop_collection[key]: key "Cube" not found'"""
    assert (c["status"], "c.blend" in c["message"]) == ("failed", True), c
    assert a["status"] == "saved"
    assert [path.name for path in (folder / "out").iterdir()] == ["a_new.blend"]


def test_scripts_in_a_file_do_not_run(tools: Tools, folder: Path) -> None:
    text = bpy.data.texts.new("spy.py")
    text.write("import bpy\nbpy.data.objects['Camera'].location.x = 99\n")
    text.use_module = True
    curve = bpy.data.objects["Light"].driver_add("location", 0)
    curve.driver.expression = "exec('import bpy') or 99"
    written(folder / "a.blend")
    look = "import bpy\nresult = [bpy.data.objects[name].location.x for name in ('Camera', 'Light')]"
    _, answer = asked(tools, paths=["a.blend"], code=look)
    [told] = answer["structuredContent"]["files"]
    assert told["status"] == "saved"
    assert 99 not in told["result"]
    assert looked_at(Path(told["saved_as"]), "bpy.data.texts['spy.py'].use_module"), "it stays in the copy"


def test_what_a_file_refers_to_is_found_and_stays_so(tools: Tools, folder: Path) -> None:
    written(folder / "library.blend")
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "a.blend"))
    with bpy.data.libraries.load(str(folder / "library.blend"), link=True, relative=True) as (_, taken):
        taken.objects = ["Cube"]
    bpy.context.scene.collection.objects.link(taken.objects[0])
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    look = "import bpy\nresult = len(bpy.data.objects['Cube'].data.vertices)"
    for save_as, path in (
        ("{folder}/{name}_new.blend", "//library.blend"),
        ("out/{name}.blend", str(folder / "library.blend")),
    ):
        _, answer = asked(tools, paths=["a.blend"], code=look, save_as=save_as)
        [told] = answer["structuredContent"]["files"]
        assert told["result"] == 8, told
        assert looked_at(Path(told["saved_as"]), "bpy.data.libraries[0].filepath") == path


def test_without_a_yes_nothing_is_run(tools: Tools, folder: Path) -> None:
    written(folder / "a.blend")
    _, answer = asked(tools, NO, paths=["a.blend"])
    assert answer["isError"]
    assert list((folder / "out").iterdir()) == []
    tools.capabilities = {}
    with pytest.raises(ToolError, match="needs the user's approval, which this client can't ask for"):
        tools("run_in_files", paths=["a.blend"], code=LIFT, save_as="out/{name}.blend")


def test_what_is_there_is_overwritten_only_as_the_question_said(tools: Tools, folder: Path) -> None:
    written(folder / "a.blend")
    (folder / "out" / "a_new.blend").write_text("mine")
    said, _ = asked(tools, NO, paths=["a.blend"])
    assert "a_new.blend (overwrites it)" in said
    assert (folder / "out" / "a_new.blend").read_text() == "mine"
    _, answer = asked(tools, paths=["a.blend"])
    assert answer["structuredContent"]["saved"] == 1
    assert (folder / "out" / "a_new.blend").read_bytes().startswith(b"BLENDER")


def test_it_is_a_job_that_can_be_cancelled(tools: Tools, folder: Path) -> None:
    for number in range(20):
        written(folder / f"{number}.blend")
    names = [f"{number}.blend" for number in range(20)]
    _, answer = asked(tools, paths=names, save_as="out/{name}.blend", wait_seconds=0)
    job_id = answer["structuredContent"]["job_id"]
    while (job := tools("get_job", job_id=job_id, wait_seconds=0.2))["progress"] < 2:
        assert job["state"] == "working", job
    assert (job["total"], job["kind"]) == (20, "files")
    assert "of 20 files" in job["message"]
    assert tools("cancel_job", job_id=job_id)["state"] == "cancelled"
    assert 2 <= len(list((folder / "out").glob("*.blend"))) < 20


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"paths": ["b.blend"]}, "There is no file .*b.blend"),
        ({"paths": ["a.txt"]}, "the name has to end in .blend"),
        ({"paths": ["/etc/a.blend"]}, "is not in a folder that the user named"),
        ({"paths": ["a.blend", "a.blend"]}, "is named twice"),
        ({"paths": ["a.blend", "out/c.blend"], "save_as": "x.blend"}, "put {name} into save_as"),
        ({"save_as": "{name}.blend"}, "is one of the files, which stay as they are"),
        ({"save_as": "../{name}.blend"}, "is not a plain name"),
        ({"save_as": "{name}.exe"}, "the name has to end in .blend"),
        ({"code": "import os\nos.system('x')"}, "os.system"),
        ({"code": "import bpy\nbpy.ops.no.such()"}, "no"),
        ({"code": " "}, "the parameter 'code' is empty"),
    ],
)
def test_impossible_arguments_are_refused_with_the_reason(
    tools: Tools, folder: Path, given: dict[str, Any], message: str
) -> None:
    written(folder / "a.blend")
    written(folder / "out" / "c.blend")
    call = {"paths": ["a.blend"], "code": LIFT, "save_as": "out/{name}.blend", **given}
    with pytest.raises(ToolError, match=message):
        tools("run_in_files", **call)
