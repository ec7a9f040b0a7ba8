# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares a script's tree: writes out star imports, and adds `import bpy`.

`from math import *` becomes an import of those public names of the module that the script uses, so that the text shows
all names that the script binds. A script that uses `bpy` without binding it gets `import bpy` in front.
"""

from __future__ import annotations

import ast
import functools
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Final

from .names import is_dunder
from .nodes import children

__all__ = ("prepare",)

_PLACE: Final = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}


def prepare(tree: ast.Module) -> ast.Module:
    """Write out star imports and add `import bpy` if needed; return `tree`, changed in place."""
    used = functools.cache(lambda: _used(tree))
    imports = [node for node in tree.body if isinstance(node, ast.Import)]
    bound = {alias.asname or alias.name for node in imports for alias in node.names}
    tree.body = _expanded(tree.body, used)
    if "bpy" not in bound and "bpy" in used() and not _binds(tree, "bpy"):
        tree.body.insert(0, ast.Import([ast.alias("bpy", None, **_PLACE)], **_PLACE))
    return tree


def _used(tree: ast.Module) -> set[str]:
    """Return the names in a script."""
    found: set[str] = set()
    waiting: list[ast.AST] = [*tree.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            found.add(node.id)
        else:
            waiting += children(node)
    return found


def _binds(tree: ast.Module, name: str) -> bool:
    """Return whether a statement of the module itself, or a `global` anywhere, may bind `name`."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=found, ctx=ast.Store()) if found == name:
                return True
            case ast.FunctionDef(name=found) | ast.ClassDef(name=found):
                if found == name:
                    return True
                waiting += [each for each in ast.walk(node) if isinstance(each, ast.Global)]
                continue
            case ast.Global(names=names) if name in names:
                return True
            case ast.alias():
                if (node.asname or node.name.partition(".")[0]) == name:
                    return True
        waiting += children(node)
    return False


def _expanded(body: list[ast.stmt], used: Callable[[], set[str]]) -> list[ast.stmt]:
    """Return the statements with their star imports written out; Python allows none in functions and classes."""
    result: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*" and node.module and not node.level:
            result.append(_written_out(node, node.module, used()))
            continue
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(inner := getattr(node, field, None), list):
                    setattr(node, field, _expanded(inner, used))
            for handler in getattr(node, "handlers", ()):
                handler.body = _expanded(handler.body, used)
        result.append(node)
    return result


def _written_out(node: ast.ImportFrom, module: str, used: set[str]) -> ast.stmt:
    place = {name: getattr(node, name) for name in _PLACE}
    names = sorted(_public(module) & used)
    if not names:  # the script uses none of the names; the import itself must still be checked
        return ast.Import([ast.alias(module, "_", **place)], **place)
    return ast.ImportFrom(module, [ast.alias(name, None, **place) for name in names], 0, **place)


def _public(module: str) -> set[str]:
    """Return the names that `from module import *` binds; imports only modules of Python and of Blender."""
    found: ModuleType | None = sys.modules.get(module)
    if found is None and module.partition(".")[0] in sys.stdlib_module_names & _PLAIN:
        found = importlib.import_module(module)
    if found is None:
        return set()
    listed = getattr(found, "__all__", None)
    return {name for name in (dir(found) if listed is None else listed) if not is_dunder(name)}


_PLAIN: Final = frozenset(
    "math cmath random itertools functools collections statistics string datetime time colorsys enum".split()
)
"""Modules that are safe to import for their names: importing them does nothing else."""
