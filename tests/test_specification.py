# SPDX-License-Identifier: GPL-3.0-or-later
"""The page that goes through the specification names tests and files that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent.parent
_ROWS = [
    line
    for line in (_ROOT / "docs" / "specification.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith(("| the specification", "|---"))
]


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_every_point_has_a_place_and_a_test_that_are_there(row: str) -> None:
    _point, where, tests = row.strip("| ").split(" | ")
    for place in re.findall(r"`([^`]+)`", where):
        assert (_ROOT / place).exists(), place
    named = re.findall(r"`([^`]+)::(\w+)`", tests)
    assert named, "no test shows it"
    for file, name in named:
        text = (_ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {name}\(", text, re.MULTILINE), f"{file} has no {name}"
