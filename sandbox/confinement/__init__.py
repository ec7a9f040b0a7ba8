# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts processes: confined, limited, watched, and never left behind.

The functions here use this Blender's one supervisor; code that needs another makes a `Supervisor`.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from ...base import journal
from .config import Config, load
from .process import Counts, ProcessHandle, ProcessStatus, Spec
from .supervisor import Supervisor, Unconfined

__all__ = (
    "Counts",
    "ProcessHandle",
    "ProcessStatus",
    "Spec",
    "Supervisor",
    "Unconfined",
    "configure",
    "counts",
    "current",
    "get_process_status",
    "read_configuration",
    "shutdown",
    "start_server_process",
    "stop_server_process",
)

_config = Config()
_current: Supervisor | None = None
_lock = threading.Lock()


def configure(config: Config) -> None:
    """Use this configuration from now on; end running processes first."""
    global _config
    shutdown()
    _config = config


def read_configuration(path: Path) -> None:
    """Read the configuration from a TOML file, if there is one. Raises SettingsError for an error in it."""
    if path.exists():
        configure(load(path))


def current() -> Supervisor:
    """Return this Blender's supervisor; the first call makes it."""
    global _current
    with _lock:
        if _current is None:
            _current = Supervisor(_config, lambda event, **fields: journal.current().write(event, **fields))
        return _current


def shutdown() -> None:
    """End every process and remove every folder; a later start begins anew."""
    global _current
    with _lock:
        supervisor, _current = _current, None
    if supervisor is not None:
        supervisor.close()


def counts() -> Counts:
    """Return figures for /health and /metrics; start no supervisor."""
    return Counts() if _current is None else _current.counts()


def start_server_process(
    cmd: Sequence[str],
    *,
    timeout_sec: float | None = None,
    mem_limit_mb: int | None = None,
    net_policy: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
) -> ProcessHandle:
    """Start a confined process. The configuration gives the defaults.

    cmd: program and arguments. timeout_sec: seconds until it is killed. mem_limit_mb: resident memory in MB at which
    it is killed. net_policy: `deny`, or `allow-list` for the configured hosts by way of the egress proxy (`http_proxy`
    and `https_proxy` name it). workdir: the one folder that it may write to; it must exist, and becomes the property
    of the user `nobody` if this process is root's.

    Raises Unconfined if nothing confines it, ValueError for a policy that does not exist.
    """
    sandbox = current().config.sandbox
    policy = net_policy or sandbox.network_default
    if policy not in ("deny", "allow-list"):
        raise ValueError(f"net_policy is {policy!r}: use 'deny' or 'allow-list'")
    seconds = timeout_sec or sandbox.default_timeout_sec
    spec = Spec(
        tuple(cmd),
        Path(workdir) if workdir is not None else current().new_folder(),
        timeout_sec=seconds,
        mem_limit_mb=mem_limit_mb or sandbox.default_mem_mb,
        disk_mb=sandbox.disk_mb,
        cpu_sec=int(seconds * (os.cpu_count() or 1)) + 1,
        net_policy="allow-list" if policy == "allow-list" else "deny",
        allowed_hosts=sandbox.allowed_hosts,
        restart_policy=current().config.supervisor.restart_policy,
    )
    return current().start(spec)


def stop_server_process(handle: ProcessHandle) -> None:
    """Ask a process to end, kill it 2 s later, and wait until it has ended."""
    current().stop(handle)


def get_process_status(handle: ProcessHandle) -> ProcessStatus:
    """Return the process's status. Raises InvalidParamsError for an unknown handle."""
    return current().status(handle)


def _forget() -> None:
    """Forget the supervisor in a forked copy of this process: it has neither its thread nor rights to its processes."""
    global _current, _lock
    _current, _lock = None, threading.Lock()


atexit.register(shutdown)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
