# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of a process, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .config import NetPolicy, RestartPolicy

__all__ = ("LIMITS", "Confinement", "Counts", "ProcessHandle", "ProcessStatus", "Reason", "Spec", "State")

State = Literal["running", "exited", "failed"]

#: Why a process failed, or, of one that exited, that it was asked to.
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


#: Those of them that are limits of the process.
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
    #: Processor time, all threads together; the kernel's own stop, should the supervisor be gone.
    cpu_sec: int
    net_policy: NetPolicy
    allowed_hosts: tuple[str, ...]
    restart_policy: RestartPolicy = "never"
    #: More files and folders that it may read, besides the system's programs and libraries and its own.
    readable: tuple[Path, ...] = ()
    #: The whole environment, added to PATH, HOME, TMPDIR and LANG.
    env: tuple[tuple[str, str], ...] = ()
    #: Its standard input is a pipe for requests (`Supervisor.send`), and it has a pipe for answers
    #: (`answering.opened`, `Supervisor.receive`).
    answers: bool = False


@dataclass(frozen=True, slots=True)
class ProcessHandle:
    """Stands for a started process, restarts included. Opaque but for its stable id."""

    id: str


@dataclass(frozen=True, slots=True)
class Confinement:
    """What holds a process: by which means, and which attempts have just failed inside it (`probe.EVERYTHING`)."""

    means: str = ""
    in_force: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """A process as it is at one moment. Times in seconds since the epoch."""

    pid: int
    state: State
    #: As given to exit(), or None while it runs and when a signal ended it.
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
    """What a supervisor has seen since it began."""

    running: int = 0
    started: int = 0
    restarts: int = 0
    failed_restarts: int = 0
    timed_out: int = 0
    out_of_memory: int = 0
    killed: int = 0
