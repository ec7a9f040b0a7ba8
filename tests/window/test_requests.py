# SPDX-License-Identifier: GPL-3.0-or-later
"""A request in Blender's real window: it waits, is read, applied and denied by the mouse."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from support import window as window_support
from support.blender import EXTENSION
from support.ports import free_port
from support.raw_client import RawClient
from support.window import Window

TOKEN = "a-token-for-tests-alone"
CHAIR = (
    "```python\nimport bpy\nbpy.ops.mesh.primitive_cube_add(size=1)\nbpy.context.object.name = 'Chair'\n```"
)

#: Changes enough for a long report, in a long script.
BUSY = "import bpy\n" + "\n".join(
    f"bpy.ops.mesh.primitive_cube_add(size={n}, location=({n}, {n}, {n}))\n"
    f"bpy.context.object.name = 'A box with a rather long name, number {n}'"
    for n in range(1, 16)
)

#: Where things are in the factory start-up file's window at a scale of 1, with the sidebar open.
TAB = (1043, 245)
REVIEW = (838, 262)
DENY = (960, 262)
#: With nothing waiting.
ACTIVITY, UNDO = (830, 223), (1006, 250)
APPLY = (727, 773)
APPLY_2X = (900, 760)
REASON, DENY_HERE = (410, 742), (790, 742)
PORT = free_port()


class Bridge:
    def __init__(self, window: Window) -> None:
        self.window = window
        window.serve()
        self.run(
            "next(a for a in bpy.context.window.screen.areas if a.type == 'VIEW_3D').spaces[0].show_region_ui = True"
        )
        window.settle(1.0)
        window.click(*TAB)
        window.settle(1.0)

    def run(self, code: str) -> Any:
        return self.window.run(f"from importlib import import_module\nname = {EXTENSION!r}\n{code}")

    def state(self) -> str:
        return self.run(
            "desk = import_module(f'{name}.sandbox.review').current()\n"
            "result = desk.entries()[0].state if desk.entries() else ''"
        )

    def becomes(self, state: str) -> bool:
        until = time.monotonic() + 90.0
        while (found := self.state()) != state:
            if time.monotonic() > until:
                print(f"the request is {found!r}, not {state!r}")
                return False
            time.sleep(0.2)
        return True

    def objects(self) -> list[str]:
        return self.run("result = sorted(item.name for item in bpy.data.objects)")

    def picture(self, name: str) -> None:
        self.window.settle(1.0)
        self.window.picture(f"requests-{name}")


class Asking(threading.Thread):
    """A client that injects a script and waits for the outcome."""

    def __init__(self, script: str, title: str) -> None:
        super().__init__(daemon=True)
        self._arguments = {"script": script, "title": title}
        self.result: Any = None
        self.start()

    def run(self) -> None:
        client = RawClient(PORT, TOKEN)
        try:
            self.result = client.call("inject_bpy_script", **self._arguments)
        finally:
            client.close()


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    env = {"BLENDER_PORT": str(PORT), "BLENDER_MCP_TOKEN": TOKEN}
    with window_support.start("requests", env=env) as started:
        yield Bridge(started)


def test_return_applies_nothing_and_apply_runs_it_once(bridge: Bridge) -> None:
    asking = Asking(CHAIR, "Simple chair")
    assert bridge.becomes("waiting")
    bridge.window.settle(2.0)
    bridge.picture("waiting")
    assert "Chair" not in bridge.objects()
    bridge.window.click(*REVIEW)
    bridge.picture("review")
    bridge.window.press("Return")
    bridge.picture("after-return")
    assert bridge.state() == "waiting"
    assert "Chair" not in bridge.objects()
    bridge.window.click(*REVIEW)
    bridge.window.settle(1.0)
    bridge.window.click(*APPLY)
    assert bridge.becomes("applied")
    assert bridge.objects().count("Chair") == 1
    asking.join(30)
    assert asking.result["structuredContent"]["status"] == "success"
    bridge.window.settle(1.0)
    bridge.window.click(*ACTIVITY)
    bridge.picture("applied")
    bridge.window.click(*UNDO)
    bridge.window.settle(1.5)
    bridge.picture("undone")
    assert "Chair" not in bridge.objects()
    bridge.window.click(*ACTIVITY)


def test_a_denial_in_the_dialog_carries_its_reason(bridge: Bridge) -> None:
    asking = Asking(CHAIR.replace("Chair", "Stool"), "A stool")
    assert bridge.becomes("waiting")
    bridge.window.settle(2.0)
    bridge.window.click(*REVIEW)
    bridge.window.settle(1.0)
    bridge.window.click(*REASON)
    bridge.window.settle(0.5)
    bridge.window.press("h", "m", "Return")
    bridge.picture("reason")
    bridge.window.move(*DENY_HERE)
    bridge.window.settle(1.0)
    bridge.window.click(*DENY_HERE)
    bridge.picture("denied-here")
    assert bridge.becomes("denied")
    asking.join(30)
    assert asking.result["structuredContent"]["message"] == "The user denied it: hm"
    bridge.window.press("Escape")
    bridge.window.settle(0.5)
    bridge.picture("after-denied-here")
    assert "Stool" not in bridge.objects()


def test_the_script_is_read_in_a_text_editor_and_still_waits(bridge: Bridge) -> None:
    asking = Asking(CHAIR.replace("Chair", "Bench"), "A bench")
    assert bridge.becomes("waiting")
    bridge.window.settle(2.0)
    bridge.run(
        "e = import_module(f'{name}.sandbox.review').current().entries()[0]\n"
        "bpy.ops.mcp_bridge.open_script(request_id=e.id)"
    )
    bridge.picture("text-editor")
    assert bridge.state() == "waiting"
    assert bridge.run("result = [text.name for text in bpy.data.texts]") == ["A bench.py"]
    bridge.run(
        "e = import_module(f'{name}.sandbox.review').current().entries()[0]\n"
        "bpy.ops.mcp_bridge.deny_request(request_id=e.id)\n"
        "with bpy.context.temp_override(window=bpy.context.window_manager.windows[-1]):\n"
        "    bpy.ops.wm.window_close()"
    )
    asking.join(30)
    bridge.window.settle(1.5)
    assert bridge.run("result = [text.name for text in bpy.data.texts]") == []


def test_a_denial_carries_its_reason_to_the_assistant(bridge: Bridge) -> None:
    asking = Asking(CHAIR.replace("Chair", "Table"), "A table")
    assert bridge.becomes("waiting")
    bridge.window.settle(2.0)
    bridge.window.click(*DENY)
    bridge.window.settle(1.0)
    bridge.window.press("n", "o")
    bridge.picture("deny")
    bridge.window.press("Return")
    bridge.window.settle(1.0)
    bridge.window.press("Return")
    assert bridge.becomes("denied")
    asking.join(30)
    assert asking.result["structuredContent"]["message"] == "The user denied it: no"
    assert "Table" not in bridge.objects()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_dialog_fits_at_twice_the_scale(bridge: Bridge, theme: str) -> None:
    asking = Asking(f"{BUSY}\nbpy.context.object.name = 'Large {theme}'", f"A large {theme} scene")
    assert bridge.becomes("waiting")
    bridge.run(f"bpy.context.preferences.view.ui_scale = 2.0\n{_THEME.format(file=THEMES[theme])}")
    bridge.window.settle(2.0)
    bridge.window.move(640, 400)
    bridge.run(_REVIEW)
    bridge.picture(f"review-{theme}-2x")
    bridge.window.move(*APPLY_2X)
    bridge.window.settle(1.0)
    bridge.window.click(*APPLY_2X)
    assert bridge.becomes("applied")
    bridge.run("bpy.context.preferences.view.ui_scale = 1.0")
    asking.join(30)
    bridge.window.settle(1.0)


@pytest.mark.parametrize("count", [0, 1, 200])
def test_every_panel_looks_right_and_is_drawn_within_a_millisecond(bridge: Bridge, count: int) -> None:
    bridge.run(_FILL.format(count=count))
    bridge.window.settle(2.0)
    for scale in (1.0, 2.0):
        bridge.run(f"bpy.context.preferences.view.ui_scale = {scale}")
        for theme, file in THEMES.items():
            bridge.run(_THEME.format(file=file))
            bridge.picture(f"{count}-{theme}-{scale:g}x")
    bridge.run("bpy.context.preferences.view.ui_scale = 1.0")
    bridge.run(_BEGIN_MEASURING)
    for _ in range(8):
        bridge.run(_REDRAW)
        bridge.window.settle(0.3)
    bridge.picture(f"{count}-activity")
    measured = bridge.run(_END_MEASURING)
    # As long as nobody has asked for anything the panel is hidden.
    assert set(measured) == ({"MCP_BRIDGE_PT_requests", "MCP_BRIDGE_PT_activity"} if count else set())
    print(count, measured)
    assert all(milliseconds < 1.0 for milliseconds in measured.values()), measured


THEMES = {"dark": "Blender_Dark.xml", "light": "Blender_Light.xml"}
_THEME = """
import os
folder = bpy.utils.preset_paths('interface_theme')[0]
bpy.ops.script.execute_preset(
    filepath=os.path.join(folder, '{file}'), menu_idname='USERPREF_MT_interface_theme_presets')
