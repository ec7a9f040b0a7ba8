# SPDX-License-Identifier: GPL-3.0-or-later
"""The level `arithmetic`: numbers, variables, `+ - * / // % **` and the minus sign. It has nothing to guard.

This module walks the program's tree and never compiles it, so only what is in the tables below can happen.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any, Final, NoReturn

from ...base.errors import HandlerError, LimitExceeded, PolicyError
from .parse import parse

__all__ = ("BITS_LIMIT", "SOURCE_LIMIT", "calculate", "evaluate")

SOURCE_LIMIT: Final = 20_000
DEPTH_LIMIT: Final = 300
BITS_LIMIT: Final = 4096
"""The bits of the longest integer: about 1,233 decimal digits."""

Number = int | float
_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_ALLOWED: Final = "allowed are numbers, variables, + - * / // % ** and the minus sign"
_INSTEAD: Final[dict[str, str]] = {
    "AugAssign": "write x = x + 1",
    "Call": "a square root is x ** 0.5",
}
_WHAT: Final[dict[str, str]] = {
    "AnnAssign": "annotations are",
    "Assert": "assert is",
    "AsyncFunctionDef": "functions are",
    "Attribute": "attributes are",
    "AugAssign": "augmented assignment is",
    "BoolOp": "'and' and 'or' are",
    "Call": "calls are",
    "ClassDef": "classes are",
    "Compare": "comparisons are",
    "Delete": "del is",
    "Dict": "dicts are",
    "For": "loops are",
    "FunctionDef": "functions are",
    "If": "if is",
    "IfExp": "conditional expressions are",
    "Import": "imports are",
    "ImportFrom": "imports are",
    "JoinedStr": "text is",
    "Lambda": "functions are",
    "List": "lists are",
    "ListComp": "comprehensions are",
    "Match": "match is",
    "NamedExpr": "':=' is",
    "Set": "sets are",
    "Subscript": "items are",
    "Try": "try is",
    "Tuple": "tuples are",
    "While": "loops are",
    "With": "with is",
}


def calculate(code: str) -> dict[str, Number]:
    """Run a program and return the variables' values; a bare expression's value has the name `result`.

    Raises what `evaluate` raises.
    """
    return _run(code).values


def evaluate(code: str) -> Number | None:
    """Run a program and return its value: the variable `result` if the program sets it, else the last value.

    Returns None for a program that computes nothing.

    Raises:
        PolicyError: anything but arithmetic, with its line; code 'syntax', 'size' or 'name'.
        LimitExceeded: an integer of more than 4,096 bits, or a program too long or too deep.
        HandlerError: the calculation's own error (a division by zero, a number too large for float).
    """
    found = _run(code)
    return found.values.get("result", found.last)


def _run(code: str) -> _Calculator:
    if len(code) > SOURCE_LIMIT:
        raise LimitExceeded(
            f"the program has {len(code):,} characters; {SOURCE_LIMIT:,} are allowed", limit="source"
        )
    try:
        tree = parse(code)
    except (RecursionError, MemoryError):
        raise LimitExceeded("the program is nested too deeply", limit="depth") from None
    except SyntaxError as error:
        raise PolicyError(
            f"line {error.lineno}: not valid Python: {error.msg}", code="syntax", line=error.lineno
        ) from None
    except ValueError as error:
        raise PolicyError(f"not valid Python: {error}", code="syntax") from None
    calculator = _Calculator()
    calculator.run(tree)
    return calculator


class _Calculator:
    def __init__(self) -> None:
        self.values: dict[str, Number] = {}
        self.last: Number | None = None

    def run(self, tree: ast.Module) -> None:
        for statement in tree.body:
            match statement:
                case ast.Assign(targets=targets, value=value) if all(
                    isinstance(each, ast.Name) for each in targets
                ):
                    self.last = number = self.evaluate(value, 0)
                    for target in targets:
                        assert isinstance(target, ast.Name)
                        self._bind(target, target.id, number)
                case ast.Assign(targets=targets):
                    self._refuse(next(each for each in targets if not isinstance(each, ast.Name)))
                case ast.Expr(value=value):
                    self.values["result"] = self.evaluate(value, 0)
                case _:
                    self._refuse(statement)

    def evaluate(self, node: ast.expr, depth: int) -> Number:
        if depth > DEPTH_LIMIT:
            raise LimitExceeded(f"line {node.lineno}: nested too deeply", limit="depth", line=node.lineno)
        match node:
            case ast.Constant(value=value) if type(value) is int or type(value) is float:
                return self._checked(node, value)
            case ast.Name(id=name):
                if name not in self.values:
                    raise PolicyError(
                        f"line {node.lineno}: {name!r} has no value yet", code="name", line=node.lineno
                    )
                return self.values[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.evaluate(operand, depth + 1)
            case ast.BinOp(op=op) if type(op) in _OPERATORS:
                left, right = self.evaluate(node.left, depth + 1), self.evaluate(node.right, depth + 1)
                return self._apply(node, left, right)
        return self._refuse(node)

    def _apply(self, node: ast.BinOp, left: Number, right: Number) -> Number:
        if (
            isinstance(node.op, ast.Pow)
            and isinstance(left, int)
            and isinstance(right, int)
            and left not in (-1, 0, 1)
        ):
            bits = (abs(left).bit_length() - (1 if abs(left).bit_count() == 1 else 0)) * abs(right)
            self._check_bits(node, bits)
        try:
            value = _OPERATORS[type(node.op)](left, right)
        except (ArithmeticError, ValueError) as error:
            raise HandlerError("calculate", error, line=node.lineno) from error
        if isinstance(value, complex):
            unreal = ValueError("a fractional power of a negative number is no real number")
            raise HandlerError("calculate", unreal, line=node.lineno)
        return self._checked(node, value)

    def _checked(self, node: ast.expr, value: Number) -> Number:
        if isinstance(value, int):
            self._check_bits(node, value.bit_length())
        elif not math.isfinite(value):
            raise HandlerError("calculate", OverflowError("the number is too large"), line=node.lineno)
        return value

    def _check_bits(self, node: ast.expr, bits: int) -> None:
        if bits > BITS_LIMIT:
            message = (
                f"line {node.lineno}: an integer of about {bits:,} bits is over the limit of {BITS_LIMIT:,}"
            )
            raise LimitExceeded(message, limit="integer", line=node.lineno)

    def _bind(self, node: ast.expr, name: str, value: Number) -> None:
        if name.startswith("__"):
            message = f"line {node.lineno}: the name {name!r} belongs to Python: use another"
            raise PolicyError(message, code="name", line=node.lineno)
        self.values[name] = value

    def _refuse(self, node: ast.stmt | ast.expr) -> NoReturn:
        form = type(node).__name__
        if isinstance(node, ast.Constant):
            what = f"{type(node.value).__name__} values are"
        elif isinstance(node, ast.UnaryOp | ast.BinOp):
            what = f"the operator {type(node.op).__name__} is"
        else:
            what = _WHAT.get(form, f"{form} is")
        raise PolicyError(
            f"line {node.lineno}: {what} not part of arithmetic; {_INSTEAD.get(form, _ALLOWED)}",
            code="syntax",
            line=node.lineno,
        )
