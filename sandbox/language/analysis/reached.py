# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes which statements of a script have run. A rehearsal shows the others: nobody has seen what they do."""

from __future__ import annotations

import ast
from typing import Final

__all__ = ("REACHED", "Reached")

REACHED: Final = "<reached>"
"""The name of a bytearray with a byte for each statement: 1 after the statement has run."""
#: Fields of a statement that contain other statements.
_BLOCKS = ("body", "orelse", "finalbody")


class Reached:
    """The flags of one script's statements, set while it runs. Each statement costs one store of a byte."""

    def __init__(self) -> None:
        self.flags = bytearray()
        self._lines: list[int] = []

    def mark(self, tree: ast.Module) -> ast.Module:
        """Insert before each statement of a transformed script a store that sets its flag."""
        for node in ast.walk(tree):
            for name in _BLOCKS:
                block = getattr(node, name, None)
                if isinstance(block, list):
                    marked = [each for statement in block for each in self._marked(statement, node)]
                    setattr(node, name, marked)
        self.flags.extend(bytes(len(self._lines)))
        return tree

    def _marked(self, statement: ast.stmt, parent: ast.AST) -> tuple[ast.stmt, ...]:
        if _stays_first(statement) or _place(statement) == _place(parent):  # a guard has no line of its own
            return (statement,)
        place = ast.Subscript(ast.Name(REACHED, ast.Load()), ast.Constant(len(self._lines)), ast.Store())
        self._lines.append(statement.lineno)
        note = ast.Assign([place], ast.Constant(1))
        for node in ast.walk(note):
            ast.copy_location(node, statement)
        return (note, statement)

    def never(self) -> list[int]:
        """Return the lines, counted from 1, with a statement that never ran."""
        return sorted({line for line, flag in zip(self._lines, self.flags, strict=True) if not flag})


def _stays_first(statement: ast.stmt) -> bool:
    """Return whether a statement must stay first and does nothing: a docstring, or an import from `__future__`."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
