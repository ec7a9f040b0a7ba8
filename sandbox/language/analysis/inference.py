# SPDX-License-Identifier: GPL-3.0-or-later
"""Infers the kinds of a script's values before it runs, so that the transformer can leave guards out.

Only syntax can bind a name in a script (there is no `exec`, `globals()` or star import). So every value of a variable
is the value of one of the expressions that its scope binds to it. The least fixed point over these expressions gives
each variable a kind, which holds for every value that the variable can have.

Kinds: an int `n` stands for an integer of at most `n` bits (`UNBOUNDED` for any); the other kinds are the names below,
and the names of Blender's structs, whose values may also be None.
"""

from __future__ import annotations

import ast
import builtins
from typing import Final

from .scopes import (
    CONTAINERS,
    COUNTER,
    FLOAT,
    MODULE,
    NOTHING,
    NUMBER,
    SMALL,
    TEXT,
    UNBOUNDED,
    UNKNOWN,
    Bindings,
    Kind,
    Scope,
    member_kind,
)
from .structs import READ, RETURNS

__all__ = ("Scopes", "is_integer", "is_number")

_BUILTIN_RESULTS: Final[dict[str, Kind]] = {
    "len": SMALL,
    "ord": SMALL,
    "hash": SMALL,
    "id": SMALL,
    "float": FLOAT,
    "list": "list",
    "sorted": "list",
    "tuple": "tuple",
    "dict": "dict",
    "set": "set",
    "str": TEXT,
    "repr": TEXT,
    "chr": TEXT,
    "hex": TEXT,
}


def is_integer(kind: Kind) -> bool:
    """Return whether a value of this kind is an int."""
    return isinstance(kind, int)


def is_number(kind: Kind) -> bool:
    """Return whether a value of this kind is a plain int, float or complex."""
    return isinstance(kind, int) or kind in (FLOAT, NUMBER)


def join(first: Kind, second: Kind) -> Kind:
    """Return the kind that covers the values of both kinds."""
    if first == second or second == NOTHING:
        return first
    if first == NOTHING:
        return second
    if isinstance(first, int) and isinstance(second, int):
        return max(first, second)
    return NUMBER if is_number(first) and is_number(second) else UNKNOWN


