# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.journal import (
    ANCHORS,
    FILE_NAME,
    HEADS,
    Journal,
    JournalError,
    verify,
    verify_folder,
)
from bl_ext.user_default.mcp_bridge.base.process import threads


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


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, list[str]]]:
    """A disk that takes nothing until the event is set, and the names of the threads that waited for it."""
    ready, waited, really = threading.Event(), list[str](), os.fsync

    def fsync(descriptor: int) -> None:
        waited.append(threading.current_thread().name)
        assert ready.wait(10)
        really(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    yield ready, waited
    ready.set()
    assert threads.wait(10) == []


def test_a_slow_disk_keeps_only_those_waiting_who_need_it(
    tmp_path: Path, slow_disk: tuple[threading.Event, list[str]]
) -> None:
    ready, waited = slow_disk
    journal = Journal(tmp_path)
    done = threading.Event()

    def effect() -> None:
        journal.barrier()
        done.set()

    journal.soon("confirmed")
    journal.note("noted")
    threading.Thread(target=effect).start()
    journal.soon("another")
    assert not done.wait(0.2), "the effect came before its record was on the disk"
    ready.set()
    assert done.wait(10)
    assert threads.wait(10) == []
    assert waited[0] == "mcp_bridge journal"
    assert [json.loads(line)["event"] for line in _lines(tmp_path)] == ["confirmed", "noted", "another"]


def test_one_flush_serves_all_who_wait(tmp_path: Path, slow_disk: tuple[threading.Event, list[str]]) -> None:
    ready, waited = slow_disk
    journal = Journal(tmp_path)
    writers = [threading.Thread(target=journal.write, args=("step",)) for _ in range(8)]
    for writer in writers:
        writer.start()
    while len(_lines(tmp_path)) < 8 if (tmp_path / FILE_NAME).exists() else True:
        time.sleep(0.01)
    ready.set()
    for writer in writers:
        writer.join(10)
    assert len(waited) <= 2, "the first flush may have begun before the last record"


def test_a_barrier_finds_what_was_written_before_midnight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC).timestamp()]
    journal = Journal(tmp_path, keep_days=10, clock=lambda: now[0])
    journal.note("before")
    os.utime(tmp_path / FILE_NAME, (now[0], now[0]))
    now[0] += 10
    journal.note("after")
    flushed = set[int]()
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.add(os.fstat(descriptor).st_ino))
    journal.barrier()
    assert flushed == {path.stat().st_ino for path in tmp_path.glob(f"{FILE_NAME}*")}
    assert len(flushed) == 2


def test_a_disk_that_fails_stops_the_effect_until_it_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    journal = Journal(tmp_path)
    journal.note("confirmed")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for _ in range(2):
            with pytest.raises(
                JournalError, match=r"No space left on device.*nothing is run\. Free some disk"
            ):
                journal.barrier()
    with pytest.raises(JournalError, match="No space left on device"):
        journal.barrier()  # the system may have lost what it could not write, and says so once
    journal.note("asked again")
    journal.barrier()


