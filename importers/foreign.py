# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way to open a foreign file: `child.py` does it in a confined Blender and writes a clean .blend.

No `bpy` here. How a confined process is started is given by `configure`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import ExternalServiceError
from .download import Flag

__all__ = ("Clean", "Opener", "configure", "opened")

#: Runs a Python program in a confined Blender that may read `source` and write to `target`; returns when it has ended.
#: Raises ExternalServiceError when it did not end well, Cancelled.
Opener = Callable[[Path, Path, Path, Flag | None], None]

_PROGRAM = Path(__file__).with_name("child.py")
#: A work folder this old (seconds) was left by a Blender that was killed.
_STALE_S = 86400.0


@dataclass(frozen=True, slots=True)
class Clean:
    """A .blend that may be appended: one collection with this name, its roots, its dimensions in metres.

    `removed` names what was taken out of the foreign file, and how much of it.
    """

    blend: Path
    collection: str
    roots: tuple[str, ...]
    dimensions: tuple[float, ...]
    removed: Mapping[str, int]


def _unconfined(_program: Path, _source: Path, _target: Path, _cancelled: Flag | None) -> None:
    raise ExternalServiceError(
        "Models can't be opened here: nothing on this system confines the process that reads foreign files."
    )


_open: Opener = _unconfined


def configure(opener: Opener) -> None:
    """Take over how a program is run in confinement."""
    global _open
    _open = opener


@contextmanager
def opened(
    folder: Path, job: Mapping[str, Any], files: Mapping[PurePosixPath, Path], cancelled: Flag | None = None
) -> Iterator[Clean]:
    """Convert files (path in the child's folder -> where they are); the result lives as long as the context.

    `job` as in `child.Job`; `folder` is where the work folder is made. Raises ExternalServiceError when the child
    could not read them or was stopped, Cancelled.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_stale(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix="open-", ignore_cleanup_errors=True) as work:
        source, target = Path(work, "in"), Path(work, "out")
        target.mkdir()
        try:
            for name, path in files.items():
                place = source / "files" / name
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)  # a copy: what the child may touch is not the cache
            (source / "job.json").write_text(json.dumps(job), encoding="utf-8")
        except OSError as error:
            raise ExternalServiceError(
                f"The files can't be laid out for opening: {error.strerror or error}."
            ) from error
        _open(_PROGRAM, source, target, cancelled)
        yield _read(target, str(job["title"]))


def _read(target: Path, title: str) -> Clean:
    """What the child says; it read a foreign file, so what it says is not believed without a look."""
    try:
        report = json.loads((target / "report.json").read_text(encoding="utf-8"))
        if "error" in report:
            raise ExternalServiceError(f"“{title}” can't be opened: {str(report['error'])[:500]}")
        clean = Clean(
            blend=target / "asset.blend",
            collection=str(report["collection"]),
            roots=tuple(str(name) for name in report["roots"]),
            dimensions=tuple(float(length) for length in report["dimensions"]),
            removed={str(name): int(count) for name, count in report["removed"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ExternalServiceError(
            f"“{title}” can't be opened: the process that reads it left no result."
        ) from None
    if not clean.blend.is_file():
        raise ExternalServiceError(f"“{title}” can't be opened: the process that reads it wrote nothing.")
    return clean


def _remove_stale(folder: Path) -> None:
    for old in folder.glob("open-*"):
        with contextlib.suppress(OSError):
            if time.time() - old.stat().st_mtime > _STALE_S:
                shutil.rmtree(old)
