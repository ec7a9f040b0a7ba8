# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what the first script needs is loaded before there is one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.errors import SettingsError
from bl_ext.user_default.mcp_bridge.sandbox import early

from support.running import blender
from support.running.ports import free_port

_FIRST_SCRIPT = """
import json, sys, time
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.sandbox import early
from bl_ext.user_default.mcp_bridge.server import bridge

took = []
bridge.start()
while early._waiting:
    begin = time.perf_counter()
    main_thread.pump(lambda count=len(early._waiting): len(early._waiting) == count)
    took.append(time.perf_counter() - begin)
loaded = set(sys.modules)
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
result = execute.execute_blender_code({"code": "import bpy\\nresult = len(bpy.data.objects)"})["result"]
later = sorted(name for name in set(sys.modules) - loaded if "mcp_bridge" in name)
bridge.stop()
print(json.dumps([result, later, len(took)]))
"""


def test_the_first_script_loads_no_module(tmp_path: Path) -> None:
    env = blender.environment(tmp_path, BLENDER_PORT=str(free_port()), BLENDER_MCP_CONFIRM="auto")
    printed = blender.run(_FIRST_SCRIPT, env)
    assert json.loads(printed.splitlines()[-1]) == [3, [], 5]


def test_a_step_that_fails_leaves_the_rest_to_the_first_script(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def fail() -> None:
        raise SettingsError("the settings cannot be read")

    monkeypatch.setattr(early, "_waiting", [lambda: done.append("one"), fail, lambda: done.append("three")])
    main_thread.start()
    try:
        early.load()
        main_thread.pump(lambda: bool(main_thread.waiting()))
    finally:
        main_thread.stop()
    assert done == ["one"]
    assert len(early._waiting) == 2
