# SPDX-License-Identifier: GPL-3.0-or-later
"""The allow-lists are what their rules make of this Blender: to write them anew would allow nothing more."""

from __future__ import annotations

import subprocess
import sys

from blenders import ROOT


def test_the_rules_allow_nothing_of_this_blender_that_the_lists_do_not() -> None:
    command = [sys.executable, ROOT / "dev" / "policy" / "generate.py", "diff", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True)
    added = [line for line in done.stdout.splitlines() if line.startswith("+")]
    assert added == [], "allow it by `write`, or refuse it in dev/policy/rules.py"
    assert (done.returncode, done.stderr) == (0, "")
    assert "refused operator" in done.stdout, "nothing was compared"
