# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a function in a forked copy of this warm Blender: a fresh Blender in milliseconds, free to crash.

The copy starts from the current scene, modules and settings, and only its result comes back. It has a single thread:
servers, timers and pools of the parent do not run in it. So none of them may hold a lock that Blender needs:
tests/conftest.py starts Blender without workers for its task pool.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import io
import os
import pickle
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

__all__ = ("Died", "TimedOut", "make_cheap", "overwrite_freed", "run", "run_each")

T = TypeVar("T")


class Died(Exception):
    """Tells that the child ended without a result: by the signal `signal`, or with `exit_code`."""

    def __init__(self, status: int) -> None:
        self.signal = signal.Signals(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else None
        self.exit_code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        how = self.signal.name if self.signal else f"exit code {self.exit_code}"
        super().__init__(f"the forked Blender died by {how}")


class TimedOut(Exception):
    """Tells that the child was still at work at its time limit, and was killed."""


def run(function: Callable[..., T], *args: object, timeout: float = 60.0) -> T:
    """Call `function(*args)` in a forked child and return what it returned.

    Args:
        function: anything callable, closures too; its result must be picklable.
        timeout: seconds that the child may take.

    Raises:
        Died: the child was killed by a signal or left the process.
        TimedOut: it took longer than `timeout`.
        Exception: whatever `function` raised, with the child's traceback as a note.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python warns of forking with threads about; the child runs one thread and takes no lock of the others.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os.close(reading)
        faulthandler.dump_traceback_later(
            0.9 * timeout
        )  # shows where the child was if the time limit kills it
        _child(writing, function, args)
    os.close(writing)
    answer = None
    try:
        answer = _read(reading, time.monotonic() + timeout)
    finally:
        os.close(reading)
        if answer is None:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    if answer is None:
        raise TimedOut(f"the forked Blender was still at work after {timeout} s")
    if not answer:
        raise Died(status)
    succeeded, value = pickle.loads(answer)
    if not succeeded:
        raise value
    return value


def run_each(
    function: Callable[..., T], cases: Sequence[object], *, timeout: float = 60.0
) -> list[T | Exception]:
    """Return what `function` returns or raises for each case, in one fork as long as none of them crashes.

    The case at which a fork ends, or is still at work after `timeout` seconds, has Died or TimedOut. The next fork
    continues after it.
    """
    answers: list[T | Exception] = []
    while len(answers) < len(cases):
        with tempfile.TemporaryFile() as file:
            try:
                run(
                    _answer_each, function, cases[len(answers) :], file, timeout, timeout=timeout * len(cases)
                )
                ended: Exception | None = None
            except (Died, TimedOut) as error:
                ended = TimedOut(str(error)) if getattr(error, "signal", None) == signal.SIGALRM else error
            file.seek(0)
            with contextlib.suppress(EOFError):
                while True:
                    answers.append(pickle.load(file))
        answers += [ended] if ended is not None else []
    return answers


def _answer_each(
    function: Callable[..., object], cases: Sequence[object], file: IO[bytes], timeout: float
) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the fork, whatever C code is at work
    for case in cases:
        signal.setitimer(signal.ITIMER_REAL, timeout)
        try:
            answer = function(case)
        except Exception as error:
            answer = error
        signal.setitimer(signal.ITIMER_REAL, 0)
        file.write(_dumps(answer))
        file.flush()


class _Pickler(pickle.Pickler):
    """Pickles errors with what they hold: Python's own way calls the class again, which may need other arguments."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return _error, (type(value), value.args, vars(value))
        return NotImplemented


def _error(
    kind: type[BaseException], arguments: tuple[object, ...], held: dict[str, object]
) -> BaseException:
    error = kind.__new__(kind, *arguments)
    vars(error).update(held)
    return error


def _dumps(value: object) -> bytes:
    file = io.BytesIO()
    _Pickler(file).dump(value)
    return file.getvalue()


def _child(writing: int, function: Callable[..., object], args: tuple[object, ...]) -> None:
    """Do the work, send `(succeeded, value)`, and exit without the parent's clean-up."""
    try:
        answer: tuple[bool, object] = (True, function(*args))
    except Exception as error:
        error.add_note("in the forked Blender:\n" + traceback.format_exc())
        answer = (False, error)
    try:
        data = _dumps(answer)
    except Exception as error:
        data = pickle.dumps((False, TypeError(f"cannot send {answer[1]!r} back from the child: {error}")))
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(data)
    os._exit(0)


def _read(reading: int, until: float) -> bytes | None:
    """Read to the end of the pipe; return None if it has not ended by `until`."""
    chunks = []
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    while True:
        if not poll.poll(max(0.0, until - time.monotonic()) * 1e3):
            return None
        chunk = os.read(reading, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def make_cheap() -> None:
    """Have the kernel put this process's memory into huge pages: for a fork it copies one entry for each, not 512.

    Takes as long as some thirty forks save. A kernel before Linux 6.1 cannot do it, and forks cost what they did.
    """
    advise = ctypes.CDLL(None).madvise
    maps = [line.split(maxsplit=5) for line in Path("/proc/self/maps").read_text().splitlines()]
    for where, access, _offset, _device, _node, *name in maps:
        if access == "rw-p" and name in ([], ["[heap]"]):
            start, end = (int(address, 16) for address in where.split("-"))
            for page in range(-(-start // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
                advise(ctypes.c_void_p(page), ctypes.c_size_t(_HUGE), _MADV_COLLAPSE)


_HUGE = 1 << 21
_MADV_COLLAPSE = 25
"""The number from Linux's mman-common.h."""


def overwrite_freed() -> None:
    """Overwrite freed memory of this process from now on, so that using it shows: for a fork, as nothing undoes it."""
    ctypes.CDLL(None).mallopt(_M_PERTURB, 0xA5)


_M_PERTURB = -6
"""The number from glibc's malloc.h."""
