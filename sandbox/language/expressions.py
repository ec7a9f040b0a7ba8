# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802, N815 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer's half that rewrites expressions.

A guard in the hot path is a question about the type of the left-hand value, written into the script:
`v.co` becomes `v.co if type(v) in <r:co> else <getattr>(v, 'co')`, where `<r:co>` is a set of types that fills as the
script runs. Nothing of the script can run between the question and the use of the value it was about: a value that is
not a plain name is first put into a variable that no script can name. Where no such variable is possible (class
bodies, what a comprehension draws from) the guard is called instead.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from . import hooks, names, structs
from .builtin_methods import CALLING_BUILTINS, HASHING, HASHING_ALL, PLAIN_METHODS
from .holding import binds_names
from .inference import CONTAINERS, MODULE, TEXT, UNKNOWN, Kind, is_number
from .nodes import LOAD, are_small, is_small, uncounted, yields
from .operations import Operations, has_stars, is_made_here

__all__ = ("Expressions",)

_MAKES_HASHED: Final = frozenset({"set", "frozenset", "dict"})


class Expressions(Operations):
    """Rewrites the other expressions."""

    # Names and constants

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Literals are what they are."""
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A variable or a builtin."""
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self.check_binding(node, name)
            return node
        if name in names.CONSTANTS:
            return self.constant(names.CONSTANTS[name], node)
        if name in names.MISSING and name not in self.kinds.names:
            self.refuse(node, "name", f"{name!r} is not available", names.MISSING[name])
        elif name == "super":
            self.refuse(
                node,
                "name",
                "super can only be called as super() or super(Class, self)",
                "write super().method(…)",
            )
        elif problem := names.name_problem(name):
            self.refuse(node, "name", f"{name!r} is not available", problem)
        return node

    # Attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Guard `value.name` in any position."""
        inherited = _is_super_call(node.value) and node.attr in names.SUPER_DUNDERS
        if inherited and isinstance(node.ctx, ast.Load):
            return self.call(hooks.SUPER, node, self.visit(node.value), self.constant(node.attr, node))
        if problem := names.attribute_problem(node.attr):
            self.refuse(node, "attribute", f"attribute {node.attr!r} is not available", problem)
            return node
        if not isinstance(node.ctx, ast.Load):
            return self._written(node)
        if names.is_dunder(node.attr):
            return self._special(node)
        kind = self.kind(node.value)
        self.note_running(node)
        node.value = self.visit(node.value)
        if node.attr in HASHING or node.attr in HASHING_ALL:  # not called here: whoever does is looked at
            return self._asked(node.value, node)
        if self._needs_no_guard(kind, node.attr):
            return node
        return self._read(node.value, node)

    def _asked(self, value: ast.expr, node: ast.Attribute) -> ast.expr:
        """`value.attr` by the guards, value being rewritten already."""
        return self.call(hooks.GETATTR, node, value, self.constant(self.mangled(node.attr), node))

    def _needs_no_guard(self, kind: Kind, attribute: str) -> bool:
        if attribute.startswith("_"):
            return False
        if not isinstance(kind, str):
            return attribute in PLAIN_METHODS["int"]
        if kind.startswith(MODULE):
            return True
        return attribute in PLAIN_METHODS.get(kind, ()) or attribute in structs.READ.get(kind, ())

    def _read(self, value: ast.expr, node: ast.Attribute) -> ast.expr:
        """Guarded `value.attr`, value being rewritten already."""
        attribute = self.mangled(node.attr)
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

    def types_written(self, attribute: str) -> str:
        """Name of the set of types of which this attribute (mangled already) may be written."""
        if attribute.startswith("_"):
            return hooks.OWN
        self.attributes_written.add(attribute)
        return hooks.writes(attribute)

    def mangled(self, name: str) -> str:
        """The name that Python makes of `__name` inside a class."""
        owner = self._classes[-1].lstrip("_") if self._classes else ""
        return f"_{owner}{name}" if owner and names.is_private(name) else name

    def _special(self, node: ast.Attribute) -> ast.expr:
        """The few dunder attributes that may be read."""
        return self.call(hooks.SPECIAL, node, self.visit(node.value), self.constant(node.attr, node))

    def _written(self, node: ast.Attribute) -> ast.expr:
        """`value.name` as a target: of `=`, `for`, `with`, `del`, augmented assignment, anywhere."""
        if names.is_dunder(node.attr):
            self.refuse(node, "attribute", f"attribute {node.attr!r} cannot be set", "it belongs to Python")
            return node
        taken = structs.WRITTEN.get(self.kind(node.value), ()) if isinstance(node.ctx, ast.Store) else ()
        node.value = self.visit(node.value)
        if node.attr not in taken:
            node.value = self._target(node.value, self.types_written(self.mangled(node.attr)))
        return node

    def may_choose(self, target: ast.Attribute, value: ast.expr) -> bool:
        """Whether `target = value` may be written out for either answer of the guard: as a proxy for the owner costs.

        The owner's type is asked before the value is evaluated: that must run no code and, where the owner is more
        than a name, depend on none.
        """
        if names.attribute_problem(target.attr) or names.is_dunder(target.attr):
            return False
        if target.attr in structs.WRITTEN.get(self.kind(target.value), ()):
            return False
        if self.is_steady(target.value):
            return _is_quiet(value)
        return not self.is_without_temporaries() and _is_quiet(value, (ast.Constant,))

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
        if isinstance(node.ctx, ast.Store) and kind != "dict" and not self.is_item(node.slice):
            return self._set_slice(node, kind)
        return self.item(node)

    def item(self, node: ast.Subscript) -> ast.AST:
        """Guard `value[key]`; if it is set, `key` is no slice, or what it is set to is short."""
        kind = self.kind(node.value)
        plain = kind in CONTAINERS
        loose = self.is_loose(node.value)
        self.note_running(node)
        value, mark = self.visit(node.value), self.runs
        key = self.visit(node.slice) if kind in ("list", "tuple", TEXT) else self.keyed(node.slice)
        value = self.held_where(loose, value, mark)
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

    def is_item(self, key: ast.expr) -> bool:
        """Whether what stands between brackets is no slice, by how it is written."""
        kind = self.kind(key)
        return is_number(kind) or kind == TEXT or kind in CONTAINERS or isinstance(key, _NO_SLICE)

    def _set_slice(self, node: ast.Subscript, kind: Kind) -> ast.AST:
        """`value[key] = …` where key is a slice, or may be one: a list that takes another grows without a tick."""
        loose = self.is_loose(node.value)
        value, mark = self.visit(node.value), self.runs
        sliced = isinstance(node.slice, ast.Slice)
        key: ast.expr = self.visit(node.slice)
        value = self.held_where(loose, value, mark)
        owner, index = (None, None) if sliced else (self.twice(value), self.twice(key))
        if owner is None or index is None:
            node.value = self.call(hooks.WRITE, value, value)
            node.slice = key if sliced or kind == "list" else self.call(hooks.KEY, key, key)
            return node
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        of_key = self.call(hooks.TYPE, key, index[0])
        native: ast.expr = ast.Compare(of_key, [ast.IsNot()], [self.name(hooks.SLICE, key)], **place)
        if kind != "list" or not self.is_steady(value):
            # not `and`: both are evaluated, the value first
            native = ast.BinOp(self.type_in(owner[0], hooks.SET_ITEMS), ast.BitAnd(), native, **place)
        node.value = self.choose(native, owner[1], self.call(hooks.WRITE, value, owner[1]))
        node.slice = index[1]
        if kind != "list":
            node.slice = self.choose(
                self.type_in(index[1], hooks.SCALAR), index[1], self.call(hooks.KEY, key, index[1])
            )
        return node

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
        if self.is_steady(key):
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
        loose, marks = [self.is_loose(part) for part in node.elts], []
        for position, part in enumerate(node.elts):
            if isinstance(part, ast.Starred):
                self.note_running(part)
                part.value = self.call(hooks.KEYS, part, self.visit(part.value))
            else:
                node.elts[position] = self.keyed(part)
            marks.append(self.runs)
        node.elts = [self.held_where(*each) for each in zip(loose, node.elts, marks, strict=True)]
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """A dict display."""
        noted: list[tuple[list[Any], int, bool, int]] = []
        for at, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            loose = key is None or self.is_loose(value)
            if key is None:
                self.runs += 1
                node.values[at] = self._spread(value)
            else:
                noted.append((node.keys, at, self.is_loose(key), self.runs))
                node.keys[at] = self.keyed(key)
                node.values[at] = self.visit(value)
            noted.append((node.values, at, loose, self.runs))
        for parts, at, loose, mark in noted:
            if loose and mark < self.runs:
                part = parts[at]
                if node.keys[at] is None:  # what is unpacked may be emptied meanwhile
                    part = ast.Dict([None], [part], lineno=part.lineno, col_offset=part.col_offset)
                parts[at] = self.hold(part)
        return node

    def _spread(self, node: ast.expr) -> ast.expr:
        """`**node`: the keys of a mapping of the script's own are hashed."""
        return self.call(hooks.KEYS, node, self.visit(node))

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        """`a:b:c` between brackets."""
        node.lower, node.upper, node.step = self.operands([node.lower, node.upper, node.step])
        return node

    # Calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call needs no guard: what a script holds it may call. `value.method(…)` guards the method."""
        if _is_super_call(node):
            return self.call(hooks.SUPER_OF, node, *self.visit_all(node.args)) if node.args else node
        own = self.answers and any(isinstance(each, ast.Starred) for each in node.args)
        if own or has_stars(node.args):  # `f(*a, *b)` as `f(*(*a, *b))`
            place = {"lineno": node.lineno, "col_offset": node.col_offset}
            node.args = [ast.Starred(ast.Tuple(node.args, LOAD, **place), LOAD, **place)]
        function = node.func
        self.note_running(node)
        if (
            isinstance(function, ast.Name)
            and function.id in _MAKES_HASHED
            and function.id not in self.kinds.names
        ):
            made = self._hashed_arguments("update", node)
            place = {"lineno": node.lineno, "col_offset": node.col_offset}
            native = function if made is None else self.name(hooks.TYPES.format(function.id), node)
            self._arguments(node, made)
            return ast.Call(native, node.args, node.keywords, **place)
        if isinstance(function, ast.Name) and (rewritten := self._isinstance(node)):
            return rewritten
        if (
            self.answers
            and isinstance(function, ast.Name)
            and function.id in CALLING_BUILTINS - self.kinds.names
        ):
            self._arguments(node, None)
            place = {"lineno": node.lineno, "col_offset": node.col_offset}
            return ast.Call(self.name(hooks.ASK, node), [function, *node.args], node.keywords, **place)
        if (
            not isinstance(function, ast.Attribute)
            or names.is_dunder(function.attr)
            or names.attribute_problem(function.attr)
        ):
            loose = self.is_loose(function)
            node.func, mark = self.visit(function), self.runs
            self._arguments(node, None)
            node.func = self.held_where(loose, node.func, mark)
            return node
        kind = self.kind(function.value)
        plain = self._needs_no_guard(kind, function.attr) or (
            kind == "list" and _extends(node, function.attr)
        )
        loose = self.is_loose(function.value)
        function.value, mark = self.visit(function.value), self.runs
        hashing = function.attr in HASHING or function.attr in HASHING_ALL
        made = self._hashed_arguments(function.attr, node) if hashing else None
        self._arguments(node, made)
        runs = mark < self.runs
        function.value = self.held_where(loose, function.value, mark)
        if hashing and made is None:
            node.func = self._asked(function.value, function)
            return node
        if plain:
            if runs and kind in structs.READ:  # a function of Blender's, which the collector does not know
                node.func = self.hold(function)
            return node
        guarded = self._read(function.value, function)
        if not runs and isinstance(guarded, ast.IfExp) and are_small(node.args, node.keywords):
            return self._both_ways(node, guarded)
        node.func = self.hold(guarded) if runs else guarded
        return node

    def _arguments(self, node: ast.Call, made: list[ast.expr] | None) -> None:
        """Rewrite the arguments of a call; `made` are those of them that were rewritten already."""
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
        """The arguments of `table.get(key)`, `set.update(items)`, …, looked at where they will be hashed.

        None where it cannot be told here which they are.
        """
        if any(isinstance(part, ast.Starred) for part in node.args):
            return None
        if name in HASHING:
            if node.keywords:
                return None
            loose = [self.is_loose(part) for part in node.args]
            first, mark = [self.keyed(part) for part in node.args[:1]], self.runs
            rest = self.operands(node.args[1:])
            if self.has_classes:  # whose `__hash__` and `__eq__` run while the default lies there
                return [
                    self.hold(part) if each else part for each, part in zip(loose, first + rest, strict=True)
                ]
            return [self.held_where(loose[0], part, mark) for part in first] + rest
        found = self.operands(node.args)
        return [self.call(hooks.KEYS, part, part) for part in found]

    def _both_ways(self, node: ast.Call, guarded: ast.IfExp) -> ast.expr:
        """`a.f(x) if … else <getattr>(a, 'f')(x)`: spares the plain way a bound method."""
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        plain = ast.Call(guarded.body, node.args, node.keywords, **place)
        other = ast.Call(guarded.orelse, node.args, node.keywords, **place)
        return self.choose(guarded.test, plain, other)

    def iterated(self, node: ast.expr) -> ast.expr:
        """What a loop draws from. The loop ticks itself, so that its own `zip`, `enumerate`, … need not."""
        match node:
            case ast.Call(func=ast.Name(id="range")) if "range" not in self.kinds.names:
                return self.visit(node)
            case ast.Call(func=ast.Name(id=name), args=args) if (
                name in hooks.RAW
                and name not in self.kinds.names
                and not self.answers
                and not any(isinstance(part, ast.Starred) for part in args)
                and (name != "map" or len(args) < 3)  # of several values C code holds the first alone
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
        steady = self.is_steady(value)
        return self.choose(self.type_in(value, hooks.DRAWN), value, drawn) if steady else drawn

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        """`yield from values`, which does not tick by itself."""
        node.value = self.call(hooks.ITERATED, node, self.visit(node.value))
        return node

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
        if node.arg is None:
            self.runs += 1
            node.value = self._spread(node.value)
            return node
        return self.node_contents_visit(node)

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
        if yields([node.body]):
            self.refuse(node, "syntax", "a lambda may not yield", "write a function")
        self.visit_arguments(node.args)
        outer, self.scope = self.scope, self.kinds.scope_of[node]
        lazy, self.lazy = self.lazy, 0
        body = self.visit(
            node.body
        )  # in what a comprehension draws from, `:=` is no more allowed than outside
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        deeper = [self.call(hooks.DEEPER, node)] if uncounted(node.args) else []
        node.body = ast.BoolOp(ast.And(), [self.running(node), *deeper, body], **place)
        self.scope, self.lazy = outer, lazy
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        """Parameters: checked names, rewritten defaults, no annotations."""
        for argument in (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg):
            if argument is not None:
                self.check_binding(argument, argument.arg)
                argument.annotation = None
        found = self.operands([*node.defaults, *node.kw_defaults])
        node.defaults, node.kw_defaults = found[: len(node.defaults)], found[len(node.defaults) :]
        return node

    def _visit_comprehension_parts(self, node: Any) -> ast.AST:
        outer, inner = self.scope, self.kinds.scope_of[node]
        before, draws = self.runs, False
        for clause in node.generators:
            if not binds_names(clause.target):
                self.refuse(clause.target, "syntax", "a comprehension binds names only", "write a for loop")
        for position, clause in enumerate(node.generators):
            draws = draws or self.draws_from_code(clause.iter)
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
        self.scope = outer
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = _visit_comprehension_parts

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Generators are counted while they are alive."""
        self.lazy += 1
        made = self._visit_comprehension_parts(node)
        self.lazy -= 1
        return self.call(hooks.BORN, node, made)  # type: ignore[arg-type]

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """`name := value`."""
        return self.node_contents_visit(node)


#: What gives no slice.
_NO_SLICE = (
    *(
        ast.Constant,
        ast.JoinedStr,
        ast.BinOp,
        ast.UnaryOp,
        ast.Compare,
        ast.Tuple,
        ast.List,
        ast.Set,
        ast.Dict,
    ),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda),
)
#: What gives no collection of Blender's.
_MAKING_LISTS = (
    *(ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant, ast.JoinedStr),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def _is_quiet(node: ast.expr, atoms: tuple[type[ast.expr], ...] = (ast.Constant, ast.Name)) -> bool:
    """Whether evaluating this runs no code of anyone's, nor makes anything: the collector may run the script's then."""
    if isinstance(node, ast.Tuple):
        return all(_is_quiet(part, (ast.Constant,)) for part in node.elts)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, atoms)


def _extends(node: ast.Call, method: str) -> bool:
    """`items.extend([…])`: by what the script has made here."""
    return method == "extend" and not node.keywords and len(node.args) == 1 and is_made_here(node.args[0])


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _is_super_call(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and len(node.args) in (0, 2)
        and not any(isinstance(each, ast.Starred) for each in node.args)
        and not node.keywords
    )
