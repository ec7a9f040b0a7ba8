# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a foreign model or a client's file: `child.py` opens it in a confined Blender and writes a clean .blend."""

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

#: The most bytes of the child's report.
_LONGEST_REPORT = 16 * 1024 * 1024
#: The only modules of the extension that the child has, as a package, and the code that starts it.
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
    """A .blend that is safe to append. It has one collection with this name, its roots, and its dimensions in metres;
    or, for a picture, an image with this name and its size in pixels.

    `removed` names the kinds of things that were removed from the foreign file, with their counts.
    """

    blend: Path
    collection: str
    roots: tuple[str, ...]
    dimensions: tuple[float, ...]
    removed: Mapping[str, int]
    image: str = ""


@contextmanager
def scratch(here: Supervisor) -> Iterator[Path]:
    """A temporary folder for one import. If Blender is killed, the next one removes the folder."""
    folder = here.new_folder()
    try:
        yield folder
    finally:
        here.remove_folder(folder)  # copes with any depth that a foreign file made


@contextmanager
def opened(work: Work, job: Mapping[str, Any], files: Mapping[PurePosixPath, Path]) -> Iterator[Clean]:
    """Convert files (path in the child's folder -> source path); the result exists until the context ends.

    `job` as in `child.Job`. Raises ExternalServiceError if the child could not read them or was stopped, or if nothing
    can confine it; Cancelled.
    """
    with scratch(work.supervisor) as folder:
        try:
            _lay_out(folder, job, files)
        except OSError as error:
            raise ExternalServiceError(f"The files can't be laid out: {error.strerror or error}.") from error
        report = confined.run(work.supervisor, "main.py", folder, work.cancelled)
        yield _read(report, folder, str(job["title"]))


def _lay_out(folder: Path, job: Mapping[str, Any], files: Mapping[PurePosixPath, Path]) -> None:
    """Copy all files into the child's folder, so that the child can change neither the cache nor the extension."""
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
    """Read and check the child's report: the child read a foreign file, so its report is not trusted."""
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
