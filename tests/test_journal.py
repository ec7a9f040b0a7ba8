# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.journal import FILE_NAME, Journal, JournalError, verify


def _lines(folder: Path) -> list[str]:
    return (folder / FILE_NAME).read_text().splitlines()


def test_records_form_a_chain_that_verifies(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write("received", code="result = 'é'", client="Cursor")
    journal.write("applied", outcome="success")
    first, second = (json.loads(line) for line in _lines(tmp_path))
    assert (first["event"], first["code"], first["n"]) == ("received", "result = 'é'", 1)
    assert (second["event"], second["n"], second["chain"]) == ("applied", 2, first["chain"])
    assert verify(iter(_lines(tmp_path))) == []
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o077 == 0


def test_an_altered_or_missing_record_shows(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in range(4):
        journal.write("step", number=number)
    lines = _lines(tmp_path)
    altered = [*lines[:1], lines[1].replace('"number":1', '"number":7'), *lines[2:]]
    assert verify(iter(altered)) == [f"line 2: record 2 of chain {journal.chain} was altered"]
    assert verify(iter(lines[:1] + lines[2:])) == [f"line 2: chain {journal.chain} goes from record 1 to 3"]
    assert verify(iter([*lines, "{"])) == ["line 5: not a journal record"]


def test_what_is_about_to_happen_is_on_the_disk_and_what_has_happened_is_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _descriptor: flushed.append(_lines(tmp_path)[-1]))
    journal = Journal(tmp_path)
    journal.write("started")
    journal.note("succeeded")
    assert [json.loads(line)["event"] for line in flushed] == ["started"]
    assert [json.loads(line)["event"] for line in _lines(tmp_path)] == ["started", "succeeded"]
    assert verify(iter(_lines(tmp_path))) == []


def test_threads_and_two_journals_share_one_file(tmp_path: Path) -> None:
    journals = [Journal(tmp_path), Journal(tmp_path)]

    def write(journal: Journal) -> None:
        for number in range(25):
            journal.write("step", number=number)

    threads = [threading.Thread(target=write, args=(journal,)) for journal in journals * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(_lines(tmp_path)) == 100
    assert verify(iter(_lines(tmp_path))) == []


def test_a_new_day_begins_a_new_file_and_old_ones_go(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    journal = Journal(tmp_path, keep_days=2)
    journal.write("yesterday")
    (tmp_path / f"{FILE_NAME}.2020-01-01").write_text("old\n")
    tomorrow = Journal(tmp_path, keep_days=2, clock=lambda: now.timestamp() + 86400)
    tomorrow.write("today")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [FILE_NAME, f"{FILE_NAME}.{now.date().isoformat()}"]
    assert json.loads(_lines(tmp_path)[0])["event"] == "today"


def test_a_journal_that_cannot_be_written_stops_what_it_would_record(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        JournalError, match=r"cannot be written \(.+\), so nothing is run\. Free some disk space"
    ):
        Journal(tmp_path / "file" / "audit").write("received")
