# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit journal: each script, decision and changing call, one JSON object a line.

The journal puts a record on the disk before its effect happens (`write`, `barrier`). Any other record goes to the
operating system at once, so it survives a crash of Blender; a writer thread (`soon`) or the next barrier puts it on
the disk. Waiting for the disk takes milliseconds: neither the network's event loop nor the approval queue waits.

Each process writes its own chain: `chain` names it, `n` counts from 1, and `hash` covers the record and the previous
hash, so that a check finds a missing or altered record. Several Blenders share one file; each line is one append.
`heads/CHAIN.json` has a chain's last number and hash, so that a check finds a missing end; `anchors.jsonl` has them for
chains whose start has expired.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from . import settings
from .errors import ExternalServiceError, SettingsError
from .process import threads
from .telemetry import tracing
from .telemetry.redaction import without_secrets

__all__ = (
    "ANCHORS",
    "FILE_NAME",
    "HEADS",
    "Journal",
    "JournalError",
    "configure",
    "current",
    "verify",
    "verify_folder",
)

FILE_NAME = "blender_mcp_execute.log"
#: The folder with the head of each chain, and the file with the last number and hash of the expired part of chains.
HEADS, ANCHORS = "heads", "anchors.jsonl"
_START = "0" * 64
_WRITE = os.O_WRONLY | getattr(os, "O_BINARY", 0)
_APPEND = _WRITE | os.O_APPEND
#: Only Windows flushes nothing but what is open for writing, and a day that is over may be read-only.
_FLUSH = _APPEND if sys.platform == "win32" else os.O_RDONLY

_log = logging.getLogger(__name__)


class JournalError(ExternalServiceError):
    """The journal cannot be written, so no action that needs a record may happen."""


