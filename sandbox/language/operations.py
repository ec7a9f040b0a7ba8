# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer's part that guards what can make big values out of small ones, or iterate over them forever.

Operators, comparisons and formatted text stay unchanged where the kinds of their operands, or one question about a
type, show that the result cannot be big.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from . import hooks
from .analysis.inference import is_number
from .analysis.scopes import FLOAT, TEXT, UNBOUNDED, UNKNOWN, Kind
from .holding import Holding
from .nodes import LOAD, is_small

__all__ = ("OPERATORS", "Operations", "has_stars", "is_made_here")

OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
SIGNS: Final[dict[type[ast.AST], str]] = {ast.USub: "-x", ast.UAdd: "+x", ast.Invert: "~x"}
_COMPARISONS: Final[dict[type[ast.AST], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
SAFE_BITS: Final = 4096
"""The most bits of a small integer: any single operation on it is cheap."""
_WIDTH_LIMIT: Final = 1000
_SHORT: Final = 100
"""The fewest characters of a long text."""
_PARTS: Final = 32
"""The most parts of an f-string that one sum combines."""


class Operations(Holding):
    """Rewrites operators, comparisons and the fields of f-strings."""

    # Operators

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Guard an operator that can make a huge value out of small ones."""
        safe = self.is_bounded(node.op, node.left, node.right)
        left_kind, right_kind = self.kind(node.left), self.kind(node.right)
        self.note_running(node)
        left, right = self.operands([node.left, node.right])
        node.left, node.right = left, right
        if safe:
            return node
        hook = hooks.OPERATOR.format(OPERATORS[type(node.op)])
        types = self.types_of_left(node.op, right_kind)
        if types is None or not is_small(right):
            return self.call(hook, node, left, right)
        if is_number(left_kind):
            return self._number_times(node, hook, left_kind)
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        return self.both_ways(
            left,
            types,
            lambda again: ast.BinOp(again, node.op, right, **place),
            lambda again: self.call(hook, node, again, right),
        )

    def _number_times(self, node: ast.BinOp, hook: str, left: Kind) -> ast.expr:
        """Guard `number * unknown` by the type of the right-hand value."""
        guarded = self.call(hook, node, node.left, node.right)
        if (
            self.seldom
            or not self.is_steady(node.right)
            or not isinstance(node.left, ast.Name | ast.Constant)
        ):
            return guarded
        types = hooks.SIMPLE if _is_few_bits(left) else hooks.SAFE_TIMES
        return self.choose(self.type_in(node.right, types), node, guarded)

    def is_bounded(self, op: ast.operator, left_node: ast.expr | None, right_node: ast.expr) -> bool:
        """Return whether an operation certainly makes no big value, or one only a little bigger than an operand.

        `left_node` None is a value of unknown kind.
        """
        left = UNKNOWN if left_node is None else self.kind(left_node)
        right = self.kind(right_node)
        match op:
            case ast.Add():
                return (
                    is_number(left) or is_number(right) or is_made_here(left_node) or is_made_here(right_node)
                )
            case (
                ast.Sub()
                | ast.Div()
                | ast.MatMult()
                | ast.BitAnd()
                | ast.BitOr()
                | ast.BitXor()
                | ast.RShift()
            ):
                return is_number(left) or is_number(right)
            case ast.Mult():
                if FLOAT in (left, right):
                    return True
                return is_number(left) and is_number(right) and (_is_few_bits(left) or _is_few_bits(right))
            case ast.FloorDiv():
                return is_number(left) or is_number(right)
            case ast.Mod():
                return is_number(left)
            case ast.Pow():
                if FLOAT in (left, right):
                    return True
                exponent = right_node.value if isinstance(right_node, ast.Constant) else None
                return (
                    isinstance(left, int) and isinstance(exponent, int) and abs(left * exponent) <= SAFE_BITS
                )
            case ast.LShift():
                shift = right_node.value if isinstance(right_node, ast.Constant) else None
                return isinstance(left, int) and isinstance(shift, int) and shift <= SAFE_BITS
        return False

    def types_of_left(self, op: ast.operator, right: Kind) -> str | None:
        """Return the set of left-hand types for which the operator needs no guard with any right-hand value."""
        if isinstance(op, ast.Pow | ast.LShift):
            return None
        if isinstance(op, ast.Mult):
            return hooks.SIMPLE if _is_few_bits(right) or right == FLOAT else hooks.SAFE_TIMES
        return hooks.SIMPLE

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Rewrite `-x`, `+x`, `~x`, `not x`. Unless x is a number, it may be an array: numpy allocates memory."""
        is_known = isinstance(node.op, ast.Not) or is_number(self.kind(node.operand))
        self.note_running(node)
        node.operand = self.visit(node.operand)
        if is_known:
            return node
        hook = hooks.OPERATOR.format(SIGNS[type(node.op)])
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        return self.both_ways(
            node.operand,
            hooks.SIMPLE,
            lambda again: ast.UnaryOp(node.op, again, **place),
            lambda again: self.call(hook, node, again),
        )

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Guard a comparison of two unknown values: it may walk structures of any size. One scalar makes it cheap."""
        operands = [node.left, *node.comparators]
        cheap = all(
            isinstance(op, ast.Is | ast.IsNot)
            or self._is_scalar(right)
            or (self._is_short(left) if isinstance(op, ast.In | ast.NotIn) else self._is_scalar(left))
            for op, left, right in zip(node.ops, operands, operands[1:], strict=False)
        )
        self.note_running(node)
        node.left, *node.comparators = self.operands(operands)
        if cheap or len(node.ops) > 1 or isinstance(node.ops[0], ast.Is | ast.IsNot):
            return node if cheap or len(node.ops) == 1 else self._compare_chain(node)
        return self._compare(node)

    def _compare_chain(self, node: ast.Compare) -> ast.expr:
        """Rewrite `a < b < c` as `a < b and b < c`, with each operand evaluated once."""
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        left, parts = node.left, []
        for op, operand in zip(node.ops, node.comparators, strict=True):
            pair = self.evaluate_once(operand)
            if pair is None:
                operators = ast.Tuple(
                    [self.constant(_COMPARISONS[type(each)], node) for each in node.ops], LOAD, **place
                )
                return self.call(hooks.CHAIN, node, operators, node.left, *node.comparators)
            right, again = pair
            part = ast.Compare(left, [op], [right], **place)
            parts.append(part if isinstance(op, ast.Is | ast.IsNot) else self._compare(part))
            left = again
        return ast.BoolOp(ast.And(), parts, **place)

    def _compare(self, node: ast.Compare) -> ast.expr:
        operator = self.constant(_COMPARISONS[type(node.ops[0])], node)
        left, right = node.left, node.comparators[0]
        if not is_small(right):
            return self.call(hooks.COMPARE, node, operator, left, right)
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        return self.both_ways(
            left,
            hooks.SIMPLE if isinstance(node.ops[0], ast.In | ast.NotIn) else hooks.SCALAR,
            lambda again: ast.Compare(again, node.ops, [right], **place),
            lambda again: self.call(hooks.COMPARE, node, operator, again, right),
        )

    def _is_short(self, node: ast.expr) -> bool:
        """Return whether `node in row` takes no long time: a long text is compared with each one in the row."""
        if isinstance(node, ast.Constant):
            return not isinstance(node.value, str | bytes) or len(node.value) < _SHORT
        return is_number(self.kind(node))

    def _is_scalar(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Tuple | ast.List | ast.Set):  # for example `kind in ('A', 'B')`
            return all(isinstance(part, ast.Constant) for part in node.elts)
        kind = self.kind(node)
        return is_number(kind) or kind == TEXT

    # Text

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Guard an f-string of several texts as their sum: a text that doubles each time soon fills memory."""
        texts = [
            part
            for part in node.values
            if isinstance(part, ast.FormattedValue) and not is_number(self.kind(part.value))
        ]
        several = len(texts) > 1
        node = self.node_contents_visit(node)
        if not several:
            return node
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        plus = hooks.OPERATOR.format("+")
        made: ast.expr = self.constant("", node)
        for start in range(0, len(node.values), _PARTS):
            part = ast.JoinedStr(node.values[start : start + _PARTS], **place)
            made = self.call(plus, node, made, part)
        return made

    # Displays

    def visit_List(self, node: ast.List) -> ast.AST:
        """Guard `[*a, *b]` as `[*a] + [*b]`."""
        return self._display(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        """Guard `(*a, *b)` as `(*a,) + (*b,)`."""
        return self._display(node)

    def _display(self, node: ast.List | ast.Tuple) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            node.elts = self.visit_all(node.elts)
            return node
        starred = has_stars(node.elts)
        node.elts = self.operands(node.elts)
        if not starred:
            return node
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        parts: list[list[ast.expr]] = [[]]
        for part in node.elts:
            if isinstance(part, ast.Starred) and parts[-1]:
                parts.append([])
            parts[-1].append(part)
        made: ast.expr = type(node)(parts[0], LOAD, **place)
        for more in parts[1:]:
            made = self.call(hooks.OPERATOR.format("+"), node, made, type(node)(more, LOAD, **place))
        return made

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """Rewrite `{value!r:spec}` of an f-string: limit its width, and the text of nested containers."""
        kind, loose = self.kind(node.value), self.is_loose(node.value)
        self.note_running(node)
        node.value = self.visit(node.value)
        spec = node.format_spec
        short = spec is None or _is_short_spec(spec)
        if node.conversion != -1:
            node.value = self.call(
                hooks.SHOW if node.conversion == ord("s") else hooks.REPR, node, node.value
            )
            node.conversion = -1
            kind = TEXT
        if spec is not None and not short:
            mark, spec = self.runs, self.visit(spec)
            value = self.held_where(loose, node.value, mark)
            node.value = self.call(hooks.FORMAT, node, value, spec)
            node.format_spec = None
        elif not is_number(kind) and kind != TEXT and spec is None:
            node.value = self.both_ways(
                node.value,
                hooks.SCALAR,
                lambda again: again,
                lambda again: self.call(hooks.SHOW, node, again),
            )
        return node


def has_stars(nodes: list[ast.expr]) -> bool:
    """Return whether more than one of the nodes is unpacked."""
    return sum(isinstance(node, ast.Starred) for node in nodes) > 1


def _is_few_bits(kind: Kind) -> bool:
    return isinstance(kind, int) and kind <= SAFE_BITS < UNBOUNDED


def is_made_here(node: ast.expr | None) -> bool:
    """Return whether an expression is a text or list that the source writes out, or makes item by item.

    Adding it makes a value longer by what the script itself has made, never twice as long.
    """
    if isinstance(node, ast.Constant | ast.ListComp):
        return True
    return isinstance(node, ast.List | ast.Tuple) and not any(
        isinstance(part, ast.Starred) for part in node.elts
    )


def _is_short_spec(spec: ast.expr) -> bool:
    """Return whether a format spec is a constant in the source with small numbers."""
    if not isinstance(spec, ast.JoinedStr):
        return False
    text = ""
    for part in spec.values:
        if not isinstance(part, ast.Constant):
            return False
        text += str(part.value)
    digits = "".join(c if c.isdigit() else " " for c in text).split()
    return all(len(number) <= 4 and int(number) <= _WIDTH_LIMIT for number in digits)
