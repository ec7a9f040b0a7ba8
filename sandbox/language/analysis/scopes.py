# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds which names a script binds, in which scope, and to what: an expression's value, or a value of a known kind.

Only syntax can bind a name in a script (there is no `exec`, `globals()` or star import). So every value of a variable
is the value of one of the expressions that its scope binds to it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from .seldom import Counts
from .structs import CONTEXT, DATA, RETURNS

__all__ = (
    "CONTAINERS",
    "COUNTER",
    "FLOAT",
    "MODULE",
    "NOTHING",
    "NUMBER",
    "SMALL",
    "TEXT",
    "UNBOUNDED",
    "UNKNOWN",
    "Bindings",
    "Kind",
    "Scope",
    "member_kind",
)

Kind: TypeAlias = int | str

NOTHING: Final = "nothing"
"""The kind of a variable without values so far: the bottom of the lattice."""
FLOAT: Final = "float"
NUMBER: Final = "number"
"""The kind of an int, float or complex."""
TEXT: Final = "str"
UNKNOWN: Final = "unknown"
CONTAINERS: Final = frozenset({"list", "dict", "tuple", "set", TEXT})
UNBOUNDED: Final = 1 << 40
SMALL: Final = 64
"""The bits of lengths, indices and loop counters."""

MODULE: Final = "module "
"""The prefix of the kind of a curated module's view."""
COUNTER: Final = "counter of "
"""The prefix of a loop variable's kind while it is unknown whether the script binds `range`."""

PURE_MODULES: Final = frozenset(
    {"math", "cmath", "random", "colorsys", "itertools", "functools", "collections", "json", "statistics"}
    | {"string", "textwrap", "datetime", "time", "bisect", "heapq", "operator", "fractions", "copy"}
    | {"bpy", "bmesh", "mathutils", "numpy"}
)
"""Modules whose views hand out their members unchanged: `module.member` needs no guard."""

_BLENDERS: Final = {"context": CONTEXT, "data": DATA, "ops": f"{MODULE}bpy.ops"}
"""The kinds of the members of `bpy`. Operators and their modules guard themselves, as views do."""

