# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: E501 (programs are quoted as they are)
"""What is known of values before a script runs; and that random programs mean what they mean in plain Python."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.language.analysis.inference import Scopes
from bl_ext.user_default.mcp_bridge.sandbox.language.analysis.scopes import UNBOUNDED, UNKNOWN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.sandboxing.language import run


def kinds(source: str) -> dict[str, Any]:
    found = Scopes(ast.parse(source))
    return {name: found.variable(name, found.module) for name in found.module.bound}


@pytest.mark.parametrize(
    ("source", "name", "kind"),
    [
        ("x = 1", "x", 1),
        ("x = 1.5", "x", "float"),
        ("x = 1\nx = 2.5", "x", "number"),
        ("x = 1\nx = 'a'", "x", UNKNOWN),
        ("x = 'a' + 'b'", "x", "str"),
        ("x = []\nx = [1]", "x", "list"),
        ("for i in range(9): pass", "i", 64),
        ("range = 3\nfor i in range(9): pass", "i", UNKNOWN),
        ("for i, x in enumerate(y): pass", "i", 64),
        ("for i, x in enumerate(y): pass", "x", UNKNOWN),
        ("x = 0\nfor i in range(9): x += i", "x", UNBOUNDED),
        ("x = 2\nfor i in range(9): x = x * x", "x", UNBOUNDED),
        ("x = 1\ny = x * 3 + 2", "y", 4),
        ("import math\nx = math.sin(1) * 2", "x", "float"),
        ("from math import pi as p\nx = p / 2", "x", "float"),
        ("import math\nmath = 3\nx = math.sin(1)", "x", UNKNOWN),
        ("x = len('a') * 2", "x", 66),
        ("len = print\nx = len('a')", "x", UNKNOWN),
        ("x = 1\ndef f():\n    global x\n    x = 'a'", "x", UNKNOWN),
        ("x = 1\n[x := 'a' for _ in y]", "x", UNKNOWN),
        ("x = 1\nfor x in y: pass", "x", UNKNOWN),
        ("x = 1\nwith y as x: pass", "x", UNKNOWN),
        ("x = 1\nimport y as x", "x", UNKNOWN),
        ("x = 1\ntry: pass\nexcept E as x: pass", "x", UNKNOWN),
        ("x = 1\nmatch y:\n    case [x, *z]: pass", "x", UNKNOWN),
        ("x = 1\ndef x(): pass", "x", UNKNOWN),
        ("x, y = 1, 2.0", "y", "float"),
        ("x, *y = 1, 2.0", "x", UNKNOWN),
        ("(x, y), z = (1, 2), 3", "y", 2),
        ("x = y = 1", "x", 1),
        ("x = a if b else 1", "x", UNKNOWN),
        ("x = 1 or 2.0", "x", "number"),
        ("x = 7 ** 2", "x", 6),
        ("x = 7 ** y", "x", UNKNOWN),
        ("a, b = 0, 1\nfor _ in range(9): a, b = b, a + b", "a", UNBOUNDED),
        ("a, b = 0, 1\nfor _ in range(9): a, b = -b, a", "b", UNBOUNDED),
    ],
)
def test_kinds(source: str, name: str, kind: object) -> None:
    assert kinds(source)[name] == kind


def test_a_name_of_an_outer_function_is_found_through_classes_and_globals() -> None:
    source = "x = 1\ndef f():\n    x = 1.5\n    class A:\n        x = 'a'\n        def g(self): return x\n    def h():\n        global x\n        def i(): return x"
    tree = ast.parse(source)
    found = Scopes(tree)
    functions = {
        node.name: found.scope_of[node] for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    }
    assert found.variable("x", functions["g"]) == "float"
    assert found.variable("x", functions["i"]) == 1


NAMES = ["a", "b", "c", "d"]
atoms = st.sampled_from(
    [*NAMES, "1", "2.5", "'x'", "[1, 2]", "(1, 'y')", "{'k': 1}", "None", "True", "o.n", "o", "3"]
)
expressions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+ - * / // % < == in and or".split()), inner).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})"
        ),
        st.tuples(inner, inner).map(lambda p: f"({p[0]})[{p[1]}]"),
        inner.map(lambda p: f"f({p})"),
        inner.map(lambda p: f"len({p})"),
        inner.map(lambda p: f"str({p})"),
        inner.map(lambda p: f"f'{{{p}}}'"),
        inner.map(lambda p: f"[{p} for i in (1, 2)]"),
        inner.map(lambda p: f"(lambda v: {p})(1)"),
        inner.map(lambda p: f"isinstance({p}, (int, str))"),
        inner.map(lambda p: f"({p}).n"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} if {p[1]} else a)"),
    ),
    max_leaves=6,
)


def _block(statements: list[str], indent: str = "    ") -> str:
    return (
        "\n".join(indent + line for statement in statements for line in statement.split("\n"))
        or indent + "pass"
    )


simple = st.one_of(
    st.tuples(st.sampled_from(NAMES), expressions).map(lambda p: f"{p[0]} = {p[1]}"),
    st.tuples(
        st.sampled_from([*NAMES, "o.n", "t[0]", "t['k']"]), st.sampled_from("+ - * // %".split()), expressions
    ).map(lambda p: f"{p[0]} {p[1]}= {p[2]}"),
    expressions.map(lambda p: f"o.n = {p}"),
    expressions.map(lambda p: f"t['k'] = {p}"),
    expressions.map(lambda p: f"log.append({p})"),
    expressions.map(lambda p: f"a, b = b, {p}"),
)
statements = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.tuples(expressions, st.lists(inner, max_size=2)).map(lambda p: f"if {p[0]}:\n{_block(p[1])}"),
        st.tuples(st.sampled_from(NAMES), st.lists(inner, max_size=2)).map(
            lambda p: f"for {p[0]} in range(3):\n{_block(p[1])}"
        ),
        st.lists(inner, max_size=2).map(
            lambda p: f"try:\n{_block(p)}\nexcept Exception as e:\n    log.append(type(e).__name__)"
        ),
        # No default values: plain Python 3.13 lets a function that is called by them recurse until memory is gone.
        st.lists(inner, max_size=2).map(
            lambda p: f"def f(a):\n    b = 1\n    c = a\n    d = None\n{_block(p)}\n    return c"
        ),
    ),
    max_leaves=8,
)
PRELUDE = "class O:\n    n = 1\no = O()\nt = {0: 1, 'k': 2}\nlog = []\na, b, c, d = 1, 2.0, 'c', [4]\ndef f(x): return x\n"
programs = st.lists(statements, min_size=1, max_size=6).map(
    lambda parts: PRELUDE + "\n".join(parts) + "\nprint(a, b, c, d, o.n, t, log)"
)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # random programs index numbers
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_a_program_means_what_it_means_in_plain_python(program: str) -> None:
    try:
        compile(program, "<plain>", "exec")
    except SyntaxError:
        return
    printed, raised = "", None
    try:
        printed = run(program).output
    except BridgeError:
        return  # refused or over a limit: nothing to compare, and plain Python, without limits, might take all memory
    except Exception as error:
        raised = error
    expected: BaseException | None = None
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(program, "<plain>", "exec"), {"__name__": "__main__"})
        except Exception as error:
            expected = error
    assert type(raised) is type(expected), program
    if raised is None and (
        " at 0x" not in out.getvalue()
        and "<function" not in out.getvalue()
        and "O object" not in out.getvalue()
    ):
        assert printed == out.getvalue(), program
