# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user sees of a script, that a yes stands, and that one undo takes it back: by mouse and keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.on_screen import window as window_support
from support.on_screen.asking import CHAIR, TOKEN, Asking, Bridge
from support.running.ports import free_port

PORT = free_port()
#: Behind spaces, past the end of what a label shows.
HIDDEN = f"import bpy\nname = 'Light'{' ' * 150}; bpy.data.objects.remove(bpy.data.objects[name])"
LONG = "import bpy\n" + "\n".join(f"bpy.data.objects.new('Empty {n}', None)" for n in range(120))


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    env = {"BLENDER_PORT": str(PORT), "BLENDER_MCP_TOKEN": TOKEN}
    with window_support.start("review", env=env) as started:
        yield Bridge(started, PORT, "review")


def move_the_cube(bridge: Bridge) -> None:
    """As a user does, one unit along X: with the mouse over the 3D view, and keys."""
    bridge.window.move(400, 400)
    bridge.window.press("g", "x", "1", "Return")
    bridge.until(lambda: place(bridge) != 0.0, "the cube was not moved")


def place(bridge: Bridge) -> float:
    return bridge.run("result = bpy.data.objects['Cube'].location.x")


def test_one_undo_takes_a_script_back_and_the_next_what_the_user_did(bridge: Bridge) -> None:
    move_the_cube(bridge)
    asking = bridge.asks(CHAIR, "Simple chair")
    bridge.press("Review")
    bridge.window.press_on("Apply")
    bridge.becomes("applied")
    asking.join(30)
    bridge.window.move(400, 400)
    bridge.window.press("ctrl+z")
    bridge.until(lambda: "Chair" not in bridge.objects(), "the script was not undone")
    assert place(bridge) == 1.0
    bridge.until(lambda: bridge.run(UNDONE), "Activity does not know of the undo")
    bridge.window.press("ctrl+z")
    bridge.until(lambda: place(bridge) == 0.0, "the second undo did nothing")
    bridge.window.press("ctrl+shift+z", "ctrl+shift+z")
    bridge.until(lambda: "Chair" in bridge.objects(), "the script was not done again")
    bridge.until(lambda: not bridge.run(UNDONE), "Activity does not know of the redo")
    assert place(bridge) == 1.0
    bridge.window.press("ctrl+z", "ctrl+z")
    bridge.until(lambda: place(bridge) == 0.0, "it was not undone again")


def test_after_a_change_it_is_rehearsed_again_by_itself_and_says_so(bridge: Bridge) -> None:
    asking = bridge.asks(CHAIR, "Simple chair")
    first = bridge.run(REVISION)
    move_the_cube(bridge)
    bridge.until(lambda: bridge.run(REVISION) not in (first, None), "it was not rehearsed again")
    bridge.becomes("waiting")
    bridge.press("Review")
    bridge.window.find("rehearsed again, the result is the same")
    bridge.picture("rehearsed-again")
    bridge.window.press_on("Apply")
    bridge.becomes("applied")
    asking.join(30)
    assert "The scene changed: rehearsed again, the result is the same." in asking.result["warnings"]


def test_a_yes_stands_though_something_else_was_changed(bridge: Bridge) -> None:
    asking = bridge.asks(CHAIR.replace("Chair", "Bench"), "A bench")
    bridge.press("Review")
    apply = bridge.window.find_at_rest("Apply")
    bridge.run("bpy.data.objects['Light'].location.z += 1\nbpy.context.view_layer.update()")
    bridge.window.click(*apply.middle)
    bridge.becomes("applied")
    asking.join(30)
    assert bridge.objects().count("Bench") == 1


def test_a_yes_does_not_stand_where_the_result_differs(bridge: Bridge) -> None:
    script = "import bpy\nbpy.data.objects['Camera'].location.x += 1"
    asking = bridge.asks(script, "Move the camera")
    bridge.press("Review")
    apply = bridge.window.find_at_rest("Apply")
    bridge.run("bpy.data.objects['Camera'].location.x += 5\nbpy.context.view_layer.update()")
    before = bridge.run("result = bpy.data.objects['Camera'].location.x")
    first = bridge.run(REVISION)
    bridge.window.click(*apply.middle)
    bridge.until(lambda: bridge.run(REVISION) not in (first, None), "it was not rehearsed again")
    bridge.becomes("waiting")
    assert bridge.run("result = bpy.data.objects['Camera'].location.x") == before
    bridge.press("Review")
    bridge.window.find("the result is not the same as before")
    bridge.picture("result-differs")
    bridge.window.press_on("Deny", which=-1)
    bridge.becomes("denied")
    bridge.window.press("Escape")
    asking.join(30)


UNDONE = "result = import_module(f'{name}.approvals').current().entries()[0].undone"
#: The revision that the newest request was rehearsed at, None while it does not wait.
REVISION = """
entry = import_module(f'{name}.approvals').current().entries()[0]
result = entry.revision if entry.state == 'waiting' else None
"""


def test_nothing_is_hidden_and_what_removes_is_marked(bridge: Bridge) -> None:
    asking = bridge.asks(HIDDEN, "Rename the light")
    bridge.press("Review")
    bridge.window.find("150 spaces")
    bridge.window.find("Removes something: line 2")
    bridge.window.find("Look closely")
    bridge.picture("hidden")
    bridge.window.press_on("Before")
    bridge.picture("hidden-before")
    bridge.window.press_on("Deny", which=-1)
    bridge.becomes("denied")
    bridge.window.press("Escape")
    asking.join(30)


def test_a_long_script_is_read_and_applied_in_a_text_editor(bridge: Bridge) -> None:
    asking = bridge.asks(LONG, "Many empties")
    bridge.press("Review")
    bridge.window.find("Deny")
    bridge.picture("long")
    assert bridge.state() == "waiting"
    bridge.window.press_on("Apply")
    bridge.becomes("applied")
    asking.join(30)
    bridge.until(
        lambda: (
            bridge.run("result = [len(bpy.data.texts), len(bpy.context.window_manager.windows)]") == [0, 1]
        ),
        "the window with the script is still there",
    )


def test_a_script_that_fails_says_why_until_it_is_dismissed(bridge: Bridge) -> None:
    Asking(PORT, "import bpy\nraise ValueError('no such wall')", "Build a wall").join(60)
    bridge.window.find("no such wall", bridge.tab)
    bridge.picture("refused")
    bridge.press("Dismiss")
    bridge.until(
        lambda: not bridge.run("result = len(import_module(f'{name}.operators.state').view.refused)"),
        "it is still shown",
    )


def test_what_was_dismissed_stays_so_after_disabling_and_enabling(bridge: Bridge) -> None:
    """The one that was not dismissed is told again."""
    Asking(PORT, "import bpy\nraise ValueError('no such roof')", "Build a roof").join(60)
    bridge.window.find("no such roof", bridge.tab)
    for refused in (["Build a roof"], []):
        bridge.run("bpy.ops.preferences.addon_disable(module=name)")
        bridge.run("bpy.ops.preferences.addon_enable(module=name)")
        bridge.until(lambda: bridge.run(SERVES), "the server did not come back")
        assert bridge.run(REFUSED) == refused
        bridge.picture(f"enabled-again-{len(refused)}-refused")
        if refused:
            bridge.press("Dismiss")
            bridge.until(lambda: not bridge.run(REFUSED), "it is still shown")


SERVES = "result = import_module(f'{name}.operators.state').view.address != ''"
REFUSED = "result = [entry.title for entry in import_module(f'{name}.operators.state').view.refused]"
