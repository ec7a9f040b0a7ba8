# SPDX-License-Identifier: GPL-3.0-or-later
"""`make run` without a window: what it starts hears the environment and a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

from blenders import ROOT
from support.running.ports import free_port, is_open

_RUN = [sys.executable, ROOT / "dev" / "run.py"]


def test_serves_where_the_environment_says_until_ctrl_c() -> None:
    port = free_port()
    own = {"BLENDER_PORT": str(port), "BLENDER_MCP_TOKEN": "a-token-of-the-test"}
    process = subprocess.Popen(
        _RUN, env=os.environ | own, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until = time.monotonic() + 60
        while not is_open(port):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < until
            time.sleep(0.05)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            assert json.load(answer)["product"] == "mcp_bridge"
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, errors
    assert "Bearer a-token-of-the-test" in printed
    assert "Traceback" not in printed + errors, "it did not stop cleanly"


def test_blender_that_is_not_there_is_an_error() -> None:
    done = subprocess.run(
        _RUN, env=os.environ | {"BLENDER": "/no/such/blender"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.strip() == "BLENDER names /no/such/blender, which is not a program"
