# SPDX-License-Identifier: GPL-3.0-or-later
"""Which lines of a script a run never came to."""

from __future__ import annotations

import textwrap

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.language.analysis.reached import Reached
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

CASES = {
    "everything is reached": ("a = 1\nb = a + 1\nresult = b", []),
    "an attribute": ("import math\nmath.pi\na = [1]\na[0] = 2\ndel a[0]", []),
    "a branch": ("a = 1\nif a > 1:\n    b = 2\nelse:\n    b = 3", [3]),
    "a branch in one line": ("a = 1\nif a > 1: a = 2", [2]),
    "a function that nobody calls": ("def f():\n    '''Words.'''\n    return 1\n\nresult = 2", [3]),
    "a function that is called": ("def f():\n    return 1\n\nresult = f()", []),
    "what comes after a return": ("def f():\n    return 1\n    return 2\n\nresult = f()", [3]),
    "an empty loop": ("for x in []:\n    a = x\nelse:\n    a = 1", [2]),
    "a loop that is left": ("for x in [1, 2]:\n    break\n    a = x\nelse:\n    a = 1", [3, 5]),
    "a handler": ("try:\n    a = 1\nexcept ValueError:\n    a = 2\nfinally:\n    b = 3", [4]),
    "a case": ("match 1:\n    case 1:\n        a = 1\n    case _:\n        a = 2", [5]),
    "a method": ("class A:\n    def f(self):\n        return 1\n\nresult = 1", [3]),
    "with, nested": (
        "a = 0\nwhile a < 1:\n    a += 1\n    if a > 5:\n        while True:\n            a = 2",
        [5, 6],
    ),
    "a text and a future": ('"""Words."""\nfrom __future__ import annotations\na = 1', []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_run_did_not_come_to_is_told_by_line(name: str) -> None:
    script, never = CASES[name]
    reached = Reached()
    execute.run(script, requester="python", level="math", request_id="r", reached=reached)
    assert reached.never() == never


def test_a_run_that_fails_tells_how_far_it_came() -> None:
    reached = Reached()
    with pytest.raises(execute.HandlerError):
        execute.run(
            "a = 1\nb = a / 0\nc = 3", requester="python", level="math", request_id="r", reached=reached
        )
    assert reached.never() == [3]


def test_the_line_of_an_error_is_the_same() -> None:
    script = textwrap.dedent("""
        def f():
            return 1 / 0
        f()
    """)
    lines = []
    for reached in (None, Reached()):
        with pytest.raises(execute.HandlerError) as raised:
            execute.run(script, requester="python", level="math", request_id="r", reached=reached)
        lines.append(raised.value.line)
    assert lines == [3, 3]
