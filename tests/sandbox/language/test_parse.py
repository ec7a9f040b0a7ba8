# SPDX-License-Identifier: GPL-3.0-or-later
"""One function reads scripts, and Python's garbage collector does not search Blender's objects meanwhile."""

from __future__ import annotations

import ast
import gc

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.language.parse import NOT_PYTHON, parse, parse_if_python

from support.garbage import collections
from support.imports import modules

SCRIPT = "\n".join(f"x{number} = bpy.data.objects['Cube'].location.x + {number}" for number in range(200))
NO_PYTHON = ["Sure!", "x = (", "x = '\0'", "x = '\ud800'", "(" * 1000 + ")" * 1000]


def test_the_collector_does_not_start_meanwhile() -> None:
    with collections() as began:
        tree = parse(SCRIPT)
    assert len(tree.body) == 200
    assert len(began) <= 1  # one may begin as soon as it is on again


@pytest.mark.parametrize("text", NO_PYTHON, ids=ascii)
def test_a_text_that_is_not_python(text: str) -> None:
    with pytest.raises(NOT_PYTHON):
        parse(text)
    assert parse_if_python(text) is None
    assert gc.isenabled()


def test_nothing_else_reads_a_script() -> None:
    """What else reads Python reads single expressions, such as a driver's."""
    readers = [
        name
        for name, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ast.parse"
        if "mode='eval'" not in ast.unparse(node)
    ]
    assert readers == ["sandbox.language.parse"]
