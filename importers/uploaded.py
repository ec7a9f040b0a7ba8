# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a client's file as a model, an image or a text of the open .blend. Worker threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import bpy

from .append import Imported, append, append_image, one_step, timed
from .credit import Credit
from .import_plan import ImportPlan
from .opening import foreign
from .work import Work

__all__ = ("add_text", "prepare", "run")

#: Suffix -> the format in the child's `Job`.
_FORMATS: Mapping[str, str] = {
    ".glb": "gltf",
    ".gltf": "gltf",
    ".zip": "zip",
    ".fbx": "fbx",
    ".obj": "obj",
    ".stl": "stl",
    ".ply": "ply",
    ".usd": "usd",
    ".usda": "usd",
    ".usdc": "usd",
    ".usdz": "usd",
}


def prepare(
    path: Path,
    credit: Credit,
    *,
    family: Literal["picture", "model"],
    size: float | None = None,
    location: Sequence[float] | None = None,
) -> ImportPlan:
    """The import plan of a file on this computer; see `run`."""
    return ImportPlan(
        credit.title,
        0,
        run=lambda work: run(work, path, credit, family=family, size=size, location=location),
    )


def run(
    work: Work,
    path: Path,
    credit: Credit,
    *,
    family: Literal["picture", "model"],
    size: float | None,
    location: Sequence[float] | None,
) -> Imported:
    """Open a picture or a model in a confined Blender, and append the result as one undo step.

    `credit.title` is the file's name; `size` is the longest side of a model in metres, None keeps the file's own size.
    Raises ExternalServiceError, Cancelled.
    """
    suffix = PurePosixPath(credit.title).suffix.lower()
    file = f"sent{suffix}"
    job: dict[str, Any] = {"file": file, "collections": [], "size": size, "ground": True, "unwrap": True}
    job |= {"format": "picture" if family == "picture" else _FORMATS[suffix], "title": credit.title}
    work.opening()
    with foreign.opened(work, job, {PurePosixPath(file): path}) as clean:
        if family == "picture":
            return work.in_blender(timed(partial(append_image, clean, credit)))
        return work.in_blender(timed(partial(append, clean, credit, location)))


def add_text(name: str, text: str) -> str:
    """Add a Text data-block with this name, or the next free one. Scripts can read it; Blender never runs it. Main
    thread.
    """
    with one_step(f"Import {name}"):
        made: Any = bpy.data.texts.new(name)
        made.from_string(text)
        made.use_module = False
        return str(made.name)
