# SPDX-License-Identifier: GPL-3.0-or-later
"""Publishes which Blender listens on which port: one record for each running bridge, in the user's run-time folder.

A record has its own token, valid only for that run, so that a program of this user (the stdio shim) gets in without a
configuration. Only the user can read the record, and the bridge removes it when it stops. The shim, a stand-alone
program, has the other half of this code: the folders and the reading. If a Blender is killed, the next one removes its
record.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...base import private_file
from ...base.errors import ExternalServiceError
from ...base.process.other_processes import process_lives
from .stdio_shim import PRODUCT, Instance, instance_folders, read_instances

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = (
    "PRODUCT",
    "Instance",
    "announce",
    "instances",
    "reachable_host",
    "user_folder",
    "withdraw",
)


def announce(instance: Instance) -> Path:
    """Write (or replace) the record of this bridge and remove stale ones; returns its path.

    Raises `ExternalServiceError` if no folder can be written: clients then need host, port and token in their
    configuration.
    """
    failures = []
    for folder in instance_folders():
        path = folder / f"{instance.pid}.json"
        try:
            private_file.write(path, json.dumps(instance._asdict(), indent=1).encode())
        except OSError as error:
            failures.append(f"{folder}: {error.strerror or error}")
            continue
        _remove_stale(folder)
        return path
    raise ExternalServiceError(
        f"No folder for the record of this Blender can be written ({'; '.join(failures)}). Clients that are started "
        "by a command need BLENDER_PORT and BLENDER_MCP_TOKEN in their configuration."
    )


def withdraw(pid: int | None = None) -> None:
    """Remove the record of this process (or of `pid`) from all folders."""
    for folder in instance_folders():
        (folder / f"{pid or os.getpid()}.json").unlink(missing_ok=True)


def instances() -> list[Instance]:
    """Return this user's bridges whose process runs, the newest first."""
    return [instance for instance in read_instances(instance_folders()) if process_lives(instance.pid)]


def reachable_host(host: str) -> str:
    """Return the address for connecting to a socket bound to `host`: the loopback address for a wildcard."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared


def user_folder(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder that all Blender versions of this user share; it has the list of clients.

    So a client keeps its token after an update of Blender, whose own folders are per version. A Blender with its own
    user folder (`BLENDER_USER_RESOURCES`: portable set-ups, tests) shares nothing.
    """
    own = environ.get("BLENDER_USER_RESOURCES")
    if own:
        return Path(own) / PRODUCT
    if platform in ("win32", "darwin"):
        return instance_folders(environ, platform)[0].parent
    return (
        Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config") / PRODUCT
    )


def _remove_stale(folder: Path) -> None:
    for path in folder.glob("*.json"):
        if path.stem.isdigit() and not process_lives(int(path.stem)):
            path.unlink(missing_ok=True)
