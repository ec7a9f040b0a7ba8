# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802, N815 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer's part that keeps each value findable while more of the script runs.

In `use(o.modifiers, f())` only the interpreter's stack holds the collection while `f` runs, and nobody can see it
there. If `f` removes the object, the sandbox must find the reference and cut it off (`lifetime.held`). Python's
garbage collector shows most values wherever they are; it does not know Blender's collections, arrays and functions,
nor dicts that contain nothing else. So the transformer puts an expression that may give such a value into a variable
that no script can name, if code runs after it: `use((<1> := o.modifiers), f())`. Where such a variable is not
possible, or would be bound again too soon, `<keep>(value)` does the same.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from typing import Any, Final

from . import hooks
from .analysis import structs
from .analysis.inference import Scopes, is_number
from .analysis.scopes import CONTAINERS, FLOAT, MODULE
from .nodes import LOAD, STORE, Nodes

__all__ = ("Holding", "binds_names")

_SHOWN: Final = (
    *(ast.Constant, ast.JoinedStr, ast.Lambda, ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Tuple),
    *(ast.GeneratorExp, ast.Starred, ast.Slice),
)
"""Expressions whose value the collector shows, with all its contents, or whose value refers to nothing."""
_STILL: Final = (ast.Constant, ast.Name, ast.Lambda, type(None))
"""Expressions that run no code."""
_OPERATIONS: Final = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.Attribute, ast.FormattedValue)
"""Expressions that run no code of a script without classes, if their operands run none."""
_STILL_BUILTINS: Final = frozenset(
    "abs bool chr enumerate float hash id int isinstance len ord range round zip".split()
)
"""Builtins that run no code of a script without classes."""
_DRAWING: Final = frozenset({"fsum", "dist"})
"""Functions of `math` that draw from iterators."""