class Journal:
    """Appends records to `folder / FILE_NAME`, rotated daily (UTC), kept for `keep_days` days.

    If `keep_days` is None, each rotation reads it from the settings; while the settings are invalid, nothing is
    deleted. `clock` returns seconds since the epoch. Safe to use from several threads and processes.
    """

    def __init__(
        self, folder: Path, *, keep_days: int | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.folder = folder
        self.path = folder / FILE_NAME
        self.chain = secrets.token_hex(8)
        self._head_path = folder / HEADS / f"{self.chain}.json"
        self._keep_days = keep_days
        self._clock = clock
        self._count = 0
        self._head = _START
        self._torn = False
        #: The day of the last record: the file needs no other rotation on that day.
        self._day = ""
        #: The days of the records that may not be on the disk yet.
        self._days: set[str] = set()
        #: The last error of the disk, up to which record it may have lost them, and whether somebody knows.
        self._lost: OSError | None = None
        self._lost_to = 0
        self._lost_is_known = True
        self._writer: threading.Thread | None = None
        self.renew_locks()

    def renew_locks(self) -> None:
        """Make the locks anew, as in a forked process: a thread that is not there may have held one."""
        self._lock = threading.Lock()
        self._flushing = threading.Lock()

    def write(self, event: str, **fields: Any) -> dict[str, Any]:
        """Append one record and return it when it is on the disk. Not for the network thread: see `soon`.

        `fields` are JSON values; tokens and keys in them are replaced. Raises JournalError when the record cannot be
        written.
        """
        record = self._record(event, fields)
        self.barrier()
        return record

    def note(self, event: str, **fields: Any) -> dict[str, Any]:
        """As `write`, for something that has already happened: returns before the system has put it on the disk."""
        return self._record(event, fields)

    def soon(self, event: str, **fields: Any) -> dict[str, Any]:
        """As `note`, and the writer thread puts it on the disk meanwhile. Call `barrier` before what it leads to."""
        record = self._record(event, fields)
        with self._lock:
            if self._writer is None or not self._writer.is_alive():
                try:
                    self._writer = threads.start(self._write_out, name="journal")
                except RuntimeError as error:  # no more threads: the next barrier flushes
                    _log.warning("the journal's writer cannot start: %s", error)
        return record

    def barrier(self) -> None:
        """Return once all records so far are on the disk. Raises JournalError when they cannot be put there.

        One flush serves all who wait for it. The system tells of an error once, and then no more of what it lost: so
        an error that the writer thread met is raised here, and for records that it concerns each time.
        """
        with self._lock:
            newest = self._count
        with self._flushing:
            self._flush()
            if self._lost is not None and (newest <= self._lost_to or not self._lost_is_known):
                self._lost_is_known = True
                raise self._unwritable(self._lost) from self._lost

    def _flush(self) -> None:
        with self._lock:
            days, self._days, newest = self._days, set(), self._count
        try:
            for path in [self.path, *map(self._dated, days)] if days else ():
                _put_on_disk(path)
        except OSError as error:
            with self._lock:
                self._days |= days
            self._lost, self._lost_to, self._lost_is_known = error, newest, False

    def _write_out(self) -> None:
        """The writer thread: it ends when all is on the disk, and the next record that needs it starts another."""
        while True:
            with self._flushing:
                self._flush()
                if not self._lost_is_known:
                    _log.warning("%s", self._unwritable(self._lost))
                    return
            with self._lock:
                if not self._days:
                    self._writer = None
                    return

    def _dated(self, day: str) -> Path:
        return self.path.with_name(f"{FILE_NAME}.{day}")

    def _unwritable(self, error: OSError | None) -> JournalError:
        return JournalError(
            f"The journal {self.path} cannot be written ({getattr(error, 'strerror', None) or error}), "
            "so nothing is run. Free some disk space or mend the folder's permissions."
        )

    def _record(self, event: str, fields: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            now = datetime.fromtimestamp(self._clock(), UTC)
            line = _as_line(
                {
                    "time": now.isoformat(timespec="milliseconds"),
                    "event": event,
                    **fields,
                    **tracing.fields(),
                    "pid": os.getpid(),
                    "chain": self.chain,
                    "n": self._count + 1,
                }
            )
            line = without_secrets(line, as_json=True)
            record: dict[str, Any] = json.loads(line)
            record["hash"] = _digest(self._head, record)
            line = f'{line[:-1]},"hash":"{record["hash"]}"}}\n'
            day = now.date().isoformat()
            try:
                if day != self._day:
                    self._rotate(now)
                    self._day = day
                self._append(line.encode())
                self._days.add(day)
                self._count, self._head = self._count + 1, record["hash"]
                self._write_head()
            except OSError as error:
                raise self._unwritable(error) from error
            return record

    def _write_head(self) -> None:
        """Overwrite the head file in place: it never gets shorter, and a reader always finds one."""
        text = json.dumps({"chain": self.chain, "n": self._count, "hash": self._head})
        descriptor = _open(self._head_path, _WRITE, 0o700)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def _append(self, data: bytes) -> None:
        descriptor = _open(self.path, _APPEND)
        try:
            if self._torn:
                data = b"\n" + data  # the last write stopped in the middle of a line, as on a full disk
            written = os.write(descriptor, data)
            self._torn = written != len(data)
            if written != len(data):
                raise OSError(f"only {written} of {len(data)} bytes were written")
        finally:
            os.close(descriptor)

    def _rotate(self, now: datetime) -> None:
        """Rename the file of an earlier day to its date. The first process does it; a rename is atomic."""
        try:
            last = datetime.fromtimestamp(self.path.stat().st_mtime, UTC).date()
        except FileNotFoundError:
            return
        if last >= now.date():
            return
        with contextlib.suppress(FileNotFoundError):  # another Blender was quicker
            dated = self._dated(last.isoformat())
            if not dated.exists():
                self.path.rename(dated)
        try:
            keep_days = self._keep_days or settings.current().journal_days
        except SettingsError:
            return
        oldest = (now.date() - timedelta(days=keep_days)).isoformat()
        for path in sorted(self.folder.glob(f"{FILE_NAME}.*")):  # oldest first: the last anchor counts
            if path.name.removeprefix(f"{FILE_NAME}.") < oldest:
                self._expire(path)

    def _expire(self, path: Path) -> None:
        """Delete the file of one day and keep an anchor for each of its chains: later records are checked from it."""
        try:
            ends = _Check().read(path).ends
        except FileNotFoundError:
            return  # another Blender was quicker
        anchors = [
            json.dumps({"chain": chain, "n": count, "hash": digest}) + "\n"
            for chain, (count, digest) in ends.items()
        ]
        if anchors:
            with (self.folder / ANCHORS).open("a", encoding="utf-8") as file:
                file.writelines(anchors)
        for chain, end in _heads(self.folder).items():
            if ends.get(chain) == end:  # all of it has expired; a Blender that still runs writes it again
                (self.folder / HEADS / f"{chain}.json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def _open(path: Path, flags: int, mode: int = 0o777) -> int:
    """Open a file for the user alone, and return its descriptor. Make what is missing, the folder with `mode`."""
    try:
        return os.open(path, flags | os.O_CREAT, 0o600)
    except FileNotFoundError:  # rare: a look at the folder before each record would cost more
        path.parent.mkdir(mode=mode, parents=True, exist_ok=True)
        return os.open(path, flags | os.O_CREAT, 0o600)


def _put_on_disk(path: Path) -> None:
    """Have the system put a file on the disk. One that another Blender renamed or removed as expired is left out."""
    try:
        descriptor = os.open(path, _FLUSH)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# `json.dumps` with options makes an encoder for each call.
_as_line = json.JSONEncoder(separators=(",", ":"), default=str).encode
_as_sorted = json.JSONEncoder(separators=(",", ":"), default=str, sort_keys=True).encode


def _digest(previous: str, record: dict[str, Any]) -> str:
    body = {key: value for key, value in record.items() if key != "hash"}
    text = _as_sorted(body)
    return hashlib.sha256(previous.encode() + text.encode()).hexdigest()


_End = tuple[int, str]


class _Check:
    """Checks the chains line by line; `ends` has the last number and hash of each chain, `findings` the problems."""

    def __init__(self, anchors: Mapping[str, _End] | None = None) -> None:
        self.findings: list[str] = []
        self.ends: dict[str, _End] = {}
        self._anchors = anchors

    def read(self, path: Path) -> _Check:
        """Check the lines of a file. Raises OSError."""
        with path.open(encoding="utf-8", errors="replace") as file:
            self.follow(file, f"{path.name}, ")
        return self

    def follow(self, lines: Iterable[str], where: str = "") -> None:
        """Check these lines; `where` names their file in the findings."""
        for number, line in enumerate(lines, 1):
            said = self._record(line)
            if said:
                self.findings.append(f"{where}line {number}: {said}")

    def _record(self, line: str) -> str:
        try:
            record = json.loads(line)
            chain, count, digest = record["chain"], record["n"], record["hash"]
        except (ValueError, KeyError, TypeError):
            return "not a journal record"
        last, head = self.ends.get(chain) or self._before(chain, count)
        self.ends[chain] = (count, digest)
        if count != last + 1:
            return f"chain {chain} goes from record {last} to {count}"
        if head and digest != _digest(head, record):
            return f"record {count} of chain {chain} was altered"
        return ""

    def _before(self, chain: str, count: int) -> _End:
        """The expected end before a chain's first record: its start, its anchor, or, if there are no anchors, any."""
        if count == 1:
            return 0, _START
        return (count - 1, "") if self._anchors is None else self._anchors.get(chain, (0, _START))


def verify(lines: Iterator[str]) -> list[str]:
    """The problems of these journal lines, oldest first; empty when every chain is complete.

    Rotation and expiry remove the start of a chain; such a chain is checked from its first remaining record.
    """
    check = _Check()
    check.follow(lines)
    return check.findings


def verify_folder(folder: Path) -> list[str]:
    """The problems of the whole journal in `folder`, oldest first: altered and missing records, and missing ends.

    Other Blenders may write to the journal during the check.
    """
    heads = _heads(folder)  # read first: records written during the check only come after these
    anchors = _ends(folder / ANCHORS)
    check = _Check(anchors)
    for path in (*sorted(folder.glob(f"{FILE_NAME}.*")), folder / FILE_NAME):
        with contextlib.suppress(FileNotFoundError):
            check.read(path)
    for chain, (count, _) in sorted(heads.items()):
        last, _ = check.ends.get(chain) or anchors.get(chain, (0, ""))
        if last < count:
            check.findings.append(f"chain {chain} ends with record {last} of {count}: the rest is missing")
    for chain in sorted(check.ends.keys() - heads.keys()):
        check.findings.append(
            f"chain {chain} has no head in {HEADS}: whether its end is there cannot be told"
        )
    return check.findings


def _heads(folder: Path) -> dict[str, _End]:
    """The last number and hash of each chain, from the files in `heads/`."""
    found: dict[str, _End] = {}
    for path in (folder / HEADS).glob("*.json"):
        found |= _ends(path)
    return found


def _ends(path: Path) -> dict[str, _End]:
    """Chain -> number and hash, from a file with one chain a line; invalid lines are skipped."""
    found: dict[str, _End] = {}
    with contextlib.suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                end = json.loads(line)
                found[str(end["chain"])] = (int(end["n"]), str(end["hash"]))
    return found


_current: Journal | None = None


def configure(folder: Path) -> Journal:
    """Make the journal of this process in `folder`; `current` returns it from then on."""
    global _current
    if _current is None or _current.folder != folder:
        _current = Journal(folder)
    return _current


def current() -> Journal:
    """This process's journal. Raises JournalError when none was configured."""
    if _current is None:
        raise JournalError("There is no journal yet, so nothing is run: the extension is not enabled.")
    return _current


def _after_fork() -> None:
    if _current is not None:
        _current.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
