# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way to open a foreign file: `child.py` does it in a confined Blender and writes a clean .blend."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ...base.errors import ExternalServiceError
from ...sandbox.confinement import Supervisor
from ..work import Work
from . import confined

__all__ = ("Clean", "opened", "scratch")

#: Bytes of what the child has to say.
_LONGEST_REPORT = 16 * 1024 * 1024
#: All that the child has of the extension, as a package of its own name, and what starts it.
_PROGRAM = (
    "base/errors.py",
    "base/file_names.py",
    "sandbox/confinement/answering.py",
    "importers/__init__.py",
    *(f"importers/opening/{name}.py" for name in ("__init__", "archive", "child", "scrub")),
)
_MAIN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[-1])
from bridge.sandbox.confinement import answering
say = answering.opened()
from bridge.importers.opening import child
say(child.main(Path(sys.argv[-1])))
"""


@dataclass(frozen=True, slots=True)
class Clean:
    """A .blend that may be appended: one collection with this name, its roots, its dimensions in metres; or, of a
    picture, an image with this name, and its size in pixels.

    `removed` names what was taken out of the foreign file, and how much of it.
    """

    blend: Path
    collection: str
    roots: tuple[str, ...]
    dimensions: tuple[float, ...]
    removed: Mapping[str, int]
    image: str = ""


@contextmanager
def scratch(here: Supervisor) -> Iterator[Path]:
    """A folder for the files of one import. What a Blender that was killed leaves there, the next one removes."""
    folder = here.new_folder()
    try:
        yield folder
    finally:
        here.remove_folder(folder)  # however deep a foreign file made it


@contextmanager
def opened(work: Work, job: Mapping[str, Any], files: Mapping[PurePosixPath, Path]) -> Iterator[Clean]:
    """Convert files (path in the child's folder -> where they are); the result lives as long as the context.

    `job` as in `child.Job`. Raises ExternalServiceError when the child could not read them or was stopped, or where
    nothing confines it; Cancelled.
    """
    with scratch(work.supervisor) as folder:
        try:
            _lay_out(folder, job, files)
        except OSError as error:
            raise ExternalServiceError(f"The files can't be laid out: {error.strerror or error}.") from error
        report = confined.run(work.supervisor, "main.py", folder, work.cancelled)
        yield _read(report, folder, str(job["title"]))


def _lay_out(folder: Path, job: Mapping[str, Any], files: Mapping[PurePosixPath, Path]) -> None:
    """Copies throughout: what the child may touch is neither the cache nor the extension."""
    for module in _PROGRAM:
        place = folder / "bridge" / module
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(__file__).parents[2] / module, place)
    (folder / "main.py").write_text(_MAIN, encoding="utf-8")
    for name, path in files.items():
        place = folder / "files" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")


def _read(answer: bytes, folder: Path, title: str) -> Clean:
    """What the child says; it read a foreign file, so what it says is not believed without a look."""
    try:
        report = json.loads(answer[:_LONGEST_REPORT])
        if "error" in report:
            raise ExternalServiceError(f"“{title}” can't be opened: {str(report['error'])[:500]}")
        clean = Clean(
            blend=folder / "asset.blend",
            collection="" if "image" in report else str(report["collection"]),
            image=str(report.get("image", "")),
            roots=tuple(str(name) for name in report["roots"]),
            dimensions=tuple(float(length) for length in report["dimensions"]),
            removed={str(name): int(count) for name, count in report["removed"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ExternalServiceError(
            f"“{title}” can't be opened: the process that reads it left no result."
        ) from None
    if clean.blend.is_symlink() or not clean.blend.is_file():
        raise ExternalServiceError(f"“{title}” can't be opened: the process that reads it wrote nothing.")
    return clean
