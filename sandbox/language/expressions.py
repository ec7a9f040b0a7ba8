# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802, N815 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer's part for calls, loops, comprehensions, and functions as expressions."""

from __future__ import annotations

import ast
from typing import Any, Final

from . import hooks, names
from .analysis import structs
from .analysis.scopes import CONTAINERS, UNKNOWN
from .builtin_methods import CALLING_BUILTINS, HASHING, HASHING_ALL
from .holding import binds_names
from .members import CHANGING, Members, is_super_call
from .nodes import LOAD, are_small, uncounted
from .operations import has_stars, is_made_here

__all__ = ("Expressions",)

_MAKES_HASHED: Final = frozenset({"set", "frozenset", "dict"})


class Expressions(Members):
    """Rewrites the other expressions: calls, comprehensions, lambdas and generators."""

    # Calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Rewrite a call. A script may call whatever it holds; in `value.method(…)` the method needs the guard."""
        if is_super_call(node):
            return self.call(hooks.SUPER_OF, node, *self.visit_all(node.args)) if node.args else node
        own = self.answers and any(isinstance(each, ast.Starred) for each in node.args)
        if own or has_stars(node.args):  # rewrites `f(*a, *b)` as `f(*(*a, *b))`
            place = {"lineno": node.lineno, "col_offset": node.col_offset}
            node.args = [ast.Starred(ast.Tuple(node.args, LOAD, **place), LOAD, **place)]
        self.note_running(node)
        if updated := self._of_attributes(node.func):
            node.func, node.args = self.name(hooks.SET_ALL, node), [updated, *node.args]
            self._arguments(node, None)
            return node
        function = node.func
        if isinstance(function, ast.Name) and (rewritten := self._call_of_name(node, function.id)):
            return rewritten
        if (
            isinstance(function, ast.Attribute)
            and not names.is_dunder(function.attr)
            and not names.attribute_problem(function.attr)
        ):
            return self._call_of_method(node, function)
        loose = self.is_loose(function)
        node.func, mark = self.visit(function), self.runs
        self._arguments(node, None)
        node.func = self.held_where(loose, node.func, mark)
        return node

    def _call_of_name(self, node: ast.Call, name: str) -> ast.AST | None:
        """Rewrite a call of a built-in function that needs more than its guard; None for any other."""
        place = {"lineno": node.lineno, "col_offset": node.col_offset}
        if name in _MAKES_HASHED - self.kinds.names:
            made = self._hashed_arguments("update", node)
            native = node.func if made is None else self.name(hooks.TYPES.format(name), node)
            self._arguments(node, made)
            return ast.Call(native, node.args, node.keywords, **place)
        if rewritten := self._isinstance(node):
            return rewritten
        if self.answers and name in CALLING_BUILTINS - self.kinds.names:
            self._arguments(node, None)
            return ast.Call(self.name(hooks.ASK, node), [node.func, *node.args], node.keywords, **place)
        return None

    def _call_of_method(self, node: ast.Call, function: ast.Attribute) -> ast.AST:
        """Rewrite `value.method(…)`: the guard decides about the method unless the value's kind is known."""
        if function.attr in CHANGING:
            self.check_no_copy(function.value)
        kind = self.kind(function.value)
        plain = self.needs_no_guard(kind, function.attr) or (kind == "list" and _extends(node, function.attr))
        loose = self.is_loose(function.value)
        function.value, mark = self.visit(function.value), self.runs
        hashing = function.attr in HASHING or function.attr in HASHING_ALL
        made = self._hashed_arguments(function.attr, node) if hashing else None
        self._arguments(node, made)
        runs = mark < self.runs
        function.value = self.held_where(loose, function.value, mark)
        if hashing and made is None:
            node.func = self.read_by_guard(function.value, function)
            return node
        if plain:
            # The collector does not see a reference that a function of Blender's holds.
            if runs and kind in structs.READ:
                node.func = self.hold(function)
            return node
        guarded = self.read_member(function.value, function)
        if not runs and isinstance(guarded, ast.IfExp) and are_small(node.args, node.keywords):
            return self._call_both_ways(node, guarded)
        node.func = self.hold(guarded) if runs else guarded
        return node

    def _of_attributes(self, function: ast.expr) -> ast.expr | None:
        """Return the object whose attributes `value.__dict__.update` or `vars(value).update` changes."""
        match function:
            case ast.Attribute(value=ast.Attribute(value=value, attr="__dict__"), attr="update"):
                return value
            case ast.Attribute(
                value=ast.Call(func=ast.Name(id="vars"), args=[value], keywords=[]), attr="update"
            ) if "vars" not in self.kinds.names and not isinstance(value, ast.Starred):
                return value
        return None

    def _arguments(self, node: ast.Call, made: list[ast.expr] | None) -> None:
        """Rewrite the arguments of a call; `made` are arguments that are already rewritten."""
        if made is not None:
            node.args, node.keywords = made, self.operands(node.keywords)
            return
        several = len(node.args) + len(node.keywords) > 1
        draws = isinstance(node.func, ast.Name) and node.func.id == "next"
        found = self.operands(
            [*node.args, *node.keywords], run_by_use=several and (draws or self.has_classes)
        )
        node.args, node.keywords = found[: len(node.args)], found[len(node.args) :]

    def _hashed_arguments(self, name: str, node: ast.Call) -> list[ast.expr] | None:
        """Rewrite the arguments of `table.get(key)`, `set.update(items)`, … with a check before Python hashes them.

        Returns None where the text does not show which arguments Python hashes.
        """
        if any(isinstance(part, ast.Starred) for part in node.args):
            return None
        if name in HASHING:
            if node.keywords:
                return None
            loose = [self.is_loose(part) for part in node.args]
            first, mark = [self.keyed(part) for part in node.args[:1]], self.runs
            rest = self.operands(node.args[1:])
            if self.has_classes:  # whose `__hash__` and `__eq__` run while only the stack holds the default
                return [
                    self.hold(part) if each else part for each, part in zip(loose, first + rest, strict=True)
                ]
            return [self.held_where(loose[0], part, mark) for part in first] + rest
        found = self.operands(node.args)
        return [self.call(hooks.CHECK_HASHES, part, part) for part in found]

    def _call_both_ways(self, node: ast.Call, guarded: ast.IfExp) -> ast.expr:
        """Return `a.f(x) if … else <getattr>(a, 'f')(x)`, so that the unguarded branch makes no bound method."""
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        plain = ast.Call(guarded.body, node.args, node.keywords, **place)
        other = ast.Call(guarded.orelse, node.args, node.keywords, **place)
        return self.choose(guarded.test, plain, other)

    def iterated(self, node: ast.expr) -> ast.expr:
        """Rewrite what a loop draws from. The loop ticks itself, so its own `zip`, `enumerate`, … need not tick."""
        match node:
            case ast.Call(func=ast.Name(id="range")) if "range" not in self.kinds.names:
                return self.visit(node)
            case ast.Call(func=ast.Name(id=name), args=args) if (
                name in hooks.RAW
                and name not in self.kinds.names
                and not self.answers
                and not any(isinstance(part, ast.Starred) for part in args)
                and (
                    name != "map" or len(args) < 3
                )  # while C code draws the second value, it alone holds the first
            ):
                arguments = [self.iterated(part) for part in args]
                place = {"lineno": node.lineno, "col_offset": node.col_offset}
                function = self.name(hooks.RAW[name], node)
                return ast.Call(function, arguments, self.visit_all(node.keywords), **place)
            case ast.Call(func=ast.Attribute(attr="items" | "keys" | "values") as function) if (
                self.kind(function.value) == "dict"
            ):
                return self.visit(node)
        if isinstance(node, _MAKING_LISTS) or self.kind(node) in CONTAINERS:
            return self.visit(node)
        value = self.visit(node)
        drawn = self.call(hooks.ITERATED, node, value)
        if self.seldom or not self.is_steady(value):
            return drawn
        return self.choose(self.type_in(value, hooks.SAFE_TO_ITERATE), value, drawn)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        """Rewrite `yield from values`, which does not tick by itself."""
        node.value = self.call(hooks.ITERATED, node, self.visit(node.value))
        return node

    def _isinstance(self, node: ast.Call) -> ast.expr | None:
        """Return `isinstance(value, (int, str))` as Python's own call, if the text names only builtin types."""
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
        """Rewrite `name=value` in a call."""
        if node.arg is None:
            self.runs += 1
            node.value = self.spread(node.value)
            return node
        return self.node_contents_visit(node)

    def visit_TemplateStr(self, node: ast.AST) -> ast.AST:
        """Refuse template strings: they hand out the values they contain by attributes."""
        self.not_allowed(node)
        return node

    visit_Interpolation = visit_TemplateStr

    # Functions and comprehensions as expressions

    def running(self, at: ast.AST) -> ast.expr:
        """Return `<running> or <stop>()`: a tick for places where only an expression fits."""
        place: dict[str, Any] = {"lineno": at.lineno, "col_offset": at.col_offset}  # type: ignore[attr-defined]
        return ast.BoolOp(ast.Or(), [self.name(hooks.RUNNING, at), self.call(hooks.STOP, at)], **place)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Rewrite a lambda so that it ticks when it is called."""
        if self.kinds.scope_of[node].generates:
            self.refuse(node, "syntax", "a lambda may not yield", "write a function")
        self.visit_arguments(node.args)
        outer, self.scope = self.scope, self.kinds.scope_of[node]
        lazy, self.lazy = self.lazy, 0
        seldom, self.seldom = self.seldom, node in self.kinds.seldom
        body = self.visit(node.body)
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        deeper = [self.call(hooks.DEPTH, node)] if uncounted(node.args) else []
        node.body = ast.BoolOp(ast.And(), [self.running(node), *deeper, body], **place)
        self.scope, self.lazy, self.seldom = outer, lazy, seldom
        return node

    def visit_arguments(self, node: ast.arguments, decorators: list[ast.expr] | None = None) -> ast.AST:
        """Check parameters' names, rewrite defaults, drop annotations. Python evaluates `decorators` before."""
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg):
            if argument is not None:
                self.check_binding(argument, argument.arg)
                argument.annotation = None
        before = [] if decorators is None else decorators
        found = self.operands([*before, *node.defaults, *node.kw_defaults], run_by_use=bool(before))
        before[:], found = found[: len(before)], found[len(before) :]
        node.defaults, node.kw_defaults = found[: len(node.defaults)], found[len(node.defaults) :]
        return node

    def _visit_comprehension_parts(self, node: Any) -> ast.AST:
        outer, inner = self.scope, self.kinds.scope_of[node]
        before, draws = self.runs, False
        around, within = self.seldom, node in self.kinds.seldom
        for clause in node.generators:
            if not binds_names(clause.target):
                self.refuse(clause.target, "syntax", "a comprehension binds names only", "write a for loop")
        for position, clause in enumerate(node.generators):
            draws = draws or self.draws_from_code(clause.iter)
            if clause.is_async:
                self.not_allowed(clause)
            self.scope, self.seldom = (inner, within) if position else (outer, around)
            self._no_temporaries += 1
            clause.iter = self.iterated(clause.iter)
            self._no_temporaries -= 1
            self.scope, self.seldom = inner, within
            clause.target = self.visit(clause.target)
            clause.ifs = [self.running(clause.iter), *self.visit_all(clause.ifs)]
        self.scope = inner
        loose: list[str] = []
        for part in ("key", "value", "elt"):
            if hasattr(node, part):
                each = getattr(node, part)
                if (isinstance(each, ast.Name) and self.kind(each) == UNKNOWN) or self.is_loose(each):
                    loose.append(part)
                hashed = part == "key" or isinstance(node, ast.SetComp)
                setattr(node, part, (self.keyed if hashed else self.visit)(each))
        if isinstance(node, ast.DictComp) and (draws or before < self.runs):
            for part in loose:  # the dict grows on the stack, and the collector does not show it
                each = getattr(node, part)
                setattr(node, part, self.call(hooks.KEEP, each, each))
        node.generators = self.unpacked_clauses(node.generators)
        if draws or before < self.runs:
            self.show_variables(node)
        self.runs += 1
        self.scope, self.seldom = outer, around
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = _visit_comprehension_parts

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Count a generator while it is alive."""
        self.lazy += 1
        made = self._visit_comprehension_parts(node)
        self.lazy -= 1
        return self.call(hooks.COUNT_GENERATOR, node, made)  # type: ignore[arg-type]

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """Rewrite `name := value`."""
        return self.node_contents_visit(node)


#: Expressions whose value is no collection of Blender's.
_MAKING_LISTS = (
    *(ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.JoinedStr),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def _extends(node: ast.Call, method: str) -> bool:
    """Return whether a call is `items.extend([…])` with items that the source itself writes out."""
    return method == "extend" and not node.keywords and len(node.args) == 1 and is_made_here(node.args[0])


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]
