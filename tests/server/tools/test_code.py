# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import fastjsonschema
import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.approvals.store import Store
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.sandbox import confinement
from bl_ext.user_default.mcp_bridge.sandbox.confinement.supervisor import Unconfined
from bl_ext.user_default.mcp_bridge.sandbox.language import compile as compiler
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.tools import code
from bl_ext.user_default.mcp_bridge.server.tools.registry import make

from support.clients.tool_calls import on_worker, outcome
from support.confinement.rehearsing import rehearsals

_FITS = fastjsonschema.compile(make(code.execute_blender_code).output_schema)


def _context() -> Any:
    async def progress(*_: object) -> None:
        pass

    return SimpleNamespace(
        takes_tasks=False,
        progress=progress,
        client=SimpleNamespace(id="c", name="Cursor"),
        cancelled=threading.Event(),
        client_capabilities={},
        client_info=None,
        supports=lambda *_: False,
    )


def _execute(script: str, **more: Any) -> ToolResult:
    result = on_worker(lambda: asyncio.run(outcome(code.execute_blender_code(_context(), script, **more))))
    _FITS(result.structured)  # clients check every form against the schema, errors too
    return result


@pytest.fixture(autouse=True)
def _unasked(monkeypatch: pytest.MonkeyPatch, empty_scene: None, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    execute._rate.clear()
    approvals.close()
    approvals.open_queue(Store(tmp_path, lambda pid: False))
    yield
    approvals.close()


def test_a_script_runs_and_gives_result_and_output() -> None:
    result = _execute(
        "import bpy\nbpy.ops.mesh.primitive_cube_add(size=2)\nprint('hi')\nresult = bpy.context.object.name"
    )
    assert result.structured == {"status": "success", "result": "Cube", "stdout": "hi\n"}
    assert not result.is_error
    assert "Cube" in bpy.data.objects


@pytest.mark.parametrize("script", ["result = 6 * 7", "result = (", "result = __import__('os')"])
def test_the_window_does_not_wait_for_the_compiler(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    rewritten = compiler._rewritten

    def noted(*arguments: Any) -> Any:
        threads.append(threading.current_thread())
        return rewritten(*arguments)

    compiler._kept.cache_clear()
    monkeypatch.setattr(compiler, "_rewritten", noted)
    found = _execute(script)
    assert threads[0] is not threading.main_thread()
    if found.is_error:  # the run finds the mistake itself, and reports it
        assert found.structured["errors"]
    else:
        assert (len(threads), found.structured["result"]) == (1, 42)


@pytest.fixture
def _by_default(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The settings as they are when nobody has chosen how to rehearse."""
    monkeypatch.delenv("BLENDER_MCP_REHEARSE")
    with rehearsals(tmp_path_factory.mktemp("rehearsals")):
        yield


@pytest.mark.usefixtures("_by_default")
def test_a_script_that_nobody_is_asked_about_is_rehearsed_first() -> None:
    found = _execute(
        "import bpy\nbpy.ops.mesh.primitive_cube_add()\nresult = len(bpy.data.objects)"
    ).structured
    assert (found["status"], found["result"], len(bpy.data.objects)) == ("success", 1, 1)
    assert 0 < found["rehearsal_seconds"] < 60


@pytest.mark.usefixtures("_by_default")
@pytest.mark.parametrize("level", ["arithmetic", "math", "blender", None])
def test_arithmetic_needs_no_rehearsal(level: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {} if level is None else {"level": level}
    assert ("rehearsal_seconds" in _execute("result = 6 * 7", **asked).structured) is (level != "arithmetic")
    monkeypatch.setenv("BLENDER_MCP_LEVEL", "arithmetic")
    assert _execute("result = 6 * 7").structured == {"status": "success", "result": 42, "stdout": ""}


@pytest.mark.usefixtures("_by_default")
def test_a_script_that_fails_never_touches_the_open_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    monkeypatch.setattr(execute, "run", lambda *_, **__: ran.append(1))
    found = _execute("import bpy\nbpy.ops.mesh.primitive_cube_add()\n1 / 0").structured
    assert found["message"].startswith("The rehearsal stopped (line 3): ")
    assert (found["status"], found["line"], ran) == ("error", 3, [])


@pytest.mark.usefixtures("_by_default")
def test_where_nothing_confines_a_rehearsal_it_runs_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise Unconfined("no means of confinement works here")

    monkeypatch.setattr(confinement.current(), "means", none)
    for known in ("", "nothing works"):  # the first script finds it out
        monkeypatch.setattr(confinement.current(), "unconfined", lambda known=known: known)
        assert _execute("result = 6 * 7").structured == {"status": "success", "result": 42, "stdout": ""}


def test_the_scripts_own_error_is_told_with_its_line_and_the_scene_is_as_before() -> None:
    result = _execute("import bpy\nbpy.ops.mesh.primitive_cube_add()\nraise ValueError('boom')")
    assert result.is_error
    assert result.structured == {
        "status": "error",
        "error": "HandlerError",
        "cause": "ValueError",
        "message": "execute_blender_code failed: ValueError: boom",
        "line": 3,
    }
    assert result.content[0]["text"] == "HandlerError (line 3): execute_blender_code failed: ValueError: boom"
    assert not bpy.data.objects


def test_what_policy_refuses_never_runs() -> None:
    result = _execute("import bpy\nbpy.ops.mesh.primitive_cube_add()\nimport os\nos.remove('/important')")
    assert (result.is_error, result.structured["error"], result.structured["line"]) == (
        True,
        "PolicyError",
        4,
    )
    assert "os" in result.structured["message"]
    assert not bpy.data.objects


def test_a_call_may_ask_for_less_but_not_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _execute("import bpy", level="math").structured["error"] == "PolicyError"
    assert _execute("import math\nresult = math.sqrt(16)", level="math").structured["result"] == 4.0
    monkeypatch.setenv("BLENDER_MCP_LEVEL", "math")
    refused = _execute("import bpy", level="blender").structured
    assert refused["message"] == (
        "level 'blender' is more than the settings allow ('math'): a request may ask for less"
    )


@pytest.mark.parametrize(
    ("confirm", "why"),
    [
        ("panel", "this Blender has no window. BLENDER_MCP_CONFIRM=client asks through the client."),
        ("client", "asks through the client, which cannot ask: it does not offer elicitation."),
        ("", "asks through the client, which cannot ask: it does not offer elicitation."),
    ],
)
def test_where_nobody_can_be_asked_nothing_runs(
    confirm: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", confirm)
    result = _execute("import bpy\nbpy.ops.mesh.primitive_cube_add()")
    assert result.structured["error"] == "PolicyError"
    assert why in result.structured["message"]
    assert not bpy.data.objects


def test_a_client_that_the_user_trusts_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "client")
    queue = approvals.current()
    assert queue
    queue.trust("c", "Cursor")
    assert _execute("result = 1").structured["result"] == 1
    queue.distrust("c")
    assert _execute("result = 1").is_error


def test_a_dry_run_needs_nobody_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "1")
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "panel")
    result = _execute("import bpy\nbpy.ops.mesh.primitive_cube_add()")
    assert (result.structured["status"], result.structured["dry_run"]) == ("success", True)
    assert "was not executed" in result.structured["message"]
    assert not bpy.data.objects


def test_the_endpoint_can_be_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE", "off")
    assert "switched off" in _execute("result = 1").structured["message"]


def test_calculate_gives_the_variables_and_refuses_the_rest() -> None:
    def calculate(script: str) -> ToolResult:
        return asyncio.run(outcome(code.calculate(_context(), script)))

    assert calculate("r = 2\narea = 3 * r ** 2").structured == {
        "status": "success",
        "result": {"r": 2, "area": 12},
    }
    refused = calculate("x = 1\ny = abs(x)")
    assert (refused.is_error, refused.structured["error"], refused.structured["line"]) == (
        True,
        "PolicyError",
        2,
    )
    divided = calculate("x = 1 / 0")
    assert (divided.structured["error"], divided.structured["cause"]) == ("HandlerError", "ZeroDivisionError")


def test_inspect_tool_knows_operators_types_and_what_is_near() -> None:
    cube = code.inspect_tool(_context(), "bpy.ops.mesh.primitive_cube_add").structured
    size = next(parameter for parameter in cube["parameters"] if parameter["name"] == "size")
    assert (cube["allowed"], size["type"], size["default"]) == (True, "float", 2.0)
    assert code.inspect_tool(_context(), "bpy.types.Object.location").structured["unit"] == "length"
    with pytest.raises(InvalidParamsError, match=r"bpy\.ops\.mesh\.primitive_cube_add"):
        code.inspect_tool(_context(), "bpy.ops.mesh.primitive_cub_add")
