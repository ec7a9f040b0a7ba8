# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a job as plain files: an Open Job Description bundle (`jobtemplate-2023-09`) for any engine that takes one.

    scene.blend  worker.py  chunks.json  template.json  parameter_values.json  asset_references.json  results/

A script on files has, in place of the scene, its text, the list of files, and the parts of this extension that confine
a Blender: a worker needs no extension of its own, and what cannot be confined there does not run.

    files.json  code.py  extension/  libraries/

The template contains no value that a person or an assistant chose: names, paths and numbers are parameters. The engine
passes each one unchanged as one argument, without a shell.
"""

from __future__ import annotations

import importlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base import atomic
from . import parameters as parameters_of
from .order import FarmJob

__all__ = (
    "BLENDER",
    "MOST_CHUNKS",
    "SCENE",
    "arguments",
    "chunks_of",
    "job_name",
    "parameters",
    "step_name",
    "template",
    "write",
    "write_round",
)

SCENE, WORKER, CHUNKS = "scene.blend", "worker.py", "chunks.json"
FILES, CODE, EXTENSION, LIBRARIES = "files.json", "code.py", "extension", "libraries"
#: Rooms of the extension, and packages, that a confined Blender and its starter need.
_ROOMS, _PACKAGES = ("base", "scene", "sandbox"), ("RestrictedPython", "fastjsonschema")
#: Blender's arguments before the script's own; `{}` stands for the script.
BLENDER = (
    *("--background", "--factory-startup", "--disable-autoexec", "--offline-mode", "--python-exit-code", "3"),
    *("--python", "{}", "--"),
)
#: The most seconds of a task: more than any chunk takes, less than forever.
_LONGEST_TASK_S = 24 * 3600
#: The most chunks of one submission: Slurm's own limit of an array.
MOST_CHUNKS = 1000
_WHAT = ("Frames of a scene, each by Blender on a worker.", "A script in files, each in a confined Blender.")
_NO_NAME = re.compile(r"[^\w .,()-]")


def job_name(title: str) -> str:
    """Return a title that any engine takes: letters, digits, spaces and a few signs, at most 100 of them."""
    return _NO_NAME.sub("_", " ".join(title.split()))[:100].lstrip("-. ") or "Render"


def chunks_of(frames: Sequence[int], size: int) -> list[list[int]]:
    """Return the frames in chunks of `size`, or in larger ones if there would be too many."""
    size = max(size, -(-len(frames) // MOST_CHUNKS))
    return [list(frames[at : at + size]) for at in range(0, len(frames), size)]


def arguments(job: FarmJob, step: str, values: Mapping[str, str]) -> list[str]:
    """Return the worker script's arguments, each value by its parameter's name (`{{Param.SceneFile}}`), or a path."""
    chunk = ("--chunks", values["ChunksFile"], "--chunk", values["Chunk"], "--attempt", values["Attempt"])
    shared = ("--results", values["Results"], "--version", values["BlenderVersion"])
    if job.files:
        own = ("--extension", values["Extension"], "--libraries", values["Libraries"])
        script = ("--files", values["FilesFile"], "--code", values["CodeFile"], "--level", values["Level"])
        return [*own, *script, *shared, *chunk]
    scene = ("--scene", values["SceneFile"])
    if step == "video":
        pictures = ("--frames", values["FramesFolder"], "--pattern", values["FramesPattern"])
        return ["video", *scene, *shared, *pictures]
    return ["frames", *scene, *shared, *chunk]


def step_name(job: FarmJob, step: str) -> str:
    """Return the template's name of a step."""
    return "Files" if job.files else step.capitalize()


def write(
    job: FarmJob,
    scene: Path | None,
    to: Path,
    blender: str = "blender",
    start: Sequence[str] = BLENDER,
) -> None:
    """Write the bundle of a job into `to`; a render's bundle has a copy of the packed scene. Raises OSError."""
    to.mkdir(parents=True, exist_ok=True)
    (to / "results").mkdir(exist_ok=True)
    workers = Path(__file__).with_name("workers")
    shutil.copyfile(workers / ("run_in_files.py" if job.files else "render.py"), to / WORKER)
    if scene is None:
        own, folders = [FILES, CODE, *(source for source, _, _ in job.files)], [EXTENSION, LIBRARIES]
        _write_script(job, to)
    else:
        own, folders = [SCENE], []
        if scene != to / SCENE:
            shutil.copyfile(scene, to / SCENE)
    _write(to / "template.json", template(job, start))
    assets = {
        "inputs": {"filenames": [*own, WORKER, CHUNKS, *job.outside], "directories": folders},
        "outputs": {"directories": ["results"]},
        "referencedPaths": [],
    }
    _write(to / "asset_references.json", {"assetReferences": assets})
    write_round(job, to, chunks_of(job.frames, job.chunk), 1, blender)