def test_an_error_that_the_writer_met_is_raised_before_the_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux tells of an error of the disk once: what is flushed after it seems to be there."""
    errors, really = [OSError(5, "Input/output error")], os.fsync

    def fsync(descriptor: int) -> None:
        if errors:
            raise errors.pop()
        really(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    journal = Journal(tmp_path)
    journal.soon("confirmed")
    assert threads.wait(10) == []
    assert errors == []
    journal.note("another")
    with pytest.raises(JournalError, match="Input/output error"):
        journal.barrier()
    journal.write("started")


def test_a_file_that_another_blender_removed_stops_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.note("noted")
    (tmp_path / FILE_NAME).rename(tmp_path / "elsewhere")
    journal.barrier()
    journal.write("started")
    assert [json.loads(line)["event"] for line in _lines(tmp_path)] == ["started"]


def test_a_loop_that_waits_for_the_disk_is_found(tmp_path: Path, waits_for_the_disk: list[str]) -> None:
    async def on_the_loop() -> None:
        Journal(tmp_path).write("step")

    thread = threading.Thread(target=asyncio.run, args=(on_the_loop(),))
    thread.start()
    thread.join()
    assert len(waits_for_the_disk) == 1
    assert "on_the_loop" in waits_for_the_disk[0]
    waits_for_the_disk.clear()


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
    assert names == [FILE_NAME, f"{FILE_NAME}.{now.date().isoformat()}", HEADS]
    assert json.loads(_lines(tmp_path)[0])["event"] == "today"


def test_every_writer_keeps_what_the_settings_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    days = {
        count: f"{FILE_NAME}.{(now - timedelta(days=count)).date().isoformat()}" for count in (20, 40, 80)
    }

    def left() -> set[int]:
        for name in days.values():
            (tmp_path / name).write_text("")
        Journal(tmp_path).write("before midnight")
        tomorrow = Journal(tmp_path, clock=lambda: now.timestamp() + 86400)
        tomorrow.write("after midnight")
        (tmp_path / f"{FILE_NAME}.{now.date().isoformat()}").unlink()
        return {count for count, name in days.items() if (tmp_path / name).exists()}

    assert left() == {20}
    monkeypatch.setenv("BLENDER_MCP_JOURNAL_DAYS", "60")
    assert left() == {20, 40}
    monkeypatch.setenv("BLENDER_MCP_JOURNAL_DAYS", "3")  # unusable: nothing is deleted while nobody can tell
    assert left() == {20, 40, 80}


def _written(folder: Path, count: int) -> Journal:
    journal = Journal(folder)
    for number in range(count):
        journal.write("step", number=number)
    return journal


def test_a_tail_that_was_cut_off_shows(tmp_path: Path) -> None:
    journal = _written(tmp_path, 4)
    assert verify_folder(tmp_path) == []
    lines = (tmp_path / FILE_NAME).read_text().splitlines(keepends=True)
    (tmp_path / FILE_NAME).write_text("".join(lines[:2]))
    assert verify_folder(tmp_path) == [f"chain {journal.chain} ends with record 2 of 4: the rest is missing"]
    (tmp_path / FILE_NAME).unlink()
    assert verify_folder(tmp_path) == [f"chain {journal.chain} ends with record 0 of 4: the rest is missing"]


def test_a_beginning_that_was_cut_off_and_a_head_that_was_removed_show(tmp_path: Path) -> None:
    journal = _written(tmp_path, 4)
    lines = (tmp_path / FILE_NAME).read_text().splitlines(keepends=True)
    (tmp_path / FILE_NAME).write_text("".join(lines[2:]))
    assert verify_folder(tmp_path) == [f"{FILE_NAME}, line 1: chain {journal.chain} goes from record 0 to 3"]
    (tmp_path / FILE_NAME).write_text("".join(lines))
    (tmp_path / HEADS / f"{journal.chain}.json").unlink()
    assert verify_folder(tmp_path) == [
        f"chain {journal.chain} has no head in heads: whether its end is there cannot be told"
    ]


def test_a_record_that_came_after_the_head_was_read_is_no_finding(tmp_path: Path) -> None:
    journal = _written(tmp_path, 2)
    head = tmp_path / HEADS / f"{journal.chain}.json"
    before = head.read_text()
    journal.write("step")
    head.write_text(before)
    assert verify_folder(tmp_path) == []


def test_what_expires_leaves_an_anchor_by_which_the_rest_is_still_whole(tmp_path: Path) -> None:
    days = [datetime.now(UTC).timestamp()]
    long_lived = Journal(tmp_path, keep_days=1, clock=lambda: days[-1])
    over = _written(tmp_path, 3)
    long_lived.write("first day")
    first = tmp_path / f"{FILE_NAME}.{datetime.fromtimestamp(days[0], UTC).date().isoformat()}"
    (tmp_path / FILE_NAME).rename(first)
    days.append(days[0] + 86400)
    long_lived.write("second day")
    assert (verify_folder(tmp_path), first.exists()) == ([], True)
    # The newest file was written today by the system's clock; as if it were of the second day:
    os.utime(tmp_path / FILE_NAME, (days[-1], days[-1]))
    days.append(days[0] + 3 * 86400)
    long_lived.write("fourth day")
    assert not first.exists()
    anchors = [json.loads(line) for line in (tmp_path / ANCHORS).read_text().splitlines()]
    assert [(anchor["chain"], anchor["n"]) for anchor in anchors] == [
        (over.chain, 3),
        (long_lived.chain, 1),
        (long_lived.chain, 2),
    ]
    assert not (tmp_path / HEADS / f"{over.chain}.json").exists()
    assert verify_folder(tmp_path) == []
    (tmp_path / ANCHORS).unlink()
    assert [finding.partition(": ")[2] for finding in verify_folder(tmp_path)] == [
        f"chain {long_lived.chain} goes from record 0 to 3"
    ]


def test_a_full_disk_stops_what_would_have_to_be_recorded(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).symlink_to("/dev/full")
    full = Path("/dev/full").stat().st_mtime
    with pytest.raises(JournalError, match=r"No space left on device.*so nothing is run"):
        Journal(tmp_path, clock=lambda: full).write("received")


def test_tokens_and_keys_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_TOKEN", "a-token-for-tests-alone")
    journal = Journal(tmp_path)
    script = "key = 'a-token-for-tests-alone'\nother = 'sk-abcdefghijklmnop1234'\nsketch = 'sk-short'"
    journal.write("received", script=script, header="Bearer abcdefghijklmnopqrst", n_objects=3)
    [record] = (json.loads(line) for line in _lines(tmp_path))
    assert record["script"] == "key = '(left out)'\nother = '(left out)'\nsketch = 'sk-short'"
    assert (record["header"], record["n_objects"]) == ("Bearer (left out)", 3)
    assert verify(iter(_lines(tmp_path))) == []


def test_a_journal_that_cannot_be_written_stops_what_it_would_record(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        JournalError, match=r"cannot be written \(.+\), so nothing is run\. Free some disk space"
    ):
        Journal(tmp_path / "file" / "audit").write("received")
