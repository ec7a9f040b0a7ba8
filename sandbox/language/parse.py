# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the text of a script into Python's syntax tree."""

from __future__ import annotations

import ast

from ...base.process import collector

__all__ = ("NOT_PYTHON", "parse", "parse_if_python")

#: What `parse` raises: for Python's own reasons, for a null character or a lone surrogate, and for too deep nesting.
NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)


@collector.off()  # a tree has many objects and no garbage: each collection would search Blender's objects, too
def parse(text: str, filename: str = "<script>") -> ast.Module:
    """Return the tree of a script; its nodes have line numbers from 1. Raises the errors of `NOT_PYTHON`."""
    return ast.parse(text, filename)


def parse_if_python(text: str) -> ast.Module | None:
    """Return the tree of a script; None for a text that is not Python."""
    try:
        return parse(text)
    except NOT_PYTHON:
        return None
