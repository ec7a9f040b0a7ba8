# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Blender listens on which port: one record per running bridge, in the user's run-time folder.

A record holds a token of its own, good for that run alone, so that a program of this user (the stdio shim) gets in
without a configuration; it is readable by the user alone and removed when the bridge stops. The shim, a stand-alone
program, holds the other half of this: the folders and the reading. Records of Blenders that were killed are removed
by the next one.
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
    """Write (or replace) the record of this bridge and remove stale ones; returns where it lies.

    Raises `ExternalServiceError` when none of the folders can be written: clients then need host, port and token
    in their configuration.
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
    """Remove the record of this process (or of `pid`), wherever it lies."""
    for folder in instance_folders():
        (folder / f"{pid or os.getpid()}.json").unlink(missing_ok=True)


def instances() -> list[Instance]:
    """Return the bridges of this user whose process lives, the last started first."""
    return [instance for instance in read_instances(instance_folders()) if process_lives(instance.pid)]


def reachable_host(host: str) -> str:
    """Return the address by which this computer reaches a socket bound to `host`: a wildcard is no address."""
    return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared


def user_folder(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Return the folder for what this user's Blenders of all versions share: the list of clients.

    A client keeps its token when Blender is updated; Blender's own folders are per version. A Blender with a user
    folder of its own (`BLENDER_USER_RESOURCES`: portable set-ups, tests) shares nothing.
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