"""
#: Opens the dialog for the newest request, as the panel's button does.
_REVIEW = """
desk = import_module(f'{name}.sandbox.review').current()
with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
    bpy.ops.mcp_bridge.review_request('INVOKE_DEFAULT', request_id=desk.entries()[0].id)
"""

#: A desk with `count` requests that wait and as many that have ended; none of them is anybody's.
_FILL = """
review = import_module(f'{{name}}.sandbox.review')
request = import_module(f'{{name}}.sandbox.review.request')
review.close()
store = import_module(f'{{name}}.sandbox.review.store')
from pathlib import Path
import tempfile
desk = review.open_desk(store.Store(Path(tempfile.mkdtemp()), lambda pid: False))
desk._keep = lambda entry: None
import time
titles = ['Simple chair', 'Scatter a hundred rocks over the ground', 'Rename', 'Three-point light', 'A table']
for number in range(2 * {count}):
    asked = request.InjectScriptRequest(
        f'r{{number}}', ['Claude Desktop', 'Cursor'][number % 2], 'contextual', f'x = {{number}}',
        time.time() - 30 * number, f'c{{number}}', title=titles[number % 5])
    desk.submit(asked, asks='panel')
    desk.extracted(asked.id, 'import os' if number == 1 else f'x = {{number}}')
    desk.validated(asked.id, {{}})
    desk.rehearsed(asked.id, {{}}, 'The rehearsal went well.', 1)
    desk.ask(asked.id, revision=1)
    if number % 2:
        desk.deny(asked.id, 'no') if number % 4 == 1 else desk.cancel(asked.id)
import_module(f'{{name}}.operators.state').refresh()
"""
#: Wraps a panel's draw, so that Blender's own drawing is measured, and takes the wrapping off again. Activity, which is
#: closed, is drawn into it as well.
_BEGIN_MEASURING = """
import time
panels = import_module(f'{name}.panels.requests')
panels.measured = {}
panels.unwrapped = panels.MCP_BRIDGE_PT_requests.draw
def draw(self, context):
    for name, part in (
        ('MCP_BRIDGE_PT_requests', panels.unwrapped),
        ('MCP_BRIDGE_PT_activity', panels.MCP_BRIDGE_PT_activity.draw),
    ):
        begin = time.perf_counter()
        part(self, context)
        panels.measured.setdefault(name, []).append(1000 * (time.perf_counter() - begin))
panels.MCP_BRIDGE_PT_requests.draw = draw
"""
_REDRAW = """
for area in bpy.context.window_manager.windows[0].screen.areas:
    area.tag_redraw()
"""
_END_MEASURING = """
import statistics
panels = import_module(f'{name}.panels.requests')
panels.MCP_BRIDGE_PT_requests.draw = panels.unwrapped
result = {name: statistics.median(times) for name, times in panels.measured.items() if len(times) >= 5}
"""
