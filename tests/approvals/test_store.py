# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left on disk of a request, and what the next Blender makes of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.approvals.approval_queue import ApprovalQueue
from bl_ext.user_default.mcp_bridge.approvals.request import InjectScriptRequest
from bl_ext.user_default.mcp_bridge.approvals.store import Store
from bl_ext.user_default.mcp_bridge.base import journal

ANOTHER = 2**22 + 1


@pytest.fixture(autouse=True)
def _journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))


def waiting(folder: Path) -> ApprovalQueue:
    queue = ApprovalQueue(Store(folder, lambda pid: False).keep)
    queue.submit(
        InjectScriptRequest("r1", "Cursor", "format-to-bpy", "Sure:\n\nx = 1", 0.0, "c1"), asks="panel"
    )
    queue.store_script("r1", "x = 1\n")
    queue.store_validation("r1", {"is_valid": True})
    queue.store_rehearsal("r1", {"outcome": "success"}, "Nothing would change.", 1)
    queue.ask("r1", revision=1)
    return queue


def by_process(folder: Path, pid: int) -> None:
    record = folder / "r1" / "out" / "record.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"pid": pid}), encoding="utf-8")


def test_a_request_has_a_folder_with_what_came_and_what_was_made_of_it(tmp_path: Path) -> None:
    waiting(tmp_path / "requests")
    folder = tmp_path / "requests" / "r1"
    assert (folder / "in" / "answer.txt").read_text() == "Sure:\n\nx = 1"
    assert (folder / "out" / "script.py").read_text() == "x = 1\n"
    assert json.loads((folder / "out" / "validation.json").read_text()) == {"is_valid": True}
    assert json.loads((folder / "out" / "rehearsal.json").read_text()) == {"outcome": "success"}
    record = json.loads((folder / "out" / "record.json").read_text())
    assert (record["state"], record["pid"]) == ("waiting", os.getpid())


def test_the_journal_has_every_state_in_one_whole_chain(tmp_path: Path) -> None:
    waiting(tmp_path / "requests").deny("r1", "no")
    lines = journal.current().path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["event"] for line in lines] == [
        "request_received",
        "request_extracted",
        "request_validated",
        "request_rehearsed",
        "request_waiting",
        "request_denied",
    ]
    assert json.loads(lines[0])["answer"] == "Sure:\n\nx = 1"
    assert journal.verify(iter(lines)) == []


def test_after_a_restart_what_waited_is_shown_as_expired(tmp_path: Path) -> None:
    waiting(tmp_path)
    by_process(tmp_path, ANOTHER)
    later = Store(tmp_path, lambda pid: False)
    queue = ApprovalQueue(later.keep)
    queue.recall(later.load(), "Blender was closed before anybody answered")
    assert (queue.get("r1").state, queue.get("r1").title) == ("expired", "Assistant's Script")
    assert json.loads((tmp_path / "r1" / "out" / "record.json").read_text())["state"] == "expired"


def test_what_waits_in_another_open_blender_is_left_alone(tmp_path: Path) -> None:
    waiting(tmp_path)
    by_process(tmp_path, ANOTHER)
    assert Store(tmp_path, lambda pid: pid == ANOTHER).load() == []


def test_a_record_that_cannot_be_read_does_not_take_the_others_away(tmp_path: Path) -> None:
    waiting(tmp_path)
    broken = tmp_path / "r0" / "out"
    broken.mkdir(parents=True)
    (broken / "record.json").write_text("{", encoding="utf-8")
    assert [entry.id for entry in Store(tmp_path, lambda pid: False).load()] == ["r1"]


def test_what_is_older_than_the_journal_goes(tmp_path: Path) -> None:
    waiting(tmp_path)
    os.utime(tmp_path / "r1" / "out" / "record.json", (0, 0))
    assert Store(tmp_path, lambda pid: False).load() == []
    assert not (tmp_path / "r1").exists()


SECRET = 'key = "sk-0123456789abcdefghij"\nlogin(password="hunter22", api_key=\'abcd-efgh\')\nx = "it\'s \\\\ mine"\n'


