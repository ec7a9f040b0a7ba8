# SPDX-License-Identifier: GPL-3.0-or-later
"""Where no script may run, none does: by no tool, not live, not in a rehearsal, not in a dry run."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import journal
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import prepare, rehearse
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.server.tools import CORE, FURTHER

from support.clients.tool_calls import Tools
from support.confinement.rehearsing import rehearsals

#: What runs a script: live, in a rehearsal, or by another tool that does.
_WAYS = {
    "execute_blender_code",
    "execute.run",
    "prepare.prepare",
    "rehearse.rehearse",
    "scripted.run",
    "submit.request_for",
    "pipeline.run",
}
_KEY = {"kind": "object", "name": "Cube", "data_path": "location", "keys": [[1, [0, 0, 0]]]}
#: A call of each tool that runs scripts, of one that would run.
CALLS: dict[str, dict[str, Any]] = {
    "execute_blender_code": {"code": "import bpy\nbpy.ops.mesh.primitive_cube_add()"},
    "inject_bpy_script": {"script": "```python\nimport bpy\nbpy.ops.mesh.primitive_cube_add()\n```"},
    "rehearse_script": {"code": "import bpy\nbpy.ops.mesh.primitive_cube_add()"},
    "run_in_files": {"paths": ["a.blend"], "code": "import bpy", "save_as": "{name}_new.blend"},
    "set_node_tree": {
        "kind": "node_group",
        "name": "New",
        "tree": {"type": "ShaderNodeTree", "nodes": []},
        "new": True,
    },
    "set_frame": {"frame": 7},
    "set_keyframes": _KEY,
}
#: Of each kind of refusal a script, and what validation calls it.
REFUSED = {
    "from os import remove": "import",
    "import os\nos.remove('/important')": "policy",
    "import bpy\nbpy.ops.wm.quit_blender()": "policy",
    "import bpy\nbpy.ops.mesh.no_such_thing()": "operator",
    "import bpy\nbpy.ops.mesh.primitive_cube_add(sise=2)": "parameter",
    "import bpy\nbpy.context.preferences.filepaths.use_scripts_auto_execute = True": "policy",
    "import bpy\nbpy.data.no_such_collection": "path",
    "x = len.__globals__": "attribute",
    "def f(:": "syntax",
    "from subprocess import run": "import",
}


@pytest.fixture
def tools(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path_factory.mktemp("audit")))
    execute._rate.clear()
    with rehearsals(tmp_path_factory.mktemp("rehearsals"), outlive=True):
        started = Tools()
        yield started
        started.stop()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What ran a script, or made ready to."""
    seen: list[str] = []

    def watch(module: Any, name: str) -> None:
        real = getattr(module, name)

        def spy(*arguments: Any, **named: Any) -> Any:
            seen.append(name)
            return real(*arguments, **named)

        monkeypatch.setattr(module, name, spy)

    watch(execute, "_execute")
    watch(execute, "_calculate")
    watch(prepare, "prepare")
    watch(rehearse, "_request")
    return seen


def _scene() -> object:
    return (
        bpy.context.scene.frame_current,
        sorted(bpy.data.objects.keys()),
        sorted(bpy.data.node_groups.keys()),
        len(bpy.data.actions),
    )


def _tools_that_run_scripts() -> set[str]:
    """Those whose source, or that of a function of their module that they call, names one of the ways."""
    return {
        function.__name__ for function in (*CORE, *FURTHER) if _names(inspect.unwrap(function), set()) & _WAYS
    }


def _names(function: Callable[..., Any], seen: set[str]) -> set[str]:
    seen.add(function.__name__)
    module = sys.modules[function.__module__]
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    nodes = [node for statement in tree.body for node in ast.walk(statement)]
    found = {ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)}
    for name in found - seen:
        called = getattr(module, name, None)
        if inspect.isfunction(called) and called.__module__ == module.__name__:
            found = found | _names(inspect.unwrap(called), seen)
    return found


def test_every_tool_that_runs_scripts_is_marked_and_tried_here() -> None:
    marked = {one.__name__ for one in (*CORE, *FURTHER) if getattr(one, "__runs_scripts__", False)}
    assert marked == _tools_that_run_scripts() == set(CALLS)


@pytest.mark.parametrize("tool", CALLS)
def test_switched_off_no_tool_runs_a_script(
    tools: Tools, tool: str, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE", "off")
    before = _scene()
    answer = tools.raw(tool, CALLS[tool])
    assert (answer["isError"], answer["structuredContent"]["error"]) == (True, "PolicyError")
    assert "running scripts is switched off" in answer["structuredContent"]["message"]
    assert (ran, _scene()) == ([], before)


@pytest.mark.parametrize("tool", CALLS)
def test_in_a_dry_run_no_tool_runs_a_script(
    tools: Tools, tool: str, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "on")
    before = _scene()
    answer = tools.raw(tool, CALLS[tool])
    said = answer["structuredContent"]
    assert (said["status"], said["dry_run"]) == ("success", True)
    assert "was not executed" in said["message"]
    assert (ran, _scene()) == ([], before)


@pytest.mark.parametrize(
    "tool", ["execute_blender_code", "inject_bpy_script", "rehearse_script", "run_in_files"]
)
@pytest.mark.parametrize("script", REFUSED)
def test_a_dry_run_refuses_what_validation_refuses(
    tools: Tools, tool: str, script: str, ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "on")
    more = {"script": script, "mode": "contextual"} if tool == "inject_bpy_script" else {"code": script}
    answer = tools.raw(tool, {**CALLS[tool], **more})
    said = answer["structuredContent"]
    assert answer["isError"], said
    assert REFUSED[script] in {error["code"] for error in said["errors"]}
    assert said["line"] == said["errors"][0]["line"]
    assert ran == []


def test_a_dry_run_and_a_request_before_the_user_refuse_with_the_same_words(
    tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    for script in REFUSED:
        more = {"script": script, "mode": "contextual"}
        tools.capabilities = {"elicitation": {}}
        asked = tools.raw("inject_bpy_script", more)["structuredContent"]
        monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "on")
        dry = tools.raw("inject_bpy_script", more)["structuredContent"]
        monkeypatch.delenv("BLENDER_MCP_EXECUTE_DRY_RUN")
        if "errors" in asked:  # what is no Python at all was never a script there
            assert dry["errors"] == asked["errors"]


@pytest.mark.parametrize(
    ("setting", "value", "script", "code"),
    [
        ("BLENDER_MCP_EXECUTE", "off", "result = 1", "endpoint_off"),
        ("BLENDER_MCP_EXECUTE_DRY_RUN", "on", "result = 1", "dry_run"),
        ("BLENDER_MCP_LEVEL", "math", "import bpy", "level"),
    ],
)
def test_a_rehearsal_has_the_gates_of_a_run_whoever_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str, script: str, code: str
) -> None:
    with rehearsals(tmp_path):
        prepared = prepare.prepare()
        monkeypatch.setenv(setting, value)
        with pytest.raises(PolicyError) as refused:
            rehearse.rehearse(prepared, script, level="blender")
        assert refused.value.code == code
        assert not prepared.release.alive  # type: ignore[attr-defined]  # the copy of the scene is given back


def test_arithmetic_is_checked_in_a_dry_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_LEVEL", "arithmetic")
    monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "on")
    call = execute.execute_blender_code
    assert call({"code": "x = 2 ** 3"})["dry_run"] is True
    assert call({"code": "x = 1 / 0"})["dry_run"] is True
    for script in ("from os import remove", "print(1)", "x = y"):
        with pytest.raises(PolicyError):
            call({"code": script})
