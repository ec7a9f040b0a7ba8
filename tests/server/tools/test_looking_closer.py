# SPDX-License-Identifier: GPL-3.0-or-later
"""What is estimated above the limit is rehearsed, whatever the settings say, and what was measured decides."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals.request import Entry
from bl_ext.user_default.mcp_bridge.approvals.store import Store
from bl_ext.user_default.mcp_bridge.sandbox.confinement.supervisor import Unconfined
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.server.tools import code

from support.clients.tool_calls import on_worker, outcome
from support.confinement.rehearsing import rehearsals

#: Blender takes an offset below a millionth for none, and the estimate does not know that.
HARMLESS = """
import bpy
array = bpy.context.object.modifiers.new("many", "ARRAY")
array.fit_type, array.use_relative_offset, array.use_constant_offset = "FIT_LENGTH", False, True
array.fit_length, array.constant_offset_displace = {length}, (1e-7, 0, 0)
result = len(bpy.context.object.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices)
"""
TOO_MUCH = "import bpy\nbpy.context.object.modifiers.new('smooth', 'SUBSURF').levels = 11\n"


@pytest.fixture(scope="module", autouse=True)
def _rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with rehearsals(tmp_path_factory.mktemp("rehearsals"), outlive=True, blender_mem_mb=1024):
        yield


@pytest.fixture(autouse=True)
def _unasked(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()
    approvals.close()
    approvals.open_queue(Store(tmp_path_factory.mktemp("requests"), lambda pid: False))
    yield
    approvals.close()


def _run(script: str) -> dict[str, Any]:
    async def progress(*_: object) -> None:
        return None

    context: Any = SimpleNamespace(
        client=SimpleNamespace(id="c", name="Cursor"),
        cancelled=threading.Event(),
        client_capabilities={},
        client_info={},
        takes_tasks=False,
        progress=progress,
    )
    found = on_worker(lambda: asyncio.run(outcome(code.execute_blender_code(context, script))))
    return dict(found.structured)


def _entry() -> Entry:
    queue = approvals.current()
    assert queue
    [entry] = queue.entries()
    return entry


@pytest.mark.parametrize("rehearsed", ["never", "asking", "always"])
def test_a_harmless_script_runs_once_it_was_measured(rehearsed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_REHEARSE", rehearsed)
    found = _run(HARMLESS.format(length=1.0))
    assert found.pop("rehearsal_seconds", 0.0) > 0.0
    assert found == {"status": "success", "result": 8, "stdout": ""}, found.get("message")
    assert bpy.context.object.modifiers.keys() == ["many"]
    report = _entry().record.sandbox_result
    assert report
    told = report["growth"]["object Cube"]
    assert told["made"] == 8 < 2_000_000 < told["estimate"]
    assert _entry().state == "applied"


def test_what_is_too_much_is_stopped_in_the_rehearsal_and_the_scene_is_as_before() -> None:
    failure = _run(TOO_MUCH)
    assert failure["error"] == "LimitExceeded"
    assert failure["message"].startswith(
        "'Cube' would have about 33,554,432 vertices, more than the 2,000,000 that a script may make without a "
        "rehearsal: most of it by modifier 'smooth' (levels = 11). The rehearsal"
    )
    assert not bpy.context.object.modifiers
    assert _entry().state == "failed"


def test_where_nothing_confines_the_estimate_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> None:
        raise Unconfined("no means of confinement works here")

    monkeypatch.setattr(prepare, "prepare", nothing)
    failure = _run(HARMLESS.format(length=1.0))
    assert failure["error"] == "LimitExceeded"
    assert "by modifier 'many'" in failure["message"]
    assert failure["message"].endswith("It cannot be rehearsed: no means of confinement works here")
    assert not bpy.context.object.modifiers
    assert _entry().state == "rejected"


def test_a_run_may_make_what_was_rehearsed_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script asks for a fifth more with each second; at least one passes between its rehearsal and its run."""
    run = execute.run

    def run_later(*arguments: Any, **named: Any) -> Any:
        time.sleep(1)
        return run(*arguments, **named)

    monkeypatch.setattr(execute, "run", run_later)
    length = f"1.2 ** (time.monotonic() - {time.monotonic()})"
    failure = _run("import time\n" + HARMLESS.format(length=length))
    assert (failure["error"], failure["cause"]) == ("LimitExceeded", "NeedsRehearsal")
    assert not bpy.context.object.modifiers
    assert _entry().state == "failed"
    assert _entry().record.sandbox_result