def test_no_secret_is_kept_and_only_the_user_may_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_TOKEN", 'of"the"settings')
    raw = f'{SECRET}print("""of"the"settings""")\n'
    kept = Store(tmp_path / "requests", lambda pid: False)
    queue = ApprovalQueue(kept.keep)
    queue.submit(InjectScriptRequest("r1", "Cursor", "contextual", raw, 0.0, "c1"), asks="panel")
    queue.store_script("r1", raw)
    queue.store_validation("r1", {"seen": raw})
    queue.store_rehearsal("r1", {"stdout": raw}, "", 1)
    kept.picture("r1", "before", b"\x89PNG")
    assert queue.get("r1").script == raw, "what runs is what was sent"
    files = [path for path in (tmp_path / "requests").rglob("*") if path.is_file()]
    assert {path.name for path in files} == {
        *("answer.txt", "script.py", "validation.json", "rehearsal.json", "record.json", "before.png")
    }
    for path in (*files, journal.current().path):
        text = path.read_text(encoding="utf-8", errors="replace").replace("\\", "")
        assert path.stat().st_mode & 0o077 == 0, path
        for secret in ("0123456789abcdefghij", "hunter22", "abcd-efgh", 'of"the"settings'):
            assert secret not in text, path
    assert (tmp_path / "requests" / "r1" / "out" / "script.py").read_text() == (
        'key = "(left out)"\nlogin(password="(left out)", api_key=\'(left out)\')\nx = "it\'s \\\\ mine"\n'
        'print("""(left out)""")\n'
    )
    [entry] = kept.load()
    assert entry.script.startswith('key = "(left out)"')


NOT_VALID = {"is_valid": False, "errors": [{"code": "import", "line": 1}]}
REPORT = {"outcome": "error", "message": "The rehearsal stopped.", "result": None, "stdout": "much"}


def records() -> list[dict[str, object]]:
    return [json.loads(line) for line in journal.current().path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("asks", ["panel", "client", "nobody"])
def test_a_rejected_text_keeps_its_validation(tmp_path: Path, asks: Any) -> None:
    queue = ApprovalQueue(Store(tmp_path / "requests", lambda pid: False).keep)
    queue.submit(
        InjectScriptRequest("r1", "Cursor", "contextual", "import os", 0.0, "c1", "execute_blender_code"),
        asks=asks,
    )
    queue.store_script("r1", "import os")
    assert queue.store_validation("r1", NOT_VALID).state == "extracted"
    queue.reject("r1", "'os' cannot be imported")
    assert queue.get("r1").validation == NOT_VALID
    [kept] = [one for one in records() if "validation" in one]
    assert (kept["request_id"], kept["validation"]) == ("r1", NOT_VALID)
    if asks != "nobody":
        assert json.loads((tmp_path / "requests/r1/out/validation.json").read_text()) == NOT_VALID


@pytest.mark.parametrize("asks", ["panel", "client", "nobody"])
def test_a_rehearsal_that_failed_leaves_its_report(tmp_path: Path, asks: Any) -> None:
    queue = ApprovalQueue(Store(tmp_path / "requests", lambda pid: False).keep)
    queue.submit(
        InjectScriptRequest("r1", "Cursor", "contextual", "1 / 0", 0.0, "c1", "execute_blender_code"),
        asks=asks,
    )
    queue.store_script("r1", "1 / 0")
    queue.store_validation("r1", {"is_valid": True})
    assert queue.store_failed_rehearsal("r1", REPORT).state == "failed"
    [kept] = [one for one in records() if "rehearsal" in one]
    assert kept["rehearsal"] == {"outcome": "error", "message": "The rehearsal stopped."}
    if asks != "nobody":
        assert json.loads((tmp_path / "requests/r1/out/rehearsal.json").read_text()) == REPORT


def test_what_the_user_took_note_of_is_known_to_the_next_blender(tmp_path: Path) -> None:
    store = Store(tmp_path / "requests", lambda pid: False)
    assert store.noted() == []
    store.note("r1", "it tries to use os")
    store.note("r2", "no such wall")
    assert Store(tmp_path / "requests", lambda pid: False).noted() == [
        ("r1", "it tries to use os"),
        ("r2", "no such wall"),
    ]
    (tmp_path / "requests" / "noted.json").write_text("[1")
    assert store.noted() == []
