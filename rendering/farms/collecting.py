# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies the workers' results into the user's folder, each whole and once; reads the reports about other frames.

It trusts nothing in the folder of results: it follows no link and reads nothing large, and it ignores a file that is
no PNG, no .blend or no report of a worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import ExternalServiceError
from ...files import allowed_folders
from ...sandbox.rehearsal import copies
from .order import FarmJob

__all__ = ("Found", "WorkerReport", "collect", "look", "read_bounded")

_NAME = re.compile(r"(?:frame|file)_0*(\d{1,9})(\.png|\.blend|\.json)")
_PNG, _PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"
#: The most bytes of a picture, of a small picture, and of a worker's report on a frame.
_MOST_PICTURE, MOST_SMALL, _MOST_TOLD = 1 << 30, 256 * 1024, 16 * 1024
#: The most entries of the folder that it reads.
_MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """A worker's report on a frame: `state` is begun, done or failed."""

    state: str
    worker: str
    attempt: int
    error: str


@dataclass(frozen=True, slots=True)
class Found:
    """The folder's contents for frames that are not done yet: pictures and reports."""

    pictures: dict[int, str]
    told: dict[int, WorkerReport]


def look(job: FarmJob, known: Container[int]) -> Found:
    """Return the results for the job's frames, without those that are `known`."""
    pictures: dict[int, str] = {}
    told: dict[int, WorkerReport] = {}
    wanted = set(job.frames)
    try:
        entries = os.scandir(job.results)
    except OSError:
        return Found({}, {})
    with entries:
        for number, entry in enumerate(entries):
            match = _NAME.fullmatch(entry.name)
            if number > _MOST_ENTRIES:
                break
            if not match or (frame := int(match[1])) in known or frame not in wanted:
                continue
            if match[2] == (".blend" if job.files else ".png"):
                pictures[frame] = entry.name
            elif match[2] == ".json" and (said := _read_report(job.results / entry.name)) is not None:
                told[frame] = said
    return Found(pictures, told)


def collect(job: FarmJob, name: str, frame: int, staging: Path, *, keep: bool) -> bool:
    """Move a picture or copy to its place, and remove it from the results unless `keep`; return whether it is whole.

    Raises PolicyError if another file has come to that place, ExternalServiceError for an error of the disk.
    """
    source, place = job.results / name, job.place(frame)
    waiting = staging / place.name
    if job.files:
        try:
            copies.take(source, waiting)
        except ExternalServiceError:
            return False
    elif not _take_picture(source, waiting):
        return False
    allowed_folders.move(waiting, place, overwrite=job.overwrite)
    if not keep:
        with contextlib.suppress(OSError):  # the worker may run as another user
            source.unlink()
    return True


def _take_picture(source: Path, to: Path) -> bool:
    data = read_bounded(source, _MOST_PICTURE)
    if data is None or not data.startswith(_PNG) or not data.endswith(_PNG_END):
        return False
    try:
        to.write_bytes(data)
    except OSError as error:
        raise ExternalServiceError(f"{to.name} cannot be written: {error.strerror or error}.") from None
    return True


def read_bounded(path: Path, most: int) -> bytes | None:
    """Return the bytes of an ordinary file; None if it is not one, is larger than `most`, or cannot be read."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(number, "rb") as file:
        try:
            kind = os.fstat(number)
            if not stat.S_ISREG(kind.st_mode) or kind.st_size > most:
                return None
            return file.read(most + 1)[:most]
        except OSError:
            return None


def _read_report(path: Path) -> WorkerReport | None:
    data = read_bounded(path, _MOST_TOLD)
    try:
        said = json.loads(data or b"")
        told = WorkerReport(said["state"], said["worker"], said["attempt"], said.get("error", ""))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if told.state not in ("begun", "done", "failed") or type(told.attempt) is not int:
        return None
    if not isinstance(told.worker, str) or not isinstance(told.error, str):
        return None
    return WorkerReport(told.state, _plain(told.worker, 100), told.attempt, _plain(told.error, 1000))


def _plain(text: str, most: int) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text[:most]).strip()
