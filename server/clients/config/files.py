# SPDX-License-Identifier: GPL-3.0-or-later
"""Put this Blender into a client's file, and take it out again: shown first, written whole, with a copy of before.

Whatever the editors of the formats did, the result is read again: it has to be what was there before with just this
one entry more, other or less. If it is not, nothing is written.
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
    "has_entry",
    "installed",
    "put_in",
    "take_out",
    "where",
    "write",
)

#: What the copy of the file as it was before is called, after the file's own name.
BACKUP = ".mcp_bridge.bak"

_EDITORS: Mapping[str, ModuleType] = {"json": json_text, "toml": toml_text, "yaml": yaml_text}
_LARGEST = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """What would become of a file. `before` is None where it is not there yet; `lines` begin with + or -."""

    path: Path
    before: bytes | None
    after: bytes

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that would come and go."""
        old, new = ((text or b"").decode().splitlines() for text in (self.before, self.after))
        told = difflib.unified_diff(old, new, n=0, lineterm="")
        return tuple(line for line in told if not line.startswith(("+++", "---", "@@")))


def where(
    client: ClientKind,
    platform: str,
    environ: Mapping[str, str],
    exists: Callable[[str], bool] = os.path.exists,
) -> Path:
    """The client's file: the one of its names that is there, else the first."""
    path = Path(_absolute(place(client, platform, environ)))
    return next((one for one in (path, *map(path.with_name, client.also)) if exists(str(one))), path)


def installed(
    platform: str,
    environ: Mapping[str, str],
    *,
    exists: Callable[[str], bool] = os.path.exists,
    which: Callable[[str], str | None] = shutil.which,
) -> tuple[ClientKind, ...]:
    """The clients that are on this computer, by the folders and programs that they bring."""
    return tuple(
        client
        for client in CLIENTS
        if any(exists(_absolute(path)) for path in signs(client, platform, environ))
        or any(map(which, client.programs))
    )


def connect(client: ClientKind, path: Path, entry: dict[str, Any]) -> Change:
    """What puts `entry` into the file; one that was there goes. Raises ExternalServiceError that says why it cannot."""
    before = _contents(path)
    return _change(path, before, lambda text: put_in(client, text, entry), fresh=client.fresh)


def disconnect(client: ClientKind, path: Path) -> Change:
    """What takes this Blender out of the file. Raises ExternalServiceError as `connect` does."""
    return _change(path, _contents(path), lambda text: take_out(client, text))


def has_entry(client: ClientKind, path: Path) -> bool:
    """Whether the file names this Blender; not where it cannot be read."""
    try:
        data = _EDITORS[client.format].read((_contents(path) or b"").decode())
        return _entry_of(client, data) is not None
    except (ExternalServiceError, ValueError, TypeError, KeyError):
        return False


def put_in(client: ClientKind, text: str, entry: dict[str, Any]) -> str:
    """The text of a file with the entry. Raises ValueError that says why it cannot be."""
    editor = _EDITORS[client.format]
    after: str = editor.put(text, client.table, NAME, entry, listed=client.listed)
    wanted = _without(client, editor.read(text))
    found = editor.read(after)
    if _entry_of(client, found) != entry or _without(client, found) != wanted:
        raise ValueError("it is written in a way that cannot be edited safely")
    return after


def take_out(client: ClientKind, text: str) -> str:
    """The text of a file without the entry. Raises ValueError that says why it cannot be."""
    editor = _EDITORS[client.format]
    after: str = editor.take(text, client.table, NAME, listed=client.listed)
    found = editor.read(after)
    if _entry_of(client, found) is not None or _without(client, found) != _without(client, editor.read(text)):
        raise ValueError("it is written in a way that cannot be edited safely")
    return after


def write(change: Change) -> Path | None:
    """Write what was shown, and keep what was there before beside it; gives where, None for a file that is new.

    Raises ExternalServiceError where the file is no longer what it was when the change was shown, or cannot be written.
    """
    path = Path(os.path.realpath(change.path))  # the file itself, where the path is a link to it
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
    """What is in the file, None where there is none."""
    try:
        if path.stat().st_size > _LARGEST:
            raise ExternalServiceError(f"{path} is left as it is: it is larger than a configuration can be.")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ExternalServiceError(f"{path} cannot be read: {error.strerror or error}.") from error


def _entry_of(client: ClientKind, data: Any) -> Any:
    """What a file has for this Blender, None where it has nothing."""
    holder = data
    for part in client.table:
        holder = (holder.get(part) if isinstance(holder, dict) else None) or {}
    if client.listed:
        return next((one for one in holder if isinstance(one, dict) and one.get("name") == NAME), None)
    return holder.get(NAME) if isinstance(holder, dict) else None


def _without(client: ClientKind, data: Any) -> Any:
    """All else that a file has. That nothing stands where the servers are is the same as that no place is there."""
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
