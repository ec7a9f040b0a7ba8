# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a script's values before it runs, so that the transformer can leave guards out.

Only syntax can bind a name in a script (there is no `exec`, `globals()` or star import), so every value that a
variable can ever have is the value of one of the expressions bound to it in its scope. A least fixed point over those
gives each variable a kind; whoever reads a kind may rely on it.

Kinds: an int `n` stands for an integer of at most `n` bits (`UNBOUNDED` for any); the rest are the names below, and
those of Blender's structs, whose values may be None besides.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .structs import CONTEXT, DATA, READ, RETURNS

__all__ = (
    "CONTAINERS",
    "FLOAT",
    "MODULE",
    "NUMBER",
    "TEXT",
    "UNBOUNDED",
    "UNKNOWN",
    "Kind",
    "Scope",
    "Scopes",
    "is_integer",
    "is_number",
)

Kind: TypeAlias = int | str

NOTHING: Final = "nothing"
"""No value yet: the bottom of the lattice."""
FLOAT: Final = "float"
NUMBER: Final = "number"
"""int, float or complex."""
TEXT: Final = "str"
UNKNOWN: Final = "unknown"
CONTAINERS: Final = frozenset({"list", "dict", "tuple", "set", TEXT})
UNBOUNDED: Final = 1 << 40
SMALL: Final = 64
"""Bits of lengths, indices and loop counters."""

MODULE: Final = "module "
"""Prefix of the kind of a curated module's view."""
_COUNTER: Final = "counter of "
"""Prefix of what a loop variable is bound to until it is known whether the script binds `range`."""

PURE_MODULES: Final = frozenset(
    {"math", "cmath", "random", "colorsys", "itertools", "functools", "collections", "json", "statistics"}
    | {"string", "textwrap", "datetime", "time", "bisect", "heapq", "operator", "fractions", "copy"}
    | {"bpy", "bmesh", "mathutils", "numpy"}
)
"""Modules that are views, whose members are given out as they are: `module.member` needs no guard."""

_BLENDERS: Final = {"context": CONTEXT, "data": DATA, "ops": f"{MODULE}bpy.ops"}
"""Kinds of the members of `bpy`; operators and their modules guard themselves, as views do."""

