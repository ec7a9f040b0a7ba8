# SPDX-License-Identifier: GPL-3.0-or-later
"""What an adapter is: a module with these functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .order import FarmJob
from .targets import Target

__all__ = ("Adapter", "Seen", "Task")


@dataclass(frozen=True, slots=True)
class Seen:
    """How an engine's job is: whether it goes on, and else why it ended, for a person to read, and where."""

    working: bool
    why: str = ""
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What is handed on: a step of a job, its bundle being in its folder, with the chunks of this attempt in it."""

    job: FarmJob
    #: `frames` or `video`.
    step: str
    chunks: list[list[int]]
    attempt: int


class Adapter(Protocol):
    """An engine. Its functions may take seconds and are called by one thread, never by Blender's main thread."""

    #: Whether it makes videos; else the user is told that it does not.
    VIDEO: bool
    #: Whether it takes any bundle, such as that of a script on files; else only renders.
    FILES: bool
    #: Among how many workers a render is shared out, at least.
    WORKERS: int

    def start(self, job: FarmJob, /) -> Sequence[str]:
        """What stands between Blender's program and the script's own arguments; `{}` is the script."""

    def blender(self, target: Target, job: FarmJob, /) -> str:
        """Blender's program on its workers."""

    def submit(self, target: Target, task: Task, /) -> str:
        """Hand it on; gives what the engine calls it. Raises BridgeError that says why it is not taken."""

    def look(self, target: Target, engine_ids: Collection[str], /) -> Mapping[str, Seen]:
        """How these are, in one question where the engine knows one. Raises BridgeError where it cannot be asked."""

    def cancel(self, target: Target, engine_id: str, /) -> None:
        """End it. Raises BridgeError where the engine cannot be asked."""
