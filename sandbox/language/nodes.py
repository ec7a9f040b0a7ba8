# SPDX-License-Identifier: GPL-3.0-or-later

"""What the transformer's parts share: findings, and functions that make the nodes of guards."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from RestrictedPython.transformer import RestrictingNodeTransformer

from . import hooks, names
from .analysis.inference import Scopes
from .analysis.scopes import Kind, Scope
from .builtin_methods import CALLED_BY_C

__all__ = ("LOAD", "STORE", "Finding", "Nodes", "are_small", "children", "is_small", "uncounted")

LOAD: Final = ast.Load()
STORE: Final = ast.Store()
_SKIPPED_FIELDS: Final = frozenset({"ctx", "op", "ops", "kind", "type_comment"})
_SMALL_CODE: Final = 40
"""The most nodes of code that the transformer writes twice, once for each answer to the question about a type."""


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


class Nodes(RestrictingNodeTransformer):  # type: ignore[misc,unused-ignore]
    """Makes nodes; `kinds` has what is known about the script's values."""

    def __init__(self, kinds: Scopes) -> None:
        super().__init__()
        self.kinds = kinds
        self.answers = not CALLED_BY_C.isdisjoint(kinds.names)
        """Whether a class of the script has methods that C code may ask for."""
        self.scope: Scope = kinds.module
        self.seldom = False
        """Whether the code here runs a few times: then the guard alone is cheaper than a question about a type."""
        self.findings: list[Finding] = []
        self.hooks_used: set[str] = set()
        self.attributes_read: set[str] = set()
        self.attributes_written: set[str] = set()
        self._classes: list[str] = []
        self._no_temporaries = 0
        self._temporaries = 0

    # Findings

    def refuse(self, node: ast.AST, code: str, message: str, advice: str = "") -> None:
        """Note a finding: the script cannot run."""
        self.findings.append(
            Finding(
                code, message, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, advice=advice
            )
        )

    def error(self, node: ast.AST, info: str) -> None:
        """Note a finding of RestrictedPython's."""
        self.refuse(node, "syntax", info)

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse a form of the language that no method here allows."""
        what = type(node).__name__
        message, advice = _REFUSED_FORMS.get(what, (f"{what} is not supported", "write it in simpler Python"))
        self.refuse(node, "syntax", message, advice)

    def check_binding(self, node: ast.AST, name: str | None) -> None:
        """Refuse to bind a name that belongs to Python or the sandbox."""
        problem = names.name_problem(name) if name else None
        if problem:
            self.refuse(node, "name", f"{name!r} cannot be bound", problem)

    # Making nodes

    def name(self, hook: str, at: ast.AST) -> ast.Name:
        """Return a node that loads one of the guards' names."""
        self.hooks_used.add(hook)
        return ast.Name(hook, LOAD, lineno=at.lineno, col_offset=at.col_offset)  # type: ignore[attr-defined]

    def call(self, hook: str, at: ast.AST, *args: ast.expr) -> ast.Call:
        """Return a node that calls one of the guards."""
        place: dict[str, Any] = {"lineno": at.lineno, "col_offset": at.col_offset}  # type: ignore[attr-defined]
        return ast.Call(self.name(hook, at), list(args), [], **place)

    def constant(self, value: Any, at: ast.AST) -> ast.Constant:
        """Return a literal."""
        return ast.Constant(value, lineno=at.lineno, col_offset=at.col_offset)  # type: ignore[attr-defined]

    def choose(self, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.IfExp:
        """Return `then if test else otherwise`."""
        return ast.IfExp(test, then, otherwise, lineno=then.lineno, col_offset=then.col_offset)

    def type_in(self, value: ast.expr, types: str) -> ast.Compare:
        """Return `type(value) in <types>`."""
        place: dict[str, Any] = {"lineno": value.lineno, "col_offset": value.col_offset}
        return ast.Compare(
            self.call(hooks.TYPE, value, value), [ast.In()], [self.name(types, value)], **place
        )

    def both_ways(
        self,
        value: ast.expr,
        types: str,
        native: Callable[[ast.expr], ast.expr],
        guarded: Callable[[ast.expr], ast.expr],
    ) -> ast.expr:
        """Return `native(value) if type(value) in <types> else guarded(value)`, or the guard alone.

        The guard alone stands where the code runs seldom, or where the value cannot be evaluated once for both.
        """
        pair = None if self.seldom else self.evaluate_once(value)
        if pair is None:
            return guarded(value)
        first, again = pair
        return self.choose(self.type_in(first, types), native(again), guarded(again))

    def temporary(self) -> str:
        """Return the name of a new variable in the current scope that no script can name."""
        self._temporaries += 1
        name = f"<{self._temporaries}>"
        if self._home().form == "module":
            self.hooks_used.add(name)
        return name

    def _home(self) -> Scope:
        """Return the scope that owns variables here: for a comprehension the one around it, where `:=` puts them."""
        scope = self.scope
        while scope.form == "comprehension" and scope.parent is not None:
            scope = scope.parent
        return scope

    def is_without_temporaries(self) -> bool:
        """Return whether no variable is possible here that only the guards know."""
        return bool(self._no_temporaries) or self._home().form == "class"

    def is_steady(self, value: ast.expr) -> TypeGuard[ast.Name]:
        """Return whether an expression is a variable that nothing else binds between two reads."""
        return isinstance(value, ast.Name) and value.id not in self.kinds.rebound

    def evaluate_once(self, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Return two expressions for one value: the first evaluates it, the second (evaluated later) reads it.

        Returns None where that is not possible: then the script has to call a guard.
        """
        if self.is_steady(value):
            return value, ast.Name(value.id, LOAD, lineno=value.lineno, col_offset=value.col_offset)
        if isinstance(value, ast.Constant):
            return value, value
        if isinstance(value, ast.NamedExpr) and value.target.id.startswith("<"):  # already a variable of ours
            return value, ast.Name(value.target.id, LOAD, lineno=value.lineno, col_offset=value.col_offset)
        if self.is_without_temporaries():
            return None
        temporary = self.temporary()
        place: dict[str, Any] = {"lineno": value.lineno, "col_offset": value.col_offset}
        store = ast.Name(temporary, STORE, **place)
        return ast.NamedExpr(store, value, **place), ast.Name(temporary, LOAD, **place)

    def kind(self, node: ast.expr) -> Kind:
        """Return the known kind of an expression that has not been rewritten yet."""
        return self.kinds.kind(node, self.scope)

    def node_contents_visit(self, node: Any) -> Any:
        """Rewrite a node's parts, in the order in which Python evaluates them."""
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


def is_small(node: ast.expr) -> bool:
    """Return whether an expression is small: see `are_small`."""
    return are_small([node], [])


def are_small(args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> bool:
    """Return whether the arguments are small enough to be written twice."""
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


def uncounted(args: ast.arguments) -> bool:
    """Return whether Python's limit of recursion misses calls of a function with these parameters.

    Such a function that calls itself takes all memory, and Blender with it. From 3.13 on, the interpreter's quick way
    to call a function with other arguments than exactly its positional parameters leaves the check out (seen in
    3.13.5: `CALL_PY_GENERAL`).
    """
    inexact = args.defaults or args.kwonlyargs or args.vararg or args.kwarg
    return sys.version_info >= (3, 13) and bool(inexact)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes right below, without contexts and operators; several times as fast as the standard library."""
    found: list[ast.AST] = []
    for inside in vars(node).values():
        if type(inside) is list:
            found += [child for child in inside if isinstance(child, ast.AST)]
        elif isinstance(inside, ast.AST) and inside._fields:
            found.append(inside)
    return found