_FLOAT_MATH: Final = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees dist e erf erfc exp exp2 expm1
    fabs fmod fsum gamma hypot inf ldexp lgamma log log10 log1p log2 nan pi pow radians remainder sin
    sinh sqrt tan tanh tau ulp
    """.split()
)
_FLOAT_RANDOM: Final = frozenset({"random", "uniform", "gauss", "triangular", "betavariate", "normalvariate"})
_CONSTANTS: Final = frozenset({"e", "inf", "nan", "pi", "tau"})
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
    """Whether a value of this kind is an int."""
    return isinstance(kind, int)


def is_number(kind: Kind) -> bool:
    """Whether a value of this kind is a plain int, float or complex."""
    return isinstance(kind, int) or kind in (FLOAT, NUMBER)


def join(first: Kind, second: Kind) -> Kind:
    """The kind of a value that is one or the other."""
    if first == second or second == NOTHING:
        return first
    if first == NOTHING:
        return second
    if isinstance(first, int) and isinstance(second, int):
        return max(first, second)
    return NUMBER if is_number(first) and is_number(second) else UNKNOWN


@dataclass(eq=False)
class Scope:
    """A module, function, class or comprehension: which names it binds, and to what (None: not known)."""

    form: str
    parent: Scope | None = None
    bound: dict[str, list[ast.expr | Kind]] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)

    def owner(self, name: str) -> Scope | None:
        """The scope whose variable `name` means here, None for a builtin."""
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
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Scopes:
    """Scopes and kinds of a parsed script. `scope_of[node]` is the scope a function, class, … opens."""

    def __init__(self, tree: ast.Module) -> None:
        self.module = Scope("module")
        self.scope_of: dict[ast.AST, Scope] = {tree: self.module}
        self._scopes = [self.module]
        self._cache: dict[ast.expr, Kind] | None = None
        self._noted: set[ast.Name] = set()
        self._walrus: set[str] = set()
        self.bound_within: set[str] = set()
        """Names that are bound within an expression: by `:=`."""
        self._collect_body(tree.body, self.module)
        self._hand_over()
        self.names = frozenset(name for scope in self._scopes for name in scope.bound)
        """Every name that the script binds anywhere: all other names are builtins for certain."""
        self.rebound = frozenset(self._walrus) | {name for scope in self._scopes for name in scope.elsewhere}
        """Names that code of another scope may bind anew: a generator that the collector ends, at any moment."""
        self._noted.clear()
        self._solve()
        self._cache = {}

    # Which names are bound, where and to what

    def _collect_body(self, nodes: list[ast.stmt], scope: Scope) -> None:
        for node in nodes:
            self._collect(node, scope)

    def _open(self, node: ast.AST, form: str, parent: Scope) -> Scope:
        scope = self.scope_of[node] = Scope(form, parent)
        self._scopes.append(scope)
        return scope

    def _collect(self, node: ast.AST, scope: Scope) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._collect_function(node, scope)
                return
            case ast.ClassDef():
                _bind(scope, node.name, UNKNOWN)
                for part in (*node.decorator_list, *node.bases, *node.keywords):
                    self._collect(part, scope)
                self._collect_body(node.body, self._open(node, "class", scope))
                return
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._collect_comprehension(node, scope)
                return
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
                    _bind(scope, alias.asname or alias.name, _member(node.module or "", alias.name))
            case ast.Name(id=name, ctx=ast.Store()) if node not in self._noted:
                _bind(scope, name, UNKNOWN)
            case ast.Name(id=name, ctx=ast.Del()):
                _bind(scope, name, NOTHING)
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                _bind(scope, name, UNKNOWN)
            case ast.MatchMapping(rest=str(name)):
                _bind(scope, name, UNKNOWN)
        for field_name in node._fields:
            inside: Any = getattr(node, field_name, None)
            if isinstance(inside, list):
                for child in inside:
                    if isinstance(child, ast.AST):
                        self._collect(child, scope)
            elif isinstance(inside, ast.AST) and inside._fields:  # not what says "load" or "+"
                self._collect(inside, scope)

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
        if isinstance(node, ast.Lambda):
            self._collect(node.body, inner)
            return
        _bind(scope, node.name, UNKNOWN)
        for decorator in node.decorator_list:
            self._collect(decorator, scope)
        self._collect_body(node.body, inner)

    def _collect_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, scope: Scope
    ) -> None:
        inner = self._open(node, "comprehension", scope)
        for position, clause in enumerate(node.generators):
            self._collect(clause.iter, inner if position else scope)
            self._bind_loop(inner, clause.target, clause.iter)
            self._collect(clause.target, inner)
            for condition in clause.ifs:
                self._collect(condition, inner)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for part in parts:
            self._collect(part, inner)

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
        """Loop variables: counters of `range` and `enumerate` are small integers (if those names are the builtins')."""
        match iterable, target:
            case ast.Call(func=ast.Name(id="range")), ast.Name():
                self._note(scope, target, _COUNTER + "range")
            case (
                ast.Call(func=ast.Name(id="enumerate"), args=[_], keywords=[]),
                ast.Tuple(elts=[ast.Name() as counter, _]),
            ):
                self._note(scope, counter, _COUNTER + "enumerate")

    def _hand_over(self) -> None:
        """Give what is bound under `global` and `nonlocal` to the scope that owns the name."""
        for scope in self._scopes:
            for name, where in scope.elsewhere.items():
                if name not in scope.bound:
                    continue
                owner: Scope | None = self.module
                if where == "nonlocal":
                    owner = scope.owner(name)
                if owner is not None and owner is not scope:
                    # what it is bound to is an expression of another scope, whose names mean other variables
                    owner.bound.setdefault(name, []).append(UNKNOWN)

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
        if isinstance(value, str) and value.startswith(_COUNTER):
            return UNKNOWN if value.removeprefix(_COUNTER) in self.names else SMALL
        return value

    def variable(self, name: str, scope: Scope) -> Kind:
        """The kind of the variable that `name` means in `scope`."""
        owner = scope.owner(name)
        if owner is None:
            known = name not in self.names and name in _BUILTIN_RESULTS and hasattr(builtins, name)
            return f"{RETURNS}{_BUILTIN_RESULTS[name]}" if known else UNKNOWN
        return UNKNOWN if owner.form == "class" else owner.kinds[name]

    # The kinds of expressions

    def kind(self, node: ast.expr, scope: Scope) -> Kind:
        """The kind of every value that the (untransformed) expression can have in `scope`."""
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

    def _numeric_call(self, name: str, node: ast.Call, scope: Scope) -> Kind:
        """`int(float)`, `round(float)`, `abs(number)`, `min(number, number, …)`."""
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


def _bind(scope: Scope, name: str, value: ast.expr | Kind) -> None:
    scope.bound.setdefault(name, []).append(value)


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
        return _member(kind.removeprefix(MODULE), name)
    return READ.get(kind, {}).get(name) or UNKNOWN


def _member(module: str, name: str) -> Kind:
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
