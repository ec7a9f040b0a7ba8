# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a process in an AppContainer without capabilities, inside a job object that ends with this process.

The container reaches no network, and only files that Windows opens to every app, or that this module opens to it. The
job limits memory, processor time and the number of processes (one), and ends them when its last handle is closed, as
it is when Blender ends in any way.
"""

from __future__ import annotations

import ctypes
import msvcrt
import os
import shutil
import subprocess
import sys
from ctypes import wintypes
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .. import answering, means
from ..process import Spec
from . import api

__all__ = ("AppContainer",)

assert sys.platform == "win32"

_CONTAINER = "mcp_bridge.rehearsal"
_MB = 1024 * 1024
_TICKS_PER_S = 10_000_000


@dataclass(frozen=True, slots=True)
class AppContainer:
    """One container for all processes: each gets rights on its own work folder only while it has one."""

    name = "an AppContainer and a job object"
    wraps = False
    needs_namespaces = False

    def start(self, spec: Spec, place: means.Place) -> means.Started:
        """Start a process in the container. Raises OSError."""
        if spec.net_policy == "allow-list":
            raise OSError("a list of allowed hosts is not possible on Windows: a container reaches no proxy")
        command = shutil.which(spec.cmd[0]) or spec.cmd[0]
        sid = _container()
        _grant(sid, spec.workdir, "(OI)(CI)M")
        for path in {*means.program_files(), str(Path(command).parent), *map(str, spec.readable)}:
            _grant(sid, Path(path), "(OI)(CI)RX" if os.path.isdir(path) else "RX")
        process = _Process(spec, command, sid)
        return means.Started(process, None, answers=process.answers)


class _Process:
    """The part of `subprocess.Popen` that the supervisor uses."""

    def __init__(self, spec: Spec, command: str, sid: ctypes.c_void_p) -> None:
        self._job = _job(spec)
        ends, self.stdin, self.stdout, self.answers = _pipes(spec)
        try:
            information = _create(spec, command, sid, ends)
        finally:
            for end in ends:
                os.close(end)
        self._handle: int = information.process
        self.pid: int = information.process_id
        try:
            api.checked(api.kernel32.AssignProcessToJobObject(self._job, self._handle))
        except OSError:
            self.kill()
            raise
        api.kernel32.ResumeThread(information.thread)
        api.kernel32.CloseHandle(information.thread)

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        code = wintypes.DWORD()
        api.checked(api.kernel32.GetExitCodeProcess(self._handle, ctypes.byref(code)))
        return None if code.value == api.STILL_ACTIVE else int(code.value)

    def kill(self) -> None:
        """End the process."""
        api.kernel32.TerminateJobObject(self._job, 1)


def _container() -> ctypes.c_void_p:
    """Return the container's security identifier; make the container once for each user of this computer."""
    sid = ctypes.c_void_p()
    name = _CONTAINER
    result = api.userenv.CreateAppContainerProfile(name, name, name, None, 0, ctypes.byref(sid))
    if ctypes.c_ulong(result).value == api.ALREADY_EXISTS:
        result = api.userenv.DeriveAppContainerSidFromAppContainerName(name, ctypes.byref(sid))
    if result != 0:
        raise OSError(f"Windows makes no AppContainer (0x{ctypes.c_ulong(result).value:08x})")
    return sid


def _grant(sid: ctypes.c_void_p, path: Path, rights: str) -> None:
    """Give the container rights on a file or folder, by Windows' own tool."""
    text = wintypes.LPWSTR()
    api.checked(api.advapi32.ConvertSidToStringSidW(sid, ctypes.byref(text)))
    icacls = Path(os.environ["SYSTEMROOT"]) / "System32" / "icacls.exe"
    done = subprocess.run(
        [icacls, path, "/grant", f"*{text.value}:{rights}"], capture_output=True, timeout=60
    )
    if done.returncode != 0 and not _open_to_apps(path):
        raise OSError(
            f"the container cannot be given rights on {path}: {done.stderr.decode(errors='replace')[:200]}"
        )


def _open_to_apps(path: Path) -> bool:
    """Return whether Windows lets every app read a path: there a user cannot change the rights, and need not."""
    roots = (os.environ.get(name) for name in ("PROGRAMFILES", "SYSTEMROOT", "PROGRAMFILES(X86)"))
    return any(root and path.is_relative_to(root) for root in roots)


