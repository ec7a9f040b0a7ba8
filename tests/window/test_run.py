# SPDX-License-Identifier: GPL-3.0-or-later
"""`make run` with BLENDER: that Blender opens its window and serves, and a signal closes it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
import urllib.request

import blenders
import debian_root
from support.on_screen.window import FOLDER, SESSION, Screen, drawing, root
from support.running.ports import free_port, is_open


def test_named_blender_serves_with_its_window_until_a_signal() -> None:
    folder = FOLDER / "run"
    folder.mkdir(parents=True, exist_ok=True)
    blender = folder / "blender"
    in_root = debian_root.command(root(), ["sh", "-c", SESSION, "sh", "blender"])
    blender.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, in_root))} "$@"\n', encoding="utf-8")
    blender.chmod(0o755)
    port = free_port()
    own = {"BLENDER": str(blender), "BLENDER_PORT": str(port), "BLENDER_MCP_TOKEN": "a-token-of-the-test"}
    process = subprocess.Popen(
        [sys.executable, blenders.ROOT / "dev" / "run.py"],
        env=os.environ | own | drawing() | {"HOME": "/tmp"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        until = time.monotonic() + 60
        while not is_open(port):
            assert process.poll() is None, process.communicate()[0].decode()
            assert time.monotonic() < until
            time.sleep(0.1)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            assert json.load(answer)["product"] == "mcp_bridge"
        Screen(process).terminate()
        printed = process.communicate(timeout=60)[0].decode()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, printed
    assert f"http://127.0.0.1:{port}/mcp" in printed
    assert "Bearer a-token-of-the-test" in printed
    assert "INFO MCP Bridge: stopped" in printed
