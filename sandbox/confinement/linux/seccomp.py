# SPDX-License-Identifier: GPL-3.0-or-later
"""Seccomp: the system calls that a confined process may not make.

Threads stay allowed, processes do not. Calls that only read or compute are allowed. Calls that are newer than this
list do not exist for the process, so a new kernel brings nothing that nobody has reviewed.
Source: linux/seccomp.h, linux/filter.h and the kernel's tables of system calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from . import kernel

__all__ = ("deny", "deny_exec", "keep_to_forking")

_SET_MODE_FILTER, _TSYNC = 1, 1
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_AT_NUMBER, _AT_ARCH, _AT_ARGS = 0, 4, 16
_X32 = 0x40000000
_CLONE_THREAD = 0x00010000
_AF_INET, _SOCK_STREAM, _SOCK_TYPE_MASK = 2, 1, 0xF
#: The first call number that is newer than the list below.
_UNKNOWN_FROM = 451

_ARCH, _COLUMN = (0xC000003E, 1) if kernel.X86_64 else (0xC00000B7, 2)
_DENIED = """
    fork 57 -
    vfork 58 -
    execveat 322 281
    kill 62 129
    tkill 200 130
    rt_sigqueueinfo 129 138
    rt_tgsigqueueinfo 297 240
    pidfd_send_signal 424 424
    pidfd_open 434 434
    pidfd_getfd 438 438
    ptrace 101 117
    process_vm_readv 310 270
    process_vm_writev 311 271
    process_madvise 440 440
    process_mrelease 448 448
    kcmp 312 272
    setpgid 109 154
    setsid 112 157
    ioprio_set 251 30
    move_pages 279 239
    migrate_pages 256 238

    truncate 76 45
    inotify_add_watch 254 27
    chmod 90 -
    fchmod 91 52
    fchmodat 268 53
    chown 92 -
    lchown 94 -
    fchown 93 55
    fchownat 260 54
    utime 132 -
    utimes 235 -
    futimesat 261 -
    utimensat 280 88
    setxattr 188 5
    lsetxattr 189 6
    fsetxattr 190 7
    removexattr 197 14
    lremovexattr 198 15
    fremovexattr 199 16
    mknod 133 -
    mknodat 259 33
    name_to_handle_at 303 264
    open_by_handle_at 304 265
    fanotify_init 300 262

    mount 165 40
    umount2 166 39
    pivot_root 155 41
    chroot 161 51
    open_tree 428 428
    move_mount 429 429
    fsopen 430 430
    fsconfig 431 431
    fsmount 432 432
    fspick 433 433
    mount_setattr 442 442
    unshare 272 97
    setns 308 268
    quotactl 179 60
    quotactl_fd 443 443

    memfd_create 319 279
    memfd_secret 447 447
    shmget 29 194
    shmat 30 196
    shmctl 31 195
    msgget 68 186
    msgsnd 69 189
    msgrcv 70 188
    msgctl 71 187
    semget 64 190
    semop 65 193
    semctl 66 191
    semtimedop 220 192
    mq_open 240 180
    mq_unlink 241 181

    bpf 321 280
    perf_event_open 298 241
    userfaultfd 323 282
    io_uring_setup 425 425
    io_uring_enter 426 426
    io_uring_register 427 427
    keyctl 250 219
    add_key 248 217
    request_key 249 218
    personality 135 92
    modify_ldt 154 -
    iopl 172 -
    ioperm 173 -
    syslog 103 116
    acct 163 89
    kexec_load 246 104
    kexec_file_load 320 294
    init_module 175 105
    finit_module 313 273
    delete_module 176 106
    reboot 169 142
    swapon 167 224
    swapoff 168 225
    settimeofday 164 170
    clock_settime 227 112
    clock_adjtime 305 266
    adjtimex 159 171
    sethostname 170 161
    setdomainname 171 162
    vhangup 153 58
