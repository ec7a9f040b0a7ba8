# SPDX-License-Identifier: GPL-3.0-or-later
"""How long texts become lines."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.panels import text
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
    assert text._lines(whole, columns) == lines


@given(st.text(alphabet="ab /\\.", max_size=60), st.integers(1, 20))
def test_nothing_is_lost_and_no_line_is_too_long(whole: str, columns: int) -> None:
    lines = text._lines(whole, columns)
    assert "".join(lines).replace(" ", "") == whole.replace(" ", "")
    assert all(len(line) <= columns for line in lines)
