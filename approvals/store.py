# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep requests on disk: records in the journal, and a folder `requests/<id>/` with `in/` and `out/`.

`in/` has the assistant's text; `out/` has the script, the validation, the rehearsal with its pictures, and the record
of states and decisions. So after a crash, the next Blender knows which requests were waiting. Only the user can read
the folder. As in the journal, tokens, keys and passwords are removed.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..base import atomic, journal, settings
from ..base.telemetry.redaction import without_secrets
from .request import Entry, from_dict, to_dict

__all__ = ("Store",)

_RECORD, _NOTED = "record.json", "noted.json"
#: How many acknowledged messages are kept.
_MOST_NOTED = 500

_log = logging.getLogger(__name__)


class Store:
    """Keeps requests in `folder`. `lives(pid)` says whether that process still runs."""

    def __init__(self, folder: Path, lives: Callable[[int], bool]) -> None:
        self.folder = folder
        self._lives = lives

    def keep(self, entry: Entry) -> None:
        """Write the next state of a request, before it counts. Raises JournalError if that fails.

        The queue's lock is held meanwhile, so this does not wait for the disk: whoever acts on a state does, at the
        journal's barrier.

        For a script that runs without a question, the run itself writes the journal, and this keeps only the findings
        from before the run.
        """
        now, newest = settings.current(), entry.record.logs[-1]
        _write_alert(entry)
        found = _found(entry)
        if entry.asks == "nobody" and not entry.undone and not found:
            return
        about = {"requester": entry.request.requester, "tool": entry.request.tool, "title": entry.title}
        first = len(entry.record.logs) == 1
        raw = {"answer": entry.request.script_raw} if entry.state == "received" and now.journal_code else {}
        journal.current().soon(
            "request_undone" if entry.undone else f"request_{entry.state}",
            request_id=entry.id,
            client=entry.request.client_id,
            **(about if first else {}),
            **raw,
            **({"sha256": entry.sha256} if entry.script else {}),
            **found,
            log=newest[:2000],
        )
        if entry.asks == "nobody":
            return
        try:
            self._write(entry, with_code=now.journal_code)
        except OSError as error:
            raise journal.JournalError(f"the request cannot be kept in {self.folder}: {error}") from error

    def picture(self, request_id: str, when: str, data: bytes) -> None:
        """Keep a picture of the rehearsal, `when` being `before` or `after`."""
        try:
            atomic.write(self.picture_path(request_id, when), data, mode=0o600)
        except OSError as error:
            _log.warning("a picture of request %s was not kept: %s", request_id, error)

    def picture_path(self, request_id: str, when: str) -> Path:
        """The path of that picture; the file may not exist."""
        return self.folder / request_id / "out" / f"{when}.png"

    def noted(self) -> list[tuple[str, str]]:
        """The messages that the user has acknowledged, in any Blender: pairs of a request's id and the message."""
        try:
            return [(str(one), str(said)) for one, said in json.loads((self.folder / _NOTED).read_bytes())]
        except (OSError, ValueError, TypeError):
            return []

    def note(self, request_id: str, said: str) -> None:
        """Store that the user has acknowledged this message about a request, so that it is not shown again."""
        kept = [*self.noted(), (request_id, said)][-_MOST_NOTED:]
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic.write(self.folder / _NOTED, _json(kept).encode(), mode=0o600)
        except OSError as error:
            _log.warning("that request %s was noted is not kept: %s", request_id, error)

    def load(self) -> list[Entry]:
        """The requests of Blenders that no longer run, oldest first. Deletes requests older than the journal."""
        oldest = time.time() - 86400.0 * settings.current().journal_days
        found = []
        for folder, record in self._records():
            if record.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
                continue
            try:
                values = json.loads(record.read_text(encoding="utf-8"))
                pid = values.pop("pid")
                entry = from_dict(values)
            except (OSError, ValueError, KeyError, TypeError) as error:
                _log.warning("%s is left out: %s", record, error)
                continue
            if entry.ended or pid == os.getpid() or not self._lives(pid):
                found.append(entry)
        return sorted(found, key=lambda entry: entry.request.timestamp)

    def _records(self) -> Iterator[tuple[Path, Path]]:
        for folder in self.folder.glob("*"):
            record = folder / "out" / _RECORD
            if record.is_file():
                yield folder, record

    def _write(self, entry: Entry, *, with_code: bool) -> None:
        folder = self.folder / entry.id
        for part in (self.folder, folder, folder / "in", folder / "out"):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        values = to_dict(entry) | {"pid": os.getpid()}
        if not with_code:
            values["script"] = values["request"]["script_raw"] = ""
        files = {
            "in/answer.txt": entry.request.script_raw if with_code else "",
            "out/script.py": entry.script if with_code else "",
            "out/validation.json": _json(entry.validation) if entry.validation else "",
            "out/rehearsal.json": _json(entry.record.sandbox_result) if entry.record.sandbox_result else "",
        }
        for name, text in files.items():
            if text:
                text = without_secrets(text, as_json=name.endswith(".json"))
                atomic.write(folder / name, text.encode("utf-8", "surrogatepass"), mode=0o600)
        record = without_secrets(_json(values), as_json=True).encode()
        atomic.write(folder / "out" / _RECORD, record, mode=0o600)


def _write_alert(entry: Entry) -> None:
    """Write an alert into the journal if the last step showed that the script tries to leave Blender, or did try."""
    alert = entry.broke_out if entry.state == "failed" and not entry.undone else ""
    if entry.alert and entry.record.logs[-1].startswith("script found"):
        alert = f"the script tries to use {entry.alert}, outside of Blender"
    if alert:
        journal.current().soon(
            "alert",
            request_id=entry.id,
            client=entry.request.client_id,
            requester=entry.request.requester,
            message=alert[:2000],
        )


def _found(entry: Entry) -> dict[str, Any]:
    """The findings of the request's last step: the validation, or the report of the rehearsal.

    It leaves out the script's result and printed text, which are in the request's folder.
    """
    newest = entry.record.logs[-1]
    if newest in ("valid", "checked, and not valid"):
        return {"validation": entry.validation} if entry.validation else {}
    if entry.record.sandbox_result and newest.startswith(("rehearsed", "failed in rehearsal")):
        report = entry.record.sandbox_result
        return {"rehearsal": {name: report[name] for name in report if name not in ("result", "stdout")}}
    return {}


def _json(value: object) -> str:
    return json.dumps(value, indent=1, default=str)
