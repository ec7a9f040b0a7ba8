# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the formulas of `facts/growth.json`: about how many vertices a modifier, node or operator makes.

A formula has numbers, names, `+ - * / **`, `max`, `min`, `sum`, `norm`, comparisons with a number or a text, and
`a if b else c`. `given(name, 1)` is the value of a name, or 1 if the name has none. The caller decides what a name or
another function means.

A formula uses numbers without their sign: a screw of -1000 steps makes as much as one of 1000. If it reads a number
that nobody knows, or computes something that is no number (NaN, an overflow), the result is `UNKNOWN`: a division by an
unknown number would otherwise give a small one.
"""

from __future__ import annotations

import ast
import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from ..guard.measured import UNKNOWN

__all__ = ("Formula", "formulas")

_Read = Callable[[str], Any]
_Functions = Mapping[str, Callable[..., Any]]
_Step = Callable[[_Read, _Functions], Any]
_FILE: Final = Path(__file__).parent.parent / "facts" / "growth.json"
_HIGHEST: Final = 200.0
"""The highest exponent: whatever is multiplied so often is above any limit."""


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, min(exponent, _HIGHEST))
    except OverflowError:
        return UNKNOWN


_OPERATORS: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: _power,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "max": max,
    "min": min,
    "sum": sum,
    "norm": lambda vector: math.hypot(*vector),
}


class _NotKnown(ArithmeticError):
    """Tells that a formula needs a number that nobody knows."""


class Formula:
    """One formula; `names` are the names whose values it reads, `divisors` those by which it divides.

    `functions` are the names of the functions that the caller has to give.
    """

    def __init__(self, text: str) -> None:
        tree = ast.parse(text, mode="eval").body
        self._compute = _step(tree)
        called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
        self.names = frozenset(
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node not in called
        )
        self.functions = (
            {node.id for node in called if isinstance(node, ast.Name)} - _FUNCTIONS.keys() - {"given"}
        )
        below = [node.right for node in ast.walk(tree) if isinstance(node, ast.BinOp) and _divides(node)]
        self.divisors = self.names & {
            node.id for part in below for node in ast.walk(part) if isinstance(node, ast.Name)
        }

    def value(self, read: _Read, functions: _Functions = MappingProxyType({})) -> float:
        """Compute the formula; return `UNKNOWN` where it cannot be computed from what is known.

        `read(name)` returns the value of a name, or None where it has none: then it is 1.
        """
        try:
            found = float(self._compute(read, functions))
        except ArithmeticError:
            return UNKNOWN
        return found if found >= 0.0 else UNKNOWN


def _divides(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Div)


def _known(value: Any) -> Any:
    """Return a value that a formula reads: a number without its sign, anything else as it is.

    Raises:
        _NotKnown: it is, or contains, a number that nobody knows.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        if not abs(value) < UNKNOWN:
            raise _NotKnown
        return abs(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [*map(_known, value)]
    return value


def _step(node: ast.expr) -> _Step:
    """Return a function that computes a part of a formula.

    Raises:
        ValueError: a formula may not have such a part.
    """
    match node:
        case ast.Constant(value=value):
            return lambda _read, _functions: value
        case ast.Name(id=name):
            return _reading(name, lambda _read, _functions: 1.0)
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            operate, first, second = _OPERATORS[type(op)], _step(left), _step(right)
            return lambda read, functions: operate(first(read, functions), second(read, functions))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            is_so, then, otherwise = _step(test), _step(body), _step(orelse)
            return lambda read, functions: (then if is_so(read, functions) else otherwise)(read, functions)
        case ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name), other]):
            return _reading(name, _step(other))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            function, steps = _FUNCTIONS[name], [*map(_step, arguments)]
            return lambda read, functions: functions.get(name, function)(
                *(step(read, functions) for step in steps)
            )
        case ast.Call(func=ast.Name(id=name), args=arguments):
            steps = [
                _reading_any(each.id) if isinstance(each, ast.Name) else _step(each) for each in arguments
            ]
            return lambda read, functions: _known(functions[name](*(step(read, functions) for step in steps)))
    raise ValueError(f"a formula may not have {ast.unparse(node)!r}")


def _reading(name: str, otherwise: _Step) -> _Step:
    """Return a step that reads the value of a name, and takes another step where it has none."""

    def step(read: _Read, functions: _Functions) -> Any:
        found = read(name)
        return otherwise(read, functions) if found is None else _known(found)

    return step


def _reading_any(name: str) -> _Step:
    """Return a step that reads the value of a name for a function of the caller's, which may get None."""
    return lambda read, _functions: read(name)


def formulas(title: str) -> dict[str, Formula]:
    """Return the formulas of one table by the names of what they estimate."""
    table = json.loads(_FILE.read_text("utf-8"))[title]["formulas"]
    return {name: Formula(text) for names, text in table.items() for name in names.split()}
