# SPDX-License-Identifier: GPL-3.0-or-later
"""Confines this process and then becomes the command, which is thus confined from its first instruction.

The order matters: limits, namespaces and a new root while there are still rights for them; Landlock while folders can
still be opened; then another user, and last the filter of system calls. Before the command starts, the launcher tries
the canaries; the command starts only if every attempt has failed. The launcher reports to the parent over a socket
that closes when the command begins.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, TypedDict

from .. import answering, probe
from . import cgroup, kernel, landlock, namespaces, seccomp

__all__ = ("NOT_CONFINED", "NOT_STARTED", "Orders", "confine", "main", "short_path")

#: Exit codes of a launcher that did not become the command.
NOT_CONFINED, NOT_STARTED = 126, 127

_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_LOOK_S = 0.05
#: The nice value of confined processes: the open Blender gets the processor first.
_NICE = 10
_MB = 1024 * 1024


class Orders(TypedDict):
    """The supervisor's orders to a launcher; JSON."""

    argv: list[str]
    env: dict[str, str]
    readable: list[str]
    workdir: str
    #: Whether the supervisor sends the command's pipe for answers over the control socket.
    answers: bool
    #: An empty folder for the new root, if the launcher must make namespaces; None: the namespaces exist.
    root: str | None
    #: Whether to make sockets for the egress proxy; the launcher then sends the listener to the parent.
    proxy: bool
    #: (user id, group id) to become, or None.
    user: tuple[int, int] | None
    #: The parent's process id, if it is the supervisor itself: its death ends the command.
    parent: int | None
    memory_mb: int
    file_mb: int
    cpu_s: int
    #: Inherited files of a control group to enter.
    group: cgroup.Entrance
    canary: probe.Canary


def main(control: str, orders_json: str) -> None:
    """Carry out the orders. `control`: the number of an inherited Unix socket, or the path of one to connect to."""
    orders: Orders = json.loads(orders_json)
    parent = _connect(control)
    with _failure_told(parent):
        answers = answering.take(parent) if orders["answers"] else None
        if not control.isdigit():
            _stay_behind(parent, answers)
        if answers is not None:
            orders["env"][answering.VARIABLE] = str(answers)
        confine(orders, parent)
        os.execve(orders["argv"][0], orders["argv"], orders["env"])  # noqa: S606 - there is no shell, by intent


def confine(orders: Orders, parent: socket.socket) -> None:
    """Confine this process, which has one thread, and report to the parent; a failure ends the process.

    It returns only if each canary was just refused.
    """
    with _failure_told(parent):
        found = _confine(orders, parent)
        found["in_force"] = probe.in_force(orders["canary"])
        _tell(parent, found)
        if set(found["in_force"]) != set(probe.EVERYTHING):
            os._exit(NOT_CONFINED)
        os.chdir(orders["workdir"])


@contextlib.contextmanager
def _failure_told(parent: socket.socket) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _tell(parent, {"error": str(error)})
        os._exit(NOT_STARTED)


def _connect(control: str) -> socket.socket:
    if control.isdigit():
        parent = socket.socket(fileno=int(control))
        parent.set_inheritable(False)
        return parent
    parent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_path(Path(control)) as name:
        parent.connect(name)
    return parent


def _stay_behind(parent: socket.socket, answers: int | None) -> None:
    """Fork, and return only in the child; the parent is a container's first process, with which everything in it ends.

    The parent ends when its child has, or when the supervisor has ended: a container has no other way to notice that.
    It closes its copy of the pipe `answers`, which would keep the answers from ending.
    """
    pid = os.fork()
    if pid == 0:
        return
    if answers is not None:
        os.close(answers)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
    while True:
        closed, _, _ = select.select([parent], [], [], _LOOK_S)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
        if closed:  # the supervisor's end of the socket is closed
            os._exit(128 + signal.SIGKILL)


@contextlib.contextmanager
def short_path(path: Path) -> Iterator[str]:
    """Yield a shorter path to the same socket: a socket's path may have at most 108 bytes."""
    folder = os.open(path.parent, os.O_PATH)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _tell(parent: socket.socket, message: dict[str, Any]) -> None:
    parent.sendall(json.dumps(message).encode() + b"\n")


def _confine(orders: Orders, parent: socket.socket) -> dict[str, Any]:
    """Confine the process by all means of this system; return which were used."""
    _give_way()
    found: dict[str, Any] = {"limits": cgroup.enter(orders["group"])}
    _limit(orders)
    found |= {"namespaces": _namespaces(orders), "landlock": landlock.version()}
    os.umask(0o077)
    if orders["proxy"] and found["namespaces"] == "none":
        raise OSError("a list of allowed hosts needs a network namespace, which this system does not allow")
    port = _send_listener(parent, orders["canary"]["port"]) if orders["proxy"] else None
    kernel.no_new_privileges()
    if found["landlock"]:
        landlock.restrict(
            readable=[*orders["readable"], f"/proc/{os.getpid()}"],
            writable=[orders["workdir"]],
            devices=_DEVICES,
            port=port,
        )
    if orders["user"] is not None:
        # Landlock decides what may be read; a new root has replaced the folders above with open ones.
        closed = (
            found["namespaces"] == "none" and bool(found["landlock"]) and not _all_open(orders["readable"])
        )
        kernel.become(*orders["user"], reading=closed)
    if orders["parent"] is not None:
        # After the change of user, which would reset it.
        kernel.end_with(orders["parent"])
    found["seccomp"] = kernel.known_machine()
    if kernel.known_machine():
        seccomp.deny(tcp_client=port is not None)
    if port is not None:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            orders["env"][name] = f"http://127.0.0.1:{port}"
    return found


def _give_way() -> None:
    """Let Blender draw first where the processor is short.

    Where the kernel groups processes by session, a nice value counts only within the group, and the group has one of
    its own (sched(7), "The autogroup feature").
    """
    os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    with contextlib.suppress(OSError):  # this kernel has no such groups, or one of another user was just set
        Path("/proc/self/autogroup").write_text(str(_NICE))


def _all_open(paths: list[str]) -> bool:
    """Return whether everybody may reach these paths."""
    above = {folder for path in paths for folder in Path(path).parents}
    return all(folder.stat().st_mode & 0o001 for folder in above)


def _limit(orders: Orders) -> None:
    for what, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, orders["cpu_s"]),
        (resource.RLIMIT_FSIZE, orders["file_mb"] * _MB),
        # Counts writable private memory, not memory that is only reserved or mapped from a file.
        (resource.RLIMIT_DATA, orders["memory_mb"] * _MB),
        (resource.RLIMIT_NOFILE, 1024),
    ):
        hard = resource.getrlimit(what)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (limit, limit))


def _namespaces(orders: Orders) -> Literal["own", "given", "none"]:
    if orders["root"] is None:
        return "given"
    try:
        namespaces.enter()
    except OSError:
        return "none"
    namespaces.new_root(
        Path(orders["root"]),
        readable=orders["readable"],
        writable=[orders["workdir"]],
        devices=_DEVICES,
    )
    return "own"


def _send_listener(parent: socket.socket, canary: int) -> int:
    """Listen where the command will look for its proxy, and send the listener to the parent.

    Not on the canary's port, which is free in here: the canary would seem to be within reach.
    """
    namespaces.loopback_up()
    listener = socket.create_server(("127.0.0.1", 0))
    if listener.getsockname()[1] == canary:
        with listener:  # keep this port in use until another is found
            listener = socket.create_server(("127.0.0.1", 0))
    port = int(listener.getsockname()[1])
    socket.send_fds(parent, [b"listener\n"], [listener.fileno()])
    listener.close()
    return port
