# SPDX-License-Identifier: GPL-3.0-or-later
"""`blender -b [FILE] -c mcp_bridge` in a real Blender program, as a server or a CI job runs it."""

from __future__ import annotations

import json
import time
import urllib.request

import pytest

from support.on_screen import window
from support.running.ports import free_port, is_open


def test_program_serves_until_sigterm() -> None:
    port = free_port()
    with window.program("serve", "-c", "mcp_bridge", "--port", str(port)) as process:
        until = time.monotonic() + 60
        while not is_open(port):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.05)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            assert json.load(answer)["product"] == "mcp_bridge"
        window.Screen(process).terminate()
        printed, _ = process.communicate(timeout=30)
    assert process.returncode == 0, printed
    assert "MCP Bridge has stopped." in printed


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--help"], 0, "usage: blender -b [FILE] -c mcp_bridge"),
        (["--port", "80"], 1, "MCP Bridge cannot start"),
        (["--nonsense"], 2, "unrecognized arguments: --nonsense"),
    ],
)
def test_exit_code_says_what_happened(arguments: list[str], code: int, text: str) -> None:
    with window.program("command", "-c", "mcp_bridge", *arguments) as process:
        printed, _ = process.communicate(timeout=60)
    assert (process.returncode, text in printed) == (code, True), printed
