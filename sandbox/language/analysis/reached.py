# SPDX-License-Identifier: GPL-3.0-or-later
"""Which statements of a script a run has come to, so that the others can be shown: nobody has seen what they do."""

from __future__ import annotations

import ast
from typing import Final

__all__ = ("REACHED", "Reached")

REACHED: Final = "<reached>"
"""bytearray: a byte for each statement, 1 once the run has come to it."""
#: Where a statement has others in it.
_BLOCKS = ("body", "orelse", "finalbody")


class Reached:
    """The statements of one script, noted while it runs. Costs a store of one byte a statement."""

    def __init__(self) -> None:
        self.flags = bytearray()
        self._lines: list[int] = []

    def mark(self, tree: ast.Module) -> ast.Module:
        """Have each statement of a transformed script note that it was come to."""
        for node in ast.walk(tree):
            for name in _BLOCKS:
                block = getattr(node, name, None)
                if isinstance(block, list):
                    marked = [each for statement in block for each in self._marked(statement, node)]
                    setattr(node, name, marked)
        self.flags.extend(bytes(len(self._lines)))
        return tree

    def _marked(self, statement: ast.stmt, parent: ast.AST) -> tuple[ast.stmt, ...]:
        if _stays_first(statement) or _place(statement) == _place(
            parent
        ):  # a guard stands where its parent does
            return (statement,)
        place = ast.Subscript(ast.Name(REACHED, ast.Load()), ast.Constant(len(self._lines)), ast.Store())
        self._lines.append(statement.lineno)
        note = ast.Assign([place], ast.Constant(1))
        for node in ast.walk(note):
            ast.copy_location(node, statement)
        return (note, statement)

    def never(self) -> list[int]:
        """The lines with a statement that the run never came to, counted from 1."""
        return sorted({line for line, flag in zip(self._lines, self.flags, strict=True) if not flag})


def _stays_first(statement: ast.stmt) -> bool:
    """Whether Python wants it before all others, and does nothing when it comes to it."""
    text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return text or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__")


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
