# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundle as other programs read it: `openjd` itself checks it, and no name or path of it becomes more than text."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.rendering.farms import bundle, slurm
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Task
from bl_ext.user_default.mcp_bridge.rendering.farms.order import FarmJob
from bl_ext.user_default.mcp_bridge.rendering.farms.targets import Target

from support.services import farm

#: What a shell, a template, a log or a terminal would take for something else.
HOSTILE = [
    "plain",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    "{{Param.Blender}}",
    "{{ 1 + 1 }}",
    "--export=ALL",
    "%a %j",
    'it\'s "quoted"',
    "\\n\\",
    "ümläut 電影",
]


def job(folder: Path, *, name: str = "turn", video: bool = True) -> FarmJob:
    return FarmJob(
        id="0123456789abcdef",
        owner="alice",
        title=name,
        where="here",
        folder=str(folder / "named"),
        stem=name,
        frames=tuple(range(1, 26)),
        chunk=10,
        seconds=1.0,
        version="4.2",
        command=("blender", "--background"),
        outside=("/mnt/cache/smoke.vdb",),
        scripts=(),
        overwrite=False,
        video=video,
        bundle=str(folder),
    )


def written(folder: Path, **facts: object) -> FarmJob:
    """A bundle in `folder`, whose workers only print what they are told."""
    (folder.parent / "packed.blend").write_bytes(b"BLENDER")
    made = job(folder, **facts)  # type: ignore[arg-type]
    bundle.write(made, folder.parent / "packed.blend", folder, sys.executable, ("-c", PRINTS, "{}"))
    return made


PRINTS = "import json, os, sys; print('TOLD', json.dumps([sys.argv[1:], sorted(os.environ)]))"


def test_openjd_takes_the_bundle_and_hands_on_each_value_as_it_is(tmp_path: Path) -> None:
    openjd = farm.openjd(tmp_path)
    name = " ".join(HOSTILE)
    folder = tmp_path.joinpath(*HOSTILE)
    folder.parent.mkdir(parents=True)
    made = written(folder, name=name)
    checked = subprocess.run([openjd, "check", str(folder / "template.json")], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    values = json.loads((folder / "parameter_values.json").read_text())["parameterValues"]
    given = tmp_path / "given.json"
    given.write_text(json.dumps({one["name"]: one["value"] for one in values}))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    ran = subprocess.run(
        [openjd, "run", str(folder / "template.json"), "--step", "Frames", "--job-param", f"file://{given}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = [json.loads(line.partition("TOLD ")[2]) for line in ran.stdout.splitlines() if "\tTOLD " in line]
    assert len(told) == 3  # 25 frames, ten in a chunk
    assert not list(tmp_path.rglob("pwned"))
    for chunk, (arguments, _) in enumerate(told):
        assert arguments[0] == str(folder / "worker.py")
        assert arguments[1:] == [
            *("frames", "--scene", str(folder / "scene.blend"), "--results", str(folder / "results")),
            *(
                "--version",
                "4.2",
                "--chunks",
                str(folder / "chunks.json"),
                "--chunk",
                str(chunk),
                "--attempt",
                "1",
            ),
        ]
    assert made.title == name


def test_the_files_of_a_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    written(folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("asset_references.json", "chunks.json", "parameter_values.json", "results", "scene.blend"),
        *("template.json", "worker.py"),
    ]
    template = json.loads((folder / "template.json").read_text())
    assert template["specificationVersion"] == "jobtemplate-2023-09"
    assert [step["name"] for step in template["steps"]] == ["Frames", "Video"]
    assert template["steps"][1]["dependencies"] == [{"dependsOn": "Frames"}]
    assert json.loads((folder / "chunks.json").read_text()) == [
        *(list(range(1, 11)), list(range(11, 21)), list(range(21, 26))),
    ]
    assets = json.loads((folder / "asset_references.json").read_text())["assetReferences"]
    assert assets["inputs"]["filenames"] == [
        "scene.blend",
        "worker.py",
        "chunks.json",
        "/mnt/cache/smoke.vdb",
    ]


def test_blender_runs_no_script_of_the_file(tmp_path: Path) -> None:
    template = bundle.template(job(tmp_path))
    for step in template["steps"]:
        words = step["script"]["actions"]["onRun"]["args"]
        assert "--disable-autoexec" in words
        assert "--factory-startup" in words
        assert "--enable-autoexec" not in words
    worker = (Path(bundle.__file__).with_name("workers") / "render.py").read_text(encoding="utf-8")
    assert worker.count("open_mainfile(") == worker.count("use_scripts=False") == 1


def test_no_token_goes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BLENDER_MCP_TOKEN", "BLENDER_MCP_SKETCHFAB_TOKEN", "BLENDER_MCP_FAL_KEY"):
        monkeypatch.setenv(name, "a-very-secret-word")
    folder = tmp_path / "job"
    written(folder)
    for path in folder.rglob("*"):
        assert path.is_dir() or b"a-very-secret-word" not in path.read_bytes(), path


@pytest.mark.parametrize("name", HOSTILE)
def test_slurms_script_is_one_command(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name.replace("/", "_")
    made = replace(written(folder, name=name), bundle=str(folder))
    target = Target("night", "slurm", {"folder": str(tmp_path), "blender": f"/opt/{name}/blender"})
    script = slurm._script(target, Task(made, "frames", [[1], [2]], 2))
    command = script.splitlines()[-1]
    words = shlex.split(command)
    assert words[:2] == ["exec", f"/opt/{name}/blender"]
    assert words[words.index("--scene") + 1] == str(folder / "scene.blend")
    assert words[words.index("--chunk") + 1] == "$SLURM_ARRAY_TASK_ID"
    assert command.count("$SLURM_ARRAY_TASK_ID") == 1


@pytest.mark.parametrize("title", [*HOSTILE, "", "-- -rf", "a" * 500, "line\nbreak\x07"])
def test_a_jobs_name_is_harmless_text(title: str) -> None:
    name = bundle.job_name(title)
    assert 0 < len(name) <= 100
    assert name[0] not in "-. "
    assert not set(name) & set("$`;{}%'\"\\\n\x07#&|<>*?!=/")


@pytest.mark.parametrize(
    ("frames", "size", "chunks"), [(1, 10, 1), (25, 10, 3), (100_000, 1, 1000), (1001, 1, 501)]
)
def test_chunks_have_each_frame_once(frames: int, size: int, chunks: int) -> None:
    made = bundle.chunks_of(range(frames), size)
    assert len(made) == chunks
    assert [frame for chunk in made for frame in chunk] == list(range(frames))
