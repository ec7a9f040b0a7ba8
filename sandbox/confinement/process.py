# SPDX-License-Identifier: GPL-3.0-or-later
"""The data about a process: what to start, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .config import NetPolicy, RestartPolicy

__all__ = ("LIMITS", "Confinement", "Counts", "ProcessHandle", "ProcessStatus", "Reason", "Spec", "State")

State = Literal["running", "exited", "failed"]

#: Why a process failed; `stopped` also for one that exited after it was asked to.
Reason = Literal[
    "timed out",
    "out of memory",
    "disk full",
    "too many threads",
    "flooded",
    "killed by signal",
    "not confined",
    "not started",
    "stopped",
]


#: The reasons that are limits of the process.
LIMITS: frozenset[Reason] = frozenset(
    {"timed out", "out of memory", "disk full", "too many threads", "flooded"}
)


@dataclass(frozen=True, slots=True)
class Spec:
    """One process to start. Sizes in MB (2**20 bytes), times in seconds."""

    cmd: tuple[str, ...]
    #: The only folder that it may write to; HOME and TMPDIR point there.
    workdir: Path
    #: Seconds from the start; None: until `Supervisor.limit_time` says so.
    timeout_sec: float | None
    mem_limit_mb: int
    disk_mb: int
    #: Processor time of all threads together; the kernel enforces it even if the supervisor has ended.
    cpu_sec: int
    net_policy: NetPolicy
    allowed_hosts: tuple[str, ...]
    restart_policy: RestartPolicy = "never"
    #: More files and folders that it may read, besides the system's programs and libraries and its own.
    readable: tuple[Path, ...] = ()
    #: Variables in addition to PATH, HOME, TMPDIR and LANG; the process gets no others.
    env: tuple[tuple[str, str], ...] = ()
    #: Its standard input is a pipe for requests (`Supervisor.send`), and it has a pipe for answers
    #: (`answering.opened`, `Supervisor.receive`).
    answers: bool = False


@dataclass(frozen=True, slots=True)
class ProcessHandle:
    """The identity of a started process, restarts included. Opaque but for its stable id."""

    id: str


@dataclass(frozen=True, slots=True)
class Confinement:
    """How a process is confined: the means, and the attempts that have just failed inside it (`probe.EVERYTHING`)."""

    means: str = ""
    in_force: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """A process's state at one moment. Times in seconds since the epoch."""

    pid: int
    state: State
    #: The argument of exit(), or None while it runs and after a signal.
    exit_code: int | None
    start_time: float
    end_time: float | None = None
    reason: Reason | None = None
    #: More about the reason, for a person to read.
    detail: str = ""
    #: The number of the signal that ended it.
    signal: int | None = None
    peak_memory_mb: float = 0.0
    restarts: int = 0
    confinement: Confinement = field(default_factory=Confinement)


@dataclass(slots=True)
class Counts:
    """A supervisor's counts since its start."""

    running: int = 0
    started: int = 0
    restarts: int = 0
    failed_restarts: int = 0
    timed_out: int = 0
    out_of_memory: int = 0
    killed: int = 0