def _job(spec: Spec) -> int:
    job: int = api.kernel32.CreateJobObjectW(None, None)
    api.checked(job)
    limits = api.JobLimits()
    limits.flags = (
        api.JOB_LIMIT_ACTIVE_PROCESS
        | api.JOB_LIMIT_JOB_MEMORY
        | api.JOB_LIMIT_JOB_TIME
        | api.JOB_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
        | api.JOB_LIMIT_KILL_ON_JOB_CLOSE
    )
    limits.active_processes = 1
    limits.job_memory = spec.mem_limit_mb * _MB
    limits.job_time = spec.cpu_sec * _TICKS_PER_S
    restrictions = wintypes.DWORD(api.JOB_UI_EVERYTHING)
    for kind, what in ((api.JOB_EXTENDED_LIMITS, limits), (api.JOB_UI_RESTRICTIONS, restrictions)):
        api.checked(api.kernel32.SetInformationJobObject(job, kind, ctypes.byref(what), ctypes.sizeof(what)))
    return job


def _pipes(spec: Spec) -> tuple[list[int], IO[bytes] | None, IO[bytes], IO[bytes] | None]:
    """Return the child's ends as file descriptors (standard input, output and error, answers), and our ends.

    The ends for requests and for answers exist if the spec asks for answers.
    """
    their_out, our_out = _pipe()
    printed = [their_out, os.dup(their_out)]
    if not spec.answers:
        return [os.open(os.devnull, os.O_RDONLY), *printed], None, our_out, None
    their_answers, our_answers = _pipe()
    reading, writing = os.pipe()
    return [reading, *printed, their_answers], os.fdopen(writing, "wb", 0), our_out, our_answers


def _pipe() -> tuple[int, IO[bytes]]:
    reading, writing = os.pipe()
    return writing, os.fdopen(reading, "rb")


def _create(spec: Spec, command: str, sid: ctypes.c_void_p, ends: list[int]) -> api.ProcessInformation:
    inherited = [msvcrt.get_osfhandle(end) for end in ends]
    for handle in inherited:
        os.set_handle_inheritable(handle, True)
    handles = (wintypes.HANDLE * len(inherited))(*inherited)
    answers = dict(zip([answering.VARIABLE], map(str, inherited[3:]), strict=False))
    container = api.SecurityCapabilities(container=sid.value)
    policy = wintypes.DWORD(api.CHILD_PROCESS_RESTRICTED)
    startup = api.StartupInfo(flags=api.STARTF_USESTDHANDLES)
    startup.cb = ctypes.sizeof(startup)
    startup.stdin, startup.stdout, startup.stderr = handles[:3]
    attributes = _attributes(
        (api.ATTRIBUTE_SECURITY_CAPABILITIES, container),
        (api.ATTRIBUTE_CHILD_PROCESS_POLICY, policy),
        (api.ATTRIBUTE_HANDLE_LIST, handles),
    )
    startup.attributes = ctypes.addressof(attributes)
    information = api.ProcessInformation()
    flags = (
        api.CREATE_SUSPENDED
        | api.CREATE_UNICODE_ENVIRONMENT
        | api.CREATE_NO_WINDOW
        | api.BELOW_NORMAL_PRIORITY_CLASS  # the open Blender gets the processor first
        | api.EXTENDED_STARTUPINFO_PRESENT
    )
    try:
        api.checked(
            api.kernel32.CreateProcessW(
                command,
                ctypes.create_unicode_buffer(subprocess.list2cmdline([command, *spec.cmd[1:]])),
                None,
                None,
                True,
                flags,
                ctypes.create_unicode_buffer(_environment(spec, answers)),
                str(spec.workdir),
                ctypes.byref(startup),
                ctypes.byref(information),
            )
        )
    finally:
        api.kernel32.DeleteProcThreadAttributeList(attributes)
    return information


def _attributes(*pairs: tuple[int, ctypes._CData]) -> ctypes.Array[ctypes.c_char]:
    """Return a list of attributes; what they point to must live as long as the list."""
    size = ctypes.c_size_t()
    api.kernel32.InitializeProcThreadAttributeList(None, len(pairs), 0, ctypes.byref(size))
    attributes = ctypes.create_string_buffer(size.value)
    api.checked(api.kernel32.InitializeProcThreadAttributeList(attributes, len(pairs), 0, ctypes.byref(size)))
    for attribute, value in pairs:
        api.checked(
            api.kernel32.UpdateProcThreadAttribute(
                attributes, 0, attribute, ctypes.addressof(value), ctypes.sizeof(value), None, None
            )
        )
    return attributes


def _environment(spec: Spec, answers: dict[str, str]) -> str:
    """Return the environment block: what programs need of Windows, a home, the spec's variables, and `answers`."""
    system = {
        name: os.environ[name] for name in ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR") if name in os.environ
    }
    home = str(spec.workdir)
    own = dict.fromkeys(("USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "HOME"), home)
    variables = {
        **system,
        "PATH": os.path.join(system.get("SYSTEMROOT", ""), "System32"),
        **own,
        **dict(spec.env),
        **answers,
    }
    return "\0".join(f"{name}={value}" for name, value in sorted(variables.items())) + "\0\0"
