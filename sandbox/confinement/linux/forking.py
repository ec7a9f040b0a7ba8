# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a program once and copies it for each piece of work: the supervisor's side of `zygote.py`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

from .. import answering, means
from ..process import Spec
from . import cgroup, zygote
from .launcher import Orders
from .start import Native, give_workdir, inherited, orders_for

__all__ = ("Copies", "Zygote")

#: The seconds that a busy machine may need to fork a Blender.
_FORK_S = 5.0
#: Some Blenders have jemalloc; with this setting it starts no thread of its own.
_ONE_THREAD = {"MALLOC_CONF": "background_thread:false"}


class Zygote:
    """The means that start such a program; `copies` are the means that copy it.

    It can start no other program and no connection, and runs only our code; its copies are confined.
    """

    name = "seccomp"
    wraps = False
    needs_namespaces = False

    def __init__(self) -> None:
        self.copies = Copies(self)
        self._control: socket.socket | None = None
        self.pid = 0

    def start(self, spec: Spec, place: means.Place) -> means.Started:
        """Start the program to be copied. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ExitStack() as opened:
            opened.enter_context(theirs)
            reading, writing = (
                os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
            )
            opened.enter_context(writing)
            processors = os.sched_getaffinity(0)
            facts = zygote.Facts(control=theirs.fileno(), parent=os.getpid(), processors=sorted(processors))
            env = {
                **means.environment(spec),
                **_ONE_THREAD,
                answering.VARIABLE: str(writing.fileno()),
                zygote.VARIABLE: json.dumps(facts),
            }
            try:
                with _one_processor():
                    started = means.popen(
                        list(spec.cmd), spec, pass_fds=(theirs.fileno(), writing.fileno()), env=env
                    )
            except (OSError, subprocess.SubprocessError):
                ours.close()
                reading.close()
                raise
        ours.settimeout(_FORK_S)
        self._control, self.pid = ours, started.pid
        return means.Started(started, None, answers=reading, kill_rest=ours.close, alone=True)

    def retire(self) -> None:
        """Stop making copies; the program ends when its last copy has ended."""
        if self._control is not None:
            self._control.close()

    def fork(self, orders: Orders, control: socket.socket, group: cgroup.Entrance) -> Forked:
        """Return a copy that carries out the orders. Raises OSError if there is none."""
        if self._control is None or self._control.fileno() < 0:
            raise OSError("the process that was to be copied has ended")
        with ExitStack() as theirs:
            file = theirs.enter_context(os.fdopen(os.memfd_create("orders"), "wb"))
            file.write(json.dumps(orders).encode())
            file.flush()
            stdin, our_stdin = _pipe()
            theirs.enter_context(stdin)
            our_output, output = _pipe()
            theirs.enter_context(output)
            told, their_told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.enter_context(their_told)
            files = [file.fileno(), stdin.fileno(), output.fileno(), their_told.fileno()]
            try:
                socket.send_fds(self._control, [b"fork"], [*files, *inherited(control, group)])
                told.settimeout(_FORK_S)
                theirs.close()
                pid = int(told.recv(32) or b"0")
            except OSError:
                pid = 0
            if not pid:
                for ours in (our_stdin, our_output, told):
                    ours.close()
                raise OSError("the process that was to be copied has not answered")
        told.setblocking(False)
        return Forked(pid, our_stdin, our_output, told)


class Copies:
    """Starts a copy of a zygote and confines it by the launcher's own steps."""

    name = Native.name
    wraps = False
    needs_namespaces = False

    def __init__(self, source: Zygote) -> None:
        self._source = source

    def start(self, spec: Spec, place: means.Place) -> means.Started:
        """Start a copy. Raises OSError if that fails, and for a process with a list of allowed hosts."""
        if spec.net_policy != "deny":
            raise OSError("a copy of a process cannot be given a list of allowed hosts")
        give_workdir(spec)
        group = cgroup.make(spec.mem_limit_mb)
        ours, theirs = socket.socketpair()
        try:
            with theirs, group.entrance() as entrance:
                orders = orders_for(
                    spec, place, root=place.root, parent=self._source.pid, drop=True, group=entrance
                )
                forked = self._source.fork(orders, theirs, entrance)
        except OSError:
            ours.close()
            raise

        def kill_rest() -> None:
            group.remove()
            forked.forget()

        return means.Started(forked, lambda: ours, kill_rest=kill_rest, ran_out=group.ran_out)


class Forked:
    """A copy as the supervisor sees it: the zygote is its parent, and reports how it ended."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], told: socket.socket) -> None:
        self.pid = pid
        self.stdin, self.stdout = stdin, stdout
        self._exit_socket = told
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code (below zero the signal), or None while it runs. A copy ends with its zygote."""
        if self._code is None:
            try:
                self._code = int(self._exit_socket.recv(32) or -signal.SIGKILL)
            except BlockingIOError:
                pass
            except OSError:  # it has ended: another thread has just read that, and called `forget`
                self._code = -signal.SIGKILL if self._code is None else self._code
        return self._code

    def kill(self) -> None:
        """End the copy."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def forget(self) -> None:
        """Let the zygote release the copy's process id."""
        self._exit_socket.close()


def _pipe() -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return os.fdopen(reading, "rb"), os.fdopen(writing, "wb")


@contextlib.contextmanager
def _one_processor() -> Iterator[None]:
    """Show one processor to what this thread starts inside this context: Blender then starts no worker threads."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)
