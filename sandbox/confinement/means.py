# SPDX-License-Identifier: GPL-3.0-or-later
"""What a way to confine a process is, and what all of them start a process with."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from .probe import Canary
from .process import Spec

__all__ = ("BOOT", "Means", "Place", "Process", "Started", "ZygoteMeans", "program_files")

#: Runs a launcher as part of a package of its own name: the extension itself is not imported in the child.
BOOT = (
    "import importlib, sys, types; package = types.ModuleType('supervisor'); package.__path__ = [sys.argv[1]]; "
    "sys.modules['supervisor'] = package; importlib.import_module(sys.argv[2]).main(*sys.argv[3:])"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Folders and ports of one supervisor that its means use."""

    #: An empty folder, for a new root to be mounted on.
    root: Path
    #: For control sockets of containers.
    control: Path
    canary: Canary
    #: Called with each host that an egress proxy turned away.
    refused: Callable[[str], None]


class Process(Protocol):
    """As much of `subprocess.Popen` as is used."""

    @property
    def pid(self) -> int:
        """The process, by its id on this machine."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Where it reads."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it prints."""

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""

    def kill(self) -> None:
        """End it."""


@dataclass(slots=True)
class Started:
    """A process that has just been started."""

    popen: Process
    #: What the launcher tells; ends when the command begins. None: there is no launcher.
    control: Callable[[], socket.socket] | None
    #: The reading end of its pipe for answers, where no launcher can be handed the other end.
    answers: IO[bytes] | None = None
    #: Ends what belongs to it and does not end with it.
    kill_rest: Callable[[], None] = field(default=lambda: None)
    #: Whether the kernel has ended it for want of memory; to be asked before `kill_rest`.
    ran_out: Callable[[], bool] = field(default=lambda: False)
    #: Whether what it starts is watched by itself, and does not count for it.
    alone: bool = False


class Means(Protocol):
    """A way to start a confined process."""

    @property
    def name(self) -> str:
        """What holds a process, in words."""

    @property
    def wraps(self) -> bool:
        """Whether another program stands between, which tells of a signal by an exit code above 128."""

    @property
    def needs_namespaces(self) -> bool:
        """Whether it only counts where namespaces could be had."""

    def start(self, spec: Spec, place: Place) -> Started:
        """Start it. Raises OSError when that fails."""


class ZygoteMeans(Means, Protocol):
    """Means to start a program once, which is then copied."""

    @property
    def copies(self) -> Means:
        """Means to start a copy of it, confined."""

    def retire(self) -> None:
        """Let it make no more copies, and end when the last one has."""


def program_files() -> list[str]:
    """The launcher and the Python that runs it: files that every confined process must be able to read."""
    return [str(Path(__file__).parent), *_prefixes()]


def _prefixes() -> list[str]:
    folders = {Path(folder) for folder in (sys.prefix, sys.base_prefix, os.path.dirname(sys.executable))}
    # A Python that claims the whole disk, or a whole home folder, would open it up.
    return [str(folder) for folder in folders if len(folder.parts) > 1 and folder != Path.home()]


def environment(spec: Spec) -> dict[str, str]:
    """The whole environment of the command: none of this process's variables are in it."""
    home = str(spec.workdir)
    return {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", **dict(spec.env)}


def popen(argv: list[str], spec: Spec, **more: Any) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own, without this process's environment; all that it prints is one stream."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE if spec.answers else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **{"env": {}, **more},
    )