class Scopes(Bindings):
    """The scopes and kinds of a parsed script. `scope_of[node]` is the scope that a function, class, … opens."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        self._cache: dict[ast.expr, Kind] | None = None
        self._solve()
        self._cache = {}

    # The kinds of variables

    def _solve(self) -> None:
        variables = [(scope, name) for scope in self._scopes for name in scope.bound]
        for scope, name in variables:
            scope.kinds[name] = NOTHING
        turn, changed = 0, True
        while changed:
            turn, changed = turn + 1, False
            for scope, name in variables:
                kind: Kind = scope.kinds[name]
                for value in scope.bound[name]:
                    kind = join(kind, self._bound_kind(value, scope))
                if kind != scope.kinds[name]:
                    changed = True
                    scope.kinds[name] = UNBOUNDED if turn > 3 and isinstance(kind, int) else kind

    def _bound_kind(self, value: ast.expr | Kind, scope: Scope) -> Kind:
        if isinstance(value, ast.expr):
            return self.kind(value, scope)
        if isinstance(value, str) and value.startswith(COUNTER):
            return UNKNOWN if value.removeprefix(COUNTER) in self.names else SMALL
        return value

    def variable(self, name: str, scope: Scope) -> Kind:
        """Return the kind of the variable that `name` means in `scope`."""
        owner = scope.owner(name)
        if owner is None:
            known = name not in self.names and name in _BUILTIN_RESULTS and hasattr(builtins, name)
            return f"{RETURNS}{_BUILTIN_RESULTS[name]}" if known else UNKNOWN
        return UNKNOWN if owner.form == "class" else owner.kinds[name]

    # The kinds of expressions

    def kind(self, node: ast.expr, scope: Scope) -> Kind:
        """Return the kind that covers every value of the (untransformed) expression in `scope`."""
        if self._cache is None:
            return self._kind(node, scope)
        known = self._cache.get(node)
        if known is None:
            known = self._cache[node] = self._kind(node, scope)
        return UNKNOWN if known == NOTHING else known

    def _kind(self, node: ast.expr, scope: Scope) -> Kind:
        match node:
            case ast.Constant(value=value):
                return _constant(value)
            case ast.Name(id=name):
                return self.variable(name, scope)
            case ast.Attribute():
                return _attribute(self.kind(node.value, scope), node.attr)
            case ast.Call(func=ast.Name(id="int" | "round" | "abs" | "min" | "max" as name)) if (
                name not in self.names
            ):
                return self._numeric_call(name, node, scope)
            case ast.Call():
                function = self.kind(node.func, scope)
                if isinstance(function, str) and function.startswith(RETURNS):
                    result = function.removeprefix(RETURNS)
                    return int(result) if result.isdigit() else result
                return UNKNOWN
            case ast.BinOp():
                return _operation(
                    node.op, self.kind(node.left, scope), self.kind(node.right, scope), node.right
                )
            case ast.UnaryOp(op=ast.Not()):
                return 1
            case ast.UnaryOp():
                kind = self.kind(node.operand, scope)
                return (
                    min(_capped(kind + 1), UNBOUNDED)
                    if isinstance(kind, int)
                    else kind
                    if is_number(kind) or kind == NOTHING
                    else UNKNOWN
                )
            case ast.JoinedStr():
                return TEXT
            case ast.List() | ast.ListComp():
                return "list"
            case ast.Tuple():
                return "tuple"
            case ast.Dict() | ast.DictComp():
                return "dict"
            case ast.Set() | ast.SetComp():
                return "set"
            case ast.IfExp():
                return join(self.kind(node.body, scope), self.kind(node.orelse, scope))
            case ast.BoolOp():
                kind = NOTHING
                for operand in node.values:
                    kind = join(kind, self.kind(operand, scope))
                return kind
            case ast.Compare():
                operands = (node.left, *node.comparators)
                return 1 if all(is_number(self.kind(operand, scope)) for operand in operands) else UNKNOWN
        return UNKNOWN

    def _numeric_call(self, name: str, node: ast.Call, scope: Scope) -> Kind:
        """Return the kind of `int(float)`, `round(float)`, `abs(number)`, `min(number, number, …)`."""
        kinds = [self.kind(argument, scope) for argument in node.args]
        if node.keywords or not kinds or not all(is_number(kind) or kind == NOTHING for kind in kinds):
            return UNKNOWN
        if name in ("min", "max"):
            kind: Kind = NOTHING
            for each in kinds:
                kind = join(kind, each)
            return kind if len(kinds) > 1 else UNKNOWN
        if kinds[0] == FLOAT and len(kinds) == 1:
            return FLOAT if name == "abs" else 1024
        return kinds[0] if isinstance(kinds[0], int) and len(kinds) == 1 else NUMBER


def _constant(value: object) -> Kind:
    if isinstance(value, int):
        return max(value.bit_length(), 1)
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, complex):
        return NUMBER
    return TEXT if isinstance(value, str) else UNKNOWN


def _attribute(kind: Kind, name: str) -> Kind:
    if kind == NOTHING:
        return NOTHING
    if not isinstance(kind, str):
        return UNKNOWN
    if kind.startswith(MODULE):
        return member_kind(kind.removeprefix(MODULE), name)
    return READ.get(kind, {}).get(name) or UNKNOWN


def _operation(op: ast.operator, left: Kind, right: Kind, operand: ast.expr) -> Kind:
    if left == NOTHING or right == NOTHING:
        return NOTHING
    if isinstance(left, int) and isinstance(right, int):
        return _integer_operation(op, left, right, operand)
    if is_number(left) and is_number(right):
        real = left != NUMBER and right != NUMBER
        return (
            FLOAT
            if real and isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Mod)
            else NUMBER
        )
    if isinstance(op, ast.Add) and left == right and left in CONTAINERS - {"dict", "set"}:
        return left
    if isinstance(op, ast.Mult) and left in ("list", "tuple", TEXT) and isinstance(right, int):
        return left
    return UNKNOWN


def _integer_operation(op: ast.operator, left: int, right: int, operand: ast.expr) -> Kind:
    match op:
        case ast.Add() | ast.Sub():
            return _capped(max(left, right) + 1)
        case ast.Mult():
            return _capped(left + right)
        case ast.Div():
            return FLOAT
        case ast.FloorDiv() | ast.RShift():
            return _capped(left + 1)
        case ast.Mod():
            return right
        case ast.BitAnd() | ast.BitOr() | ast.BitXor():
            return _capped(max(left, right) + 1)
        case ast.Pow() if (
            isinstance(operand, ast.Constant) and isinstance(operand.value, int) and operand.value >= 0
        ):
            return _capped(left * max(operand.value, 1))
        case ast.LShift() if isinstance(operand, ast.Constant) and isinstance(operand.value, int):
            return _capped(left + max(operand.value, 0))
    return NUMBER


def _capped(bits: int) -> int:
    return bits if bits <= 4096 else UNBOUNDED
