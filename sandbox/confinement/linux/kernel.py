# SPDX-License-Identifier: GPL-3.0-or-later
"""System calls by number, for those that the C library or Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct

__all__ = (
    "X86_64",
    "become",
    "call",
    "end_with",
    "known_machine",
    "libc_call",
    "no_new_privileges",
    "number",
)

#: Call numbers that differ between the two supported machines; newer calls have one number everywhere.
_NUMBERS: dict[str, tuple[int, int]] = {
    # name: (x86_64, aarch64)
    "capget": (125, 90),
    "capset": (126, 91),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "seccomp": (317, 277),
    "mount_setattr": (442, 442),
    "landlock_create_ruleset": (444, 444),
    "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _AMBIENT_RAISE = 1, 8, 38, 47, 2
_CAP_VERSION_3 = 0x20080522
#: Capabilities to read in spite of files' and folders' rights: the one for that, and the one that containers have.
_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE = 2, 1

X86_64 = platform.machine() == "x86_64"
_libc = ctypes.CDLL(None, use_errno=True)


def known_machine() -> bool:
    """Return whether the call numbers here fit this machine."""
    return platform.machine() in ("x86_64", "aarch64") and ctypes.sizeof(ctypes.c_void_p) == 8


def number(name: str) -> int:
    """Return the number of a system call on this machine."""
    return _NUMBERS[name][0 if X86_64 else 1]


def call(name: str, *args: object) -> int:
    """Make a system call, with integers as longs. Raises OSError naming the call."""
    return _checked(name, _libc.syscall(ctypes.c_long(number(name)), *map(_wide, args)))


def libc_call(name: str, *args: object) -> int:
    """Call a function of the C library that returns -1 and sets errno on failure. Raises OSError naming it."""
    return _checked(name, getattr(_libc, name)(*map(_wide, args)))


def no_new_privileges() -> None:
    """Stop this process and its successors from gaining rights by an executable's bits. Cannot be reversed."""
    libc_call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def end_with(parent: int) -> None:
    """Have the kernel end this process with the parent's thread that started it, or at once if that has ended."""
    libc_call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(127)


def become(uid: int, gid: int, *, reading: bool) -> None:
    """Stop being root. `reading`: but keep reading, also as the next program, what the folders' rights would forbid.

    That is for Blenders in a private folder; what may be read and written at all must be settled before.
    """
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    if reading:
        libc_call("prctl", _PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setresuid(uid, uid, uid)
    if reading:
        _keep_reading()


def _keep_reading() -> None:
    """Give up every remaining right of root's but one to read, if there is one, and pass that one on."""
    header, found = struct.pack("=Ii", _CAP_VERSION_3, 0), ctypes.create_string_buffer(24)
    call("capget", header, found)
    permitted = struct.unpack("=6I", found.raw)[1]
    right = next((one for one in (_CAP_DAC_READ_SEARCH, _CAP_DAC_OVERRIDE) if permitted >> one & 1), None)
    kept = 0 if right is None else 1 << right
    call("capset", header, struct.pack("=6I", kept, kept, kept, 0, 0, 0))
    if right is not None:
        libc_call("prctl", _PR_CAP_AMBIENT, _AMBIENT_RAISE, right, 0, 0)


def _wide(value: object) -> object:
    return ctypes.c_long(value) if isinstance(value, int) else value


def _checked(name: str, result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result
