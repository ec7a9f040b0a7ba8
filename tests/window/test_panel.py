# SPDX-License-Identifier: GPL-3.0-or-later
"""The MCP tab in Blender's real window: its buttons are pressed by the mouse, and pictures of it are kept."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest

from blenders import ROOT
from support.bridges.scripted_bridge import ShimClient
from support.on_screen import window as window_support
from support.on_screen.window import Window
from support.running.blender import EXTENSION
from support.running.ports import free_port

#: How far left of the title of *Let assistants run scripts* the middle of its checkbox is.
CHECKBOX = 12

PORT = free_port()
ADDRESS = f"127.0.0.1:{PORT}"

_THEMES = {"dark": "Blender_Dark.xml", "light": "Blender_Light.xml"}


class Panel:
    """The tab, open in a window of its own test."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.run("import_module(f'{name}.operators.state').store().path.unlink(missing_ok=True)")
        self.tab = window.open_tab()

    def run(self, code: str) -> Any:
        return self.window.run(f"from importlib import import_module\nname = {EXTENSION!r}\n{code}")

    def view(self, field: str) -> Any:
        return self.run(f"result = import_module(f'{{name}}.operators.state').view.{field}")

    def shows(self, field: str, value: Any) -> bool:
        """Whether a field of what the panels show gets this value within a while; it is gathered once a second."""
        until = time.monotonic() + 15.0
        while (found := self.view(field)) != value:
            if time.monotonic() > until:
                print(f"view.{field} is {found!r}, not {value!r}")
                return False
            time.sleep(0.1)
        return True

    def press(self, text: str) -> None:
        self.window.press_on(text, self.tab)

    def picture(self, name: str) -> None:
        self.window.settle(1.0)
        self.window.picture(f"panel-{name}")


@pytest.fixture(scope="module")
def panel() -> Iterator[Panel]:
    with window_support.start("panel", env={"BLENDER_PORT": str(PORT)}) as started:
        yield Panel(started)


def test_start_and_stop_are_pressed(panel: Panel) -> None:
    panel.picture("stopped")
    panel.press("Start")
    assert panel.shows("address", ADDRESS)
    panel.picture("running")
    panel.press("Stop")
    assert panel.shows("address", "")
    panel.press("Start")
    assert panel.shows("address", ADDRESS)


def test_what_holds_rehearsals_is_shown_once_it_was_tried(panel: Panel) -> None:
    """Below *Let assistants run scripts*, without anybody having asked for a rehearsal."""
    until = time.monotonic() + 60.0
    while not panel.view("confinement is not None") and time.monotonic() < until:
        time.sleep(0.2)
    held = panel.view("confinement.in_force")
    assert sorted(held) == ["network", "process", "read", "write"]
    assert "Landlock and seccomp" in panel.view("confinement.means")
    panel.picture("held")


def test_a_rehearsal_that_cannot_be_held_is_told_at_the_top_of_the_tab(panel: Panel) -> None:
    panel.run(_REHEARSE.format(program="/usr/bin/false"))
    assert panel.shows("rehearsal_failure != ''", True)
    assert "could not be held: the confined Blender ended" in panel.view("rehearsal_failure")
    panel.window.find("The last rehearsal could not be", panel.tab)
    panel.picture("not-held")
    panel.run(_REHEARSE.format(program=""))
    assert panel.shows("rehearsal_failure", "")


