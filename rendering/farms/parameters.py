# SPDX-License-Identifier: GPL-3.0-or-later
"""The parameters of a job template (Open Job Description), for a render and for a script on files."""

from __future__ import annotations

from typing import Any

__all__ = ("FILES", "FRAMES")


def _path(
    name: str, default: str, description: str, *, folder: bool = False, out: bool = False
) -> dict[str, Any]:
    kind = {
        "type": "PATH",
        "objectType": "DIRECTORY" if folder else "FILE",
        "dataFlow": "OUT" if out else "IN",
    }
    return {"name": name, **kind, "default": default, "description": description}


def _text(name: str, default: str, description: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": "STRING", "default": default, **more, "description": description}


_SHARED = (
    _text("JobName", "Render", "Shown to people.", maxLength=100),
    _path("Script", "worker.py", "What Blender runs on a worker."),
    _path("ChunksFile", "chunks.json", "A list of lists of numbers: what one task does."),
    _path("Results", "results", "What was made, and what became of each part.", folder=True, out=True),
    _text("Chunks", "0", "Which chunks, such as 0-24."),
    {"name": "Attempt", "type": "INT", "default": 1, "minValue": 1, "description": "Which attempt this is."},
    _text("Blender", "blender", "Blender's program on a worker."),
    _text("BlenderVersion", "", "The Blender that it takes, as 4.2."),
)

FRAMES: tuple[dict[str, Any], ...] = (
    *_SHARED,
    _path("SceneFile", "scene.blend", "The scene, with what it refers to inside."),
    _path("FramesFolder", "results", "Where the video finds its pictures.", folder=True),
    _text("FramesPattern", "frame_#.png", "A picture's name; # is its frame."),
)

FILES: tuple[dict[str, Any], ...] = (
    *_SHARED,
    _path("FilesFile", "files.json", "The files, each with its folder and its copy's place."),
    _path("CodeFile", "code.py", "The script that runs in each file, in a confined Blender."),
    _path("Extension", "extension", "The parts of MCP Bridge that confine it.", folder=True),
    _path("Libraries", "libraries", "The Python packages that these need.", folder=True),
    _text("Level", "blender", "What the script may do: blender, math or arithmetic."),
)
