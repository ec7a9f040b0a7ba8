# SPDX-License-Identifier: GPL-3.0-or-later
"""The window comes up with the extension enabled, and the test's hands and eyes work."""

from __future__ import annotations

import json
import urllib.request

import pytest

from support.on_screen.window import HEIGHT, WIDTH, Window
from support.running.blender import EXTENSION


def test_comes_up_with_the_extension_enabled_and_no_warning(window: Window) -> None:
    code = f"""
import addon_utils
result = [addon_utils.check({EXTENSION!r}), addon_utils._extensions_warnings_get(), bpy.app.background]
"""
    assert window.run(code) == [[True, True], {}, False]
    picture = window.picture("window")
    header = picture.read_bytes()[:24]
    assert header.startswith(b"\x89PNG")
    assert (int.from_bytes(header[16:20]), int.from_bytes(header[20:24])) == (WIDTH, HEIGHT)


def test_keys_and_clicks_reach_blender(window: Window) -> None:
    window.run("bpy.ops.object.select_all(action='DESELECT')")
    window.move(WIDTH // 3, HEIGHT // 2)
    window.press("a")
    window.settle()
    assert window.run("result = len(bpy.context.selected_objects)") == 3
    window.click(WIDTH // 3, HEIGHT // 4)
    window.settle()
    assert window.run("result = len(bpy.context.selected_objects)") == 0


def test_server_answers_while_the_window_draws(window: Window) -> None:
    url, _token = window.serve()
    with urllib.request.urlopen(url.removesuffix("mcp") + "health", timeout=10) as answer:
        assert json.load(answer)["product"] == "mcp_bridge"


def test_what_is_written_to_one_who_went_away_does_not_end_blender(window: Window) -> None:
    """Blender's own Python, unlike a Python by itself, may leave SIGPIPE as it is: deadly."""
    code = """
import socket
ours, theirs = socket.socketpair()
theirs.close()
try:
    ours.send(b"an answer")
except BrokenPipeError as error:
    result = str(error)
"""
    assert window.run(code) == "[Errno 32] Broken pipe"


def test_error_in_blender_fails_the_test_with_its_traceback(window: Window) -> None:
    with pytest.raises(AssertionError, match="NameError: name 'nothing' is not defined"):
        window.run("nothing")
