# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer's part for names, attributes, items and keys.

A guard in the hot path is a question about the type of the left-hand value, inside the script itself: `v.co` becomes
`v.co if type(v) in <r:co> else <getattr>(v, 'co')`, where `<r:co>` is a set of types that fills as the script runs. No
code of the script can run between the question and the use of the value: a value that is not a plain name first goes
into a variable that no script can name. The script calls the guard alone where no such variable is possible (class
bodies, what a comprehension draws from) and in code that runs a few times (`analysis.seldom`).
"""

from __future__ import annotations

import ast
from typing import Any, Final

from . import hooks, names
from .analysis import structs
from .analysis.inference import is_number
from .analysis.scopes import CONTAINERS, MODULE, TEXT, Kind
from .builtin_methods import CHANGING_SETS, HASHING, HASHING_ALL, PLAIN_METHODS
from .nodes import LOAD, is_small
from .operations import Operations

__all__ = ("CHANGING", "Members", "is_super_call")


class Members(Operations):
    """Rewrites expressions that read or set attributes and items."""

    # Names and constants

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Leave a literal unchanged."""
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Check the name of a variable, or guard a builtin."""
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self.check_binding(node, name)
            return node
        if name in names.CONSTANTS:
            return self.constant(names.CONSTANTS[name], node)
        if name == "locals" and self.scope.form == "module" and name not in self.kinds.names:
            return ast.Name("globals", LOAD, lineno=node.lineno, col_offset=node.col_offset)
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
        inherited = is_super_call(node.value) and node.attr in names.SUPER_DUNDERS
        if inherited and isinstance(node.ctx, ast.Load):
            return self.call(hooks.SUPER, node, self.visit(node.value), self.constant(node.attr, node))
        if problem := names.attribute_problem(node.attr):
            self.refuse(node, "attribute", f"attribute {node.attr!r} is not available", problem)
            return node
        if node.attr in CHANGING:
            self.check_no_copy(node.value)
        if not isinstance(node.ctx, ast.Load):
            return self._written(node)
        if names.is_dunder(node.attr):
            return self._special(node)
        kind = self.kind(node.value)
        self.note_running(node)
        node.value = self.visit(node.value)
        if node.attr in _CALLED_GUARDED:
            return self.read_by_guard(node.value, node)
        if self.needs_no_guard(kind, node.attr):
            return node
        return self.read_member(node.value, node)

    def read_by_guard(self, value: ast.expr, node: ast.Attribute) -> ast.expr:
        """Return a call of the guard for `value.attr`; `value` is already rewritten."""
        return self.call(hooks.GETATTR, node, value, self.constant(self.mangled(node.attr), node))

    def needs_no_guard(self, kind: Kind, attribute: str) -> bool:
        """Return whether any value of this kind gives this attribute without a guard."""
        if attribute.startswith("_") or (self.has_classes and kind == "set" and attribute in CHANGING_SETS):
            return False
        if not isinstance(kind, str):
            return attribute in PLAIN_METHODS["int"]
        if kind.startswith(MODULE):
            return True
        return attribute in PLAIN_METHODS.get(kind, ()) or attribute in structs.READ.get(kind, ())

    def read_member(self, value: ast.expr, node: ast.Attribute) -> ast.expr:
        """Return guarded `value.attr`; `value` is already rewritten."""
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        return self.both_ways(
            value,
            self._types_read(self.mangled(node.attr)),
            lambda again: ast.Attribute(again, node.attr, LOAD, **place),
            lambda again: self.read_by_guard(again, node),
        )

    def _types_read(self, attribute: str) -> str:
        if attribute.startswith("_"):
            return hooks.OWN
        self.attributes_read.add(attribute)
        return hooks.reads(attribute)

    def types_written(self, attribute: str) -> str:
        """Return the name of the set of types whose attribute (already mangled) may be written."""
        if attribute.startswith("_"):
            return hooks.OWN
        self.attributes_written.add(attribute)
        return hooks.writes(attribute)

    def mangled(self, name: str) -> str:
        """Return the name that Python makes of `__name` inside a class."""
        owner = self._classes[-1].lstrip("_") if self._classes else ""
        return f"_{owner}{name}" if owner and names.is_private(name) else name

    def _special(self, node: ast.Attribute) -> ast.expr:
        """Guard one of the few dunder attributes that scripts may read."""
        return self.call(hooks.SPECIAL, node, self.visit(node.value), self.constant(node.attr, node))

    def _written(self, node: ast.Attribute) -> ast.expr:
        """Guard `value.name` as the target of `=`, `for`, `with`, `del` or an augmented assignment."""
        if names.is_dunder(node.attr):
            self.refuse(node, "attribute", f"attribute {node.attr!r} cannot be set", "it belongs to Python")
            return node
        taken = structs.WRITTEN.get(self.kind(node.value), ()) if isinstance(node.ctx, ast.Store) else ()
        node.value = self.visit(node.value)
        if node.attr not in taken:
            node.value = self._target(node.value, self.types_written(self.mangled(node.attr)))
        return node

    def may_choose(self, target: ast.Attribute, value: ast.expr) -> bool:
        """Return whether to write `target = value` out for both answers of the guard, instead of a slower proxy.

        The question about the owner's type comes before the value is evaluated: evaluating the value must run no code
        and, where the owner is more than a name, depend on none.
        """
        if names.attribute_problem(target.attr) or names.is_dunder(target.attr):
            return False
        if target.attr in structs.WRITTEN.get(self.kind(target.value), ()):
            return False
        if self.is_steady(target.value):
            return _has_no_effect(value)
        return not self.is_without_temporaries() and _has_no_effect(value, (ast.Constant,))

    def _target(self, value: ast.expr, types: str) -> ast.expr:
        """Return `value` if its type allows the write, else a proxy that calls the guards."""
        return self.both_ways(
            value, types, lambda again: again, lambda again: self.call(hooks.WRITE, value, again)
        )

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Guard `value[key]` in any position."""
        kind = self.kind(node.value)
        if isinstance(node.ctx, ast.Store) and kind != "dict" and not self.is_item(node.slice):
            return self._set_slice(node, kind)
        return self.item(node)

    def item(self, node: ast.Subscript) -> ast.AST:
        """Guard `value[key]`. If it is set, `key` is no slice, or the new value is short."""
        kind = self.kind(node.value)
        plain = kind in CONTAINERS
        if not isinstance(node.ctx, ast.Load):
            self.check_no_copy(node.value)
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
        if not is_small(key):
            return self.call(hooks.GETITEM, node, value, self.as_value(key))
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        return self.both_ways(
            value,
            hooks.ITEMS,
            lambda again: ast.Subscript(again, key, LOAD, **place),
            lambda again: self.call(hooks.GETITEM, node, again, self.as_value(key)),
        )

    def check_no_copy(self, changed: ast.expr) -> None:
        """Refuse to change what `vars(…)` or `globals()` returns: it is a copy, so the change would be lost."""
        match changed:
            case ast.Call(func=ast.Name(id="vars" | "globals" | "locals" as name)) if (
                name not in self.kinds.names
            ):
                advice = (
                    "use setattr() or update()" if name == "vars" else "assign to the variable by its name"
                )
                self.refuse(changed, "attribute", f"what {name}() gives a script is a copy", advice)

    def is_item(self, key: ast.expr) -> bool:
        """Return whether the text shows that a key is no slice."""
        kind = self.kind(key)
        return is_number(kind) or kind == TEXT or kind in CONTAINERS or isinstance(key, _NO_SLICE)

    def _set_slice(self, node: ast.Subscript, kind: Kind) -> ast.AST:
        """Guard `value[key] = …` for a key that may be a slice: a list grows by another list without a tick."""
        loose = self.is_loose(node.value)
        value, mark = self.visit(node.value), self.runs
        sliced = isinstance(node.slice, ast.Slice)
        key: ast.expr = self.visit(node.slice)
        value = self.held_where(loose, value, mark)
        alone = sliced or self.seldom
        owner, index = (None, None) if alone else (self.evaluate_once(value), self.evaluate_once(key))
        if owner is None or index is None:
            node.value = self.call(hooks.WRITE, value, value)
            node.slice = key if sliced or kind == "list" else self.call(hooks.CHECK_HASH, key, key)
            return node
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        of_key = self.call(hooks.TYPE, key, index[0])
        native: ast.expr = ast.Compare(of_key, [ast.IsNot()], [self.name(hooks.SLICE, key)], **place)
        if kind != "list" or not self.is_steady(value):
            # not `and`: Python must evaluate both, the value first
            native = ast.BinOp(self.type_in(owner[0], hooks.SET_ITEMS), ast.BitAnd(), native, **place)
        node.value = self.choose(native, owner[1], self.call(hooks.WRITE, value, owner[1]))
        node.slice = index[1]
        if kind != "list":
            node.slice = self.choose(
                self.type_in(index[1], hooks.SCALAR), index[1], self.call(hooks.CHECK_HASH, key, index[1])
            )
        return node

    def as_value(self, key: ast.expr) -> ast.expr:
        """Return a rewritten key as an argument: `a:b` is only possible between brackets."""
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
        """Rewrite an expression whose value Python will hash."""
        quick = isinstance(node, ast.Slice) or self._hashes_quickly(node)
        key: ast.expr = self.visit(node)
        if quick:
            return key
        if self.is_steady(key) and not self.seldom:
            again = ast.Name(key.id, LOAD, lineno=key.lineno, col_offset=key.col_offset)
            return self.choose(
                self.type_in(key, hooks.SCALAR), again, self.call(hooks.CHECK_HASH, key, again)
            )
        return self.call(hooks.CHECK_HASH, key, self.as_value(key))

    def _hashes_quickly(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Tuple):
            return all(not isinstance(part, ast.Tuple) and self._hashes_quickly(part) for part in node.elts)
        if isinstance(node, ast.BinOp):
            number = is_number(self.kind(node.left)) or is_number(self.kind(node.right))
            return number and not isinstance(node.op, ast.Mult)
        return isinstance(node, ast.Slice | ast.UnaryOp | ast.Compare) or self._is_scalar(node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        """Rewrite a set display, such as `{1, 2}`."""
        loose, marks = [self.is_loose(part) for part in node.elts], []
        for position, part in enumerate(node.elts):
            if isinstance(part, ast.Starred):
                self.note_running(part)
                part.value = self.call(hooks.CHECK_HASHES, part, self.visit(part.value))
            else:
                node.elts[position] = self.keyed(part)
            marks.append(self.runs)
        node.elts = [self.held_where(*each) for each in zip(loose, node.elts, marks, strict=True)]
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """Rewrite a dict display, such as `{"a": 1}`."""
        noted: list[tuple[list[Any], int, bool, int]] = []
        for at, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            loose = key is None or self.is_loose(value)
            if key is None:
                self.runs += 1
                node.values[at] = self.spread(value)
            else:
                noted.append((node.keys, at, self.is_loose(key), self.runs))
                node.keys[at] = self.keyed(key)
                node.values[at] = self.visit(value)
            noted.append((node.values, at, loose, self.runs))
        for parts, at, loose, mark in noted:
            if loose and mark < self.runs:
                part = parts[at]
                if node.keys[at] is None:  # the script may empty what is unpacked in the meantime
                    part = ast.Dict([None], [part], lineno=part.lineno, col_offset=part.col_offset)
                parts[at] = self.hold(part)
        return node

    def spread(self, node: ast.expr) -> ast.expr:
        """Rewrite `**node`: Python hashes the keys of the script's own mappings."""
        return self.call(hooks.CHECK_HASHES, node, self.visit(node))

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        """Rewrite `a:b:c` between brackets."""
        node.lower, node.upper, node.step = self.operands([node.lower, node.upper, node.step])
        return node


_CALLED_GUARDED: Final = HASHING | HASHING_ALL | CHANGING_SETS
"""Methods that the guards check when they are called, wherever a script reads them without a call."""
#: Methods that change a dict.
CHANGING = frozenset({"clear", "pop", "popitem", "setdefault", "update"})
#: Expressions whose value is no slice.
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


def _has_no_effect(node: ast.expr, atoms: tuple[type[ast.expr], ...] = (ast.Constant, ast.Name)) -> bool:
    """Return whether evaluating a node runs no code and makes no object: a new object may start the collector."""
    if isinstance(node, ast.Tuple):
        return all(_has_no_effect(part, (ast.Constant,)) for part in node.elts)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, atoms)


def is_super_call(node: ast.expr) -> bool:
    """Return whether a node is `super()` or `super(Class, self)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and len(node.args) in (0, 2)
        and not any(isinstance(each, ast.Starred) for each in node.args)
        and not node.keywords
    )
