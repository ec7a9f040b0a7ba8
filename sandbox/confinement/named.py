# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts programs that a person has named in the preferences or the policy file, such as a render engine's command.

They are not confined, since they need the network, or processes of their own. Still, they get no shell, and of this
process's environment only what finds programs and the user's own folder. A program of `run` has a time limit, too, and
a limit on its output; a program of `start` has neither, and may outlast this process. Each start is in the journal. No
value that an assistant chose may name the program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any

from ...base import journal
from ...base.errors import ExternalServiceError
from ...base.process import threads
from ...base.process.other_processes import process_lives

__all__ = ("Done", "end", "interrupt", "lives", "run", "start")

_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "SYSTEMROOT",
    "USERPROFILE",
    "LOCALAPPDATA",
    "APPDATA",
    "TEMP",
)
_NONE: Mapping[str, str] = MappingProxyType({})
_END_S = 10.0

#: Programs that this process started and has not waited for: until it does, the system keeps each as a zombie.
_children: dict[int, subprocess.Popen[bytes]] = {}
#: Programs that a call of `run` is waiting for.
_running: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True, slots=True)
class Done:
    """A program's exit code and output."""

    code: int
    output: str
    errors: str


def run(cmd: Sequence[str], *, seconds: float, most: int = 1 << 20, env: Mapping[str, str] = _NONE) -> Done:
    """Run a program to its end. Raises ExternalServiceError if it cannot start, takes longer, or prints more."""
    _note(cmd)
    name = Path(cmd[0]).name
    try:
        process: subprocess.Popen[bytes] = subprocess.Popen(
            cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_options(env)
        )
    except OSError as error:
        raise ExternalServiceError(f"{name} could not be started: {error.strerror or error}.") from None
    printed: list[bytes] = [b"", b""]
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        readers = [
            threads.start(_read, pipe, most, printed, at, process, name="named program")
            for at, pipe in enumerate((process.stdout, process.stderr))
        ]
        _running.add(process)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ExternalServiceError(f"{name} was stopped: it took more than {seconds:g} s.") from None
        finally:
            _running.discard(process)
            _kill(process)
            for reader in readers:
                reader.join(_END_S)
    if any(len(part) > most for part in printed):
        raise ExternalServiceError(f"{name} was stopped: it printed more than {most >> 10} KiB.")
    output, errors = (part.decode("utf-8", "replace") for part in printed)
    return Done(code, output, errors)


def start(cmd: Sequence[str], *, log: Path, lock: Path, env: Mapping[str, str] = _NONE) -> int:
    """Start a program that may outlast this process; return its id. `log` gets its output, and it holds `lock`.

    Raises ExternalServiceError if it cannot start.
    """
    _note(cmd)
    try:
        with log.open("wb") as printed, lock.open("wb") as held:
            more = _options(env)
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                more["pass_fds"] = (held.fileno(),)
            process: subprocess.Popen[bytes] = subprocess.Popen(
                cmd, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, **more
            )
    except OSError as error:
        name = Path(cmd[0]).name
        raise ExternalServiceError(f"{name} could not be started: {error.strerror or error}.") from None
    _children[process.pid] = process
    return process.pid


def interrupt() -> None:
    """End the programs that `run` waits for, as at the end of Blender."""
    for process in tuple(_running):
        _kill(process)


def lives(pid: int, lock: Path) -> bool:
    """Return whether a program that `start` began, in this or an earlier process, still runs: it holds its lock."""
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]
        return False
    if sys.platform == "win32":
        return process_lives(pid)
    import fcntl

    try:
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def end(pid: int, lock: Path) -> None:
    """Ask a program to end, kill it if it does not, and wait until it has ended."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        if not lives(pid, lock):
            return
        with contextlib.suppress(OSError):
            os.kill(pid, number)
        waiting = threading.Event()
        for _ in range(int(_END_S / 0.05)):
            if not lives(pid, lock):
                return
            waiting.wait(0.05)


def _note(cmd: Sequence[str]) -> None:
    journal.current().write("program_started", program=Path(cmd[0]).name, arguments=len(cmd) - 1)


def _options(env: Mapping[str, str]) -> dict[str, Any]:
    known = {name: value for name in _PASSED_ON if (value := os.environ.get(name))}
    return {"env": {**known, **env}, "start_new_session": True, "cwd": os.path.abspath(os.sep)}


def _read(
    pipe: IO[bytes], most: int, printed: list[bytes], at: int, process: subprocess.Popen[bytes]
) -> None:
    with contextlib.suppress(OSError, ValueError):  # closed meanwhile
        printed[at] = pipe.read(most + 1)
    if len(printed[at]) > most:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
