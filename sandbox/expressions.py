# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802, N815 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer's half that rewrites expressions.

A guard in the hot path is a question about the type of the left-hand value, written into the script:
`v.co` becomes `v.co if type(v) in <r:co> else <getattr>(v, 'co')`, where `<r:co>` is a set of types that fills as the
script runs. Nothing of the script can run between the question and the use of the value it was about: a value that is
not a plain name is first put into a variable that no script can name. Where no such variable is possible (class
bodies, comprehensions) the guard is called instead.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from RestrictedPython.transformer import RestrictingNodeTransformer

from . import hooks, names
from .inference import CONTAINERS, FLOAT, TEXT, UNBOUNDED, UNKNOWN, Kind, Kinds, Scope, is_number
from .plain import PLAIN_METHODS

__all__ = ("Expressions", "Finding")

LOAD: Final = ast.Load()
STORE: Final = ast.Store()
_SKIPPED_FIELDS: Final = frozenset({"ctx", "op", "ops", "kind", "type_comment"})
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
_HASHING: Final = frozenset({"add", "discard", "get", "pop", "remove", "setdefault"})
"""Methods of sets and dicts that hash their argument."""
_HASHING_ALL: Final = frozenset(
    {"fromkeys", "update", "union", "intersection", "difference", "symmetric_difference"}
)
"""Methods that hash the items of their argument (those of Blender's values take none that matter)."""
_MAKES_HASHED: Final = frozenset({"set", "frozenset", "dict"})
SAFE_BITS: Final = 4096
"""Integers of this many bits are small whatever is done to them once."""
_SMALL_CODE: Final = 40
"""Code of at most so many nodes is written out twice, once for each answer to the question about a type."""
_WIDTH_LIMIT: Final = 1000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong with a script. `line` and `column` count from 1."""

    code: str
    message: str
    line: int
    column: int
    source: str = ""
    advice: str = ""

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}: {self.message}"
        return (
            where
            + (f"; {self.advice}" if self.advice else "")
            + (f"\n    {self.source}" if self.source else "")
        )


class Expressions(RestrictingNodeTransformer):
    """Rewrites expressions; `kinds` is what is known of the script's values."""

    def __init__(self, kinds: Kinds) -> None:
        super().__init__()
        self.kinds = kinds
        self.scope: Scope = kinds.module
        self.findings: list[Finding] = []
        self.hooks_used: set[str] = set()
        self.attributes_read: set[str] = set()
        self.attributes_written: set[str] = set()
        self._classes: list[str] = []
        self._no_temporaries = 0
        self._temporaries = 0

    # Findings

    def refuse(self, node: ast.AST, code: str, message: str, advice: str = "") -> None:
        """Note that the script cannot run."""
        self.findings.append(
            Finding(
                code, message, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, advice=advice
            )
        )

    def error(self, node: ast.AST, info: str) -> None:
        """RestrictedPython's way to refuse."""
        self.refuse(node, "syntax", info)

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse a form of the language that no method here lets through."""
        what = type(node).__name__
        message, advice = _REFUSED_FORMS.get(what, (f"{what} is not supported", "write it in simpler Python"))
        self.refuse(node, "syntax", message, advice)

    def check_binding(self, node: ast.AST, name: str | None) -> None:
        """Refuse to bind a name of Python's or the sandbox's."""
        problem = names.name_problem(name) if name else None
        if problem:
            self.refuse(node, "name", f"{name!r} cannot be bound", problem)

    # Making nodes

    def name(self, hook: str, at: ast.AST) -> ast.Name:
        """A load of one of the guards' names."""
        self.hooks_used.add(hook)
        return ast.Name(hook, LOAD, lineno=at.lineno, col_offset=at.col_offset)  # type: ignore[attr-defined]

    def call(self, hook: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        """A call of one of the guards."""
        place: dict[str, Any] = {"lineno": at.lineno, "col_offset": at.col_offset}  # type: ignore[attr-defined]
        return ast.Call(self.name(hook, at), list(args), [], **place)

    def constant(self, value: Any, at: ast.AST) -> ast.Constant:
        """A literal."""
        return ast.Constant(value, lineno=at.lineno, col_offset=at.col_offset)  # type: ignore[attr-defined]

    def choose(self, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.IfExp:
        """`then if test else otherwise`."""
        return ast.IfExp(test, then, otherwise, lineno=then.lineno, col_offset=then.col_offset)

    def type_in(self, value: ast.expr, types: str) -> ast.Compare:
        """`type(value) in <types>`."""
        place: dict[str, Any] = {"lineno": value.lineno, "col_offset": value.col_offset}
        return ast.Compare(
            self.call(hooks.TYPE, value, value), [ast.In()], [self.name(types, value)], **place
        )

    def temporary(self) -> str:
        """A variable of the current scope that no script can name."""
        self._temporaries += 1
        name = f"<{self._temporaries}>"
        if self.scope.form == "module":
            self.hooks_used.add(name)
        return name

    def twice(self, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Two expressions for one evaluated value: the first evaluates it, the second (evaluated later) reads it.

        None where that is not possible: then a guard has to be called.
        """
        if isinstance(value, ast.Name):
            return value, ast.Name(value.id, LOAD, lineno=value.lineno, col_offset=value.col_offset)
        if isinstance(value, ast.Constant):
            return value, value
        if self._no_temporaries or self.scope.form in ("class", "comprehension"):
            return None
        temporary = self.temporary()
        place: dict[str, Any] = {"lineno": value.lineno, "col_offset": value.col_offset}
        store = ast.Name(temporary, STORE, **place)
        return ast.NamedExpr(store, value, **place), ast.Name(temporary, LOAD, **place)

    def kind(self, node: ast.expr) -> Kind:
        """What is known of an expression that has not been rewritten yet."""
        return self.kinds.kind(node, self.scope)

    def node_contents_visit(self, node: Any) -> Any:
        """Rewrite what a node is made of, in the order Python evaluates it."""
        for field in node._fields:
            if field in _SKIPPED_FIELDS:
                continue
            value = getattr(node, field, None)
            if isinstance(value, list):
                value[:] = self.visit_all(value)
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    def visit_all(self, nodes: Sequence[ast.AST]) -> list[Any]:
        """Rewrite nodes one after the other; a statement may become several or none."""
        result: list[Any] = []
        for node in nodes:
            new = self.visit(node) if node is not None else None
            if isinstance(new, list):
                result.extend(new)
            else:
                result.append(new)
        return result

    # Names and constants

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Literals are what they are."""
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A variable or a builtin; `__name__` is '__main__', so that main guards run."""
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self.check_binding(node, name)
            return node
        if name == "__name__":
            return self.constant("__main__", node)
        if name == "__doc__":
            return self.constant(None, node)
        if name in names.MISSING and name not in self.kinds.names:
            self.refuse(node, "name", f"{name!r} is not available", names.MISSING[name])
        elif name == "super":
            self.refuse(
                node, "name", "super can only be called, without arguments", "write super().method(…)"
            )
        elif problem := names.name_problem(name):
            self.refuse(node, "name", f"{name!r} is not available", problem)
        return node

    # Attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Guard `value.name` in any position."""
        if problem := names.attribute_problem(node.attr):
            self.refuse(node, "attribute", f"attribute {node.attr!r} is not available", problem)
            return node
        if not isinstance(node.ctx, ast.Load):
            return self._written(node)
        if names.is_dunder(node.attr):
            return self._special(node)
        kind = self.kind(node.value)
        node.value = self.visit(node.value)
        if self._needs_no_guard(kind, node.attr):
            return node
        return self._read(node.value, node)

    def _needs_no_guard(self, kind: Kind, attribute: str) -> bool:
        if attribute.startswith("_"):
            return False
        if isinstance(kind, str) and kind.startswith("module "):
            return True
        return attribute in PLAIN_METHODS.get(kind if isinstance(kind, str) else "int", ())

    def _read(self, value: ast.expr, node: ast.Attribute) -> ast.expr:
        """Guarded `value.attr`, value being rewritten already."""
        attribute = self._mangled(node.attr)
        pair = self.twice(value)
        if pair is None:
            return self.call(hooks.GETATTR, node, value, self.constant(attribute, node))
        first, again = pair
        plain = ast.Attribute(again, node.attr, LOAD, lineno=node.lineno, col_offset=node.col_offset)
        guarded = self.call(hooks.GETATTR, node, again, self.constant(attribute, node))
        return self.choose(self.type_in(first, self._types_read(attribute)), plain, guarded)

    def _types_read(self, attribute: str) -> str:
        if attribute.startswith("_"):
            return hooks.OWN
        self.attributes_read.add(attribute)
        return hooks.reads(attribute)

    def _types_written(self, attribute: str) -> str:
        if attribute.startswith("_"):
            return hooks.OWN
        self.attributes_written.add(attribute)
        return hooks.writes(attribute)

    def _mangled(self, name: str) -> str:
        """The name that Python makes of `__name` inside a class."""
        owner = self._classes[-1].lstrip("_") if self._classes else ""
        return f"_{owner}{name}" if owner and names.is_private(name) else name

    def _special(self, node: ast.Attribute) -> ast.expr:
        """The few dunder attributes that may be read."""
        if _is_super_call(node.value) and node.attr in names.SUPER_DUNDERS:
            return self.call(hooks.SUPER, node, node.value, self.constant(node.attr, node))
        return self.call(hooks.SPECIAL, node, self.visit(node.value), self.constant(node.attr, node))

    def _written(self, node: ast.Attribute) -> ast.expr:
        """`value.name` as a target: of `=`, `for`, `with`, `del`, augmented assignment, anywhere."""
        if names.is_dunder(node.attr):
            self.refuse(node, "attribute", f"attribute {node.attr!r} cannot be set", "it belongs to Python")
            return node
        node.value = self._target(self.visit(node.value), self._types_written(self._mangled(node.attr)))
        return node

    def _target(self, value: ast.expr, types: str) -> ast.expr:
        """`value` if its type takes what is to be written, else a proxy that asks the guards."""
        pair = self.twice(value)
        if pair is None:
            return self.call(hooks.WRITE, value, value)
        first, again = pair
        return self.choose(self.type_in(first, types), again, self.call(hooks.WRITE, value, again))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Guard `value[key]` in any position."""
        kind = self.kind(node.value)
        plain = kind in CONTAINERS
        value = self.visit(node.value)
        key = self.visit(node.slice) if kind in ("list", "tuple", TEXT) else self.keyed(node.slice)
        node.value, node.slice = value, key
        if not isinstance(node.ctx, ast.Load):
            if not (plain and kind in ("list", "dict")):
                node.value = self._target(value, hooks.SET_ITEMS)
            return node
        if plain:
            return node
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        pair = self.twice(value)
        if pair is None or not is_small(key):
            return self.call(hooks.GETITEM, node, value, self.as_value(key))
        first, again = pair
        native = ast.Subscript(again, key, LOAD, **place)
        guarded = self.call(hooks.GETITEM, node, again, self.as_value(key))
        return self.choose(self.type_in(first, hooks.ITEMS), native, guarded)

    def as_value(self, key: ast.expr) -> ast.expr:
        """A rewritten key as an argument: `a:b` only stands between brackets."""
        if isinstance(key, ast.Slice):
            nothing = self.constant(None, key)
            return self.call(
                hooks.SLICE, key, key.lower or nothing, key.upper or nothing, key.step or nothing
            )
        if isinstance(key, ast.Tuple):
            parts = [self.as_value(part) for part in key.elts]
            return ast.Tuple(parts, LOAD, lineno=key.lineno, col_offset=key.col_offset)
        return key

    def keyed(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression whose value will be hashed."""
        quick = isinstance(node, ast.Slice) or self._hashes_quickly(node)
        key: ast.expr = self.visit(node)
        if quick:
            return key
        if isinstance(key, ast.Name):
            again = ast.Name(key.id, LOAD, lineno=key.lineno, col_offset=key.col_offset)
            return self.choose(self.type_in(key, hooks.SCALAR), again, self.call(hooks.KEY, key, again))
        return self.call(hooks.KEY, key, self.as_value(key))

    def _hashes_quickly(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple):
            return all(not isinstance(part, ast.Tuple) and self._hashes_quickly(part) for part in node.elts)
        if isinstance(node, ast.BinOp):
            number = is_number(self.kind(node.left)) or is_number(self.kind(node.right))
            return number and not isinstance(node.op, ast.Mult)
        return isinstance(node, ast.Slice | ast.UnaryOp | ast.Compare) or self._is_scalar(node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        """A set display."""
        node.elts = [self.keyed(part) for part in node.elts]
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """A dict display."""
        for position, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None:
                node.keys[position] = self.keyed(key)
            node.values[position] = self.visit(value)
        return node

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        """`a:b:c` between brackets."""
        return self.node_contents_visit(node)

    # Calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call needs no guard: what a script holds it may call. `value.method(…)` guards the method."""
        if _is_super_call(node):
            return node
        function = node.func
        if (
            isinstance(function, ast.Name)
            and function.id in _MAKES_HASHED
            and function.id not in self.kinds.names
        ):
            made = self._hashed_arguments("update", node.args)
            node.args = made if made is not None else self.visit_all(node.args)
            node.keywords = self.visit_all(node.keywords)
            return node
        if isinstance(function, ast.Name) and (rewritten := self._isinstance(node)):
            return rewritten
        if not isinstance(function, ast.Attribute) or not isinstance(function.ctx, ast.Load):
            return self.node_contents_visit(node)
        if names.is_dunder(function.attr) or names.attribute_problem(function.attr):
            return self.node_contents_visit(node)
        kind = self.kind(function.value)
        function.value = self.visit(function.value)
        node.args = self._hashed_arguments(function.attr, node.args) or self.visit_all(node.args)
        node.keywords = self.visit_all(node.keywords)
        if self._needs_no_guard(kind, function.attr):
            return node
        guarded = self._read(function.value, function)
        if isinstance(guarded, ast.IfExp) and _are_small(node.args, node.keywords):
            return self._both_ways(node, guarded)
        node.func = guarded
        return node

    def _hashed_arguments(self, name: str, args: list[ast.expr]) -> list[ast.expr] | None:
        """The arguments of `table.get(key)`, `set.update(items)`, …, checked where they will be hashed."""
        if not args or isinstance(args[0], ast.Starred) or name not in _HASHING | _HASHING_ALL:
            return None
        first, *rest = args
        if name in _HASHING:
            return [self.keyed(first), *self.visit_all(rest)]
        new = self.visit(first)
        return [self.call(hooks.KEYS, new, new), *self.visit_all(rest)]

    def _both_ways(self, node: ast.Call, guarded: ast.IfExp) -> ast.expr:
        """`a.f(x) if … else <getattr>(a, 'f')(x)`: spares the plain way a bound method."""
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        plain = ast.Call(guarded.body, node.args, node.keywords, **place)
        other = ast.Call(guarded.orelse, node.args, node.keywords, **place)
        return self.choose(guarded.test, plain, other)

    def iterated(self, node: ast.expr) -> ast.expr:
        """What a loop draws from. The loop ticks itself, so that its own `zip`, `enumerate`, … need not."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if (
                name in hooks.RAW and name not in self.kinds.names
            ):
                arguments = [self.iterated(part) for part in args]
                place = {"lineno": node.lineno, "col_offset": node.col_offset}
                function = self.name(hooks.RAW[name], node)
                return ast.Call(function, arguments, self.visit_all(node.keywords), **place)
        return self.visit(node)

    def _isinstance(self, node: ast.Call) -> ast.expr | None:
        """`isinstance(value, (int, str))`: with builtin types written out it is Python's own."""
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[value, kinds], keywords=[]):
                listed = [kind.id for kind in _elements(kinds) if isinstance(kind, ast.Name)]
                known = len(listed) == len(_elements(kinds)) and hooks.BUILTIN_TYPES.issuperset(listed)
                if known and not self.kinds.names & {"isinstance", *listed}:
                    types: list[ast.expr] = [self.name(hooks.TYPES.format(kind), node) for kind in listed]
                    place = {"lineno": node.lineno, "col_offset": node.col_offset}
                    second = types[0] if len(types) == 1 else ast.Tuple(types, LOAD, **place)
                    return self.call(hooks.ISINSTANCE, node, self.visit(value), second)
        return None

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """`name=value` in a call."""
        return self.node_contents_visit(node)

    # Operators

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Guard the operators that can make huge values out of small ones."""
        safe = self.is_bounded(node.op, node.left, node.right)
        left_kind, right_kind = self.kind(node.left), self.kind(node.right)
        left, right = self.visit(node.left), self.visit(node.right)
        node.left, node.right = left, right
        if safe:
            return node
        hook = hooks.OPERATOR.format(OPERATORS[type(node.op)])
        types = self.types_of_left(node.op, right_kind)
        if types is None or not is_small(right):
            return self.call(hook, node, left, right)
        if is_number(left_kind):
            return self._number_times(node, hook, left_kind)
        pair = self.twice(left)
        if pair is None:
            return self.call(hook, node, left, right)
        first, again = pair
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        native = ast.BinOp(again, node.op, right, **place)
        return self.choose(self.type_in(first, types), native, self.call(hook, node, again, right))

    def _number_times(self, node: ast.BinOp, hook: str, left: Kind) -> ast.expr:
        """`number * unknown`: it is the right-hand type that decides."""
        guarded = self.call(hook, node, node.left, node.right)
        if not isinstance(node.right, ast.Name) or not isinstance(node.left, ast.Name | ast.Constant):
            return guarded
        types = hooks.SIMPLE if _is_few_bits(left) else hooks.FLOATY
        return self.choose(self.type_in(node.right, types), node, guarded)

    def is_bounded(self, op: ast.operator, left_node: ast.expr | None, right_node: ast.expr) -> bool:
        """Whether the operation makes no big value, or only one a little bigger than an operand, from what is known.

        `left_node` None is a value of which nothing is known.
        """
        left = UNKNOWN if left_node is None else self.kind(left_node)
        right = self.kind(right_node)
        match op:
            case ast.Add():
                return is_number(left) or is_number(right) or _is_short(left_node) or _is_short(right_node)
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
        """The set of left-hand types for which the operator needs no guard whatever the right-hand value is."""
        if isinstance(op, ast.Pow | ast.LShift):
            return None
        if isinstance(op, ast.Mult):
            return hooks.SIMPLE if _is_few_bits(right) or right == FLOAT else hooks.FLOATY
        return hooks.SIMPLE

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`-x`, `+x`, `~x`, `not x`."""
        return self.node_contents_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Comparing two unknown values may walk structures of any size; one scalar makes it cheap."""
        operands = [node.left, *node.comparators]
        cheap = all(
            isinstance(op, ast.Is | ast.IsNot) or self._is_scalar(left) or self._is_scalar(right)
            for op, left, right in zip(node.ops, operands, operands[1:], strict=False)
        )
        node = self.node_contents_visit(node)
        if cheap or len(node.ops) > 1 or isinstance(node.ops[0], ast.Is | ast.IsNot):
            return node if cheap or len(node.ops) == 1 else self._compare_chain(node)
        return self._compare(node)

    def _compare_chain(self, node: ast.Compare) -> ast.expr:
        """`a < b < c` becomes `a < b and b < c`, each operand evaluated once."""
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        left, parts = node.left, []
        for op, operand in zip(node.ops, node.comparators, strict=True):
            pair = self.twice(operand)
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
        operator = _COMPARISONS[type(node.ops[0])]
        left, right = node.left, node.comparators[0]
        guarded = [self.constant(operator, node)]
        pair = self.twice(left)
        if pair is None or not is_small(right):
            return self.call(hooks.COMPARE, node, *guarded, left, right)
        first, again = pair
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        native = ast.Compare(again, node.ops, [right], **place)
        return self.choose(
            self.type_in(first, hooks.SCALAR), native, self.call(hooks.COMPARE, node, *guarded, again, right)
        )

    def _is_scalar(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Tuple | ast.List | ast.Set):  # `kind in ('A', 'B')`
            return all(isinstance(part, ast.Constant) for part in node.elts)
        kind = self.kind(node)
        return is_number(kind) or kind == TEXT

    # Text

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """`{value!r:spec}` of an f-string: bounded widths, bounded text of nested containers."""
        kind = self.kind(node.value)
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
            node.value = self.call(hooks.FORMAT, node, node.value, self.visit(spec))
            node.format_spec = None
        elif not is_number(kind) and kind != TEXT and spec is None:
            pair = self.twice(node.value)
            if pair is None:
                node.value = self.call(hooks.SHOW, node, node.value)
            else:
                first, again = pair
                show = self.call(hooks.SHOW, node, again)
                node.value = self.choose(self.type_in(first, hooks.SCALAR), again, show)
        return node

    def visit_TemplateStr(self, node: ast.AST) -> ast.AST:
        """Template strings hand out the values they hold by attributes; nothing here uses them."""
        self.not_allowed(node)
        return node

    visit_Interpolation = visit_TemplateStr

    # Functions and comprehensions as expressions

    def running(self, at: ast.AST) -> ast.expr:
        """`<running> or <stop>()`: a tick where only an expression fits."""
        place: dict[str, Any] = {"lineno": at.lineno, "col_offset": at.col_offset}  # type: ignore[attr-defined]
        return ast.BoolOp(ast.Or(), [self.name(hooks.RUNNING, at), self.call(hooks.STOP, at)], **place)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A function that ticks when it is called."""
        self.visit_arguments(node.args)
        outer, self.scope = self.scope, self.kinds.scope_of[node]
        held, self._no_temporaries = self._no_temporaries, 0
        body = self.visit(node.body)
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        node.body = ast.BoolOp(ast.And(), [self.running(node), body], **place)
        self.scope, self._no_temporaries = outer, held
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        """Parameters: checked names, rewritten defaults, no annotations."""
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg):
            if argument is not None:
                self.check_binding(argument, argument.arg)
                argument.annotation = None
        node.defaults = self.visit_all(node.defaults)
        node.kw_defaults = [None if default is None else self.visit(default) for default in node.kw_defaults]
        return node

    def _visit_comprehension_parts(self, node: Any) -> ast.AST:
        outer, inner = self.scope, self.kinds.scope_of[node]
        for position, clause in enumerate(node.generators):
            if clause.is_async:
                self.not_allowed(clause)
            self.scope = inner if position else outer
            self._no_temporaries += 1
            clause.iter = self.iterated(clause.iter)
            self._no_temporaries -= 1
            self.scope = inner
            clause.target = self.visit(clause.target)
            clause.ifs = [self.running(clause.iter), *self.visit_all(clause.ifs)]
        self.scope = inner
        for part in ("key", "value", "elt"):
            if hasattr(node, part):
                hashed = part == "key" or isinstance(node, ast.SetComp)
                setattr(node, part, (self.keyed if hashed else self.visit)(getattr(node, part)))
        self.scope = outer
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension_parts

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """`name := value`."""
        return self.node_contents_visit(node)


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _is_super_call(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not node.args
        and not node.keywords
    )


def _is_few_bits(kind: Kind) -> bool:
    return isinstance(kind, int) and kind <= SAFE_BITS < UNBOUNDED


def _is_short(node: ast.expr | None) -> bool:
    """A text or display written out in the source: adding it makes a value a little longer, never twice as long."""
    if isinstance(node, ast.Constant):
        return True
    return isinstance(node, ast.List | ast.Tuple) and not any(
        isinstance(part, ast.Starred) for part in node.elts
    )


def _is_short_spec(spec: ast.expr) -> bool:
    """A format spec written out in the source, with small numbers in it."""
    if not isinstance(spec, ast.JoinedStr):
        return False
    text = ""
    for part in spec.values:
        if not isinstance(part, ast.Constant):
            return False
        text += str(part.value)
    digits = "".join(c if c.isdigit() else " " for c in text).split()
    return all(len(number) <= 4 and int(number) <= _WIDTH_LIMIT for number in digits)


def is_small(node: ast.expr) -> bool:
    return _are_small([node], [])


def _are_small(args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> bool:
    """Whether there is little enough of it to be written out twice."""
    count = 0
    stack: list[ast.AST] = [*args, *keywords]
    while stack:
        node = stack.pop()
        count += 1
        if count > _SMALL_CODE:
            return False
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                stack.extend(part for part in value if isinstance(part, ast.AST))
            elif isinstance(value, ast.expr | ast.keyword):
                stack.append(value)
    return True


_REFUSED_FORMS: Final[dict[str, tuple[str, str]]] = {
    "AsyncFunctionDef": (
        "async code is not supported",
        "write a plain function: a script runs from start to end",
    ),
    "AsyncFor": ("async code is not supported", "write a plain for loop"),
    "AsyncWith": ("async code is not supported", "write a plain with statement"),
    "Await": ("async code is not supported", "call the function"),
    "comprehension": ("async code is not supported", "write a plain comprehension"),
    "TryStar": ("except* is not supported", "write except"),
    "TypeAlias": ("type aliases are not supported", "leave them out: a script needs no types"),
    "TypeVar": ("type parameters are not supported", "leave them out: a script needs no types"),
    "TypeVarTuple": ("type parameters are not supported", "leave them out: a script needs no types"),
    "ParamSpec": ("type parameters are not supported", "leave them out: a script needs no types"),
    "TemplateStr": ("template strings are not supported", "write an f-string"),
    "Interpolation": ("template strings are not supported", "write an f-string"),
}
