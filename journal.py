# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit journal: what was asked, decided and done, one JSON object a line.

A record is on disk before the effect that it describes happens; one that says how something ended is written at once,
so that it outlives Blender, and is on disk with the next. Every process writes a chain of its own:
`chain` names it, `n` counts from 1, and `hash` covers the record and the hash before it, so that a missing or
altered record shows. Several Blenders share one file; each line is one append.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from .errors import BridgeError

__all__ = ("FILE_NAME", "Journal", "JournalError", "configure", "current", "verify")

FILE_NAME = "blender_mcp_execute.log"
_START = "0" * 64


class JournalError(BridgeError):
    """The journal cannot be written: nothing that would have to be recorded may happen."""


class Journal:
    """Appends records to `folder / FILE_NAME`, rotated daily (UTC), kept for `keep_days` days.

    `clock` gives seconds since the epoch. Safe to use from several threads and processes.
    """

    def __init__(self, folder: Path, *, keep_days: int = 30, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self.chain = secrets.token_hex(8)
        self.keep_days = keep_days
        self._clock = clock
        self._count = 0
        self._head = _START
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Any) -> dict[str, Any]:
        """Append one record and return it once it is on the disk.

        `fields` are JSON values. Raises JournalError when the record cannot be kept.
        """
        return self._record(event, fields, flush=True)

    def note(self, event: str, **fields: Any) -> dict[str, Any]:
        """As `write`, for what has happened already: handed to the system, which writes it out when it likes."""
        return self._record(event, fields, flush=False)

    def _record(self, event: str, fields: dict[str, Any], *, flush: bool) -> dict[str, Any]:
        with self._lock:
            now = datetime.fromtimestamp(self._clock(), UTC)
            record: dict[str, Any] = {
                "time": now.isoformat(timespec="milliseconds"),
                "event": event,
                **fields,
                "pid": os.getpid(),
                "chain": self.chain,
                "n": self._count + 1,
            }
            record["hash"] = _digest(self._head, record)
            line = json.dumps(record, separators=(",", ":"), default=str) + "\n"
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._rotate(now)
                self._append(line.encode(), flush)
            except OSError as error:
                raise JournalError(
                    f"The journal {self.path} cannot be written ({error.strerror or error}), "
                    "so nothing is run. Free some disk space or mend the folder's permissions."
                ) from error
            self._count += 1
            self._head = record["hash"]
            return record

    def _append(self, data: bytes, flush: bool) -> None:
        descriptor = os.open(
            self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600
        )
        try:
            written = os.write(descriptor, data)
            if written != len(data):
                raise OSError(f"only {written} of {len(data)} bytes were written")
            if flush:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _rotate(self, now: datetime) -> None:
        """Put yesterday's file aside under its date. Whoever comes first does it; a rename is atomic."""
        try:
            last = datetime.fromtimestamp(self.path.stat().st_mtime, UTC).date()
        except FileNotFoundError:
            return
        if last >= now.date():
            return
        with contextlib.suppress(FileNotFoundError):  # another Blender was quicker
            dated = self.path.with_name(f"{FILE_NAME}.{last.isoformat()}")
            if not dated.exists():
                self.path.rename(dated)
        oldest = (now.date() - timedelta(days=self.keep_days)).isoformat()
        for path in self.folder.glob(f"{FILE_NAME}.*"):
            if path.name.removeprefix(f"{FILE_NAME}.") < oldest:
                path.unlink(missing_ok=True)


def _digest(previous: str, record: dict[str, Any]) -> str:
    body = {key: value for key, value in record.items() if key != "hash"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(previous.encode() + text.encode()).hexdigest()


def verify(lines: Iterator[str]) -> list[str]:
    """What is wrong with these journal lines, oldest first; empty when every chain is whole.

    A chain that starts after its first record was cut by rotation and expiry; it is checked from there on.
    """
    heads: dict[str, tuple[int, str]] = {}
    findings: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            chain, count, digest = record["chain"], record["n"], record["hash"]
        except (ValueError, KeyError, TypeError):
            findings.append(f"line {number}: not a journal record")
            continue
        last, head = heads.get(chain, (count - 1, _START if count == 1 else ""))
        if count != last + 1:
            findings.append(f"line {number}: chain {chain} goes from record {last} to {count}")
        elif head and digest != _digest(head, record):
            findings.append(f"line {number}: record {count} of chain {chain} was altered")
        heads[chain] = (count, digest)
    return findings


_current: Journal | None = None


def configure(folder: Path) -> Journal:
    """Make the journal of this process in `folder`; `current` gives it from then on."""
    global _current
    if _current is None or _current.folder != folder:
        _current = Journal(folder)
    return _current


def current() -> Journal:
    """This process's journal. Raises JournalError when none was configured."""
    if _current is None:
        raise JournalError("There is no journal yet, so nothing is run: the extension is not enabled.")
    return _current
