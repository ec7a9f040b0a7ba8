# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the formulas of `facts/growth.json`: about how many vertices a modifier, node or operator makes.

A formula has numbers, names, `+ - * / **`, `max`, `min`, `sum`, `norm`, comparisons with a number or a text, and
`a if b else c`. `given(name, 1)` is the value of a name, or 1 if the name has none. The caller decides what a name or
another function means.
"""

from __future__ import annotations

import ast
import json
import math
import operator
from collections.abc import Callable, Mapping
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


class Formula:
    """One formula; `names` are the names whose values it reads."""

    def __init__(self, text: str) -> None:
        self._tree = ast.parse(text, mode="eval").body
        called = {node.func for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        self.names = frozenset(
            node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node not in called
        )

    def value(
        self, read: Callable[[str], Any], functions: Mapping[str, Callable[..., Any]] | None = None
    ) -> float:
        """Compute the formula. `read(name)` returns the value of a name, or None where it has none: then it is 1."""
        return float(_value(self._tree, read, {**_FUNCTIONS, **(functions or {})}))


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
            return 1.0 if (found := read(name)) is None else found
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](of(left), of(right))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return of(body if of(test) else orelse)
        case ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name), other]):
            return of(other) if (found := read(name)) is None else found
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return known[name](*map(of, arguments))
        case ast.Call(func=ast.Name(id=name), args=arguments):  # such a function may get None
            return known[name](*(read(a.id) if isinstance(a, ast.Name) else of(a) for a in arguments))
    raise ValueError(f"a formula may not have {ast.unparse(node)!r}")


def formulas(title: str) -> dict[str, Formula]:
    """Return the formulas of one table by the names of what they estimate."""
    table = json.loads(_FILE.read_text("utf-8"))[title]["formulas"]
    return {name: Formula(text) for names, text in table.items() for name in names.split()}
