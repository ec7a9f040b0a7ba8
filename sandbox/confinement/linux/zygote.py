# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that loads a program once, and forks a copy of itself for each piece of work: the zygote's side.

The zygote runs only our code, and never on data that others have written. A copy takes the launcher's steps before it
begins its own work, so it is confined from the start. A copy shares with the zygote only memory that nobody else has
written to; it closes each open file but its own pipes.

Standard library only. `forking.py` is the supervisor's side.
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
#: The message for each copy, with the files that belong to it; and the most files.
_WORD, _MOST_FILES = b"fork", 16
#: The seconds that the kernel may need to end threads that have finished.
_ENDING_S = 1.0
#: Libraries whose threads wait even on one processor: their file, the function that ends those threads (its name
#: as C++ writes it, whatever the library's version), and its arguments. A later call can start threads again.
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
    """The supervisor's facts for a zygote: the number of the control socket, its process, and its processors."""

    control: int
    parent: int
    processors: list[int]


def asked_for() -> bool:
    """Return whether this process was started to be copied."""
    return VARIABLE in os.environ


def serve(say: answering.Say) -> None:
    """Fork copies as long as the supervisor asks for them. Returns in each copy, which is confined by then.

    A copy has its own environment, working folder, input and output, and pipe for answers (`answering.opened`).

    say: sends the zygote's answers: `{"ready": true}`, or `{"ready": false, "why": …}` if it cannot be copied.
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
    gc.freeze()  # memory that the collector does not touch stays shared with the copies
    say({"ready": True})
    try:
        files = _Nursery(control).fork()
        os.sched_setaffinity(0, facts["processors"])
        _begin(files)
    except BaseException:  # after any error, neither the zygote nor an unconfined copy may go on
        traceback.print_exc()
        os._exit(launcher.NOT_STARTED)


def unfit() -> str:
    """Return why this process cannot be copied safely, else "": a copy has one thread, and must share no memory."""
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
    """End the threads that read and write pictures: without them the calling thread does that."""
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    for file, function, arguments in _KEEP_THREADS:
        for path in filter(file.search, loaded):
            for name in set(function.findall(Path(path).read_bytes())):
                getattr(ctypes.CDLL(path), name.decode())(*arguments)


class _Copy:
    """A copy, as the zygote sees it; the supervisor reads from `told` how the copy ended."""

    def __init__(self, pid: int, told: socket.socket) -> None:
        self.pid, self.told = pid, told
        self.watched = os.pidfd_open(pid)

    def has_ended(self) -> bool:
        """Report how the copy ended; return whether the supervisor listens. The zombie keeps the process id in use."""
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
        """Remove the zombie: the supervisor needs the copy no more."""
        os.waitpid(self.pid, 0)
        self.told.close()


class _Nursery:
    """All copies of this process, which ends after the supervisor's last request and the last copy."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._running: dict[int, _Copy] = {}
        self._ended: dict[int, _Copy] = {}

    def fork(self) -> list[int]:
        """Fork at each request. Returns in the copy, with its files; in the zygote never."""
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
        """Detach these sockets in a copy: other files will get their numbers."""
        for connection in (
            self._control,
            *(one.told for one in (*self._running.values(), *self._ended.values())),
        ):
            connection.detach()

    def _copy(self, files: list[int]) -> _Copy | None:
        """Fork once. Returns None in the copy."""
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
    """Carry out the orders in a copy: a session of its own, only its own files, confined."""
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
    tempfile.tempdir = None  # so that Python finds the work folder's again


def _renumbered(group: cgroup.Entrance, files: list[int]) -> cgroup.Entrance:
    """Return the files of a control group by the numbers that they have in this process."""
    left = iter(files)
    return cgroup.Entrance(
        join=[next(left) for _ in group["join"]],
        memory=None if group["memory"] is None else next(left),
        threads=None if group["threads"] is None else next(left),
    )


def _close_all_but(kept: set[int]) -> None:
    """Close all files but `kept`, which has 0. (Python's `closerange` closes every file for an empty range up to 0.)"""
    ends = [*sorted(kept), os.sysconf("SC_OPEN_MAX")]
    for number, following in itertools.pairwise(ends):
        os.closerange(number + 1, following)
