# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that has loaded a program once, and forks a copy of itself for each piece of work: its own side.

The process runs our code alone, and on nothing that anybody else has written. A copy does what the launcher does, and
only then begins: confinement is in force from the first of its own work on. What a copy has of the zygote is memory
that was never written to by others; each open file but its own pipes is closed.

Standard library only. `forking.py` is the other side.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import json
import os
import re
import select
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TypedDict

from .. import answering
from . import cgroup, kernel, launcher, seccomp

__all__ = ("VARIABLE", "Facts", "asked_for", "serve", "unfit")

#: The environment variable with the facts, as JSON.
VARIABLE = "MCP_BRIDGE_ZYGOTE"
#: What is sent for each copy, with the files that belong to it; and the most files.
_WORD, _MOST_FILES = b"fork", 16
#: What the kernel may take to end threads that have done their work.
_ENDING_S = 1.0
#: Libraries that keep threads in wait even on one processor: their file, the function that ends those threads (its name
#: as C++ writes it, whatever the library's version), and its arguments. Both make threads again when they are told to.
_KEEP_THREADS: tuple[tuple[re.Pattern[str], re.Pattern[bytes], tuple[int, ...]], ...] = (
    # OpenEXR: setGlobalThreadCount(int)
    (re.compile(r"/libOpenEXR[-.]"), re.compile(rb"_ZN\d+Imf_\w+?20setGlobalThreadCountEi\b"), (0,)),
    # OpenImageIO: default_thread_pool_shutdown()
    (
        re.compile(r"/libOpenImageIO_Util[-.]"),
        re.compile(rb"_ZN\d+OpenImageIO\w*?28default_thread_pool_shutdownEv\b"),
        (),
    ),
)


class Facts(TypedDict):
    """What the supervisor says of itself: the number of the control socket, its process, and its processors."""

    control: int
    parent: int
    processors: list[int]


def asked_for() -> bool:
    """Whether this process was started to be copied."""
    return VARIABLE in os.environ


def serve(say: answering.Say) -> None:
    """Fork copies for as long as the supervisor asks for them. Comes back in each copy, which is confined by then.

    A copy has its own environment, working folder, input and output, and pipe for answers (`answering.opened`).
    say: answers of the zygote: `{"ready": true}`, or `{"ready": false, "why": …}` where it cannot be copied.
    """
    facts: Facts = json.loads(os.environ.pop(VARIABLE))
    kernel.end_with(facts["parent"])
    control = socket.socket(fileno=facts["control"])
    control.set_inheritable(False)
    _end_threads()
    why = unfit()
    if why:
        say({"ready": False, "why": why})
        os._exit(0)
    kernel.no_new_privileges()
    seccomp.keep_to_forking()
    gc.collect()
    gc.freeze()  # what is not looked at by the collector stays shared with the copies
    say({"ready": True})
    try:
        files = _Nursery(control).fork()
        os.sched_setaffinity(0, facts["processors"])
        _begin(files)
    except BaseException:  # whatever it was, neither the zygote nor a copy that is not confined goes on
        traceback.print_exc()
        os._exit(launcher.NOT_STARTED)


def unfit() -> str:
    """Why this process cannot be copied safely: a copy has one thread, and must share no memory. Empty where it can."""
    until = time.monotonic() + _ENDING_S
    while len(threads := [_name(thread) for thread in Path("/proc/self/task").iterdir()]) > 1:
        if time.monotonic() < until:
            time.sleep(0.005)
            continue
        return f"it has {len(threads)} threads ({', '.join(threads)})"
    for line in Path("/proc/self/maps").read_text().splitlines():
        rights = line.split(maxsplit=2)[1]
        if rights[1] == "w" and rights[3] == "s":
            return f"it shares memory: {line.split(maxsplit=5)[-1]}"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:
        return f"the kernel does not tell of its copies' ends: {error}"
    return ""


def _name(thread: Path) -> str:
    try:
        return (thread / "comm").read_text().strip()
    except OSError:
        return "one that has just ended"


def _end_threads() -> None:
    """End the threads that wait for pictures to be read or written: without them that is done by whoever asks."""
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    for file, function, arguments in _KEEP_THREADS:
        for path in filter(file.search, loaded):
            for name in set(function.findall(Path(path).read_bytes())):
                getattr(ctypes.CDLL(path), name.decode())(*arguments)


