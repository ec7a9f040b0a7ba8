# SPDX-License-Identifier: GPL-3.0-or-later
"""A script on files on a real openjd and a real Slurm: each in a confined Blender on a worker; copies come home."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import folders
from bl_ext.user_default.mcp_bridge.rendering.farms import bundle
from bl_ext.user_default.mcp_bridge.rendering.farms.order import FarmJob

from support.clients.tool_calls import ToolError, Tools
from support.confinement.rehearsing import rehearsals
from support.services import farm, slurm

CODE = "import bpy\nbpy.data.objects['Cube'].location.z = 7\n"


@pytest.fixture(params=["openjd", "slurm"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with ExitStack() as stack:
        if request.param == "openjd":
            target = f'farm = openjd program="{farm.openjd(tmp_path)}"'
        else:
            if slurm.missing():
                pytest.skip(slurm.missing())
            running = stack.enter_context(slurm.running())
            shared = running.folder / "shared"
            shared.mkdir()
            blender = farm.blender(running.folder)
            target = f"farm = slurm folder={shared} config={running.config} blender={blender}"
        stack.enter_context(rehearsals(tmp_path))
        yield farm.set_up(tmp_path, monkeypatch, target)


@pytest.fixture
def tools(folder: Path, connect: Callable[[], Tools]) -> Tools:
    return connect()


def order(tools: Tools, **given: object) -> tuple[str, str]:
    """What the user is asked, who says yes, and the job's id."""
    call = {"code": CODE, "save_as": "{name}_new.blend", "where": "farm", **given}
    first = tools.raw("run_in_files", call)
    [(key, request)] = first["inputRequests"].items()
    rounds = {"inputResponses": {key: farm.YES}, "requestState": first["requestState"]}
    begun = tools.raw("run_in_files", call, **rounds)
    assert not begun.get("isError"), begun
    return request["params"]["message"], begun["structuredContent"]["job_id"]


def test_copies_come_home_and_a_file_that_fails_is_named(tools: Tools, folder: Path) -> None:
    bpy.ops.mesh.primitive_cube_add()
    bpy.context.object.name = "Cube"
    for name in ("a", "b", "c"):
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / f"{name}.blend"), copy=True)
    bpy.data.objects["Cube"].name = "Renamed"
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "broken.blend"), copy=True)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said, job_id = order(tools, paths=[f"{name}.blend" for name in ("a", "broken", "b", "c")])
    assert "Run a script in 4 files on farm" in said
    assert "Workers have to see these files under the same path." in said
    assert said.endswith(CODE)
    job = farm.ended(tools, job_id, 300)
    assert job["state"] == "failed"
    assert (job["in_files"]["files"], job["in_files"]["done"]) == (4, 3), job
    [failure] = job["in_files"]["failures"]
    assert failure["file"] == str(folder / "broken.blend")
    assert failure["worker"]
    assert 'key "Cube" not found' in failure["why"]
    assert f"file {folder}/broken.blend on {failure['worker']}: " in job["message"]
    copies = {f"{name}_new.blend" for name in ("a", "b", "c")}
    assert {path.name for path in folder.iterdir()} == before.keys() | copies
    assert {name: (folder / name).read_bytes() for name in before} == before
    for name in copies:
        bpy.ops.wm.open_mainfile(filepath=str(folder / name), use_scripts=False)
        assert bpy.data.objects["Cube"].location.z == 7
    assert list((folders.user_folder() / "renders").iterdir()) == []


def job(folder: Path) -> FarmJob:
    files = ((str(folder / "a.blend"), str(folder), str(folder / "b.blend")),)
    return FarmJob(
        *("0123456789abcdef", "alice", "Run a script", "here", str(folder), "", (1,), 1, None, "4.2"),
        *(("blender",), (), (), False, False, str(folder / "job"), files, CODE, "blender"),
    )


def test_the_bundle_of_a_script(tmp_path: Path) -> None:
    made = job(tmp_path)
    to = Path(made.bundle)
    bundle.write(made, None, to)
    assert sorted(path.name for path in to.iterdir()) == sorted(
        [
            *("asset_references.json", "chunks.json", "code.py", "extension", "files.json", "libraries"),
            *("parameter_values.json", "results", "template.json", "worker.py"),
        ]
    )
    checked = subprocess.run(
        [farm.openjd(tmp_path), "check", str(to / "template.json")], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout
    template = json.loads((to / "template.json").read_text())
    values = json.loads((to / "parameter_values.json").read_text())["parameterValues"]
    assert {one["name"] for one in template["parameterDefinitions"]} == {one["name"] for one in values}
    [step] = template["steps"]
    assert step["name"] == "Files"
    assert "--disable-autoexec" in step["script"]["actions"]["onRun"]["args"]
    assert (to / "code.py").read_text() == CODE
    assets = json.loads((to / "asset_references.json").read_text())["assetReferences"]["inputs"]
    assert str(tmp_path / "a.blend") in assets["filenames"]
    assert assets["directories"] == ["extension", "libraries"]


def test_flamenco_takes_no_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Callable[[], Tools]
) -> None:
    farm.set_up(tmp_path, monkeypatch, f"studio = flamenco address=http://127.0.0.1:9 folder={tmp_path}")
    tools = connect()
    with pytest.raises(ToolError, match="flamenco can only render: leave where out"):
        tools("run_in_files", paths=["a.blend"], code=CODE, save_as="b.blend", where="studio")
