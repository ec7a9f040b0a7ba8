# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what a script's names stand for: after `C = bpy.context`, C stands for bpy.context."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..nodes import children

__all__ = ("aliases", "bound_names")


def bound_names(tree: ast.Module) -> dict[str, set[str]]:
    """Return the names that a script binds, each with the paths that it stands for, "" for any other value."""
    bound: dict[str, set[str]] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        if type(node) in _BINDING:
            for name, path in _bindings(node):
                bound.setdefault(name, set()).add(path)
    return bound


def aliases(bound: dict[str, set[str]]) -> dict[str, str]:
    """Return the names that always stand for the same module or part of a module, each with its path."""
    known = {name: next(iter(paths)) for name, paths in bound.items() if len(paths) == 1 and "" not in paths}
    for _ in range(4):  # aliases of aliases
        changed = {
            name: f"{known[head]}{rest}"
            for name, path in known.items()
            if path.startswith("$")
            for head, rest in [_split(path)]
            if head in known and not known[head].startswith("$")
        }
        known |= changed
        if not changed:
            break
    return {name: path for name, path in known.items() if not path.startswith("$")}


def _split(path: str) -> tuple[str, str]:
    head, dot, rest = path[1:].partition(".")
    return head, dot + rest


_BINDING = frozenset(
    {
        ast.Import,
        ast.ImportFrom,
        ast.Assign,
        ast.arg,
        ast.For,
        ast.comprehension,
        ast.AugAssign,
        ast.NamedExpr,
    }
    | {ast.withitem, ast.FunctionDef, ast.ClassDef, ast.ExceptHandler}
)


def _bindings(node: ast.AST) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Import():
            for name in node.names:
                if name.asname:
                    yield name.asname, name.name
                else:
                    top = name.name.partition(".")[0]
                    yield top, top
        case ast.ImportFrom(module=str(module)):
            for name in node.names:
                yield name.asname or name.name, f"{module}.{name.name}"
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, _written_path(value)
        case ast.arg(arg=name):
            yield name, ""
        case ast.For(target=target) | ast.comprehension(target=target):
            yield from _stored(target)
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _stored(target)
        case ast.AugAssign(target=ast.Name(id=name)) | ast.NamedExpr(target=ast.Name(id=name)):
            yield name, ""
        case ast.withitem(optional_vars=ast.AST() as target):
            yield from _stored(target)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, ""
        case ast.ExceptHandler(name=str(name)):
            yield name, ""


def _stored(target: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, ""


def _written_path(node: ast.AST) -> str:
    """Return `$name.attribute…` for a chain of attributes, an empty text for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return f"${'.'.join([node.id, *reversed(names)])}" if isinstance(node, ast.Name) and names else ""
