# SPDX-License-Identifier: GPL-3.0-or-later
"""Namespaces: a root folder with only the allowed paths, and a network without a way out.

Source: namespaces(7), user_namespaces(7), mount_namespaces(7), pivot_root(2), mount_setattr(2).
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

from . import kernel

__all__ = ("enter", "loopback_up", "new_root")

_NEWNS, _NEWIPC, _NEWUSER, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 1, 1 << 2, 1 << 12, 1 << 14, 1 << 18
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_NOEXEC = 1, 2, 4, 8
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1


def enter() -> None:
    """Enter new mount, network and IPC namespaces; an ordinary user by way of a user namespace.

    Raises OSError if this process may not: in many containers, or if the system forbids it.
    """
    wanted = _NEWNS | _NEWNET | _NEWIPC
    if os.geteuid() == 0:
        kernel.libc_call("unshare", wanted)
        return
    uid, gid = os.geteuid(), os.getegid()
    kernel.libc_call("unshare", wanted | _NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def new_root(root: Path, *, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """Make the empty folder `root` this process's root: these paths, at their places, and nothing else.

    It makes new folders above them, so that none of these needs to be open to an unprivileged user. `/proc` shows only
    this process. Every path must exist, and no readable one may be inside another.
    """
    _mount("none", "/", _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", str(root), _MS_NOSUID | _MS_NODEV, "tmpfs", "mode=0755,size=1m")
    for name in readable:
        _show(Path(name), root, _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)
    for name in writable:
        _show(Path(name), root, _ATTR_NOSUID | _ATTR_NODEV | _ATTR_NOEXEC)
    for name in devices:
        _show(Path(name), root, _ATTR_NOSUID | _ATTR_NOEXEC)
    own = Path("/proc") / str(os.getpid())
    _show(own, root, _ATTR_NOSUID | _ATTR_NODEV | _ATTR_NOEXEC)
    (root / "proc" / "self").symlink_to(own.name)

    os.chdir(root)
    kernel.call("pivot_root", b".", b".")
    kernel.libc_call("umount2", b".", _MNT_DETACH)
    os.chdir("/")
    _attributes("/", _ATTR_RDONLY, recursive=False)


def loopback_up() -> None:
    """Bring up `lo`: a new network namespace has it, but down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        if flags & _IFF_UP:
            return
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))


def _show(path: Path, root: Path, attributes: int) -> None:
    target = root / path.relative_to("/")
    if path.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(str(path), str(target), _MS_BIND | _MS_REC)
    _attributes(str(target), attributes, recursive=True)


def _mount(source: str, target: str, flags: int, kind: str = "none", options: str = "") -> None:
    kernel.libc_call("mount", *(text.encode() for text in (source, target, kind)), flags, options.encode())


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns"))


def _attributes(target: str, attributes: int, *, recursive: bool) -> None:
    wanted = _MountAttributes(set=attributes)
    kernel.call(
        "mount_setattr",
        _AT_FDCWD,
        target.encode(),
        _AT_RECURSIVE if recursive else 0,
        ctypes.byref(wanted),
        ctypes.sizeof(wanted),
    )
