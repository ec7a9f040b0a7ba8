# SPDX-License-Identifier: GPL-3.0-or-later
"""A request in Blender's real window: it waits, is read, applied and denied by the mouse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.on_screen import window as window_support
from support.on_screen.asking import CHAIR, TOKEN, Asking, Bridge
from support.running.ports import free_port

#: Changes enough for a long report, in a long script.
BUSY = "import bpy\n" + "\n".join(
    f"bpy.ops.mesh.primitive_cube_add(size={n}, location=({n}, {n}, {n}))\n"
    f"bpy.context.object.name = 'A box with a rather long name, number {n}'"
    for n in range(1, 16)
)

#: What stands on the button that applies a script.
APPLY = "Apply"
#: How far from the right edge of the tab's panels the button is that undoes a request.
UNDO = 20
PORT = free_port()


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    env = {"BLENDER_PORT": str(PORT), "BLENDER_MCP_TOKEN": TOKEN}
    with window_support.start("requests", env=env) as started:
        yield Bridge(started, PORT)


def test_return_applies_nothing_and_apply_runs_it_once(bridge: Bridge) -> None:
    asking = Asking(PORT, CHAIR, "Simple chair")
    bridge.becomes("waiting")
    bridge.window.find("Review", bridge.tab)
    bridge.picture("waiting")
    assert "Chair" not in bridge.objects()
    bridge.press("Review")
    bridge.window.find(APPLY)
    bridge.picture("review")
    bridge.window.press("Return")
    bridge.picture("after-return")
    assert bridge.state() == "waiting"
    assert "Chair" not in bridge.objects()
    bridge.press("Review")
    bridge.window.press_on(APPLY)
    bridge.becomes("applied")
    assert bridge.objects().count("Chair") == 1
    asking.join(30)
    assert asking.result["status"] == "success"
    bridge.press("Activity")
    done = bridge.window.find("Simple chair", bridge.tab)
    bridge.picture("applied")
    bridge.window.click(bridge.tab.x + bridge.tab.width - UNDO, done.middle[1])
    bridge.until(lambda: "Chair" not in bridge.objects(), "the chair is still there")
    bridge.picture("undone")
    bridge.press("Activity")


def test_a_denial_in_the_dialog_carries_its_reason(bridge: Bridge) -> None:
    asking = Asking(PORT, CHAIR.replace("Chair", "Stool"), "A stool")
    bridge.becomes("waiting")
    bridge.press("Review")
    bridge.window.press_on("Why not, for the assistant")
    bridge.window.settle(0.5)
    bridge.window.press("h", "m", "Return")
    bridge.picture("reason")
    bridge.window.press_on("Deny", which=-1)
    bridge.picture("denied-here")
    bridge.becomes("denied")
    asking.join(30)
    assert asking.result["message"] == "The user denied it: hm"
    bridge.window.press("Escape")
    bridge.window.settle(0.5)
    bridge.picture("after-denied-here")
    assert "Stool" not in bridge.objects()


def test_the_script_is_read_in_a_text_editor_and_still_waits(bridge: Bridge) -> None:
    asking = Asking(PORT, CHAIR.replace("Chair", "Bench"), "A bench")
    bridge.becomes("waiting")
    bridge.run(
        "e = import_module(f'{name}.approvals').current().entries()[0]\n"
        "bpy.ops.mcp_bridge.open_script(request_id=e.id)"
    )
    bridge.picture("text-editor")
    assert bridge.state() == "waiting"
    assert bridge.run("result = [text.name for text in bpy.data.texts]") == ["A bench.py"]
    bridge.run(
        "e = import_module(f'{name}.approvals').current().entries()[0]\n"
        "bpy.ops.mcp_bridge.deny_request(request_id=e.id)"
    )
    asking.join(30)
    left = "result = [len(bpy.data.texts), len(bpy.context.window_manager.windows)]"
    bridge.until(lambda: bridge.run(left) == [0, 1], "the text or its window is still there")


def test_a_denial_carries_its_reason_to_the_assistant(bridge: Bridge) -> None:
    asking = Asking(PORT, CHAIR.replace("Chair", "Table"), "A table")
    bridge.becomes("waiting")
    bridge.press("Deny")
    bridge.window.find("Tell the assistant why (optional)")
    bridge.window.press("n", "o")
    bridge.picture("deny")
    bridge.window.press("Return")
    bridge.window.settle(1.0)
    bridge.window.press("Return")
    bridge.becomes("denied")
    asking.join(30)
    assert asking.result["message"] == "The user denied it: no"
    assert "Table" not in bridge.objects()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_dialog_fits_at_twice_the_scale(bridge: Bridge, theme: str) -> None:
    asking = Asking(PORT, f"{BUSY}\nbpy.context.object.name = 'Large {theme}'", f"A large {theme} scene")
    bridge.becomes("waiting")
    bridge.run(f"bpy.context.preferences.view.ui_scale = 2.0\n{_THEME.format(file=THEMES[theme])}")
    bridge.window.settle(2.0)
    bridge.window.move(640, 400)
    bridge.run(_REVIEW)
    bridge.picture(f"review-{theme}-2x")
    bridge.window.press_on(APPLY)
    bridge.becomes("applied")
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
queue = import_module(f'{name}.approvals').current()
with bpy.context.temp_override(window=bpy.context.window_manager.windows[0]):
    bpy.ops.mcp_bridge.review_request('INVOKE_DEFAULT', request_id=queue.entries()[0].id)
"""

#: A queue with `count` requests that wait and as many that have ended; none of them is anybody's.
_FILL = """
review = import_module(f'{{name}}.approvals')
request = import_module(f'{{name}}.approvals.request')
review.close()
store = import_module(f'{{name}}.approvals.store')
from pathlib import Path
import tempfile
queue = review.open_queue(store.Store(Path(tempfile.mkdtemp()), lambda pid: False))
queue._keep = lambda entry: None
import time
titles = ['Simple chair', 'Scatter a hundred rocks over the ground', 'Rename', 'Three-point light', 'A table']
for number in range(2 * {count}):
    asked = request.InjectScriptRequest(
        f'r{{number}}', ['Claude Desktop', 'Cursor'][number % 2], 'contextual', f'x = {{number}}',
        time.time() - 30 * number, f'c{{number}}', title=titles[number % 5])
    queue.submit(asked, asks='panel')
    queue.store_script(asked.id, 'import os' if number == 1 else f'x = {{number}}')
    queue.store_validation(asked.id, {{}})
    queue.store_rehearsal(asked.id, {{}}, 'The rehearsal went well.', 1)
    queue.ask(asked.id, revision=1)
    if number % 2:
        queue.deny(asked.id, 'no') if number % 4 == 1 else queue.cancel(asked.id)
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
