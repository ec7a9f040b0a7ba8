# SPDX-License-Identifier: GPL-3.0-or-later
"""Control groups: the kernel's limits of memory and threads, for a process and all that it starts.

They work with either version, and only where this process may make groups: as root on most machines, as a user below
what systemd has delegated to that user. This switches nothing on for others: it makes a group only where the parent
group has the controllers already. Everywhere else there is no group, and the other limits have to do.
Source: cgroups(7); Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and cgroup-v1/pids.rst of the kernel.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import RawIOBase
from pathlib import Path
from typing import TypedDict

__all__ = ("NOWHERE", "Entrance", "Group", "Home", "enter", "homes", "make")

#: The kernel's limit of threads: far above the supervisor's own, so that the supervisor notices first, and reports.
_MOST_THREADS = 4096
_PREFIX = "mcp-bridge-"
_MB = 1024 * 1024
_TRIED = 4 * _MB
_REMOVE_S = 2.0

#: Version of control groups -> the files that limit a process to some bytes of memory, swap included.
_MEMORY_LIMITS = {
    1: (("memory.limit_in_bytes", "{}"), ("memory.memsw.limit_in_bytes", "{}")),
    2: (("memory.max", "{}"), ("memory.swap.max", "0")),
}
_MEMORY_USED = {1: "memory.usage_in_bytes", 2: "memory.current"}
_MEMORY_EVENTS = {1: "memory.oom_control", 2: "memory.events"}


@dataclass(frozen=True, slots=True)
class Home:
    """A group below which others with one controller can be made, and the version of its hierarchy."""

    folder: Path
    version: int


class Entrance(TypedDict):
    """Open files of a group, by number, which a launcher inherits."""

    #: For entering the group.
    join: list[int]
    #: For reading how much memory the group uses, and how many threads it has, if these are limited.
    memory: int | None
    threads: int | None


NOWHERE = Entrance(join=[], memory=None, threads=None)


def homes(mounts: str, groups: str) -> dict[str, Home]:
    """Return controller (`memory`, `pids`) -> where this process may make groups with it.

    mounts, groups: /proc/self/mountinfo and /proc/self/cgroup.
    """
    found: dict[str, Home] = {}
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        version = 1 if names else 2
        for controller in ("memory", "pids"):
            if version == 1 and controller not in names.split(","):
                continue
            for own, top in _own(mounts, version, controller, path):
                above = (
                    [own] if version == 1 else [own, *(up for up in own.parents if up.is_relative_to(top))]
                )
                for folder in above:
                    if controller not in found and _can_be_used(folder, version, controller):
                        found[controller] = Home(folder, version)
    return found


def _own(mounts: str, version: int, controller: str, path: str) -> Iterator[tuple[Path, Path]]:
    """Yield the folder of the group `path`, and that of the highest group that is visible here."""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, top = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        fits = kind == "cgroup2" if version == 2 else kind == "cgroup" and controller in options.split(",")
        if fits and ".." not in path and (path + "/").startswith(root.rstrip("/") + "/"):
            yield Path(top) / path[len(root.rstrip("/")) :].strip("/"), Path(top)


def _can_be_used(folder: Path, version: int, controller: str) -> bool:
    with contextlib.suppress(OSError):
        if version == 2 and controller not in (folder / "cgroup.subtree_control").read_text().split():
            return False
        return os.access(folder, os.W_OK | os.X_OK) and os.access(folder / "cgroup.procs", os.W_OK)
    return False


@dataclass(frozen=True, slots=True)
class Group:
    """The control groups of one process and all that it starts; without any part, there is none."""

    parts: Mapping[str, Home] = field(default_factory=dict)

    @contextlib.contextmanager
    def entrance(self) -> Iterator[Entrance]:
        """Open the files that a launcher inherits, as long as the context. A start that fails removes the group."""
        opened: list[int] = []

        def descriptor(file: Path, flags: int) -> int:
            opened.append(os.open(file, flags | os.O_CLOEXEC))
            return opened[-1]

        memory, pids = self.parts.get("memory"), self.parts.get("pids")
        try:
            yield Entrance(
                join=[descriptor(folder / "cgroup.procs", os.O_WRONLY) for folder in self._folders()],
                memory=descriptor(memory.folder / _MEMORY_USED[memory.version], os.O_RDONLY)
                if memory
                else None,
                threads=descriptor(pids.folder / "pids.current", os.O_RDONLY) if pids else None,
            )
        except BaseException:
            self.remove()
            raise
        finally:
            for number in opened:
                os.close(number)

    def ran_out(self) -> bool:
        """Return whether the kernel ended something in the group because its memory ran out."""
        memory = self.parts.get("memory")
        if memory is None:
            return False
        with contextlib.suppress(OSError, ValueError):
            lines = (memory.folder / _MEMORY_EVENTS[memory.version]).read_text().splitlines()
            return int(dict(line.split() for line in lines).get("oom_kill", "0")) > 0
        return False

    def remove(self) -> None:
        """End the remaining processes of the group, and remove it."""
        until = time.monotonic() + _REMOVE_S
        for folder in self._folders():
            while folder.exists() and time.monotonic() < until:
                with contextlib.suppress(OSError, ValueError):
                    for line in (folder / "cgroup.procs").read_text().split():
                        if int(line) > 0:  # 0 stands for a process that is not visible from here
                            os.kill(int(line), signal.SIGKILL)
                try:
                    folder.rmdir()
                except OSError:  # the kernel has not released the last process yet
                    time.sleep(0.002)

    def _folders(self) -> list[Path]:
        return list(dict.fromkeys(part.folder for part in self.parts.values()))


def make(memory_mb: int, proc: Path = Path("/proc/self")) -> Group:
    """Return a group with room for `memory_mb` MB and 4,096 threads; without parts if none can be made.

    proc: the kernel's folder about processes (/proc). Also removes groups that dead supervisors left.
    """
    found: dict[str, Home] = {}
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
    with contextlib.suppress(OSError, ValueError):
        mounts, groups = ((proc / file).read_text() for file in ("mountinfo", "cgroup"))
        for controller, home in homes(mounts, groups).items():
            _remove_left(home.folder)
            part = Home(home.folder / name, home.version)
            try:
                part.folder.mkdir(exist_ok=True)
                _limit(part, controller, memory_mb)
            except OSError:
                if part.folder not in [made.folder for made in found.values()]:
                    Group({controller: part}).remove()
                continue
            found[controller] = part
    return Group(found)


def _limit(part: Home, controller: str, memory_mb: int) -> None:
    if controller == "pids":
        (part.folder / "pids.max").write_text(str(_MOST_THREADS))
        return
    (first, value), (swap, of_swap) = _MEMORY_LIMITS[part.version]
    (part.folder / first).write_text(value.format(memory_mb * _MB))
    with contextlib.suppress(OSError):  # some kernels do not count swap
        (part.folder / swap).write_text(of_swap.format(memory_mb * _MB))


def _remove_left(home: Path) -> None:
    for folder in home.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):  # a process is in it, or another supervisor was quicker
                folder.rmdir()


def enter(entrance: Entrance) -> list[str]:
    """Move this process, which has one thread, into a group; return which of `memory` and `threads` the group limits.

    A name is in the result only if the group has just counted it: memory that is used here, a process that is started
    here. (Running into the limits instead would add a line to the kernel's log each time.) Closes the inherited files.
    """
    for number in entrance["join"]:
        with contextlib.suppress(OSError):  # the process may not leave its current group
            os.write(number, b"0")
        os.close(number)
    return [
        name
        for name, number, seen in (
            ("memory", entrance["memory"], _memory_is_counted),
            ("threads", entrance["threads"], _processes_are_counted),
        )
        if number is not None and seen(number)
    ]


def _memory_is_counted(used: int) -> bool:
    with open(used, "rb", buffering=0) as file:
        before = _read(file)
        with mmap.mmap(-1, _TRIED) as block:
            block[:: mmap.PAGESIZE] = b"x" * (_TRIED // mmap.PAGESIZE)
            return _read(file) - before > _TRIED // 2


def _processes_are_counted(count: int) -> bool:
    with open(count, "rb", buffering=0) as file:
        before = _read(file)
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        during = _read(file)  # the kernel counts it until its parent has asked for its end
        os.waitpid(pid, 0)
        return during == before + 1


def _read(file: RawIOBase) -> int:
    return int(os.pread(file.fileno(), 32, 0))
