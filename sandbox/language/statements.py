# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: N802 (visit_Name is how ast.NodeVisitor wants it)
"""The transformer: RestrictedPython's, adapted to scripts. This part rewrites statements, `Expressions` the rest."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from . import hooks, names
from .analysis.inference import Scopes, is_number
from .matching import Matching
from .nodes import LOAD, STORE, is_small, uncounted
from .operations import OPERATORS

__all__ = ("Import", "Statements")


@dataclass(frozen=True, slots=True)
class Import:
    """An import: `import module` (member None) or `from module import member`."""

    module: str
    member: str | None
    line: int
    column: int


class Statements(Matching):
    """Rewrites statements."""

    def __init__(self, kinds: Scopes) -> None:
        super().__init__(kinds)
        self.imports: list[Import] = []
        self._annotations_are_text = False

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Declare the guards' and the script's names global: Python then finds them as quickly as in a function."""
        self.seldom = node in self.kinds.seldom
        node.body = self.visit_all(node.body)
        known = sorted(
            self.hooks_used | {name for name in self.kinds.module.bound if not names.is_dunder(name)}
        )
        if known:
            node.body.insert(0, ast.Global(known, lineno=1, col_offset=0))
        return node

    def tick(self, at: ast.AST) -> ast.If:
        """Return the statement `if not <running>: <stop>()`."""
        place: dict[str, Any] = {"lineno": at.lineno, "col_offset": at.col_offset}  # type: ignore[attr-defined]
        test: ast.expr = self.name(hooks.RUNNING, at)
        if isinstance(at, ast.FunctionDef) and uncounted(at.args):
            test = ast.BoolOp(ast.And(), [test, self.call(hooks.DEPTH, at)], **place)
        test = ast.UnaryOp(ast.Not(), test, **place)
        return ast.If(test, [ast.Expr(self.call(hooks.STOP, at), **place)], [], **place)

    # Assignments

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.AST]:
        """Keep an annotation in a class, where it means something; leave it out elsewhere."""
        place = _place(node)
        if self.scope.form == "class" and isinstance(node.target, ast.Name):
            node.annotation = self._annotation(node.annotation)
            return self.node_contents_visit(node)
        if node.value is not None:
            return self.visit(ast.Assign([node.target], node.value, **place))
        self.visit(node.target)
        if self.scope.form == "function" and isinstance(node.target, ast.Name):
            # Python never evaluates it; the statement makes the name local.
            node.annotation = self.constant(None, node)
            return node
        return []

    def _annotation(self, node: ast.expr) -> ast.expr:
        """Return what a class needs of an annotation; from a text, only what dataclasses would find in it."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                found: ast.expr = ast.parse(node.value.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return self.constant(None, node)
        elif self._annotations_are_text:
            found = node
        else:
            return node
        root = found.value if isinstance(found, ast.Subscript) else found
        match root:
            case ast.Name(id=name) | ast.Attribute(ast.Name(), name) if name in _TOLD_DATACLASSES:
                if all(part.id in self.kinds.names for part in ast.walk(root) if isinstance(part, ast.Name)):
                    return ast.copy_location(root, node)
        return self.constant(None, node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """Rewrite an assignment: each target calls its own guard."""
        match node.targets:
            case [ast.Attribute() as target] if self.may_choose(target, node.value):
                return self._chosen(node, target)
        if (steps := self.one_by_one(node)) is not None:
            return steps
        loose, given = self.is_loose(node.value), node.value
        node.value, mark = self.visit(given), self.runs
        if isinstance(node.targets[0], ast.Tuple | ast.List):
            node.value = self.unpacked(given, node.value)
        match node.targets:
            case [ast.Name(id=name)] if self.scope.form == "class" and name in names.CLASS_VARIABLES:
                return node
        node.targets = self.visit_all(node.targets)
        node.value = self.held_where(loose, node.value, mark)
        return node

    def _chosen(self, node: ast.Assign, target: ast.Attribute) -> ast.AST:
        """Rewrite `o.x = y` as `if type(o) in <w:x>: o.x = y`, `else: <setattr>(o, 'x', y)`; seldom as the latter.

        The test is also true where Blender limits the attribute and y is not NaN (`_finite`).
        """
        place = _place(node)
        attribute = self.mangled(target.attr)
        if self.seldom:
            owner, value = self.visit(target.value), self.visit(node.value)
            call = self.call(hooks.SETATTR, node, owner, self.constant(attribute, node), value)
            return ast.Expr(call, **place)
        pair = self.evaluate_once(self.visit(target.value))
        assert pair is not None
        first, again = pair
        new = self.visit(node.value)
        native = ast.Assign([ast.Attribute(again, target.attr, STORE, **place)], new, **place)
        guarded = self.call(hooks.SETATTR, node, again, self.constant(attribute, node), new)
        test: ast.expr = self.type_in(first, self.types_written(attribute))
        if not attribute.startswith("_"):
            test = ast.BoolOp(ast.Or(), [test, self._finite(again, attribute, new)], **place)
        return ast.If(test, [native], [ast.Expr(guarded, **place)], **place)

    def _finite(self, owner: ast.expr, attribute: str, new: ast.expr) -> ast.expr:
        """Return `type(o) in <w:x:finite>`; for a variable y, also `and type(y) is float and y == y`: it is not NaN.

        A value that is no variable consists of constants (`may_choose`), and no constant is NaN.
        """
        place: dict[str, Any] = {"lineno": owner.lineno, "col_offset": owner.col_offset}
        test = self.type_in(owner, self.types_written(hooks.finite(attribute)))
        if not isinstance(new, ast.Name):
            return test
        kind = ast.Compare(
            self.call(hooks.TYPE, new, new),
            [ast.Is()],
            [self.name(hooks.TYPES.format("float"), new)],
            **place,
        )
        return ast.BoolOp(ast.And(), [test, kind, ast.Compare(new, [ast.Eq()], [new], **place)], **place)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Rewrite `target op= value`: evaluate the target once, and guard a result that may be huge."""
        target = node.target
        safe = self.is_bounded(node.op, target if isinstance(target, ast.Name) else None, node.value)
        if isinstance(target, ast.Name):
            self.check_binding(target, target.id)
            return self._augmented_name(node, safe)
        if safe and not (isinstance(target.value, ast.Name) and self.is_loose(target.value)):
            node.target = self.item(target) if isinstance(target, ast.Subscript) else self.visit(target)  # type: ignore[assignment]
            node.value = self.visit(node.value)
            return node
        return self._augmented_place(node, target)  # type: ignore[return-value]

    def _augmented_name(self, node: ast.AugAssign, safe: bool) -> ast.AST:
        """Keep `x += y` if the type of x allows it, else write `x = <+=>(x, y)`."""
        assert isinstance(node.target, ast.Name)
        read = ast.Name(node.target.id, LOAD, lineno=node.lineno, col_offset=node.col_offset)
        types = None if safe else self.types_of_left(node.op, self.kind(node.value))
        node.value = self.visit(node.value)
        if safe:
            return node
        place = _place(node)
        guarded = self.call(hooks.OPERATOR.format(OPERATORS[type(node.op)] + "="), node, read, node.value)
        other = ast.Assign([node.target], guarded, **place)
        if (
            types is None
            or self.seldom
            or not self.is_steady(read)
            or is_number(self.kind(read))
            or not is_small(node.value)
        ):
            return other
        return ast.If(self.type_in(read, types), [node], [other], **place)

    def _augmented_place(self, node: ast.AugAssign, target: ast.Attribute | ast.Subscript) -> list[ast.stmt]:
        """Rewrite `o.x += y` as `<1> = o; <2> = <1>.x; <2> += y; <1>.x = <2>`, all guarded; likewise `o[k] += y`."""
        place = _place(node)
        steps: list[ast.stmt] = []

        def hold(value: ast.expr) -> ast.Name:
            name = self.temporary()
            steps.append(ast.Assign([ast.Name(name, STORE, **place)], value, **place))
            return ast.Name(name, LOAD, **place)

        owner = hold(self.visit(target.value))
        if isinstance(target, ast.Subscript):
            key: ast.expr = hold(self.as_value(self.visit(target.slice)))
            read: ast.AST = ast.Subscript(owner, key, LOAD, **place)
            written: ast.AST = ast.Subscript(owner, key, STORE, **place)
        else:
            read = ast.Attribute(owner, target.attr, LOAD, **place)
            written = ast.Attribute(owner, target.attr, STORE, **place)
        value = hold(self.visit(read))
        changed = ast.AugAssign(ast.Name(value.id, STORE, **place), node.op, node.value, **place)
        steps.append(self._augmented_name(changed, safe=False))  # type: ignore[arg-type]
        steps.append(ast.Assign([self.visit(written)], value, **place))
        return steps

    def visit_Delete(self, node: ast.Delete) -> ast.AST:
        """Rewrite `del` of names, attributes and items."""
        return self.node_contents_visit(node)

    # Control flow

    def visit_For(self, node: ast.For) -> ast.AST:
        """Rewrite a `for` loop: each turn ticks."""
        target = self.target_first(node.target, node.body, node.iter)
        node.iter = self.iterated(node.iter)
        node.target = self.visit(target)
        self.leaving += 1
        node.body = [self.tick(node), *self._loop(node, node.body)]
        self.leaving -= 1
        node.orelse = self.visit_all(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        """Rewrite a `while` loop: each turn ticks."""
        (node.test,) = self._loop(node, [node.test])
        node.body = [self.tick(node), *self._loop(node, node.body)]
        node.orelse = self.visit_all(node.orelse)
        return node

    def _loop(self, node: ast.For | ast.While, parts: Sequence[ast.AST]) -> list[Any]:
        """Rewrite what each turn of a loop runs."""
        seldom, self.seldom = self.seldom, node in self.kinds.seldom
        found = self.visit_all(parts)
        self.seldom = seldom
        return found

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Rewrite `try`. `finally` ticks: it also runs when a generator is closed early, perhaps after the run."""
        self.leaving += bool(node.finalbody)
        node.body, node.handlers = self.visit_all(node.body), self.visit_all(node.handlers)
        node.orelse = self.visit_all(node.orelse)
        self.leaving -= bool(node.finalbody)
        node.finalbody = self.visit_all(node.finalbody)
        if node.finalbody:
            node.finalbody.insert(0, self.tick(node.finalbody[0]))
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Rewrite `except`: a bare one catches Exception, so a stop passes. Generators that end evaluate types, too."""
        self.check_binding(node, node.name)
        if node.type is None:
            node.type = self.name(hooks.EXCEPTION, node)
        elif isinstance(node.type, ast.Name):
            node.type = self.visit(node.type)
        else:
            running, stop = self.name(hooks.RUNNING, node), self.call(hooks.STOP, node)
            node.type = self.choose(running, self.visit(node.type), stop)
        node.body = [self.tick(node), *self.visit_all(node.body)]
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        """Rewrite `with`: the targets call their guards."""
        first = node.items[0]
        if first.optional_vars is not None and not isinstance(first.optional_vars, ast.Name):
            if rest := node.items[1:]:
                node.items, node.body = [first], [ast.With(rest, node.body, **_place(node))]
            first.optional_vars = self.target_first(first.optional_vars, node.body)
        elif any(not isinstance(each.optional_vars, ast.Name | None) for each in node.items):
            node.items, node.body = [first], [ast.With(node.items[1:], node.body, **_place(node))]
        node.items = self.visit_all(node.items)
        self.leaving += 1
        node.body = self.visit_all(node.body)
        self.leaving -= 1
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Rewrite `return`: only the stack holds the result while `finally` and `__exit__` run."""
        loose = self.leaving and self.is_loose(node.value)
        if node.value is not None:
            value = self.visit(node.value)
            node.value = self.hold(value) if loose else value
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Rewrite `raise error from cause`."""
        found = self.operands([each for each in (node.exc, node.cause) if each is not None])
        node.exc, node.cause = (*found, None, None)[:2]
        return node

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.AST:
        """Check the names of a `global` or `nonlocal` statement."""
        for name in node.names:
            self.check_binding(node, name)
        return node

    visit_Nonlocal = visit_Global  # noqa: N815

    # Functions and classes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Rewrite a function: it ticks when it is called, and has no annotations."""
        method = self.scope.form == "class" and names.is_dunder(node.name)
        if not method:
            self.check_binding(node, node.name)
        elif node.name not in names.CLASS_DUNDERS:
            self.refuse(
                node,
                "name",
                f"a class may not define {node.name!r}",
                "write an ordinary method, or a property",
            )
        self._refuse_type_parameters(node)
        self.visit_arguments(node.args, node.decorator_list)
        node.returns = None
        outer, self.scope = self.scope, self.kinds.scope_of[node]
        held, self._no_temporaries = self._no_temporaries, 0
        leaving, self.leaving, lazy, self.lazy = self.leaving, 0, self.lazy, 0
        seldom, self.seldom = self.seldom, node in self.kinds.seldom
        documented = ast.get_docstring(node, clean=False) is not None
        body = self.visit_all(node.body)
        body.insert(1 if documented else 0, self.tick(node))
        if self.scope.generates:
            body = self._generator(
                node, body, hooks.COUNT_LASTING_GENERATOR if self.scope.lasts else hooks.COUNT_GENERATOR
            )
        node.body = body
        self.scope, self._no_temporaries, self.leaving, self.lazy = outer, held, leaving, lazy
        self.seldom = seldom
        return node

    def _refuse_type_parameters(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        if getattr(node, "type_params", None):
            message, advice = "type parameters are not supported", "leave them out: a script needs no types"
            self.refuse(node, "syntax", message, advice)
            node.type_params = []  # type: ignore[union-attr] # from Python 3.12 on

    def _generator(self, node: ast.FunctionDef, body: list[ast.stmt], born: str) -> list[ast.stmt]:
        """Rewrite `def f(x): …yield…` as `def f(x): def <body>(x): …; return <count_generator>(<body>(x))`."""
        place = _place(node)
        given = node.args
        documentation = body[:1] if ast.get_docstring(node, clean=False) is not None else []

        def name(argument: ast.arg) -> ast.expr:
            return ast.Name(argument.arg, LOAD, **place)

        same = ast.arguments(
            given.posonlyargs, given.args, given.vararg, given.kwonlyargs, [None] * len(given.kwonlyargs),
            given.kwarg, [],
        )  # fmt: skip
        inner = ast.FunctionDef(hooks.BODY, same, body, [], **place)
        if hasattr(node, "type_params"):
            inner.type_params = []  # type: ignore[attr-defined] # from Python 3.12 on
        passed: list[ast.expr] = [name(each) for each in (*given.posonlyargs, *given.args)]
        if given.vararg is not None:
            passed.append(ast.Starred(name(given.vararg), LOAD, **place))
        keywords = [ast.keyword(each.arg, name(each), **place) for each in given.kwonlyargs]
        if given.kwarg is not None:
            keywords.append(ast.keyword(None, name(given.kwarg), **place))
        made = ast.Call(ast.Name(hooks.BODY, LOAD, **place), passed, keywords, **place)
        return [*documentation, inner, ast.Return(self.call(born, node, made), **place)]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Rewrite a class: the guards' hook makes it."""
        self.check_binding(node, node.name)
        for keyword in node.keywords:
            advice = "inherit from abc.ABC" if keyword.arg == "metaclass" else "leave it out"
            self.refuse(node, "syntax", f"class keyword {keyword.arg or '**'!r} is not supported", advice)
        self._refuse_type_parameters(node)
        found = self.operands(
            [*node.decorator_list, *node.bases], run_by_use=True
        )  # the class body runs after the bases are evaluated
        node.decorator_list, node.bases = found[: len(node.decorator_list)], found[len(node.decorator_list) :]
        outer, self.scope = self.scope, self.kinds.scope_of[node]
        self._classes.append(node.name)
        node.body = self.visit_all(node.body)
        self._classes.pop()
        self.scope = outer
        node.keywords = [
            ast.keyword(
                "metaclass", self.name(hooks.CLASS, node), lineno=node.lineno, col_offset=node.col_offset
            )
        ]
        return node

    # Imports

    def visit_Import(self, node: ast.Import) -> list[ast.AST]:
        """Rewrite `import a.b as c` as `c = <modules>['a.b']`, and without `as` as `a = <import>('a.b')`."""
        result: list[ast.AST] = []
        for alias in node.names:
            self._note_import(node, alias.name, None)
            bound = alias.asname or alias.name.partition(".")[0]
            self.check_binding(node, bound)
            (name,) = self._texts(node, alias.name)
            place = _place(node)
            view: ast.expr = ast.Subscript(self.name(hooks.MODULES, node), name, LOAD, **place)
            if bound != alias.name and alias.asname is None:
                view = self.call(hooks.IMPORT, node, name)
            result.append(self._bind(bound, view))
        return result

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.AST]:
        """Rewrite `from a import b as c` as `c = <import from>('a', 'b')`."""
        if node.module == "__future__":
            self._annotations_are_text |= any(alias.name == "annotations" for alias in node.names)
            return []
        module = "." * node.level + (node.module or "")
        result: list[ast.AST] = []
        for alias in node.names:
            self._note_import(node, module, alias.name)
            bound = alias.asname or alias.name
            if bound == "*" and not node.level:
                self.refuse(node, "import", "import * is for the top of a script", "name what you need")
                continue
            bound = bound if bound != "*" else "_"  # a relative import fails before it binds a name
            self.check_binding(node, bound)
            value = self.call(hooks.IMPORT_FROM, node, *self._texts(node, module, alias.name))
            result.append(self._bind(bound, value))
        return result

    def _note_import(self, node: ast.stmt, module: str, member: str | None) -> None:
        for part in (*module.split("."), member or ""):
            if part.startswith("_"):
                self.refuse(
                    node,
                    "import",
                    f"{part!r} cannot be imported",
                    "names with a leading underscore are private",
                )
        if getattr(node, "is_lazy", 0):
            self.refuse(node, "import", "lazy imports are not supported", "write a plain import")
        self.imports.append(Import(module, member, node.lineno, node.col_offset + 1))

    def _texts(self, at: ast.AST, *values: Any) -> list[ast.Constant]:
        return [self.constant(value, at) for value in values]

    def _bind(self, name: str, value: ast.expr) -> ast.AST:
        place: dict[str, Any] = {"lineno": value.lineno, "col_offset": value.col_offset}
        return ast.Assign([ast.Name(name, STORE, **place)], value, **place)


def _place(node: ast.stmt) -> dict[str, Any]:
    return {"lineno": node.lineno, "col_offset": node.col_offset}


_TOLD_DATACLASSES: Final = frozenset({"ClassVar", "InitVar", "KW_ONLY"})
