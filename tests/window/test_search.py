# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's menu search (F3), by mouse and keys: it finds what MCP Bridge can do, and Enter does it."""

from __future__ import annotations

import time

from support.on_screen import window as window_support
from support.on_screen.reading import Rectangle
from support.on_screen.window import Window
from support.running.blender import EXTENSION
from support.running.ports import free_port

#: What is typed, what is seen then, and what holds after Enter.
ACTS = (
    ("mcp open tab", "MCP Open the Tab", "view3d.show_region_ui"),
    ("mcp start", "MCP Start", "state.running_bridge() is not None"),
    ("mcp stop", "MCP Stop", "state.running_bridge() is None"),
    ("mcp pref", "MCP Preferences", "len(bpy.context.window_manager.windows) == 2"),
)
#: What is typed, what is seen then, and what the status bar says after Enter.
SAID = (
    ("mcp credits", "MCP Copy Credits of Assets", "No imported assets are in this file"),
    ("mcp journal", "MCP Verify Journal", "The journal is whole"),
)
#: How high the status bar is.
STATUS_BAR = 24


def test_the_menu_search_finds_what_can_be_done_and_enter_does_it() -> None:
    with window_support.start("search", env={"BLENDER_PORT": str(free_port())}) as window:
        found = search(window, "mcp")
        for _, seen, _ in (*SAID, *ACTS):
            if seen != "MCP Stop":  # it does not run yet
                window.find(seen, found)
        window.picture("search-mcp")
        window.press("Escape", "Escape")
        bar = Rectangle(0, window.height - STATUS_BAR, window.width, STATUS_BAR)
        for typed, seen, said in SAID:
            choose(window, typed, seen)
            window.find(said, bar)
        for typed, seen, holds in ACTS:
            assert not is_so(window, holds), holds
            choose(window, typed, seen)
            end = time.monotonic() + 30.0
            while not is_so(window, holds):
                assert time.monotonic() < end, (holds, window.picture("search-failed"))
                window.settle(0.2)
        window.settle(2.0)
        window.picture("search-preferences")


def choose(window: Window, text: str, seen: str) -> None:
    """Search for a text, and take the first entry, once it is the one that is to be seen."""
    found = search(window, text)
    entry = window.find(seen, found)
    assert entry.y < found.y + FIRST, window.picture("search-failed")
    window.picture(f"search-{text.replace(' ', '-')}")
    window.press("Return")


#: How much larger the part of the screen is that has the list; where in it the first entry ends, and its size.
AROUND, FIRST, WIDTH, HEIGHT = 30, 90, 600, 330


def search(window: Window, text: str) -> Rectangle:
    """Open the search over the 3D view, and type this once it is there; return where its list is."""
    scene = window.region("WINDOW")
    x, y = scene.x + scene.width // 4, scene.y + scene.height // 4
    window.move(x, y)
    window.settle()
    before = window.look(scene)
    window.press("F3")
    end = time.monotonic() + 30.0
    while window.look(scene) == before:
        assert time.monotonic() < end, window.picture("search-failed")
        window.settle(0.1)
    window.settle()
    window.screen.run("xdotool", "type", "--delay", "80", text)
    window.settle()
    return Rectangle(x - AROUND, y - AROUND, WIDTH, HEIGHT)


def is_so(window: Window, expression: str) -> bool:
    """Whether an expression holds in Blender."""
    return bool(
        window.run(
            "from importlib import import_module\n"
            f"state = import_module('{EXTENSION}.operators.state')\n"
            "screen = bpy.context.window_manager.windows[0].screen\n"
            "view3d = next(a for a in screen.areas if a.type == 'VIEW_3D').spaces[0]\n"
            f"result = bool({expression})"
        )
    )
