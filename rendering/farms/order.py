# SPDX-License-Identifier: GPL-3.0-or-later
"""Work on a target, as it is kept on disk: what was ordered, what is done, and what the engine calls it.

The work is a render, or a script on files: these are numbered from 1 on, and a number stands where a render has a
frame.

One folder a render, `renders/ID` of the extension's own: `farm.json` has the order and where it stands, `taken.txt` a
line for each frame that was brought home, written before its picture comes to its place.
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
#: A frame that has failed so often has failed for good.
MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Failure:
    """A frame that failed for good, on which worker, and why."""

    frame: int
    worker: str
    why: str


@dataclass(frozen=True, slots=True)
class FarmJob:
    """What was ordered; does not change."""

    id: str
    owner: str
    title: str
    #: The name of the target, as the user called it.
    where: str
    #: Where the pictures go, and what their names begin with.
    folder: str
    stem: str
    frames: tuple[int, ...]
    #: Frames that one task renders.
    chunk: int
    #: Seconds that the test frame took; None where it took too long.
    seconds: float | None
    #: Blender's version, such as 4.2, and the command that starts it here.
    version: str
    command: tuple[str, ...]
    #: Files that could not go into the .blend, which workers have to see under the same path.
    outside: tuple[str, ...]
    #: Names of what would run by itself in the .blend, were scripts switched on.
    scripts: tuple[str, ...]
    overwrite: bool
    video: bool
    #: The folder with the bundle's files and `results`; workers see it.
    bundle: str
    #: Of a script on files: each file, the named folder that it lies in, and where its copy goes; none of a render.
    files: tuple[tuple[str, str, str], ...] = ()
    script: str = ""
    #: What the script may do, as `level` of the settings.
    level: str = ""

    @property
    def noun(self) -> str:
        """What there are many of."""
        return "files" if self.files else "frames"

    def called(self, number: int) -> str:
        """A frame or a file, for people."""
        return f"file {self.files[number - 1][0]}" if self.files else f"frame {number}"

    @property
    def results(self) -> Path:
        """Where workers leave pictures, and what they say of each frame."""
        return Path(self.bundle) / "results"

    def place(self, frame: int) -> Path:
        """Where a frame's picture or a file's copy goes."""
        if self.files:
            return Path(self.files[frame - 1][2])
        return Path(self.folder) / frame_name(self.stem, frame)


@dataclass(frozen=True, slots=True)
class State:
    """Where a render stands; kept anew at each step."""

    #: How often it was handed to the engine, and what the engine calls it now; "" while it has nothing.
    round: int = 0
    engine_id: str = ""
    #: What the engine works on: frames, then perhaps the video.
    step: str = "frames"
    #: Frame -> how often it has failed.
    attempts: dict[int, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()


def keep(home: Path, job: FarmJob, state: State) -> None:
    """Write it down, in one step."""
    atomic.write(
        home / job.id / FILE,
        json.dumps({"order": asdict(job), "state": asdict(state)}).encode(),
        on_disk=True,
    )


def kept(home: Path) -> Iterator[tuple[FarmJob, State]]:
    """Every render that is under way, the oldest first. One that cannot be read any more is left out."""
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
    """A frame is about to come to its place. Half a line, as a crash may leave it, ends without a full stop."""
    with (home / job.id / _TAKEN).open("a", encoding="utf-8") as file:
        file.write(f"\n{frame}.")


def read_taken(home: Path, job: FarmJob) -> set[int]:
    """Frames that are there: noted, and their picture not removed since."""
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
