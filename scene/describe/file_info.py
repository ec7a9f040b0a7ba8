# SPDX-License-Identifier: GPL-3.0-or-later
"""Describes what a .blend file contains and depends on: data-blocks and their users, libraries, missing files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import bpy

__all__ = ("file_info", "libraries", "missing_files")

#: Kinds of data-blocks that belong to the program or the window, not to the user's work.
_NOT_TOLD = frozenset("screens workspaces window_managers brushes palettes libraries".split())
_WITH_FILES = ("images", "sounds", "movieclips", "fonts", "volumes", "cache_files", "libraries")
_MOST = 200


def file_info(*, unused_only: bool = False) -> dict[str, Any]:
    """Return the number of data-blocks of each kind, data-blocks without users, linked libraries and missing files."""
    kinds = [p.identifier for p in bpy.data.bl_rna.properties if p.type == "COLLECTION"]
    counts: dict[str, int] = {}
    unused: dict[str, list[str]] = {}
    for kind in kinds:
        blocks = getattr(bpy.data, kind)
        if kind in _NOT_TOLD or not len(blocks):
            continue
        counts[kind] = len(blocks)
        idle = [block.name for block in blocks if block.users == 0]
        if idle:
            unused[kind] = idle[:_MOST]
    told: dict[str, Any] = {"unused": unused}
    if not unused_only:
        told |= {
            "file": bpy.data.filepath,
            "counts": counts,
            "missing_files": missing_files(),
            "libraries": libraries(),
            "modified_images": [image.name for image in bpy.data.images if image.is_dirty][:_MOST],
        }
    return told


def missing_files() -> list[dict[str, str]]:
    """Return the files that data-blocks refer to and that do not exist."""
    return list(islice(_missing(), _MOST))


def libraries() -> list[dict[str, Any]]:
    """Return the linked libraries, and how many data-blocks come from each."""
    return [
        {"name": library.name, "path": library.filepath, "linked": len(library.users_id)}
        for library in bpy.data.libraries
    ]


def _missing() -> Iterator[dict[str, str]]:
    """Yield the missing files. Skips network paths: checking one can take a minute."""
    for kind in _WITH_FILES:
        for block in getattr(bpy.data, kind, ()):
            named = block.filepath
            if (
                not named
                or named.startswith(("<", "\\\\"))
                or getattr(block, "packed_file", None) is not None
            ):
                continue
            if getattr(block, "source", "FILE") != "FILE":  # sequences and tiled images have no single file
                continue
            path = bpy.path.abspath(named, library=block.library)
            if not path.startswith(("\\\\", "//")) and not Path(path).exists():
                yield {"kind": kind, "name": block.name, "path": named}
