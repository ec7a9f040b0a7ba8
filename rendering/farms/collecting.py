# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings home what workers left: whole pictures or copies, once each, and what they say of the others.

Nothing in the folder of results is trusted: no link is followed, nothing large is read, and what is no PNG, no .blend
or no sentence of a worker counts as not there.
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

__all__ = ("Found", "Told", "bring_home", "look", "read_bounded")

_NAME = re.compile(r"(?:frame|file)_0*(\d{1,9})(\.png|\.blend|\.json)")
_PNG, _PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"
#: Bytes: a picture, a small one, and what a worker says of a frame.
_MOST_PICTURE, MOST_SMALL, _MOST_TOLD = 1 << 30, 256 * 1024, 16 * 1024
#: Entries of the folder that are looked at.
_MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker says of a frame: `state` is begun, done or failed."""

    state: str
    worker: str
    attempt: int
    error: str


@dataclass(frozen=True, slots=True)
class Found:
    """What is in the folder for frames that are not done yet: pictures, and what workers say."""

    pictures: dict[int, str]
    told: dict[int, Told]


def look(job: FarmJob, known: Container[int]) -> Found:
    """What there is of the job's frames but those that are `known`."""
    pictures: dict[int, str] = {}
    told: dict[int, Told] = {}
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
            elif match[2] == ".json" and (said := _told(job.results / entry.name)) is not None:
                told[frame] = said
    return Found(pictures, told)


def bring_home(job: FarmJob, name: str, frame: int, staging: Path, *, keep: bool) -> bool:
    """Put a picture or copy in its place, and remove it among the results unless `keep`. Whether it is whole.

    Raises PolicyError where a file has come there meanwhile, ExternalServiceError where the disk refuses.
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
        with contextlib.suppress(OSError):  # a worker's user may be another one
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
    """The bytes of an ordinary file; None where it is none, is larger than `most`, or cannot be read."""
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


def _told(path: Path) -> Told | None:
    data = read_bounded(path, _MOST_TOLD)
    try:
        said = json.loads(data or b"")
        told = Told(said["state"], said["worker"], said["attempt"], said.get("error", ""))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if told.state not in ("begun", "done", "failed") or type(told.attempt) is not int:
        return None
    if not isinstance(told.worker, str) or not isinstance(told.error, str):
        return None
    return Told(told.state, _plain(told.worker, 100), told.attempt, _plain(told.error, 1000))


def _plain(text: str, most: int) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text[:most]).strip()
