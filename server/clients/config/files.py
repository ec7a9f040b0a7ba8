# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds this Blender to a client's file, and removes it: shows the change first, keeps a copy of the old file.

After each edit this module reads the result again: it must equal the old contents but for this one entry. If it does
not, nothing is written.
"""

from __future__ import annotations

import copy
import difflib
import os
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ....base import atomic
from ....base.errors import ExternalServiceError
from . import json_text, toml_text, yaml_text
from .table import CLIENTS, NAME, ClientKind, place, signs

__all__ = (
    "Change",
    "connect",
    "disconnect",
    "installed",
    "put_in",
    "take_out",
    "where",
    "write",
)

#: The ending of the copy's name, after the file's own name.
BACKUP = ".mcp_bridge.bak"

_EDITORS: Mapping[str, ModuleType] = {"json": json_text, "toml": toml_text, "yaml": yaml_text}
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change of a file. `before` is None if the file does not exist yet; `lines` begin with + or -."""

    path: Path
    before: bytes | None
    after: bytes

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines to add and to remove."""
        old, new = ((text or b"").decode().splitlines() for text in (self.before, self.after))
        told = difflib.unified_diff(old, new, n=0, lineterm="")
        return tuple(line for line in told if not line.startswith(("+++", "---", "@@")))


def where(
    client: ClientKind,
    platform: str,
    environ: Mapping[str, str],
    exists: Callable[[str], bool] = os.path.exists,
) -> Path:
    """Return the client's file: the existing one of its possible names, else the first name."""
    path = Path(_absolute(place(client, platform, environ)))
    return next((one for one in (path, *map(path.with_name, client.also)) if exists(str(one))), path)


def installed(
    platform: str,
    environ: Mapping[str, str],
    *,
    exists: Callable[[str], bool] = os.path.exists,
    which: Callable[[str], str | None] = shutil.which,
) -> tuple[ClientKind, ...]:
    """Return the clients that are on this computer, by the folders and programs that they install."""
    return tuple(
        client
        for client in CLIENTS
        if any(exists(_absolute(path)) for path in signs(client, platform, environ))
        or any(map(which, client.programs))
    )


def connect(client: ClientKind, path: Path, entry: dict[str, Any]) -> Change:
    """Return the change that adds `entry` to the file, in place of an old one. Raises ExternalServiceError."""
    before = _contents(path)
    return _change(path, before, lambda text: put_in(client, text, entry), fresh=client.fresh)


def disconnect(client: ClientKind, path: Path) -> Change:
    """Return the change that removes this Blender from the file. Raises ExternalServiceError as `connect` does."""
    return _change(path, _contents(path), lambda text: take_out(client, text))


def put_in(client: ClientKind, text: str, entry: dict[str, Any]) -> str:
    """Return a file's text with the entry. Raises ValueError that says why it cannot be added."""
    editor = _EDITORS[client.format]
    after: str = editor.put(text, client.table, NAME, entry, listed=client.listed)
    wanted = _without(client, editor.read(text))
    found = editor.read(after)
    if _entry_of(client, found) != entry or _without(client, found) != wanted:
        raise ValueError("it is written in a way that cannot be edited safely")
    return after


def take_out(client: ClientKind, text: str) -> str:
    """Return a file's text without the entry. Raises ValueError that says why it cannot be removed."""
    editor = _EDITORS[client.format]
    after: str = editor.take(text, client.table, NAME, listed=client.listed)
    found = editor.read(after)
    if _entry_of(client, found) is not None or _without(client, found) != _without(client, editor.read(text)):
        raise ValueError("it is written in a way that cannot be edited safely")
    return after


def write(change: Change) -> Path | None:
    """Write a change that the user has seen, and copy the old file beside it; return the copy's path.

    Returns None for a new file. Raises ExternalServiceError if the file has changed since the user saw the change, or
    cannot be written.
    """
    path = Path(os.path.realpath(change.path))  # if the path is a link, the file itself
    if _contents(path) != change.before:
        raise ExternalServiceError(f"{change.path} has changed meanwhile: look at it again.")
    backup = path.with_name(path.name + BACKUP) if change.before is not None else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = 0o600 if change.before is None else stat.S_IMODE(path.stat().st_mode)
        if backup is not None and change.before is not None:
            atomic.write(backup, change.before, mode=mode, on_disk=True)
        atomic.write(path, change.after, mode=mode, on_disk=True)
    except OSError as error:
        raise ExternalServiceError(f"{change.path} cannot be written: {error.strerror or error}.") from error
    return backup


def _change(path: Path, before: bytes | None, edit: Callable[[str], str], *, fresh: str = "") -> Change:
    try:
        return Change(path, before, edit(fresh if before is None else before.decode()).encode())
    except ValueError as error:
        raise ExternalServiceError(
            f"{path} is left as it is: {error}. Copy the configuration and paste it there yourself."
        ) from error


def _contents(path: Path) -> bytes | None:
    """Return the contents of the file, None if it does not exist."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ExternalServiceError(f"{path} is left as it is: it is larger than a configuration can be.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ExternalServiceError(f"{path} cannot be read: {error.strerror or error}.") from error


def _entry_of(client: ClientKind, data: Any) -> Any:
    """Return a file's entry for this Blender, None if there is none."""
    holder = data
    for part in client.table:
        holder = (holder.get(part) if isinstance(holder, dict) else None) or {}
    if client.listed:
        return next((one for one in holder if isinstance(one, dict) and one.get("name") == NAME), None)
    return holder.get(NAME) if isinstance(holder, dict) else None


def _without(client: ClientKind, data: Any) -> Any:
    """Return a file's data without the entry; an empty place for servers counts as none."""
    left = copy.deepcopy(data)
    holders = [left]
    for part in client.table[:-1]:
        holders.append(holders[-1].get(part, {}) if isinstance(holders[-1], dict) else {})
    servers = holders[-1].get(client.table[-1]) if isinstance(holders[-1], dict) else None
    if isinstance(servers, dict):
        servers.pop(NAME, None)
    elif isinstance(servers, list) and client.listed:
        servers[:] = [one for one in servers if not (isinstance(one, dict) and one.get("name") == NAME)]
    if not servers and servers != 0 and isinstance(holders[-1], dict):
        holders[-1].pop(client.table[-1], None)
    return left


def _absolute(path: str) -> str:
    return os.path.normpath(os.path.expanduser(path))
