# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a process by way of the launcher: with namespaces that the launcher makes, or inside bubblewrap's."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from .. import means
from ..process import Spec
from . import cgroup
from .launcher import Orders

__all__ = (
    "SYSTEM",
    "Bubblewrap",
    "Native",
    "give_workdir",
    "inherited",
    "launcher_command",
    "orders_for",
    "readable",
)

#: Programs, libraries and the little of /etc that they need.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/ssl/certs", "/etc/localtime"),
)
#: nobody and nogroup, which every Linux has: root becomes these.
_NOBODY = (65534, 65534)


def readable(spec: Spec) -> list[str]:
    """Return every path that the command may read, the shortest first, without missing or nested ones."""
    command = shutil.which(spec.cmd[0]) or spec.cmd[0]
    wanted = {*SYSTEM, *means.program_files(), command, os.path.realpath(command), *map(str, spec.readable)}
    kept: list[Path] = []
    for path in sorted(map(Path, wanted), key=lambda path: len(path.parts)):
        if path.exists() and not any(path.is_relative_to(above) for above in kept):
            kept.append(path)
    return [str(path) for path in kept]


def orders_for(
    spec: Spec,
    place: means.Place,
    *,
    root: Path | None,
    parent: int | None,
    drop: bool,
    group: cgroup.Entrance = cgroup.NOWHERE,
) -> Orders:
    """Return the launcher's orders before it becomes `spec.cmd`. `drop`: stop being root."""
    return {
        "argv": [shutil.which(spec.cmd[0]) or spec.cmd[0], *spec.cmd[1:]],
        "env": means.environment(spec),
        "readable": readable(spec),
        "workdir": str(spec.workdir),
        "answers": spec.answers,
        "root": None if root is None else str(root),
        "proxy": spec.net_policy == "allow-list",
        "user": _NOBODY if drop and os.geteuid() == 0 else None,
        "parent": parent,
        # The supervisor ends a process at its limit; this one stops a single step that would go far beyond.
        "memory_mb": spec.mem_limit_mb + 1024,
        "file_mb": spec.disk_mb,
        "cpu_s": spec.cpu_sec,
        "group": group,
        "canary": place.canary,
    }


def launcher_command(orders: Orders, control: str) -> list[str]:
    """Return the command line that carries out the orders. `control`: the parameter of `launcher.main`."""
    supervisor = str(Path(__file__).parent.parent)
    python = [sys.executable, "-I", "-S", "-B", "-c", means.BOOT]
    return [*python, supervisor, "supervisor.linux.launcher", control, json.dumps(orders)]


def give_workdir(spec: Spec) -> None:
    """Let the command write to its work folder, even if it stops being root."""
    if os.geteuid() == 0:
        os.chown(spec.workdir, *_NOBODY)


def inherited(control: socket.socket, group: cgroup.Entrance) -> list[int]:
    """Return the files that a launcher inherits, by number."""
    numbers = (control.fileno(), *group["join"], group["memory"], group["threads"])
    return [number for number in numbers if number is not None]


@dataclass(frozen=True, slots=True)
class Native:
    """The launcher with only the kernel's means; `needs_namespaces` requires that they include namespaces."""

    needs_namespaces: bool = False
    name = "Landlock and seccomp"
    wraps = False

    def start(self, spec: Spec, place: means.Place) -> means.Started:
        """Start a process confined by the launcher. Raises OSError."""
        give_workdir(spec)
        group = cgroup.make(spec.mem_limit_mb)
        ours, theirs = socket.socketpair()
        with theirs, group.entrance() as entrance:
            orders = orders_for(spec, place, root=place.root, parent=os.getpid(), drop=True, group=entrance)
            argv = launcher_command(orders, str(theirs.fileno()))
            started = means.popen(argv, spec, pass_fds=inherited(theirs, entrance))
        return means.Started(started, lambda: ours, kill_rest=group.remove, ran_out=group.ran_out)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The launcher in namespaces that bubblewrap makes: some systems allow only that program to make them."""

    path: str
    name = "bubblewrap, Landlock and seccomp"
    wraps = True
    needs_namespaces = False

    @classmethod
    def installed(cls) -> list[Bubblewrap]:
        """Return one, if this machine has bubblewrap."""
        found = shutil.which("bwrap")
        return [cls(found)] if found else []

    def start(self, spec: Spec, place: means.Place) -> means.Started:
        """Start a process confined in bubblewrap's namespaces. Raises OSError."""
        give_workdir(spec)
        group = cgroup.make(spec.mem_limit_mb)
        ours, theirs = socket.socketpair()
        with theirs, group.entrance() as entrance:
            argv = [self.path, *_namespaces(), "--die-with-parent", "--proc", "/proc", "--dev", "/dev"]
            shown = [*readable(spec), str(spec.workdir)]
            above = {folder for path in shown for folder in Path(path).parents if len(folder.parts) > 1}
            for folder in sorted(above, key=lambda folder: len(folder.parts)):
                argv += ["--perms", "0755", "--dir", str(folder)]
            for path in shown[:-1]:
                argv += ["--ro-bind", path, path]
            argv += ["--bind", shown[-1], shown[-1], "--"]
            orders = orders_for(spec, place, root=None, parent=None, drop=True, group=entrance)
            argv += launcher_command(orders, str(theirs.fileno()))
            started = means.popen(argv, spec, pass_fds=inherited(theirs, entrance))
        return means.Started(started, lambda: ours, kill_rest=group.remove, ran_out=group.ran_out)


def _namespaces() -> list[str]:
    """Return bubblewrap's options: as root, a namespace that knows nobody, and the right to change users."""
    if os.geteuid() != 0:
        return ["--unshare-all"]
    return [
        "--unshare-ipc",
        "--unshare-net",
        "--unshare-pid",
        "--cap-add",
        "CAP_SETUID",
        "--cap-add",
        "CAP_SETGID",
    ]
