# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's register and unregister, through Blender's own switch for add-ons."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import addon_utils
import pytest

from support.running import blender
from support.running.ports import free_port, is_open

NAME = "bl_ext.user_default.mcp_bridge"


@pytest.fixture(autouse=True)
def _enabled_afterwards() -> Iterator[None]:
    """All other tests of this process need the extension, whatever happens to a test here."""
    yield
    if not addon_utils.check(NAME)[1]:
        addon_utils.enable(NAME)


def test_comes_up_again_after_it_was_disabled() -> None:
    addon_utils.disable(NAME)
    assert addon_utils.check(NAME)[1] is False
    assert addon_utils.enable(NAME) is not None
    assert addon_utils.check(NAME)[1] is True


def test_disabling_stops_the_server() -> None:
    from bl_ext.user_default.mcp_bridge.base import settings
    from bl_ext.user_default.mcp_bridge.server import bridge

    # A port of its own: tests that run at the same time may open the default port as soon as this server leaves it.
    port = bridge.start(settings.load(environ={"BLENDER_PORT": str(free_port())})).port
    assert is_open(port)
    addon_utils.disable(NAME)
    assert not is_open(port)
    assert [thread.name for thread in threading.enumerate() if not thread.daemon] == ["MainThread"]


def test_a_script_may_enable_it_for_one_run_without_preferences(tmp_path: Path) -> None:
    code = f"""
addon_utils.enable({NAME!r})
assert {NAME!r} not in bpy.context.preferences.addons
from bl_ext.user_default.mcp_bridge.sandbox.execute import execute_blender_code
print(execute_blender_code({{"code": "result = 'ok'"}}))
"""
    printed = blender.run(code, blender.environment(tmp_path), enabled=False)
    assert "{'status': 'success', 'result': 'ok', 'stdout': ''}" in printed


ENABLING_LOADS = {"", "base", "operators", "panels"}
"""The rooms that enabling the extension may load; the others load when they are first used."""


def test_enabling_loads_few_rooms(tmp_path: Path) -> None:
    code = f"""
import sys
assert addon_utils.enable({NAME!r}, default_set=True) is not None
print(*(name for name in sys.modules if name.startswith({NAME!r})))
"""
    printed = blender.run(code, blender.environment(tmp_path), enabled=False)
    modules = next(line for line in printed.splitlines() if line.startswith(NAME)).split()
    rooms = {name.removeprefix(NAME).removeprefix(".").partition(".")[0] for name in modules}
    assert rooms == ENABLING_LOADS
