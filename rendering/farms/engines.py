# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of an adapter: a module with these functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .order import FarmJob
from .targets import Target

__all__ = ("Adapter", "Seen", "Task")


@dataclass(frozen=True, slots=True)
class Seen:
    """The state of an engine's job: whether it runs, and else why it ended (for a person to read), and where."""

    working: bool
    why: str = ""
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A step of a job to submit; its folder has the bundle with the chunks of this attempt."""

    job: FarmJob
    #: `frames` or `video`.
    step: str
    chunks: list[list[int]]
    attempt: int


class Adapter(Protocol):
    """An engine's adapter. One thread calls its functions, which may take seconds; never Blender's main thread."""

    #: Whether it makes videos; if not, the user reads that it does not.
    VIDEO: bool
    #: Whether it takes any bundle, such as that of a script on files; else only renders.
    FILES: bool
    #: The least number of workers that share a render.
    WORKERS: int

    def start(self, job: FarmJob, /) -> Sequence[str]:
        """Return the arguments between Blender's program and the script's own; `{}` is the script."""

    def blender(self, target: Target, job: FarmJob, /) -> str:
        """Return Blender's program on the engine's workers."""

    def submit(self, target: Target, task: Task, /) -> str:
        """Submit a task; return the engine's id for it. Raises BridgeError that says why the engine refuses it."""

    def look(self, target: Target, engine_ids: Collection[str], /) -> Mapping[str, Seen]:
        """Return the state of these jobs, by one question if possible. Raises BridgeError without an answer."""

    def cancel(self, target: Target, engine_id: str, /) -> None:
        """End a job. Raises BridgeError if the engine does not answer."""