class _Copy:
    """A copy, as the zygote sees it; `told` is where the supervisor hears of its end."""

    def __init__(self, pid: int, told: socket.socket) -> None:
        self.pid, self.told = pid, told
        self.watched = os.pidfd_open(pid)

    def has_ended(self) -> bool:
        """Tell how it has ended. It stays a zombie, so that nobody else gets its number. False: nobody listens."""
        found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        assert found is not None
        code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        os.close(self.watched)
        try:
            self.told.send(str(code).encode())
        except OSError:
            return False
        return True

    def forget(self) -> None:
        """The supervisor is done with it."""
        os.waitpid(self.pid, 0)
        self.told.close()


class _Nursery:
    """All copies of this process, which ends once the supervisor asks for no more and the last one has ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._running: dict[int, _Copy] = {}
        self._ended: dict[int, _Copy] = {}

    def fork(self) -> list[int]:
        """Fork whenever asked. Comes back in the copy, with its files; in the zygote never."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        wanted = True
        while wanted or self._running or self._ended:
            for number, _ in poll.poll():
                if number == self._control.fileno():
                    word, files, _, _ = socket.recv_fds(self._control, len(_WORD), _MOST_FILES)
                    if word != _WORD:
                        poll.unregister(number)
                        wanted = False
                        continue
                    copy = self._copy(files)
                    if copy is None:
                        self._let_go()
                        return files
                    self._running[copy.watched] = copy
                    poll.register(copy.watched, select.POLLIN)
                elif number in self._running:
                    poll.unregister(number)
                    copy = self._running.pop(number)
                    if copy.has_ended():
                        self._ended[copy.told.fileno()] = copy
                        poll.register(copy.told, select.POLLIN)
                    else:
                        copy.forget()
                else:
                    poll.unregister(number)
                    self._ended.pop(number).forget()
        os._exit(0)

    def _let_go(self) -> None:
        """In a copy: the numbers of these files are about to be others'."""
        for connection in (
            self._control,
            *(one.told for one in (*self._running.values(), *self._ended.values())),
        ):
            connection.detach()

    def _copy(self, files: list[int]) -> _Copy | None:
        """Fork once. None in the copy."""
        sys.stdout.flush()
        sys.stderr.flush()
        ctypes.CDLL(None).fflush(None)
        pid = os.fork()
        if pid == 0:
            return None
        orders, stdin, output, told, *rest = files
        for number in (orders, stdin, output, *rest):
            os.close(number)
        copy = _Copy(pid, socket.socket(fileno=told))
        copy.told.send(str(pid).encode())
        return copy


def _begin(files: list[int]) -> None:
    """Become what the orders say: in a session of its own, with its own files alone, confined."""
    orders_file, stdin, output, _told, control, *group = files
    with os.fdopen(orders_file, "rb") as file:
        file.seek(0)
        orders: launcher.Orders = json.load(file)
    os.setsid()
    for number, standard in ((stdin, 0), (output, 1), (output, 2)):
        os.dup2(number, standard, inheritable=True)
    _close_all_but({0, 1, 2, control, *group})
    orders["group"] = _renumbered(orders["group"], group)
    with socket.socket(fileno=control) as parent:
        parent.set_inheritable(False)
        if orders["answers"]:
            orders["env"][answering.VARIABLE] = str(answering.take(parent))
        launcher.confine(orders, parent)
    os.environ.update(orders["env"])
    tempfile.tempdir = None  # found anew, in the work folder


def _renumbered(group: cgroup.Entrance, files: list[int]) -> cgroup.Entrance:
    """The same files of a control group by the numbers that they have here."""
    left = iter(files)
    return cgroup.Entrance(
        join=[next(left) for _ in group["join"]],
        memory=None if group["memory"] is None else next(left),
        threads=None if group["threads"] is None else next(left),
    )


def _close_all_but(kept: set[int]) -> None:
    """`kept` has 0. (Of an empty range that ends at 0, Python's `closerange` closes every file.)"""
    ends = [*sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for number, following in itertools.pairwise(ends):
        os.closerange(number + 1, following)
