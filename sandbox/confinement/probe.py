# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds out which confinement is in force, by trying what it should forbid. Standard library only.

Runs in the confined process. The parent makes sure that each attempt would succeed without confinement: the canary
file is readable, its folder writable and its port accepts, for the same user that tries.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from . import answering

__all__ = ("EVERYTHING", "Canary", "in_force", "main")

#: What a confined process must not be able to do outside its work folder.
EVERYTHING = ("read", "write", "network", "process")


class Canary(TypedDict):
    """The targets of the attempts: a file to read, its folder to write to, a port of 127.0.0.1 that accepts."""

    file: str
    port: int


def in_force(canary: Canary) -> list[str]:
    """Try each attempt of EVERYTHING; return those that failed."""
    attempts: dict[str, Callable[[], None]] = {
        "read": lambda: _read(Path(canary["file"])),
        "write": lambda: _write(Path(canary["file"]).parent),
        "network": lambda: _connect(canary["port"]),
        "process": _start,
    }
    refused = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            refused.append(name)
    return refused


def main(canary_json: str) -> None:
    """Answer which confinement is in force, as a program of its own."""
    answering.opened()({"in_force": in_force(json.loads(canary_json))})


def _read(file: Path) -> None:
    file.read_bytes()


def _write(folder: Path) -> None:
    trace = folder / f"written-by-{os.getpid()}"
    trace.touch(exist_ok=False)
    with contextlib.suppress(OSError):
        trace.unlink()


def _connect(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=1.0).close()


def _start() -> None:
    if sys.platform == "win32":
        subprocess.run([sys.executable, "-c", ""], check=False, timeout=10)
        return
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # forking a process with threads: the copy only exits
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
