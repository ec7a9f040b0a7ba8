# SPDX-License-Identifier: GPL-3.0-or-later
"""What the matrix leaves out for a Blender whose Python has been tested already."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

import matrix
import window
from blenders import ROOT

_BLENDERS = {"bpy", "bmesh", "mathutils", "gpu", "bpy_extras", "addon_utils", "numpy"}


def _imported(room: str) -> Iterator[tuple[str, str]]:
    for path in (ROOT / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            yield from ((path.name, name.partition(".")[0]) for name in names)


@pytest.mark.parametrize("room", matrix.PURE)
def test_a_room_that_is_left_out_knows_nothing_of_blender(room: str) -> None:
    assert (ROOT / "tests" / room).is_dir()
    assert len(list((ROOT / room).rglob("*.py"))) > 2
    assert [found for found in _imported(room) if found[1] in _BLENDERS] == []


def test_tests_of_windows_that_one_suite_runs_are_there() -> None:
    assert all((ROOT / path).is_file() for path in window.IN_EACH_SIZE)


@pytest.mark.parametrize("name", [*matrix.CHECKOUT, *matrix.BY_OTHERS, *matrix.OF_NUMPY])
def test_what_else_is_left_out_is_there(name: str) -> None:
    assert list((ROOT / "tests").glob(name))
