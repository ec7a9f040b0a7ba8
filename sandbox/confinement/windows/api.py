# SPDX-License-Identifier: GPL-3.0-or-later
"""The few functions and structures of Windows that a start of a confined process needs, through `ctypes`.

Source: Microsoft's documentation of CreateProcessW, job objects, AppContainer isolation and UpdateProcThreadAttribute.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import wintypes

assert sys.platform == "win32"

kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
userenv = ctypes.WinDLL("userenv", use_last_error=True)
advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)

CREATE_SUSPENDED = 0x00000004
CREATE_UNICODE_ENVIRONMENT = 0x00000400
CREATE_NO_WINDOW = 0x08000000
BELOW_NORMAL_PRIORITY_CLASS = 0x00004000
EXTENDED_STARTUPINFO_PRESENT = 0x00080000
STARTF_USESTDHANDLES = 0x00000100

ATTRIBUTE_HANDLE_LIST = 0x00020002
ATTRIBUTE_SECURITY_CAPABILITIES = 0x00020009
ATTRIBUTE_CHILD_PROCESS_POLICY = 0x0002000E
CHILD_PROCESS_RESTRICTED = 0x01

JOB_EXTENDED_LIMITS, JOB_UI_RESTRICTIONS = 9, 4
JOB_LIMIT_JOB_TIME = 0x0004
JOB_LIMIT_ACTIVE_PROCESS = 0x0008
JOB_LIMIT_JOB_MEMORY = 0x0200
JOB_LIMIT_DIE_ON_UNHANDLED_EXCEPTION = 0x0400
JOB_LIMIT_KILL_ON_JOB_CLOSE = 0x2000
JOB_UI_EVERYTHING = 0xFF

STILL_ACTIVE = 259
ALREADY_EXISTS = 0x800700B7


class StartupInfo(ctypes.Structure):
    """Windows' STARTUPINFOEXW."""

    _fields_ = (
        ("cb", wintypes.DWORD),
        ("reserved", wintypes.LPWSTR),
        ("desktop", wintypes.LPWSTR),
        ("title", wintypes.LPWSTR),
        *(
            (name, wintypes.DWORD)
            for name in ("x", "y", "width", "height", "columns", "rows", "fill", "flags")
        ),
        ("show_window", wintypes.WORD),
        ("reserved_bytes", wintypes.WORD),
        ("reserved_data", ctypes.c_void_p),
        ("stdin", wintypes.HANDLE),
        ("stdout", wintypes.HANDLE),
        ("stderr", wintypes.HANDLE),
        ("attributes", ctypes.c_void_p),
    )


class ProcessInformation(ctypes.Structure):
    """Windows' PROCESS_INFORMATION."""

    _fields_ = (
        ("process", wintypes.HANDLE),
        ("thread", wintypes.HANDLE),
        ("process_id", wintypes.DWORD),
        ("thread_id", wintypes.DWORD),
    )


class SecurityCapabilities(ctypes.Structure):
    """Windows' SECURITY_CAPABILITIES: the container, and no capability at all."""

    _fields_ = (
        ("container", ctypes.c_void_p),
        ("capabilities", ctypes.c_void_p),
        ("count", wintypes.DWORD),
        ("reserved", wintypes.DWORD),
    )


class JobLimits(ctypes.Structure):
    """Windows' JOBOBJECT_EXTENDED_LIMIT_INFORMATION; times in units of 100 ns."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", wintypes.DWORD),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_processes", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority", wintypes.DWORD),
        ("scheduling", wintypes.DWORD),
        *((name, ctypes.c_uint64) for name in ("reads", "writes", "others", "read", "written", "other")),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


kernel32.CreateJobObjectW.restype = wintypes.HANDLE
kernel32.CreateJobObjectW.argtypes = (ctypes.c_void_p, wintypes.LPCWSTR)
kernel32.SetInformationJobObject.argtypes = (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD)
kernel32.AssignProcessToJobObject.argtypes = (wintypes.HANDLE, wintypes.HANDLE)
kernel32.TerminateJobObject.argtypes = (wintypes.HANDLE, wintypes.UINT)
kernel32.ResumeThread.argtypes = (wintypes.HANDLE,)
kernel32.ResumeThread.restype = wintypes.DWORD
kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
kernel32.GetExitCodeProcess.argtypes = (wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD))
kernel32.InitializeProcThreadAttributeList.argtypes = (
    ctypes.c_void_p,
    wintypes.DWORD,
    wintypes.DWORD,
    ctypes.POINTER(ctypes.c_size_t),
)
kernel32.UpdateProcThreadAttribute.argtypes = (
    ctypes.c_void_p,
    wintypes.DWORD,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_void_p,
)
kernel32.DeleteProcThreadAttributeList.argtypes = (ctypes.c_void_p,)
kernel32.CreateProcessW.argtypes = (
    wintypes.LPCWSTR,
    wintypes.LPWSTR,
    ctypes.c_void_p,
    ctypes.c_void_p,
    wintypes.BOOL,
    wintypes.DWORD,
    ctypes.c_void_p,
    wintypes.LPCWSTR,
    ctypes.c_void_p,
    ctypes.POINTER(ProcessInformation),
)
userenv.CreateAppContainerProfile.argtypes = (
    *(wintypes.LPCWSTR,) * 3,
    ctypes.c_void_p,
    wintypes.DWORD,
    ctypes.POINTER(ctypes.c_void_p),
)
userenv.CreateAppContainerProfile.restype = ctypes.c_long
userenv.DeriveAppContainerSidFromAppContainerName.argtypes = (
    wintypes.LPCWSTR,
    ctypes.POINTER(ctypes.c_void_p),
)
userenv.DeriveAppContainerSidFromAppContainerName.restype = ctypes.c_long
advapi32.ConvertSidToStringSidW.argtypes = (ctypes.c_void_p, ctypes.POINTER(wintypes.LPWSTR))


def checked(result: object) -> None:
    """Raise OSError for the last call unless it succeeded."""
    if not result:
        raise ctypes.WinError(ctypes.get_last_error())