"""
_SOCKET = ("socket", "41", "198")
_SOCKETPAIR = ("socketpair", "53", "199")
_EXECVE = ("execve", "59", "221")
_EXECVEAT = ("execveat", "322", "281")
_CLONE = ("clone", "56", "220")
_CLONE3 = ("clone3", "435", "435")
_TGKILL = ("tgkill", "234", "131")
#: Calls whose first argument is a process: 0 is the caller, the only one whose limits and scheduling it may set.
_OF_A_PROCESS = (
    ("prlimit64", "302", "261"),
    ("sched_setaffinity", "203", "122"),
    ("sched_setscheduler", "144", "119"),
    ("sched_setparam", "142", "118"),
    ("sched_setattr", "314", "274"),
)
_SETPRIORITY = ("setpriority", "141", "140")
#: Call, argument, refused values. They would: have the kernel send signals (F_SETOWN, …), which may go to any
#: process of the same user; outlive the parent; hide from it; type into a terminal.
_FORBIDDEN_VALUES = (
    (("fcntl", "72", "25"), 1, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    (("ioctl", "16", "29"), 1, (0x8901, 0x8902, 0x5412, 0x541C)),  # FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX
    (("prctl", "157", "167"), 0, (1, 4)),  # PR_SET_PDEATHSIG, PR_SET_DUMPABLE
)

_EPERM = _ERRNO | errno.EPERM
#: The target of a jump to the refusal: set when the program's length is known.
_Program = list[tuple[int, int, int, int]]


def deny(*, tcp_client: bool) -> None:
    """Refuse, for good: processes, other processes, sockets, mounts, uncounted memory, and changes to files' facts.

    These are files' owners, modes and times. `tcp_client`: IPv4 stream sockets stay allowed (the network namespace
    limits what they reach). Call `kernel.no_new_privileges` first. Raises OSError if the kernel refuses the filter.
    """
    program = _preamble()
    program += _only_if(_CLONE, 0, _CLONE_THREAD, _CLONE_THREAD)
    program += _only_if(_TGKILL, 0, 0xFFFFFFFF, os.getpid())
    for of_a_process in _OF_A_PROCESS:
        program += _only_if(of_a_process, 0, 0xFFFFFFFF, 0)
    program += _only_if(_SETPRIORITY, 1, 0xFFFFFFFF, 0)
    for call, argument, values in _FORBIDDEN_VALUES:
        for value in values:
            program += _refuse_value(call, argument, value)
    program += _refuse(
        _CLONE3, errno.ENOSYS
    )  # a filter cannot see its flags; the C library falls back to clone
    if tcp_client:
        program += _only_if(_SOCKET, 0, 0xFFFFFFFF, _AF_INET) + _only_if(
            _SOCKET, 1, _SOCK_TYPE_MASK, _SOCK_STREAM
        )
    else:
        program += _refuse(_SOCKET)
    for row in (_SOCKETPAIR, *(tuple(line.split()) for line in _DENIED.split("\n") if line.strip())):
        program += _refuse(row)
    _install([*program, (_RETURN, 0, 0, _ALLOW)])


def deny_exec() -> None:
    """Refuse to become another program, for every thread of this process."""
    _install([*_preamble(), *_refuse(_EXECVE), *_refuse(_EXECVEAT), (_RETURN, 0, 0, _ALLOW)])


#: Calls that a zygote never needs: looks into other processes, signals to them, the kernel's keys and modules.
_NOT_FOR_ZYGOTES = frozenset(
    "kill tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal pidfd_getfd ptrace process_vm_readv "
    "process_vm_writev process_madvise bpf perf_event_open userfaultfd io_uring_setup keyctl add_key request_key "
    "init_module finit_module delete_module kexec_load kexec_file_load reboot".split()
)


def keep_to_forking() -> None:
    """Refuse, for good: other programs, sockets, and processes other than copies. Call `no_new_privileges` first."""
    rows = [
        row for line in _DENIED.split("\n") if (row := tuple(line.split())) and row[0] in _NOT_FOR_ZYGOTES
    ]
    program = [step for row in (_EXECVE, _EXECVEAT, _SOCKET, *rows) for step in _refuse(row)]
    _install([*_preamble(), *program, (_RETURN, 0, 0, _ALLOW)])


def _preamble() -> _Program:
    program = [
        (_LOAD, 0, 0, _AT_ARCH),
        (_JUMP_EQUAL, 1, 0, _ARCH),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _AT_NUMBER),
    ]
    if kernel.X86_64:
        program += [(_JUMP_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    return [*program, (_JUMP_AT_LEAST, 0, 1, _UNKNOWN_FROM), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]


def _refuse(row: tuple[str, ...], error: int = errno.EPERM) -> _Program:
    """Return the instructions for "this call fails with `error`"; the call's number is loaded before and after."""
    if row[_COLUMN] == "-":
        return []
    return [(_JUMP_EQUAL, 0, 1, int(row[_COLUMN])), (_RETURN, 0, 0, _ERRNO | error)]


def _only_if(row: tuple[str, ...], argument: int, mask: int, value: int) -> _Program:
    """Return the instructions for "this call fails with EPERM unless `args[argument] & mask == value`"."""
    return [
        (_JUMP_EQUAL, 0, 5, int(row[_COLUMN])),
        (_LOAD, 0, 0, _AT_ARGS + 8 * argument),  # the low half: both machines are little-endian
        (_AND, 0, 0, mask),
        (_JUMP_EQUAL, 1, 0, value),
        (_RETURN, 0, 0, _EPERM),
        (_LOAD, 0, 0, _AT_NUMBER),
    ]


def _refuse_value(row: tuple[str, ...], argument: int, value: int) -> _Program:
    """Return the instructions for "this call fails with EPERM if the low half of `args[argument]` is `value`"."""
    return [
        (_JUMP_EQUAL, 0, 4, int(row[_COLUMN])),
        (_LOAD, 0, 0, _AT_ARGS + 8 * argument),
        (_JUMP_EQUAL, 0, 1, value),
        (_RETURN, 0, 0, _EPERM),
        (_LOAD, 0, 0, _AT_NUMBER),
    ]


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


def _install(program: _Program) -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in program))
    filter_ = _Filter(len(program), ctypes.addressof(code))
    kernel.call("seccomp", _SET_MODE_FILTER, _TSYNC, ctypes.byref(filter_))
