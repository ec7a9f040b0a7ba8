# SPDX-License-Identifier: GPL-3.0-or-later
"""Landlock: a process gives up every right on files, TCP ports and other processes but those listed here.

Source: linux/landlock.h and Documentation/userspace-api/landlock.rst of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

from . import kernel

__all__ = ("restrict", "version")

_VERSION = 1 << 0
_RULE_PATH_BENEATH, _RULE_NET_PORT = 1, 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG = (1 << bit for bit in range(4, 9))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

#: The rights on files that each version of Landlock knows, as a number of bits.
_FILE_BITS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPES = 0b11  # abstract Unix sockets and signals

_READ = _EXECUTE | _READ_FILE | _READ_DIR
#: Rights in the work folder: ordinary files and folders, no sockets, pipes, devices or symbolic links, no executables.
_WORK = (
    _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE | _REFER
    | _MAKE_REG | _MAKE_DIR | _REMOVE_FILE | _REMOVE_DIR
)  # fmt: skip
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _NetPort(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


def version() -> int:
    """Return the version of Landlock's interface in this kernel; 0 if it has none."""
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def restrict(
    *, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str], port: int | None = None
) -> None:
    """Restrict this thread, and the programs that it becomes, to these paths; TCP connects only to `port`, if at all.

    Paths that do not exist are left out. Call `kernel.no_new_privileges` first. Raises OSError if the kernel has no
    Landlock.
    """
    abi = version()
    known = (1 << _FILE_BITS.get(abi, 16)) - 1
    ruleset = _Ruleset(known, _BIND_TCP | _CONNECT_TCP if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    # An older kernel accepts the structure's tail if it is zero.
    rules = kernel.call("landlock_create_ruleset", ctypes.byref(ruleset), ctypes.sizeof(ruleset), 0)
    try:
        for paths, rights in (
            (readable, _READ),
            (writable, _WORK),
            (devices, _READ_FILE | _WRITE_FILE),
        ):
            for path in paths:
                _allow(rules, path, rights & known)
        if port is not None and abi >= 4:
            allowed = _NetPort(_CONNECT_TCP, port)
            kernel.call("landlock_add_rule", rules, _RULE_NET_PORT, ctypes.byref(allowed), 0)
        kernel.call("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _ON_FILES
        beneath = _PathBeneath(rights, parent)
        kernel.call("landlock_add_rule", rules, _RULE_PATH_BENEATH, ctypes.byref(beneath), 0)
    finally:
        os.close(parent)
