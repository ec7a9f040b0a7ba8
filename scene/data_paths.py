# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks texts that Blender interprets: data paths, driver expressions, render output. No `bpy`; unknown means no."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache, wraps

__all__ = ("bad_data_path", "bad_expression", "bad_output_path", "bad_suffix", "split_data_path")

_MAX_PATH = 512
_MAX_EXPRESSION = 255
_MAX_DIGITS = 100
_STEP = re.compile(
    r"""
    (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | \[ (?P<index>-?\d{1,9}) \]
    | \[ "(?P<double>(?:[^"\\]|\\.)*)" \]
    | \[ '(?P<single>(?:[^'\\]|\\.)*)' \]
    """,
    re.VERBOSE,
)


def split_data_path(path: str) -> list[str | int | tuple[str]]:
    """Split `pose.bones["Arm"].location[0]` into `["pose", "bones", ("Arm",), "location", 0]`; a key is a 1-tuple.

    Raises ValueError for a path with anything but names, numbers and quoted keys.
    """
    if not isinstance(path, str) or len(path) > _MAX_PATH:
        raise ValueError(f"a data path is a text of at most {_MAX_PATH} characters")
    steps: list[str | int | tuple[str]] = []
    at = 0
    while at < len(path):
        if steps and path[at] == ".":
            at += 1
            dotted = True
        else:
            dotted = False
        found = _STEP.match(path, at)
        name = found and found["name"]
        if found is None or (steps and bool(name) != dotted):
            raise ValueError(f'{path!r} is no data path: it may hold names, [numbers] and ["keys"]')
        if name:
            if name.startswith("__"):
                raise ValueError(f"{name!r} may not stand in a data path")
            steps.append(name)
        elif found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            key = found["double"] if found["double"] is not None else found["single"]
            steps.append((re.sub(r"\\(.)", r"\1", key) if "\\" in key else key,))
        at = found.end()
    return steps


class _Bad(Exception):
    """Tells that a check refuses a text; the message is the reason."""


@lru_cache(maxsize=256)
def _accept(check: Callable[[object], str], text: str) -> None:
    """Raise `_Bad` if `check` refuses a text. Only accepted texts are cached.

    A refusal may have a passing cause, such as a deep recursion.
    """
    if reason := check(text):
        raise _Bad(reason)


def _remembering(check: Callable[[object], str]) -> Callable[[object], str]:
    """Wrap `check` with a cache for the texts that it accepts: scripts use the same few texts many times."""

    @wraps(check)
    def cached(text: object) -> str:
        if type(text) is not str:  # a subclass of str could return different contents
            return check(text)
        try:
            _accept(check, text)
        except _Bad as bad:
            return str(bad)
        return ""

    return cached


@_remembering
def bad_data_path(path: object) -> str:
    """Return the reason to refuse a data path, or an empty text."""
    try:
        split_data_path(path)  # type: ignore[arg-type]
    except ValueError as error:
        return str(error)
    return ""


#: Functions that a driver may call: names that Blender defines for drivers and that only compute.
_FUNCTIONS = frozenset(
    """
    abs acos acosh asin asinh atan atan2 atanh bool ceil clamp copysign cos cosh degrees exp fabs float floor
    fmod hypot int lerp log log10 log2 max min noise pow radians round sin sinh smoothstep sqrt tan tanh trunc
    """.split()
)
_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.Name,
    ast.Constant,
    ast.Load,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)


@_remembering
def bad_expression(expression: object) -> str:
    """Return the reason to refuse a driver's expression, or an empty text.

    Allowed: numbers, variables, arithmetic, comparison, `and or not`, `a if b else c`, and calls of mathematics.
    Blender evaluates the expression many times, outside the sandbox.
    """
    if not isinstance(expression, str) or len(expression) > _MAX_EXPRESSION:
        return f"a driver's expression is a text of at most {_MAX_EXPRESSION} characters"
    if not expression.strip():
        return ""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"the driver's expression {expression!r} is no Python: {error}"
    for node in ast.walk(tree):
        if reason := _bad_node(node):
            return f"the driver's expression {expression!r} {reason}: use numbers, variables and mathematics"
    return ""


def _bad_node(node: ast.AST) -> str:
    if not isinstance(node, _NODES):
        return f"holds {type(node).__name__}"
    if isinstance(node, ast.Constant) and not isinstance(node.value, (int, float)):
        return "holds a text"
    if isinstance(node, ast.Constant) and abs(node.value) > 1e12:  # type: ignore[arg-type]
        return "holds a huge number"
    if isinstance(node, (ast.Pow, ast.LShift)):
        return "uses a power (write pow(x, y) or x * x)"
    if isinstance(node, ast.Name) and node.id.startswith("_"):
        return f"uses the name {node.id!r}"
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS or node.keywords:
            return "calls something that is no mathematics"
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return "unpacks arguments"
        if node.func.id == "round" and not all(map(_is_few_digits, node.args[1:])):
            return "rounds to digits that are not written out as a small number"
    return ""


def _is_few_digits(node: ast.expr) -> bool:
    """Return whether a digit count for `round` is a small constant.

    Python computes a power of ten with it, even for a small number.
    """
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value <= _MAX_DIGITS


_OUTPUT = re.compile(r"//(?!.*\.\.)[\w][\w .#\-]*(?:/[\w][\w .#\-]*)*/?")


def bad_output_path(path: object) -> str:
    """Return the reason to refuse a render output path, or "". It must be beside the .blend (`//renders/shot_`)."""
    if isinstance(path, str) and len(path) < 256 and _OUTPUT.fullmatch(path):
        return ""
    told = repr(path[:256]) if isinstance(path, str) else f"of the type {type(path).__name__}"
    return (
        f"render.filepath stays as it was: a script may not set it to {told}; use a name beside the .blend, such as "
        "'//render_'; the tools render_image and render_animation say where their pictures are"
    )


def bad_suffix(suffix: object) -> str:
    """Return the reason to refuse a suffix that Blender adds to the name of a rendered file, or an empty text."""
    if isinstance(suffix, str) and re.fullmatch(r"[\w \-]{0,60}", suffix):
        return ""
    told = repr(suffix[:256]) if isinstance(suffix, str) else f"of the type {type(suffix).__name__}"
    return f"the suffix {told} is refused: it is part of a file's name, letters and digits such as '_L'"
