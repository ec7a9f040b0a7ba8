# SPDX-License-Identifier: GPL-3.0-or-later
"""How much memory this process uses, read fast enough to watch a run, and how much the machine has left."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

__all__ = ("Usage", "available_bytes", "peak_bytes", "resident_bytes", "usage")


class Usage(NamedTuple):
    """Bytes of this process. `committed` counts writable memory, used or not, where the system reports it."""

    resident: int
    committed: int


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes: current on Linux and Windows, the peak so far on macOS."""
    return usage().resident


def peak_bytes() -> int:
    """Return the most resident memory that this process has had, in bytes; on Windows what it has now.

    On Linux this is VmHWM of proc(5). `ru_maxrss` of getrusage(2) would also count what the parent had at the start.
    """
    if sys.platform != "linux":
        return resident_bytes()
    peak = _reported("/proc/self/status", "VmHWM")
    if peak is None:
        raise OSError("the kernel does not report the peak of the resident memory")
    return peak


def available_bytes() -> int:
    """Return how much memory new work can use before the machine swaps, in bytes; 0 where the system does not say.

    Source: proc_meminfo(5), GlobalMemoryStatusEx of Windows (untested). macOS has no such figure.
    """
    if sys.platform == "linux":
        return _reported("/proc/meminfo", "MemAvailable") or 0
    if sys.platform == "win32":

        class Status(ctypes.Structure):
            _fields_ = (
                ("length", ctypes.c_ulong),
                ("load", ctypes.c_ulong),
                *((name, ctypes.c_uint64) for name in ("total", "available", "c", "d", "e", "f", "g")),
            )

        status = Status(length=ctypes.sizeof(Status))
        if ctypes.WinDLL("kernel32").GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined,unused-ignore]
            return int(status.available)
    return 0


def _reported(file: str, wanted: str) -> int | None:
    """Return a figure of a file of proc(5) in bytes, from its line `wanted: 1234 kB`; None without that line."""
    for line in Path(file).read_text().splitlines():
        name, _, value = line.partition(":")
        if name == wanted:
            return int(value.split()[0]) * 1024
    return None


def _linux() -> Callable[[], Usage]:
    """Read /proc/self/statm through one open file: each new `open` would call the audit hooks."""
    page = os.sysconf("SC_PAGE_SIZE")
    opened: list[int] = []

    def read() -> Usage:
        if not opened:
            opened.append(os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC))
        fields = os.pread(opened[0], 200, 0).split()
        return Usage(int(fields[1]) * page, int(fields[5]) * page)

    def forget() -> None:
        """Drop the open file after a fork, since it is still the parent's."""
        while opened:
            os.close(opened.pop())

    os.register_at_fork(after_in_child=forget)
    return read


def _windows() -> Callable[[], Usage]:
    class Counters(ctypes.Structure):
        _fields_ = (
            ("cb", ctypes.c_ulong),
            ("page_faults", ctypes.c_ulong),
            *(
                (name, ctypes.c_size_t)
                for name in ("peak", "working_set", "a", "b", "c", "d", "pagefile", "e")
            ),
        )

    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    ask = kernel.K32GetProcessMemoryInfo
    ask.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ulong)
    process = kernel.GetCurrentProcess()

    def read() -> Usage:
        counters = Counters()
        counters.cb = ctypes.sizeof(counters)
        ask(process, ctypes.byref(counters), counters.cb)
        return Usage(int(counters.working_set), int(counters.pagefile))

    return read


def _elsewhere() -> Callable[[], Usage]:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024

    def read() -> Usage:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        return Usage(peak, peak)

    return read


def _reader() -> Callable[[], Usage]:
    if sys.platform == "linux":
        return _linux()
    return _windows() if sys.platform == "win32" else _elsewhere()


usage: Callable[[], Usage] = _reader()
