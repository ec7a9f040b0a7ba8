# SPDX-License-Identifier: GPL-3.0-or-later
"""From a file that a client sent to a collection, an image or a text in the open file. Worker threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import bpy

from .append import Imported, append, append_image, one_step, timed
from .credit import Credit
from .import_asset import ImportPlan
from .opening import foreign
from .work import Work

__all__ = ("add_text", "prepare", "run")

#: How the child calls what such a file holds.
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
    """The import of a file that is here already, as `run` does it."""
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
    """Open a picture or a model in a confined Blender, and append what came of it, as one undo step.

    `credit.title` is the file's name; `size` is the longest side of a model in metres, None keeps the file's own.
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
    """A new text of this name, or the next free one, which scripts can read; Blender never runs it. Main thread."""
    with one_step(f"Import {name}"):
        made: Any = bpy.data.texts.new(name)
        made.from_string(text)
        made.use_module = False
        return str(made.name)
