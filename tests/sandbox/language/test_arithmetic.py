# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: E501 (programs are quoted as they are)
"""The arithmetic level: numbers and nothing else."""

from __future__ import annotations

import ast
import math

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.language.arithmetic import calculate, evaluate
from hypothesis import example, given
from hypothesis import strategies as st


def test_variables_are_the_result() -> None:
    code = "width = 4\nheight = width * 2.5\narea = width * height // 1\nrest = -area % 7\nside = area ** 0.5\na = b = 2 - 1"
    values = calculate(code)
    assert values == {
        "width": 4,
        "height": 10.0,
        "area": 40.0,
        "rest": 2.0,
        "side": 40.0**0.5,
        "a": 1,
        "b": 1,
    }


def test_a_bare_expression_is_named_result() -> None:
    assert calculate("x = 3\nx ** 2 / 2") == {"x": 3, "result": 4.5}


REFUSED = [
    ("import math", "imports are not part of arithmetic", 1),
    ("x = 1\nfrom math import pi", "imports are not part", 2),
    ("x = abs(-1)", r"calls are not part of arithmetic; a square root is x \*\* 0.5", 1),
    ("x = 1\nif x: y = 2", "if is not part", 2),
    ("x = 1 if 2 else 3", "conditional expressions are not part", 1),
    ("x = 'a'", "str values are not part", 1),
    ("x = f'{1}'", "text is not part", 1),
    ("x = b'a'", "bytes values are not part", 1),
    ("x = True", "bool values are not part", 1),
    ("x = None", "NoneType values are not part", 1),
    ("x = 2j", "complex values are not part", 1),
    ("x = [1]", "lists are not part", 1),
    ("x = (1, 2)", "tuples are not part", 1),
    ("a, b = 1, 2", "tuples are not part", 1),
    ("x = {}", "dicts are not part", 1),
    ("x = {1}", "sets are not part", 1),
    ("x = 1 < 2", "comparisons are not part", 1),
    ("x = 1 and 2", "'and' and 'or' are not part", 1),
    ("x = not 1", "operator Not is not part", 1),
    ("x = +1", "operator UAdd is not part", 1),
    ("x = ~1", "operator Invert is not part", 1),
    ("x = 1 << 2", "operator LShift is not part", 1),
    ("x = 1 | 2", "operator BitOr is not part", 1),
    ("x = 1 @ 2", "operator MatMult is not part", 1),
    ("x = 1\nx += 1", r"augmented assignment is not part of arithmetic; write x = x \+ 1", 2),
    ("x: int = 1", "annotations are not part", 1),
    ("x = (y := 1)", "':=' is not part", 1),
    ("x = lambda: 1", "functions are not part", 1),
    ("def f(): pass", "functions are not part", 1),
    ("class A: pass", "classes are not part", 1),
    ("for i in x: pass", "loops are not part", 1),
    ("while 1: pass", "loops are not part", 1),
    ("x = y.z", "attributes are not part", 1),
    ("x = 1\nx.y = 2", "attributes are not part", 2),
    ("x = y[0]", "items are not part", 1),
    ("del x", "del is not part", 1),
    ("x = [i for i in y]", "comprehensions are not part", 1),
    ("assert 1", "assert is not part", 1),
    ("pass", "Pass is not part", 1),
    ("with a: pass", "with is not part", 1),
    ("try: pass\nfinally: pass", "try is not part", 1),
    ("x = y + 1", "'y' has no value yet", 1),
    ("__x = 1", "belongs to Python", 1),
    ("x = (1", "not valid Python", 1),
]


@pytest.mark.parametrize(("code", "reason", "line"), REFUSED)
def test_everything_else_is_refused(code: str, reason: str, line: int) -> None:
    with pytest.raises(PolicyError, match=reason) as caught:
        calculate(code)
    assert caught.value.line == line
    assert f"line {line}" in str(caught.value)


@pytest.mark.parametrize(
    "code",
    [
        "9 ** 9 ** 9",
        "2 ** 100000",
        "2 ** -10 ** 6",
        "x = 10 ** 1000\ny = x * x",
        "x = 1" + "0" * 2000,
        "1" + " + 1" * 400,
        "-" * 2000 + "1",
        "(" * 300 + "1" + ")" * 300,
        "1 + " * 6000 + "1",
    ],
)
def test_limits(code: str) -> None:
    with pytest.raises((LimitExceeded, PolicyError)):
        calculate(code)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = 1\nx / 0", "division by zero"),
        ("1 % 0", "modulo|division by zero"),  # Python 3.14 has other words
        ("1e308 * 10", "too large"),
        ("2.0 ** 10000", "too large|out of range"),
        ("(-8) ** 0.5", "no real number"),
        ("0 ** -1", "cannot be raised|zero to a negative power"),
    ],
)
def test_errors_of_the_calculation_are_its_own(code: str, reason: str) -> None:
    with pytest.raises(HandlerError, match=reason) as caught:
        calculate(code)
    assert caught.value.line == code.count("\n") + 1


numbers = st.integers(-1000, 1000) | st.floats(-1e3, 1e3, allow_nan=False)
terms = st.recursive(
    numbers.map(lambda number: f"({number!r})"),
    lambda inner: st.tuples(inner, st.sampled_from("+ - * / // %".split()), inner).map(
        lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
    ),
    max_leaves=12,
)


def _of_python(term: str) -> float:
    """What Python says, or infinity where any part of the term is not finite: an error even if the rest hides it."""
    parts = [node for node in ast.walk(ast.parse(term, mode="eval")) if isinstance(node, ast.expr)]
    try:
        found = [eval(compile(ast.Expression(part), "", "eval")) for part in parts]
    except (ZeroDivisionError, OverflowError):
        return math.inf
    return found[0] if all(map(math.isfinite, found)) else math.inf


@given(terms)
@example("0 / (1 / 2.2250738585e-313)")
def test_it_is_pythons_arithmetic(term: str) -> None:
    expected = _of_python(term)
    if not math.isfinite(expected):
        with pytest.raises(HandlerError):
            calculate(term)
        return
    assert calculate(term) == {"result": expected}


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("result = 16 ** 0.5", 4.0),
        ("x = 2 ** 8\ny = x / 4", 64.0),
        ("2 + 3", 5),
        ("result = 7\nx = 1", 7),
        ("x = y = 3", 3),
        ("", None),
    ],
)
def test_the_value_of_a_program_is_its_result_or_what_it_computed_last(
    code: str, value: float | None
) -> None:
    assert evaluate(code) == value