_FLOAT_MATH: Final = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees dist e erf erfc exp exp2 expm1
    fabs fmod fsum gamma hypot inf ldexp lgamma log log10 log1p log2 nan pi pow radians remainder sin
    sinh sqrt tan tanh tau ulp
    """.split()
)
_FLOAT_RANDOM: Final = frozenset({"random", "uniform", "gauss", "triangular", "betavariate", "normalvariate"})
_CONSTANTS: Final = frozenset({"e", "inf", "nan", "pi", "tau"})


@dataclass(eq=False)
class Scope:
    """A module, function, class or comprehension: the names that it binds, and their values (None: not known)."""

    form: str
    parent: Scope | None = None
    bound: dict[str, list[ast.expr | Kind]] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    generates: bool = False
    """Whether the function has a `yield`."""
    lasts: bool = False
    """Whether the generator can run code when it is closed early: a `yield` is inside a `try` or `with`."""

    def owner(self, name: str) -> Scope | None:
        """Return the scope whose variable `name` means here, None for a builtin."""
        scope: Scope = self
        while scope.parent is not None:
            where = scope.elsewhere.get(name)
            if where == "global":
                scope = scope.module()
                break
            if where is None and name in scope.bound and (scope is self or scope.form != "class"):
                break
            scope = scope.parent  # type: ignore[assignment] # the loop asks
        return scope if name in scope.bound else None

    def module(self) -> Scope:
        """Return the outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Bindings:
    """The scopes of a parsed script. `scope_of[node]` is the scope that a function, class, … opens."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope("module")
        self.scope_of: dict[ast.AST, Scope] = {tree: self.module}
        self._scopes = [self.module]
        self._noted: set[ast.Name] = set()
        self._walrus: set[str] = set()
        self.bound_within: set[str] = set()
        """Names that an expression binds, by `:=`."""
        self._leaving = 0
        """How many statements around the current node can run code when the function leaves them."""
        self._counts = Counts(tree)
        self._class = ""
        self._collect_body(tree.body, self.module)
        self._hand_over()
        self.names = frozenset(name for scope in self._scopes for name in scope.bound)
        """Every name that the script binds anywhere: all other names are builtins for certain."""
        self.rebound = frozenset(self._walrus) | {name for scope in self._scopes for name in scope.elsewhere}
        """Names that another scope's code may bind again at any moment: the collector may end a generator."""
        self.seldom = self._counts.seldom()
        """Functions, loops and comprehensions whose code runs a few times."""
        self._noted.clear()

    # Bindings

    def _collect_body(self, nodes: Sequence[ast.AST], scope: Scope) -> None:
        for node in nodes:
            if type(node) in _NODES:
                self._collect(node, scope)

    def _open(self, node: ast.AST, form: str, parent: Scope) -> Scope:
        scope = self.scope_of[node] = Scope(form, parent)
        self._scopes.append(scope)
        return scope

    def _collect(self, node: ast.AST, scope: Scope) -> None:
        kind = type(node)
        if kind is ast.Name:
            self._collect_name(node, scope)  # type: ignore[arg-type]
            return
        if kind in _OPENING:
            self._collect_scope(node, scope)
            return
        if kind in _BINDING:
            self._collect_binding(node, scope)
        if kind in _COUNTED:
            self._collect_counted(node, scope)
            return
        leaves = kind in _LEAVING
        self._leaving += leaves
        for inside in vars(node).values():
            if type(inside) in _NODES:
                self._collect(inside, scope)
            elif type(inside) is list:
                for child in inside:
                    if type(child) in _NODES:
                        self._collect(child, scope)
        self._leaving -= leaves

    def _collect_counted(self, node: ast.AST, scope: Scope) -> None:
        """Collect the names of a node that says how often code runs."""
        match node:
            case ast.Call(func=ast.Name(id=name)):
                self._counts.call(name)
                self._collect_body([*node.args, *node.keywords], scope)
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                self._counts.call(name)
                self._collect_body([value, *node.args, *node.keywords], scope)
            case ast.Call():
                self._counts.call("")
                self._collect_body([node.func, *node.args, *node.keywords], scope)
            case ast.Attribute():
                if type(node.ctx) is ast.Load:
                    self._counts.read(node.attr)
                self._collect(node.value, scope)
            case ast.For() | ast.AsyncFor():
                self._collect(node.iter, scope)
                with self._counts.loop(node, node.iter):
                    self._collect_body([node.target, *node.body], scope)
                self._collect_body(node.orelse, scope)
            case ast.While():
                with self._counts.loop(node):
                    self._collect_body([node.test, *node.body], scope)
                self._collect_body(node.orelse, scope)

    def _collect_name(self, node: ast.Name, scope: Scope) -> None:
        if type(node.ctx) is ast.Load:
            self._counts.read(node.id)
            return
        if type(node.ctx) is ast.Del:
            _bind(scope, node.id, NOTHING)
        elif node not in self._noted:
            _bind(scope, node.id, UNKNOWN)

    def _collect_scope(self, node: ast.AST, scope: Scope) -> None:
        """Collect the names of a node that opens a scope of its own."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._collect_function(node, scope)
            case ast.ClassDef():
                _bind(scope, node.name, UNKNOWN)
                for part in (*node.decorator_list, *node.bases, *node.keywords):
                    self._collect(part, scope)
                around, self._class = self._class, node.name
                self._collect_body(node.body, self._open(node, "class", scope))
                self._class = around
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._collect_comprehension(node, scope)

    def _collect_binding(self, node: ast.AST, scope: Scope) -> None:
        """Collect the names that a node binds in its scope; note a `yield`."""
        match node:
            case ast.Assign():
                for target in node.targets:
                    self._bind_target(scope, target, node.value)
            case ast.AnnAssign(target=ast.Name() as target):
                self._note(scope, target, node.value if node.value is not None else NOTHING)
            case ast.AugAssign(target=ast.Name() as target):
                read = ast.Name(target.id, ast.Load())
                self._note(scope, target, ast.BinOp(read, node.op, node.value))
            case ast.For() | ast.AsyncFor():
                self._bind_loop(scope, node.target, node.iter)
            case ast.NamedExpr(target=ast.Name() as target):
                self.bound_within.add(target.id)
                home = scope
                while home.form == "comprehension" and home.parent is not None:
                    home = home.parent
                    self._walrus.add(target.id)
                self._note(home, target, UNKNOWN)
            case ast.Global(names=names):
                scope.elsewhere.update(dict.fromkeys(names, "global"))
            case ast.Nonlocal(names=names):
                scope.elsewhere.update(dict.fromkeys(names, "nonlocal"))
            case ast.Import():
                for alias in node.names:
                    root = alias.name.partition(".")[0]
                    pure = alias.name in PURE_MODULES
                    _bind(scope, alias.asname or root, MODULE + alias.name if pure else UNKNOWN)
            case ast.ImportFrom():
                for alias in node.names:
                    _bind(scope, alias.asname or alias.name, member_kind(node.module or "", alias.name))
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                _bind(scope, name, UNKNOWN)
            case ast.MatchMapping(rest=str(name)):
                _bind(scope, name, UNKNOWN)
            case ast.Yield() | ast.YieldFrom():
                scope.generates = True
                scope.lasts = scope.lasts or self._leaving > 0

    def _collect_function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope
    ) -> None:
        inner = self._open(node, "function", scope)
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self._collect(default, scope)
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            _bind(inner, argument.arg, UNKNOWN)
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                _bind(inner, rest.arg, UNKNOWN)
        if not isinstance(node, ast.Lambda):
            _bind(scope, node.name, UNKNOWN)
            for decorator in node.decorator_list:
                self._collect(decorator, scope)
        around, self._leaving = self._leaving, 0
        with self._counts.function(node, self._class if scope.form == "class" else ""):
            self._collect_body([node.body] if isinstance(node, ast.Lambda) else node.body, inner)
        self._leaving = around

    def _collect_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope
    ) -> None:
        inner = self._open(node, "comprehension", scope)
        self._collect(node.generators[0].iter, scope)
        with self._counts.loop(node, *[clause.iter for clause in node.generators]):
            for position, clause in enumerate(node.generators):
                if position:
                    self._collect(clause.iter, inner)
                self._bind_loop(inner, clause.target, clause.iter)
                self._collect(clause.target, inner)
                self._collect_body(clause.ifs, inner)
            parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
            self._collect_body(parts, inner)

    def _note(self, scope: Scope, target: ast.Name, value: ast.expr | Kind) -> None:
        self._noted.add(target)
        _bind(scope, target.id, value)

    def _bind_target(self, scope: Scope, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._note(scope, target, value)
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
            if len(value.elts) != len(target.elts):
                return
            if any(isinstance(part, ast.Starred) for part in (*value.elts, *target.elts)):
                return
            for part, part_value in zip(target.elts, value.elts, strict=True):
                self._bind_target(scope, part, part_value)

    def _bind_loop(self, scope: Scope, target: ast.expr, iterable: ast.expr) -> None:
        """Bind loop variables: `range` and `enumerate` (if they are the builtins) give small integers."""
        match iterable, target:
            case ast.Call(func=ast.Name(id="range")), ast.Name():
                self._note(scope, target, COUNTER + "range")
            case (
                ast.Call(func=ast.Name(id="enumerate"), args=[_], keywords=[]),
                ast.Tuple(elts=[ast.Name() as counter, _]),
            ):
                self._note(scope, counter, COUNTER + "enumerate")

    def _hand_over(self) -> None:
        """Move what `global` and `nonlocal` bind to the scope that owns the name."""
        for scope in self._scopes:
            for name, where in scope.elsewhere.items():
                if name not in scope.bound:
                    continue
                owner: Scope | None = self.module
                if where == "nonlocal":
                    owner = scope.owner(name)
                if owner is not None and owner is not scope:
                    # the value is an expression of another scope, where names mean other variables
                    owner.bound.setdefault(name, []).append(UNKNOWN)


_OPENING: Final = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef}
    | {ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
)
_BINDING: Final = frozenset(
    {ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor, ast.NamedExpr, ast.Global, ast.Nonlocal}
    | {ast.Import, ast.ImportFrom, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping}
    | {ast.Yield, ast.YieldFrom}
)
_COUNTED: Final = frozenset({ast.Call, ast.Attribute, ast.For, ast.AsyncFor, ast.While})
_LEAVING: Final = frozenset({ast.Try, ast.With})
_NODES: Final = frozenset(
    kind
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and kind._fields
) - {ast.Constant}
"""The nodes that contain others, or bind a name."""


def _bind(scope: Scope, name: str, value: ast.expr | Kind) -> None:
    scope.bound.setdefault(name, []).append(value)


def member_kind(module: str, name: str) -> Kind:
    """Return the kind of a member of one of `PURE_MODULES`."""
    if module == "bpy" and name in _BLENDERS:
        return _BLENDERS[name]
    if module.startswith("bpy.ops"):
        return f"{MODULE}{module}.{name}"
    if module == "math" and name in _CONSTANTS:
        return FLOAT
    if (module == "math" and name in _FLOAT_MATH) or (module == "random" and name in _FLOAT_RANDOM):
        return RETURNS + FLOAT
    if module == "random" and name in ("randint", "randrange"):
        return f"{RETURNS}{UNBOUNDED}"
    return UNKNOWN
