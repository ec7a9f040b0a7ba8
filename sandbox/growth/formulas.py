# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the formulas of `facts/growth.json`: about how many vertices a modifier, node or operator makes.

A formula has numbers, names, `+ - * / **`, `max`, `min`, `sum`, `norm`, comparisons with a number or a text, and
`a if b else c`. `given(name, 1)` is the value of a name, or 1 if the name has none. The caller decides what a name or
another function means.

A formula uses numbers without their sign: a screw of -1000 steps makes as much as one of 1000. If it reads a number
that nobody knows, or computes none (NaN, an overflow), the result is `UNKNOWN`: a division by what is not known would
otherwise make a small number of it.
"""

from __future__ import annotations

import ast
import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ..guard.measured import UNKNOWN

__all__ = ("Formula", "formulas")

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


class NotKnown(ArithmeticError):
    """Tells that a formula needs a number that nobody knows."""


class Formula:
    """One formula; `names` are the names whose values it reads, `divisors` those by which it divides."""

    def __init__(self, text: str) -> None:
        self._tree = ast.parse(text, mode="eval").body
        called = {node.func for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        self.names = frozenset(
            node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node not in called
        )
        below = [
            node.right for node in ast.walk(self._tree) if isinstance(node, ast.BinOp) and _divides(node)
        ]
        self.divisors = self.names & {
            node.id for part in below for node in ast.walk(part) if isinstance(node, ast.Name)
        }

    def value(
        self, read: Callable[[str], Any], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> float:
        """Compute the formula; return `UNKNOWN` where it cannot be computed from what is known.

        `read(name)` returns the value of a name, or None where it has none: then it is 1.
        """
        try:
            found = float(_value(self._tree, read, {**_FUNCTIONS, **(functions or {})}))
        except ArithmeticError:
            return UNKNOWN
        return found if found >= 0.0 else UNKNOWN


def _divides(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Div)


def _known(value: Any) -> Any:
    """Return a value that a formula reads, a number without its sign.

    Raises:
        NotKnown: it is a number that nobody knows, or has one.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        if not abs(value) < UNKNOWN:
            raise NotKnown
        return abs(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [*map(_known, value)]
    return value


def _value(node: ast.expr, read: Callable[[str], Any], known: Mapping[str, Callable[..., Any]]) -> Any:
    """Compute a part of a formula.

    It is no closure that calls itself: while a script runs, Python does not collect such closures.
    """

    def of(part: ast.expr) -> Any:
        return _value(part, read, known)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return 1.0 if (found := read(name)) is None else _known(found)
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](of(left), of(right))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return of(body if of(test) else orelse)
        case ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name), other]):
            return of(other) if (found := read(name)) is None else _known(found)
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return known[name](*map(of, arguments))
        case ast.Call(func=ast.Name(id=name), args=arguments):  # such a function may get None
            found = known[name](*(read(a.id) if isinstance(a, ast.Name) else of(a) for a in arguments))
            return _known(found)
    raise ValueError(f"a formula may not have {ast.unparse(node)!r}")


def formulas(title: str) -> dict[str, Formula]:
    """Return the formulas of one table by the names of what they estimate."""
    table = json.loads(_FILE.read_text("utf-8"))[title]["formulas"]
    return {name: Formula(text) for names, text in table.items() for name in names.split()}
