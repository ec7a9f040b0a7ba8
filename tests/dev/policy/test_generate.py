# SPDX-License-Identifier: GPL-3.0-or-later
"""The allow-lists are what their rules make of this Blender: to write them anew would allow nothing more."""

from __future__ import annotations

import subprocess
import sys

from blenders import DEFAULT, MATRIX, ROOT

_GENERATE = [sys.executable, ROOT / "dev" / "policy" / "generate.py"]


def test_the_rules_allow_nothing_of_this_blender_that_the_lists_do_not() -> None:
    done = subprocess.run([*_GENERATE, "diff", sys.executable], capture_output=True, text=True)
    added = [line for line in done.stdout.splitlines() if line.startswith("+")]
    assert added == [], "allow it by `write`, or refuse it in dev/policy/rules.py"
    assert (done.returncode, done.stderr) == (0, "")
    assert "refused operator" in done.stdout, "nothing was compared"


def test_a_blender_that_nobody_lists_is_refused_with_those_that_are() -> None:
    done = subprocess.run([*_GENERATE, "diff", "1.0.0"], capture_output=True, text=True)
    known = ", ".join(blender.version for blender in (DEFAULT, *MATRIX))
    text = f"1.0.0 is no Python and no Blender of dev/blenders.py: use one of {known}\n"
    assert (done.returncode, done.stderr) == (1, text)
