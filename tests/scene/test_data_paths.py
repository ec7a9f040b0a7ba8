# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that Blender would interpret: default deny, and honest ones pass."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.scene import data_paths
from bl_ext.user_default.mcp_bridge.scene.data_paths import (
    bad_data_path,
    bad_expression,
    bad_output_path,
    split_data_path,
)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("location", ["location"]),
        ('pose.bones["Arm.L"].location', ["pose", "bones", ("Arm.L",), "location"]),
        ("modifiers['x'].levels", ["modifiers", ("x",), "levels"]),
        ('["custom"]', [("custom",)]),
        ('key_blocks["a\\"b"].value', ["key_blocks", ('a"b',), "value"]),
        ("nodes[0].inputs[-1].default_value", ["nodes", 0, "inputs", -1, "default_value"]),
    ],
)
def test_data_paths(path: str, steps: list[object]) -> None:
    assert split_data_path(path) == steps


@pytest.mark.parametrize(
    "path",
    [
        "x[open('y')]",
        "a b",
        "a.",
        "a..b",
        "f()",
        "__class__",
        "a.__dict__",
        "x if y else z",
        "a[1][b]",
        'a["x',
        7,
        "a" * 600,
    ],
)
def test_other_data_paths_are_refused(path: object) -> None:
    assert bad_data_path(path)


@pytest.mark.parametrize(
    "text",
    [
        "var",
        "frame / 10",
        "sin(frame * 0.1) * 2 + radians(45)",
        "a if b > 0.5 else -c",
        "clamp(x, 0, 1)",
        "not a and b or c",
        "max(a, b, 1e3) % 2 // 1",
        "pow(x, 2)",
        "",
    ],
)
def test_expressions(text: str) -> None:
    assert bad_expression(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "open('x')",
        "().__class__",
        "bpy.data",
        "self.location",
        "[x for x in y]",
        "(lambda: 1)()",
        "x ** 99999",
        "1 << 99",
        "'text'",
        "f'{x}'",
        "_x",
        "sin(*a)",
        "sin(x=1)",
        "x" * 300,
        "a; b",
        "10**1000",
        "99999999999999999",
        "noise.random()",
    ],
)
def test_other_expressions_are_refused_with_a_reason(text: str) -> None:
    assert "expression" in bad_expression(text)


def test_a_text_is_refused_each_time_it_is_given() -> None:
    assert bad_expression("open('x')") == bad_expression("open('x')") != ""
    assert bad_data_path("f()") == bad_data_path("f()") != ""


def test_a_text_is_accepted_once_and_refusals_are_not_remembered() -> None:
    """What is refused for want of stack in one script may be fine in the next."""
    data_paths._accept.cache_clear()
    assert [bad_expression(text) == "" for text in ("1 + 1", "1 + 1", "open(x)", "open(x)")] == [
        *(True, True),
        *(False, False),
    ]
    remembered = data_paths._accept.cache_info()
    assert (remembered.hits, remembered.currsize) == (1, 1)


def test_a_text_that_says_it_is_another_is_read_itself() -> None:
    class Same(str):
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return hash("location")

    assert bad_data_path("location") == ""
    assert bad_data_path(Same("f()"))


def test_output_paths() -> None:
    for good in ("//render", "//renders/shot_####", "//a b/c-1.png", "//renders/"):
        assert bad_output_path(good) == ""
    for bad in (
        "/tmp/x",
        "//../x",
        "//a/../../x",
        "C:\\x",
        "\\\\host\\share",
        "//",
        "x",
        "//a//b",
        7,
        "//~x/..",
        "//..",
    ):
        assert "beside the .blend" in bad_output_path(bad)
