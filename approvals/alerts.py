# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what a script tries to reach outside Blender, to warn the user. The sandbox refuses it in any case."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from ..sandbox.language.parse import parse_if_python

__all__ = ("named_outside", "outside")

#: Modules of the standard library that only compute and reach nothing outside.
_HARMLESS = frozenset(
    "__future__ abc array bisect calendar cmath collections colorsys contextlib copy dataclasses datetime decimal "
    "enum fractions functools hashlib heapq itertools json math numbers operator random re statistics string "
    "textwrap time traceback types typing unicodedata uuid warnings zoneinfo".split()
)
#: The libraries for network access and other programs that scripts use most.
_FOREIGN = frozenset("aiohttp httpx paramiko psutil requests urllib3 websocket websockets".split())
_BUILTINS = frozenset("__import__ breakpoint compile eval exec open".split())
#: Families of Blender's operators that read and write files or run code.
_OPERATORS = frozenset(
    "console export_mesh export_scene extensions import_mesh import_scene preferences script".split()
)
_MOST = 8


def outside(script: str) -> tuple[str, ...]:
    """Names that the script uses from outside Blender, in order, at most 8; none for a text that is not Python."""
    tree = parse_if_python(script)
    if tree is None:
        return ()
    found = dict.fromkeys(name for node in ast.walk(tree) for name in _names(node))
    return tuple(found)[:_MOST]


def named_outside(node: ast.AST) -> bool:
    """Whether this node of a script refers to something outside Blender."""
    return any(True for _ in _names(node))


def _names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names if _reaches_out(alias.name))
        case ast.ImportFrom(module=str(module), level=0) if _reaches_out(module):
            yield module
        case ast.Call(func=ast.Name(id=name)) if name in _BUILTINS:
            yield f"{name}()"
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="bpy"), attr="ops"), attr=family):
            if family in _OPERATORS:
                yield f"bpy.ops.{family}"


def _reaches_out(module: str) -> bool:
    root = module.partition(".")[0]
    return root in _FOREIGN or (root in sys.stdlib_module_names and root not in _HARMLESS)
