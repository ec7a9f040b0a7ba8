# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether another process lives."""

from __future__ import annotations

import os
import subprocess
import sys

from bl_ext.user_default.mcp_bridge.base.process.other_processes import process_lives


def test_a_process_lives_until_it_has_ended() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert process_lives(os.getpid())
    assert not process_lives(ended.pid)
