# SPDX-License-Identifier: GPL-3.0-or-later
"""A job as plain files: an Open Job Description bundle (`jobtemplate-2023-09`) that any engine of that form takes.

    scene.blend  worker.py  chunks.json  template.json  parameter_values.json  asset_references.json  results/

Nothing in the template was chosen by anybody: names, paths and numbers are parameters, which are handed on as they
are, one argument each, past any shell.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...base import atomic
from .order import FarmJob

__all__ = (
    "BLENDER",
    "MOST_CHUNKS",
    "SCENE",
    "arguments",
    "chunks_of",
    "job_name",
    "parameters",
    "template",
    "write",
    "write_round",
)

SCENE, WORKER, CHUNKS = "scene.blend", "worker.py", "chunks.json"
#: Before the script's own arguments; `{}` stands for the script.
BLENDER = (
    *("--background", "--factory-startup", "--disable-autoexec", "--offline-mode", "--python-exit-code", "3"),
    *("--python", "{}", "--"),
)
#: Seconds that a task may take: more than any chunk, less than for ever.
_LONGEST_TASK_S = 24 * 3600
#: Chunks of one submission: Slurm's own limit of an array.
MOST_CHUNKS = 1000
_NO_NAME = re.compile(r"[^\w .,()-]")


def job_name(title: str) -> str:
    """A title as any engine takes it: letters, digits, spaces and a few signs, at most 100 of them."""
    return _NO_NAME.sub("_", " ".join(title.split()))[:100].lstrip("-. ") or "Render"


def chunks_of(frames: Sequence[int], size: int) -> list[list[int]]:
    """The frames in chunks of `size`, or larger ones where there would be too many."""
    size = max(size, -(-len(frames) // MOST_CHUNKS))
    return [list(frames[at : at + size]) for at in range(0, len(frames), size)]


def arguments(kind: str, values: Mapping[str, str]) -> list[str]:
    """What the script of the workers is told, each value by its parameter's name: `{{Param.SceneFile}}`, or a path."""
    shared = [
        "--scene",
        values["SceneFile"],
        "--results",
        values["Results"],
        "--version",
        values["BlenderVersion"],
    ]
    if kind == "video":
        return ["video", *shared, "--frames", values["FramesFolder"], "--pattern", values["FramesPattern"]]
    return [
        *("frames", *shared, "--chunks", values["ChunksFile"], "--chunk", values["Chunk"]),
        *("--attempt", values["Attempt"]),
    ]


def write(
    job: FarmJob, scene: Path, to: Path, blender: str = "blender", start: Sequence[str] = BLENDER
) -> None:
    """Write the bundle of a job into `to`, with a copy of the packed scene. Raises OSError."""
    to.mkdir(parents=True, exist_ok=True)
    (to / "results").mkdir(exist_ok=True)
    if scene != to / SCENE:
        shutil.copyfile(scene, to / SCENE)
    shutil.copyfile(Path(__file__).with_name(WORKER), to / WORKER)
    _write(to / "template.json", template(job, start))
    assets = {
        "inputs": {"filenames": [SCENE, WORKER, CHUNKS, *job.outside], "directories": []},
        "outputs": {"directories": ["results"]},
        "referencedPaths": [],
    }
    _write(to / "asset_references.json", {"assetReferences": assets})
    write_round(job, to, chunks_of(job.frames, job.chunk), 1, blender)


def write_round(
    job: FarmJob, to: Path, chunks: Sequence[Sequence[int]], attempt: int, blender: str = "blender"
) -> None:
    """Write which frames are to be rendered now, and the parameters that go with them."""
    _write(to / CHUNKS, chunks)
    values = parameters(job, to, len(chunks), attempt, blender)
    _write(
        to / "parameter_values.json",
        {"parameterValues": [{"name": name, "value": value} for name, value in values.items()]},
    )


def parameters(job: FarmJob, bundle: Path, chunks: int, attempt: int, blender: str) -> dict[str, str]:
    """The values of the template's parameters."""
    return {
        "JobName": job_name(job.title),
        "SceneFile": str(bundle / SCENE),
        "Script": str(bundle / WORKER),
        "ChunksFile": str(bundle / CHUNKS),
        "Results": str(bundle / "results"),
        "Chunks": f"0-{max(chunks, 1) - 1}",
        "Attempt": str(attempt),
        "Blender": blender,
        "BlenderVersion": job.version,
        "FramesFolder": str(bundle / "results"),
        "FramesPattern": "frame_#.png",
    }


def template(job: FarmJob, start: Sequence[str] = BLENDER) -> dict[str, Any]:
    """The job template; `start` is what stands between the program and the script's own arguments."""
    names = [definition["name"] for definition in _DEFINITIONS]
    values = {name: f"{{{{Param.{name}}}}}" for name in names} | {"Chunk": "{{Task.Param.Chunk}}"}
    steps: list[dict[str, Any]] = [
        {
            "name": "Frames",
            "parameterSpace": {
                "taskParameterDefinitions": [{"name": "Chunk", "type": "INT", "range": "{{Param.Chunks}}"}]
            },
            "script": _script(start, arguments("frames", values)),
        }
    ]
    if job.video:
        video = _script(start, arguments("video", values))
        steps.append({"name": "Video", "dependencies": [{"dependsOn": "Frames"}], "script": video})
    return {
        "specificationVersion": "jobtemplate-2023-09",
        "name": "{{Param.JobName}}",
        "description": "Frames of a scene, each by Blender on a worker. Scripts in the .blend are not run.",
        "parameterDefinitions": list(_DEFINITIONS),
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


def _file(name: str, default: str, description: str) -> dict[str, Any]:
    kind = {"type": "PATH", "objectType": "FILE", "dataFlow": "IN", "default": default}
    return {"name": name, **kind, "description": description}


_DEFINITIONS: tuple[dict[str, Any], ...] = (
    {
        "name": "JobName",
        "type": "STRING",
        "default": "Render",
        "maxLength": 100,
        "description": "Shown to people.",
    },
    _file("SceneFile", SCENE, "The scene, with what it refers to inside."),
    _file("Script", WORKER, "What Blender runs on a worker."),
    _file("ChunksFile", CHUNKS, "A list of lists of frames: what one task renders."),
    {
        "name": "Results",
        "type": "PATH",
        "objectType": "DIRECTORY",
        "dataFlow": "OUT",
        "default": "results",
        "description": "Pictures, and what became of each frame.",
    },
    {"name": "Chunks", "type": "STRING", "default": "0", "description": "Which chunks, such as 0-24."},
    {"name": "Attempt", "type": "INT", "default": 1, "minValue": 1, "description": "Which attempt this is."},
    {
        "name": "Blender",
        "type": "STRING",
        "default": "blender",
        "description": "Blender's program on a worker.",
    },
    {
        "name": "BlenderVersion",
        "type": "STRING",
        "default": "",
        "description": "The Blender that it takes, as 4.2.",
    },
    {
        "name": "FramesFolder",
        "type": "PATH",
        "objectType": "DIRECTORY",
        "dataFlow": "IN",
        "default": "results",
        "description": "Where the video finds its pictures.",
    },
    {
        "name": "FramesPattern",
        "type": "STRING",
        "default": "frame_#.png",
        "description": "A picture's name; # is its frame.",
    },
)

#: Of every task, whoever runs it: nothing of a worker's own is loaded or left there.
_VARIABLES = {
    "BLENDER_USER_RESOURCES": "{{Session.WorkingDirectory}}/blender",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
