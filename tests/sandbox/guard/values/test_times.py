# SPDX-License-Identifier: GPL-3.0-or-later
"""Moments are read from short texts by short patterns: Python makes something far larger of a pattern."""

from __future__ import annotations

import pytest

from support.sandboxing import language

_READ = "import datetime\nD, text = datetime.datetime, '9' * 5_000_000\n"


@pytest.mark.parametrize(
    "call",
    [
        "D.strptime('x', text)",
        "D.strptime(text, '%Y')",
        "D(2000, 1, 1).strptime('x', text)",
        "getattr(D, 'strptime')(text, '%Y')",
        "list(map(D.strptime, ['x'], [text]))",
    ],
)
def test_long_texts_and_patterns_are_refused(call: str) -> None:
    with pytest.raises(
        ValueError, match=r"strptime\(\) takes a text and a pattern of at most 1,000 characters"
    ):
        language.run(_READ + call, level="math")


@pytest.mark.parametrize("read", ["D", "D(1999, 1, 1)"])
def test_a_moment_is_read(read: str) -> None:
    script = _READ + f"result = str({read}.strptime('2024-02-29 07:08', '%Y-%m-%d %H:%M'))"
    assert language.run(script, level="math")["result"] == "2024-02-29 07:08:00"
