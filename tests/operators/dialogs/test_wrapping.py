# SPDX-License-Identifier: GPL-3.0-or-later
"""How long texts become lines."""

from __future__ import annotations

import blf
import pytest
from bl_ext.user_default.mcp_bridge.operators.dialogs import wrapping
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("whole", "columns", "lines"),
    [
        ("", 10, ()),
        ("short", 10, ("short",)),
        ("two words here", 9, ("two words", "here")),
        ("exactly ten", 11, ("exactly ten",)),
        (
            "Paste it into ~/.config/Claude/desktop_config.json",
            24,
            ("Paste it into ~/.config/", "Claude/", "desktop_config.json"),
        ),
        (r"C:\Users\ada\mcp.json", 13, (r"C:\Users\ada" + "\\", "mcp.json")),
        ("unbreakable", 4, ("unbr", "eaka", "ble")),
    ],
)
def test_lines_break_where_a_reader_expects_it(whole: str, columns: int, lines: tuple[str, ...]) -> None:
    assert wrapping._lines(whole, columns, len) == lines


@given(st.text(alphabet="ab /\\.", max_size=60), st.integers(1, 20))
def test_nothing_is_lost_and_no_line_is_too_long(whole: str, columns: int) -> None:
    lines = wrapping._lines(whole, columns, len)
    assert "".join(lines).replace(" ", "") == whole.replace(" ", "")
    assert all(len(line) <= columns for line in lines)


def test_a_line_is_as_long_as_its_letters_are_wide() -> None:
    wide, narrow = wrapping.fitting("M" * 60, 200.0, 11.0), wrapping.fitting("i" * 60, 200.0, 11.0)
    assert len(wide) > len(narrow)
    blf.size(0, 11.0)
    for line in (*wide, *narrow):
        assert blf.dimensions(0, line)[0] <= 200.0
    assert "".join(wide) == "M" * 60