def _write_script(job: FarmJob, to: Path) -> None:
    files = [
        {"file": source, "folder": folder, "relative": Path(source).parent == Path(place).parent}
        for source, folder, place in job.files
    ]
    _write(to / FILES, files)
    atomic.write(to / CODE, job.script.encode())
    root = Path(__file__).parents[2]
    left_out = shutil.ignore_patterns("__pycache__")
    for room in _ROOMS:
        shutil.copytree(root / room, to / EXTENSION / room, ignore=left_out, dirs_exist_ok=True)
    for name in _PACKAGES:
        package = Path(str(importlib.import_module(name).__file__)).parent
        shutil.copytree(package, to / LIBRARIES / name, ignore=left_out, dirs_exist_ok=True)


def write_round(
    job: FarmJob, to: Path, chunks: Sequence[Sequence[int]], attempt: int, blender: str = "blender"
) -> None:
    """Write the chunks to render now, and the parameters for them."""
    _write(to / CHUNKS, chunks)
    values = parameters(job, to, len(chunks), attempt, blender)
    _write(
        to / "parameter_values.json",
        {"parameterValues": [{"name": name, "value": value} for name, value in values.items()]},
    )


def parameters(job: FarmJob, bundle: Path, chunks: int, attempt: int, blender: str) -> dict[str, str]:
    """Return the values of the template's parameters."""
    shared = {
        "JobName": job_name(job.title),
        "Script": str(bundle / WORKER),
        "ChunksFile": str(bundle / CHUNKS),
        "Results": str(bundle / "results"),
        "Chunks": f"0-{max(chunks, 1) - 1}",
        "Attempt": str(attempt),
        "Blender": blender,
        "BlenderVersion": job.version,
    }
    if job.files:
        own = {"FilesFile": FILES, "CodeFile": CODE, "Extension": EXTENSION, "Libraries": LIBRARIES}
        return {**shared, **{name: str(bundle / path) for name, path in own.items()}, "Level": job.level}
    scene = {"SceneFile": str(bundle / SCENE), "FramesFolder": str(bundle / "results")}
    return {**shared, **scene, "FramesPattern": "frame_#.png"}


def template(job: FarmJob, start: Sequence[str] = BLENDER) -> dict[str, Any]:
    """Return the job template; `start` are the arguments between the program and the script's own."""
    definitions = parameters_of.FILES if job.files else parameters_of.FRAMES
    names = [definition["name"] for definition in definitions]
    values = {name: f"{{{{Param.{name}}}}}" for name in names} | {"Chunk": "{{Task.Param.Chunk}}"}
    steps: list[dict[str, Any]] = [
        {
            "name": step_name(job, "frames"),
            "parameterSpace": {
                "taskParameterDefinitions": [{"name": "Chunk", "type": "INT", "range": "{{Param.Chunks}}"}]
            },
            "script": _script(start, arguments(job, "frames", values)),
        }
    ]
    if job.video:
        video = _script(start, arguments(job, "video", values))
        steps.append({"name": "Video", "dependencies": [{"dependsOn": "Frames"}], "script": video})
    return {
        "specificationVersion": "jobtemplate-2023-09",
        "name": "{{Param.JobName}}",
        "description": f"{_WHAT[bool(job.files)]} Scripts in the .blend are not run.",
        "parameterDefinitions": list(definitions),
        "jobEnvironments": [
            {"name": "Blender", "description": "Settings of its own.", "variables": _VARIABLES}
        ],
        "steps": steps,
    }


def _script(start: Sequence[str], told: list[str]) -> dict[str, Any]:
    words = [word.replace("{}", "{{Param.Script}}") for word in start]
    return {
        "actions": {
            "onRun": {
                "command": "{{Param.Blender}}",
                "args": [*words, *told],
                "timeout": _LONGEST_TASK_S,
                "cancelation": {"mode": "NOTIFY_THEN_TERMINATE", "notifyPeriodInSeconds": 5},
            }
        }
    }


def _write(path: Path, value: object) -> None:
    atomic.write(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


#: Environment of every task on every worker: it loads nothing of the worker's own and leaves nothing there.
_VARIABLES = {
    "BLENDER_USER_RESOURCES": "{{Session.WorkingDirectory}}/blender",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
