# SPDX-License-Identifier: GPL-3.0-or-later
"""Points of the specification that a client sees: `tests/test_specification.py` lists where each is tested."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.base.journal import FILE_NAME, Journal
from websockets.sync.client import connect

from support.clients.tool_calls import Tools, on_worker


@pytest.fixture
def tools(empty_scene: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    monkeypatch.setattr(journal, "_current", Journal(tmp_path))
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    serving = Tools()
    yield serving
    serving.stop()


def _plain(tools: Tools, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    def talk() -> dict[str, Any]:
        with connect(f"ws://127.0.0.1:{tools.port}/mcp?token={tools.token}", max_size=None) as socket:
            socket.send(json.dumps({"type": name, "params": parameters}))
            return json.loads(socket.recv(30))

    return on_worker(talk)


def _old_journals(folder: Path) -> dict[int, Path]:
    """Files of the journal that are so many days old."""
    now = datetime.now(UTC)
    days = {days: folder / f"{FILE_NAME}.{(now - timedelta(days=days)).date()}" for days in (20, 40, 80)}
    for path in days.values():
        path.write_text("")
    return days


@pytest.mark.parametrize(("days", "kept"), [("", {20}), ("60", {20, 40}), ("3", {20, 40, 80})])
def test_a_call_after_midnight_removes_the_journal_of_so_many_days_and_never_less_than_30(
    tools: Tools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: str, kept: set[int]
) -> None:
    """What cannot be used as a number of days removes nothing."""
    monkeypatch.setenv("BLENDER_MCP_JOURNAL_DAYS", days)
    Journal(tmp_path).write("before midnight")
    files = _old_journals(tmp_path)
    after = Journal(tmp_path, clock=lambda: datetime.now(UTC).timestamp() + 86400)
    monkeypatch.setattr(journal, "_current", after)
    tools.raw("execute_blender_code", {"code": "result = 1"})
    assert {count for count, path in files.items() if path.exists()} == kept


def test_less_than_30_days_is_refused_with_what_to_use(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_JOURNAL_DAYS", "3")
    told = tools.raw("execute_blender_code", {"code": "result = 1"})["structuredContent"]
    assert told["status"] == "error"
    assert "BLENDER_MCP_JOURNAL_DAYS" in told["message"]
    assert "30" in told["message"]


@pytest.mark.parametrize(("code", "value"), [("1 + 2\n3 * 4", 12), ("a = 2\na ** 3", 8), ("result = 5", 5)])
def test_the_level_arithmetic_gives_the_last_value(tools: Tools, code: str, value: int) -> None:
    given = {"code": code, "level": "arithmetic"}
    assert tools("execute_blender_code", **given)["result"] == value
    assert _plain(tools, "execute_blender_code", given)["result"] == value


def test_a_plain_answer_has_one_status(tools: Tools) -> None:
    told = _plain(tools, "execute_blender_code", {"code": "result = {'status': 'mine'}"})
    assert told["status"] == "success"
    assert told["result"] == {"status": "mine"}  # which is the script's own
    wrong = _plain(tools, "execute_blender_code", {"code": "1 / 0"})
    assert (wrong["status"], wrong["error"], wrong["cause"]) == ("error", "HandlerError", "ZeroDivisionError")
    assert wrong["result"] is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("bpy.data.images.load('/etc/passwd')", "import_file"),
        ("bpy.app.handlers.load_post.append(print)", "animate with keyframes"),
        ("bpy.app.timers.register(print)", "animate with keyframes"),
        ("numpy.fromfile('/etc/passwd')", "a script has no files"),
    ],
)
def test_what_scripts_do_not_get_is_found_before_anything_runs(tools: Tools, line: str, says: str) -> None:
    tools.capabilities = {"elicitation": {}}
    script = f"import bpy, numpy\nbpy.ops.mesh.primitive_cube_add()\n{line}"
    found = tools.raw("inject_bpy_script", {"script": script, "mode": "contextual"})["structuredContent"]
    assert (found["status"], found["error"]) == ("error", "PolicyError")
    [error] = found["errors"]
    assert error["line"] == 3
    assert says in error["advice"]
    records = [json.loads(each) for each in journal.current().path.read_text().splitlines()]
    assert "execute_started" not in {each["event"] for each in records}