#: Rehearses a script in the program that the preferences name; an empty one stands for this Blender's own.
_REHEARSE = """
import contextlib, threading
errors = import_module(f'{{name}}.base.errors')
rehearse = import_module(f'{{name}}.sandbox.rehearsal.rehearse')
prepare = import_module(f'{{name}}.sandbox.rehearsal.prepare')
import_module(f'{{name}}.panels.preferences').get().rehearsal_blender = {program!r}
prepared = prepare.prepare()
def run():
    with contextlib.suppress(errors.ExternalServiceError):
        rehearse.rehearse(prepared, 'result = 1', pictures=False)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def test_the_execute_endpoint_is_switched_off_and_on(panel: Panel) -> None:
    title = panel.window.find_at_rest("Let assistants run scripts", panel.tab)
    checkbox = title.x - CHECKBOX, title.middle[1]
    panel.window.click(*checkbox)
    assert panel.shows("settings.execute_enabled", False)
    panel.picture("execute-off")
    panel.window.click(*checkbox)
    assert panel.shows("settings.execute_enabled", True)


def test_a_configuration_is_copied_from_the_menu(panel: Panel) -> None:
    panel.press("Copy Client Configuration")
    panel.picture("menu")
    panel.press("Claude Desktop")
    assert panel.shows("pasted.label", "Claude Desktop")
    panel.picture("copied")
    panel.run("bpy.ops.mcp_bridge.hide_hint()")


def test_what_was_copied_connects_and_its_name_appears(panel: Panel) -> None:
    server = json.loads(panel.run("result = bpy.context.window_manager.clipboard"))["mcpServers"]["blender"]
    assert server["args"][-1].endswith("stdio_shim.py")
    environ = {**server["env"], "XDG_RUNTIME_DIR": str(window_support.FOLDER / "panel" / "run")}
    with ShimClient(ROOT / "server" / "clients" / "stdio_shim.py", environ=environ) as client:
        assert client.initialize()["serverInfo"]["title"] == "MCP Bridge"
        assert panel.shows("connected", ["Claude Desktop"])
        panel.picture("connected")
        client.request(1, "tools/call", {"name": "get_object_info", "arguments": {"name": "Cube"}})
        assert client.next()["result"]["structuredContent"]["name"] == "Cube"
        panel.run(
            "bpy.ops.mcp_bridge.revoke_client(client_id=import_module(f'{name}.operators.state').view.clients[0].id)"
        )
        client.request(2, "tools/call", {"name": "get_object_info", "arguments": {"name": "Cube"}})
        assert "was revoked in Blender" in client.next()["result"]["content"][0]["text"]
    panel.picture("revoked")
    panel.run(
        "state = import_module(f'{name}.operators.state')\n"
        "bpy.ops.mcp_bridge.forget_client(client_id=state.view.clients[0].id)"
    )


def test_it_starts_with_blender_if_so_chosen(panel: Panel) -> None:
    panel.run(
        "preferences = import_module(f'{name}.panels.preferences')\n"
        "preferences.get().autostart = True\n"
        "bpy.ops.mcp_bridge.stop()\n"
        "preferences.unregister()\n"
        "preferences.register()"
    )
    assert panel.shows("address", ADDRESS)


def test_after_an_update_the_server_runs_as_before(panel: Panel) -> None:
    """Blender disables an extension, exchanges its files, and enables it again."""
    panel.run("bpy.ops.mcp_bridge.start.poll() and bpy.ops.mcp_bridge.start()")
    assert panel.shows("address", ADDRESS)
    panel.run(
        "import_module(f'{name}.panels.preferences').get().autostart = False\n"
        "bpy.ops.preferences.addon_disable(module=name)"
    )
    assert not panel.run("result = import_module(f'{name}.operators.state').running_bridge() is not None")
    panel.run("bpy.ops.preferences.addon_enable(module=name)")
    assert panel.shows("address", ADDRESS)


def test_drawing_takes_less_than_a_millisecond_and_every_state_looks_right(panel: Panel) -> None:
    panel.run(
        "state = import_module(f'{name}.operators.state')\n"
        "gone = dict(client='cursor', form='stdio', blender='4.1', python='/gone/python', shim='/gone/shim')\n"
        "state.store().mint('Cursor', copied=gone)\n"
        "state.store().mint('Zed', copied=dict(client='zed', form='http', blender='4.1', port='9999'))\n"
        "import_module(f'{name}.panels.preferences').get().confirm = 'auto'\n"
        "state.refresh()"
    )
    assert panel.run("result = len(import_module(f'{name}.operators.state').view.notices)") == 2
    panel.press("Let assistants run scripts")  # folded until somebody wants it
    for scale in (1.0, 2.0):
        panel.run(f"bpy.context.preferences.view.ui_scale = {scale}")
        for theme, file in _THEMES.items():
            panel.run(
                "import os\n"
                "folder = bpy.utils.preset_paths('interface_theme')[0]\n"
                f"bpy.ops.script.execute_preset(filepath=os.path.join(folder, {file!r}),"
                " menu_idname='USERPREF_MT_interface_theme_presets')"
            )
            panel.picture(f"notices-{theme}-{scale:g}x")
    panel.run(_BEGIN_MEASURING)
    for _ in range(10):
        panel.run(_REDRAW)
        panel.window.settle(0.3)
    measured = panel.run(_END_MEASURING)
    assert all(len(times) >= 5 for times in measured.values()), measured
    assert sum(statistics.median(times) for times in measured.values()) < 1.0, measured


# Wraps each panel's draw, so that Blender's own drawing is measured, and takes the wrapping off again.
_BEGIN_MEASURING = """
import time
view3d = import_module(f'{name}.panels.view3d')
view3d.measured = {}
def wrap(cls, draw):
    def timed(self, context):
        begin = time.perf_counter()
        draw(self, context)
        view3d.measured.setdefault(cls.__name__, []).append(1000 * (time.perf_counter() - begin))
    return timed
view3d.unwrapped = {cls: cls.draw for cls in view3d._CLASSES}
for cls, draw in view3d.unwrapped.items():
    cls.draw = wrap(cls, draw)
"""
_REDRAW = """
for area in bpy.context.window.screen.areas:
    area.tag_redraw()
"""
_END_MEASURING = """
view3d = import_module(f'{name}.panels.view3d')
for cls, draw in view3d.unwrapped.items():
    cls.draw = draw
result = {cls.__name__: view3d.measured.get(cls.__name__, []) for cls in view3d.unwrapped}
"""
