# SPDX-License-Identifier: GPL-3.0-or-later
"""What a reader of a script is shown, whatever its author did to hide it."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from bl_ext.user_default.mcp_bridge.approvals.marks import LONGEST, Mark, lines_of, marks, visible

REMOVE = "bpy.data.objects.remove(x)"


@pytest.mark.parametrize(
    ("script", "line", "mark"),
    [
        (REMOVE, 1, "removes"),
        ("a = 1\ndel a", 2, "removes"),
        ("bpy.ops.object.delete()", 1, "removes"),
        ("bpy.data.orphans_purge()", 1, "removes"),
        ("getattr(things, 'remove')(x)", 1, "removes"),
        ("(bpy.data\n .objects\n .remove(x))", 3, "removes"),
        ("for x in y:\n    pass", 1, "repeats"),
        ("while True:\n    pass", 1, "repeats"),
        ("a = [x for x in y]", 1, "repeats"),
        ("import os", 1, "outside"),
        ("x = 1\nopen('a')", 2, "outside"),
        ("a = 1; b = 2", 1, "hides"),
        (f"a = 1{' ' * 300}{REMOVE}", 1, "hides"),
        (f"{' ' * 300}a = 1", 1, "hides"),
        (f"a = '{'x' * LONGEST}'", 1, "hides"),
        ("a\u00a0= 1", 1, "hides"),
        ("# \u202e reversed", 1, "hides"),
        ("a = 1\x0c", 1, "hides"),
    ],
)
def test_a_line_that_should_not_be_missed_is_marked(script: str, line: int, mark: Mark) -> None:
    assert mark in marks(script)[line]


@pytest.mark.parametrize(
    "script",
    [
        "a = 1",
        "if a:\n    b = 2  # two",
        "a = ';'",
        "# one; two",
        "\tb = 1",
        "a.location = (1, 2, 3)",
        "a = 'é漢'",
    ],
)
def test_an_ordinary_line_is_not_marked(script: str) -> None:
    assert not marks(script)


def test_a_text_that_is_no_python_is_marked_by_its_letters_alone() -> None:
    assert marks("this is; no (python\u200b") == {1: {"hides"}}


def test_no_letter_is_invisible() -> None:
    """Of all letters that there are, spaces and signs without a shape are shown by their number."""
    for page in range(0, sys.maxunicode + 1, 256):
        letters = [
            letter
            for letter in map(chr, range(page, page + 256))
            if letter not in " \t\r\n" and unicodedata.category(letter)[0] in "ZC"
        ]
        shown = visible("".join(f"a{letter}b" for letter in letters))
        assert shown == "".join(f"a⟨U+{ord(letter):04X}⟩b" for letter in letters)


def test_a_long_gap_does_not_push_what_follows_out_of_sight() -> None:
    assert visible(f"a = 1{' ' * 300}; {REMOVE}") == f"a = 1 ⟨300 spaces⟩ ; {REMOVE}"
    assert visible("        a = 1") == "        a = 1"


def test_lines_are_counted_as_python_does() -> None:
    assert lines_of("a\r\nb\rc\nd\x0be\u2028f") == ["a", "b", "c", "d\x0be\u2028f"]


def test_lines_that_the_rehearsal_never_came_to_are_marked() -> None:
    assert marks("a = 1\nb = 2", unreached=[2]) == {2: {"unreached"}}
