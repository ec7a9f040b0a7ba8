# SPDX-License-Identifier: GPL-3.0-or-later
"""Stores work on a target on disk: the order, the finished parts, and the engine's id.

The work is a render, or a script on files. Files are numbered from 1 on, and such a number stands where a render has a
frame.

Each order has one folder, `renders/ID` of the extension's own: `farm.json` has the order and its state, `taken.txt` a
line for each frame that came home, written before its picture comes to its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ...base import atomic
from ..frames import frame_name

__all__ = ("FILE", "MOST_ATTEMPTS", "Failure", "FarmJob", "State", "keep", "kept", "note_taken", "read_taken")

FILE = "farm.json"
_TAKEN = "taken.txt"
#: The number of failures after which a frame has failed for good.
MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """A frame that failed for good, its worker, and the reason."""

    frame: int
    worker: str
    why: str


@dataclass(frozen=True, slots=True)
class FarmJob:
    """An order, which does not change."""

    id: str
    owner: str
    title: str
    #: The target's name, as the user wrote it.
    where: str
    #: The folder of the pictures, and the beginning of their names.
    folder: str
    stem: str
    frames: tuple[int, ...]
    #: The number of frames that one task renders.
    chunk: int
    #: The seconds of the test frame; None if it took too long.
    seconds: float | None
    #: Blender's version, such as 4.2, and the command that starts it here.
    version: str
    command: tuple[str, ...]
    #: Files that could not be packed into the .blend; workers must see them under the same path.
    outside: tuple[str, ...]
    #: Names of what would run by itself in the .blend if scripts were switched on.
    scripts: tuple[str, ...]
    overwrite: bool
    video: bool
    #: The folder with the bundle's files and `results`; workers see it.
    bundle: str
    #: For a script on files: each file, its allowed folder, and the path of its copy; none for a render.
    files: tuple[tuple[str, str, str], ...] = ()
    script: str = ""
    #: The script's level, as in the settings.
    level: str = ""

    @property
    def noun(self) -> str:
        """The plural word for the parts: files or frames."""
        return "files" if self.files else "frames"

    def called(self, number: int) -> str:
        """Return a frame or a file in words for a person."""
        return f"file {self.files[number - 1][0]}" if self.files else f"frame {number}"

    @property
    def results(self) -> Path:
        """The folder in which workers leave pictures and reports."""
        return Path(self.bundle) / "results"

    def place(self, frame: int) -> Path:
        """Return the path of a frame's picture or a file's copy."""
        if self.files:
            return Path(self.files[frame - 1][2])
        return Path(self.folder) / frame_name(self.stem, frame)


@dataclass(frozen=True, slots=True)
class State:
    """The state of a render; each step stores it again."""

    #: How often it was submitted to the engine, and the engine's current id for it; "" without one.
    round: int = 0
    engine_id: str = ""
    #: The engine's current step: frames, then perhaps the video.
    step: str = "frames"
    #: Frame -> its number of failures.
    attempts: dict[int, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()


def keep(home: Path, job: FarmJob, state: State) -> None:
    """Store the order and its state, in one step."""
    atomic.write(
        home / job.id / FILE,
        json.dumps({"order": asdict(job), "state": asdict(state)}).encode(),
        on_disk=True,
    )


def kept(home: Path) -> Iterator[tuple[FarmJob, State]]:
    """Yield every render in progress, the oldest first; skip one that can no longer be read."""
    for path in sorted(home.glob(f"*/{FILE}"), key=lambda path: path.stat().st_mtime):
        try:
            yield _read(path)
        except (OSError, ValueError, TypeError, KeyError):
            continue


def _read(path: Path) -> tuple[FarmJob, State]:
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    order, state = values["order"], values["state"]
    order |= {name: tuple(order[name]) for name in ("frames", "command", "outside", "scripts")}
    order["files"] = tuple(map(tuple, order["files"]))
    state["attempts"] = {int(frame): times for frame, times in state["attempts"].items()}
    state["failures"] = tuple(Failure(**failure) for failure in state["failures"])
    return FarmJob(**order), replace(State(), **state)


def note_taken(home: Path, job: FarmJob, frame: int) -> None:
    """Note that a frame is about to come to its place. After a crash, half a line ends without a full stop."""
    with (home / job.id / _TAKEN).open("a", encoding="utf-8") as file:
        file.write(f"\n{frame}.")


def read_taken(home: Path, job: FarmJob) -> set[int]:
    """Return the frames that were collected: noted, and with a picture that nobody has removed."""
    try:
        lines = (home / job.id / _TAKEN).read_text(encoding="utf-8").split()
    except OSError:
        return set()
    ordered = set(job.frames)
    return {
        frame
        for line in lines
        if re.fullmatch(r"[0-9]+\.", line)
        and (frame := int(line[:-1])) in ordered
        and job.place(frame).is_file()
    }