class Holding(Nodes):
    """Rewrites expressions that Python evaluates one after the other."""

    def __init__(self, kinds: Scopes) -> None:
        super().__init__(kinds)
        self.runs = 0
        """How many of the rewritten expressions so far may run code of the script."""
        self.has_classes = any(scope.form == "class" for scope in kinds.scope_of.values())
        self.lazy = 0
        """The number of generator expressions around the current node: their variables belong to the function around
        them, whose other generators may bind them in the meantime."""
        self.leaving = 0
        """The number of statements around the current one that may run code when the function leaves them."""

    def operands(self, nodes: Sequence[Any], *, run_by_use: bool = False) -> list[Any]:
        """Rewrite expressions that are evaluated in this order and used together; a keyword stands for its value.

        `run_by_use`: the use may run code of the script while only C code holds the values.
        """
        last = len(nodes) - (not run_by_use)
        while 0 < last < len(nodes) and isinstance(_value(nodes[last]), _STILL):
            last -= 1
        loose = [_is_unpacked(node) or self.is_loose(_value(node)) for node in nodes[: max(last, 0)]]
        found, marks = [], []
        for node in nodes:
            found.append(node if node is None else self.visit(node))
            marks.append(self.runs)
        for at, each in enumerate(loose):
            if each and (run_by_use or marks[at] < self.runs):
                found[at] = self._hold_operand(found[at])
        return found

    def _hold_operand(self, node: Any) -> Any:
        if not isinstance(node, ast.keyword):
            return self.hold(node)
        if _is_unpacked(node):  # the script may empty what is unpacked here before the call
            place: dict[str, Any] = {"lineno": node.value.lineno, "col_offset": node.value.col_offset}
            node.value = ast.Dict([None], [node.value], **place)
        node.value = self.hold(node.value)
        return node

    def hold(self, value: ast.expr) -> ast.expr:
        """Return the rewritten `value` inside a variable or `<keep>`, where `lifetime` finds its references."""
        if self.lazy or self.is_without_temporaries():
            return self.call(hooks.KEEP, value, value)
        place: dict[str, Any] = {"lineno": value.lineno, "col_offset": value.col_offset}
        return ast.NamedExpr(ast.Name(self.temporary(), STORE, **place), value, **place)

    def held_where(self, loose: bool, value: ast.expr, mark: int) -> ast.expr:
        """Return `hold(value)` if the value is `loose` and code may have run since `runs` was `mark`."""
        return self.hold(value) if loose and mark < self.runs else value

    def is_loose(self, node: ast.expr | None) -> bool:
        """Return whether an expression (not rewritten yet) may give a value that only the stack refers to."""
        if node is None or isinstance(node, _SHOWN):
            return False
        if isinstance(node, ast.Name) and self._lasts(node.id):
            return False
        if not self.has_classes and isinstance(node, ast.Compare | ast.UnaryOp):
            return False
        kind = self.kind(node)
        if is_number(kind) or kind in structs.SHOWN:
            return False
        return kind == "dict" or not (kind in CONTAINERS or str(kind).startswith(MODULE))

    def _lasts(self, name: str) -> bool:
        """Return whether nothing that runs within an expression can bind this variable again."""
        owner = self.scope.owner(name)
        here = owner is None or owner is self.scope or owner.form == "module"
        return here and name not in self.kinds.rebound and name not in self.kinds.bound_within

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        """Rewrite `*values`."""
        if isinstance(node.ctx, ast.Load):
            self.note_running(node)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_BoolOp(self, node: ast.BoolOp | ast.IfExp) -> ast.AST:
        """Rewrite `a and b` and `a if b else c`."""
        self.note_running(node)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    visit_IfExp = visit_BoolOp

    def note_running(self, node: ast.expr) -> None:
        """Count `node`, which is about to be rewritten, if it may run code of the script."""
        self.runs += self._may_run(node)

    def _may_run(self, node: ast.expr) -> bool:
        if self.has_classes:
            return True
        match node:
            case ast.Call(func=ast.Name(id=name)):
                return name not in _STILL_BUILTINS - self.kinds.names
            case ast.Call(func=ast.Attribute(attr=name)):
                return name in _DRAWING or self.kind(node) != FLOAT
            case ast.Compare():
                others = [right for op, right in zip(node.ops, node.comparators, strict=True) if _is_in(op)]
                return any(self.kind(right) not in CONTAINERS for right in others)
            case ast.Starred() | ast.Subscript():
                return self.kind(node.value) not in CONTAINERS
        return not isinstance(node, _OPERATIONS)

    def draws_from_code(self, node: ast.expr) -> bool:
        """Return whether drawing from an expression's value may run code of the script."""
        if self.has_classes:
            return True
        match node:
            case ast.Attribute():
                return False
            case ast.Call(func=ast.Attribute(attr="items" | "keys" | "values")):
                return False
            case ast.Call(func=ast.Name(id="range" | "sorted" | "list" as name)):
                return name in self.kinds.names
            case ast.Call(func=ast.Name(id="enumerate" | "zip" as name), args=args):
                return name in self.kinds.names or any(self.draws_from_code(each) for each in args)
        return self.kind(node) not in CONTAINERS and not isinstance(node, ast.Subscript)

    def show_variables(self, node: Any) -> None:
        """Make the values of a comprehension's variables findable.

        From Python 3.12 on, these variables belong to the frame around the comprehension, which shows them only if it
        is a function's frame.
        """
        if (
            sys.version_info < (3, 12)
            or isinstance(node, ast.GeneratorExp)
            or self._home().form == "function"
        ):
            return
        for clause in node.generators:
            bound = [part for part in ast.walk(clause.target) if isinstance(part, ast.Name)]
            place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
            held = [self.hold(ast.Name(each.id, LOAD, **place)) for each in bound]
            if held:
                clause.ifs.insert(0, ast.Tuple(held, LOAD, **place))  # a tuple with items is true

    # Targets

    def one_by_one(self, node: ast.Assign) -> list[ast.stmt] | None:
        """Rewrite `o.x, y = value` as `<1>, y = value; o.x = <1>`; `a = o.x = value` and `a, (b, c) = value` likewise.

        Setting one target, or unpacking another, may run code while only the stack holds the other values. Returns
        None where there is one target, or only names that take one value.
        """
        if _is_flat(node.targets) or (len(node.targets) == 1 and _is_one(node.targets[0])):
            return None
        if self.scope.form == "class":
            self.refuse(
                node, "syntax", "a class body sets names, one thing at a time", "write one line for each"
            )
            return []
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        first = ast.Name(self.temporary(), LOAD, **place)
        value = self.visit(node.value)
        steps: list[ast.stmt] = [ast.Assign([ast.Name(first.id, STORE, **place)], value, **place)]
        for target in node.targets:
            later: list[tuple[ast.expr, str]] = []
            taken = self._replace_targets(target, later)
            source = first if isinstance(taken, ast.Name) else self.unpacked(first, first)
            steps.append(ast.Assign([taken], source, **place))
            rest: list[ast.stmt] = [
                ast.Assign([part], ast.Name(name, LOAD, **place), **place) for part, name in later
            ]
            steps += self.visit_all(rest)
        return steps

    def unpacked(self, node: ast.expr, value: ast.expr) -> ast.expr:
        """Return the rewritten `value` of `node`, ready for several variables to be bound to it.

        Without this, only the stack would hold some items while Python draws the others from an iterator.
        """
        if not self.draws_from_code(node):
            return value
        return self.both_ways(
            value,
            hooks.SAFE_TO_ITERATE,
            lambda again: again,
            lambda again: self.call(hooks.UNPACKED, value, again),
        )

    def _replace_targets(self, target: ast.expr, later: list[tuple[ast.expr, str]]) -> ast.expr:
        """Replace what is not a name in a target by variables of ours; add these with their meaning to `later`."""
        if isinstance(target, ast.Tuple | ast.List):
            target.elts = [self._named(part, later) for part in target.elts]
            return target
        return self._named(target, later)

    def _named(self, target: ast.expr, later: list[tuple[ast.expr, str]]) -> ast.expr:
        if isinstance(target, ast.Starred):
            target.value = self._named(target.value, later)
            return target
        if isinstance(target, ast.Name):
            return self.visit(target)  # type: ignore[no-any-return]
        name = self.temporary()
        later.append((target, name))
        return ast.Name(name, STORE, lineno=target.lineno, col_offset=target.col_offset)

    def target_first(
        self, target: ast.expr, body: list[ast.stmt], source: ast.expr | None = None
    ) -> ast.expr:
        """Return the target of a loop or `with`: a name, or a variable of ours from which `body` first sets the
        target.

        `source`: what a loop draws from.
        """
        if isinstance(target, ast.Name) or (self._gives_tuples(source) and _is_flat([target])):
            return target
        if self.scope.form == "class":
            self.refuse(
                target, "syntax", "a class body binds single names", "bind a name, and set the rest from it"
            )
            return target
        place: dict[str, Any] = {"lineno": target.lineno, "col_offset": target.col_offset}
        name = self.temporary()
        body.insert(0, ast.Assign([target], ast.Name(name, LOAD, **place), **place))
        return ast.Name(name, STORE, **place)

    def _gives_tuples(self, source: ast.expr | None) -> bool:
        """Return whether drawing from an expression gives a tuple each time."""
        match source:
            case ast.Call(func=ast.Name(id="enumerate" | "zip" as name)):
                return name not in self.kinds.names
            case ast.Call(func=ast.Attribute(attr="items"), args=[]):
                return not self.has_classes
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all(isinstance(part, ast.Tuple) for part in parts)
        return False

    def unpacked_clauses(self, clauses: list[ast.comprehension]) -> list[ast.comprehension]:
        """Rewrite `for a, b in x` of a comprehension as `for <1> in x for a, b in [<unpacked>(<1>)]`."""
        found: list[ast.comprehension] = []
        for clause in clauses:
            found.append(clause)
            later: list[tuple[ast.expr, str]] = []
            if isinstance(clause.target, ast.Tuple | ast.List):
                taken = self._of_comprehension if self._gives_tuples(clause.iter) else self._whole
                clause.target = taken(clause.target, later)
            conditions, clause.ifs = clause.ifs, []
            for part, name in later:
                place: dict[str, Any] = {"lineno": part.lineno, "col_offset": part.col_offset}
                value = self.both_ways(
                    ast.Name(name, LOAD, **place),
                    hooks.SAFE_TO_ITERATE,
                    lambda again: again,
                    lambda again: self.call(hooks.UNPACKED, again, again),
                )
                made = ast.List([value], LOAD, **place)
                found.append(ast.comprehension(self._of_comprehension(part, later), made, [], 0))
            found[-1].ifs = conditions
        return found

    def _of_comprehension(self, target: ast.expr, later: list[tuple[ast.expr, str]]) -> ast.expr:
        assert isinstance(target, ast.Tuple | ast.List)
        target.elts = [
            self._whole(part, later) if isinstance(part, ast.Tuple | ast.List) else part
            for part in target.elts
        ]
        return target

    def _whole(self, target: ast.expr, later: list[tuple[ast.expr, str]]) -> ast.expr:
        self._temporaries += 1
        name = f"<{self._temporaries}>"  # a variable of the comprehension itself
        later.append((target, name))
        return ast.Name(name, STORE, lineno=target.lineno, col_offset=target.col_offset)


def _is_in(op: ast.cmpop) -> bool:
    return isinstance(op, ast.In | ast.NotIn)


def _value(node: ast.expr | ast.keyword | None) -> ast.expr | None:
    return node.value if isinstance(node, ast.keyword) else node


def _is_unpacked(node: ast.expr | ast.keyword | None) -> bool:
    """Return whether a keyword is `**values`."""
    return isinstance(node, ast.keyword) and node.arg is None


def _is_one(target: ast.expr) -> bool:
    return isinstance(target, ast.Name | ast.Attribute | ast.Subscript)


def _is_flat(targets: list[ast.expr]) -> bool:
    """Return whether targets bind only names, from one value, or each to the whole value."""
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
        parts = [part.value if isinstance(part, ast.Starred) else part for part in targets[0].elts]
        return all(isinstance(part, ast.Name) for part in parts)
    return all(isinstance(target, ast.Name) for target in targets)


def binds_names(target: ast.expr) -> bool:
    """Return whether a target binds only names."""
    if isinstance(target, ast.Tuple | ast.List):
        return all(binds_names(part) for part in target.elts)
    if isinstance(target, ast.Starred):
        return binds_names(target.value)
    return isinstance(target, ast.Name)
