# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from the extension's source which of its modules imports which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bl_ext.user_default import mcp_bridge

__all__ = ("ROOT", "imported", "modules")

ROOT = Path(mcp_bridge.__file__).parent


@cache
def modules() -> dict[str, Path]:
    """The extension's own modules by name: '' is the extension itself."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(module: str, *, annotations: bool = True) -> Iterator[str]:
    """The modules of the extension that a module imports; `annotations`: those for annotations alone, too."""
    path = modules()[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text("utf-8"))
    left_out = set() if annotations else set(_for_annotations(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and node not in left_out:
            parts = package.split(".") if package else []
            parts = parts[: len(parts) - node.level + 1] + (node.module.split(".") if node.module else [])
            for alias in node.names:
                inner = ".".join([*parts, alias.name])
                yield inner if inner in modules() else ".".join(parts)


def _for_annotations(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body
