# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface of a way to confine a process, and what all of them start a process with."""

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

#: Runs a launcher as part of a package with its own name: the child does not import the extension itself.
BOOT = (
    "import importlib, sys, types; package = types.ModuleType('supervisor'); package.__path__ = [sys.argv[1]]; "
    "sys.modules['supervisor'] = package; importlib.import_module(sys.argv[2]).main(*sys.argv[3:])"
)


@dataclass(frozen=True, slots=True)
class Place:
    """Folders and ports of one supervisor that its means use."""

    #: An empty folder on which to mount a new root.
    root: Path
    #: The folder for control sockets of containers.
    control: Path
    canary: Canary
    #: Called with each host that an egress proxy turned away.
    refused: Callable[[str], None]


class Process(Protocol):
    """The part of `subprocess.Popen` that the supervisor uses."""

    @property
    def pid(self) -> int:
        """The process's id on this machine."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """The pipe to the process's standard input."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """The pipe with the process's output."""

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""

    def kill(self) -> None:
        """End the process."""


@dataclass(slots=True)
class Started:
    """A process that has just been started."""

    popen: Process
    #: The launcher's reports; ends when the command begins. None: there is no launcher.
    control: Callable[[], socket.socket] | None
    #: The reading end of the pipe for answers, if there is no launcher to receive the other end.
    answers: IO[bytes] | None = None
    #: Ends the parts of the process that do not end with it.
    kill_rest: Callable[[], None] = field(default=lambda: None)
    #: Returns whether the kernel ended the process because its memory ran out; call it before `kill_rest`.
    ran_out: Callable[[], bool] = field(default=lambda: False)
    #: Whether the processes that it starts are watched separately, and do not count for it.
    alone: bool = False


class Means(Protocol):
    """A way to start a confined process."""

    @property
    def name(self) -> str:
        """The means that confine a process, in words."""

    @property
    def wraps(self) -> bool:
        """Whether another program runs the command, which reports a signal as an exit code above 128."""

    @property
    def needs_namespaces(self) -> bool:
        """Whether these means only count if they could make namespaces."""

    def start(self, spec: Spec, place: Place) -> Started:
        """Start a process. Raises OSError on failure."""


class ZygoteMeans(Means, Protocol):
    """Means to start a program once, which is then copied."""

    @property
    def copies(self) -> Means:
        """Means to start a confined copy of the program."""

    def retire(self) -> None:
        """Stop making copies; the program ends when its last copy has ended."""


def program_files() -> list[str]:
    """Return the files that every confined process must be able to read: the launcher and the Python that runs it."""
    return [str(Path(__file__).parent), *_prefixes()]


def _prefixes() -> list[str]:
    folders = {Path(folder) for folder in (sys.prefix, sys.base_prefix, os.path.dirname(sys.executable))}
    # A Python whose prefix is the whole disk, or a whole home folder, would make all of it readable.
    return [str(folder) for folder in folders if len(folder.parts) > 1 and folder != Path.home()]


def environment(spec: Spec) -> dict[str, str]:
    """Return the whole environment of the command, without any variable of this process."""
    home = str(spec.workdir)
    return {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", **dict(spec.env)}


def popen(argv: list[str], spec: Spec, **more: Any) -> subprocess.Popen[bytes]:
    """Start `argv` in a new session, without this process's environment; standard error goes to standard output."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE if spec.answers else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **{"env": {}, **more},
    )
