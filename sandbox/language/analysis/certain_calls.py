# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the functions that a script certainly calls: their statements certainly run, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ("called_in_any_case", "is_main")

#: Nodes whose contents may never run.
_OPEN = (ast.If, ast.IfExp, ast.Try, ast.BoolOp, ast.FunctionDef, ast.ClassDef, ast.Lambda)


def called_in_any_case(tree: ast.Module) -> frozenset[str]:
    """Return the module's own functions that it calls without a condition, directly or from another such function."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found: set[str] = set()
    waiting: list[ast.AST] = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    while waiting:
        for name in _calls(waiting.pop()):
            if name in functions and name not in found:
                found.add(name)
                waiting += functions[name].body
    return frozenset(found)


def is_main(node: ast.AST) -> bool:
    """Return whether a node is `if __name__ == "__main__":`, whose condition is always true in a script."""
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"), ops=[ast.Eq()], comparators=[ast.Constant(value="__main__")]
            )
        ):
            return True
    return False


def _calls(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _OPEN) and not is_main(node):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield node.func.id
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)
