# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts how often the parts of a script run, as far as its text shows.

A guard is quick where the script asks about a type before it calls it, but that takes three times the code, which has
to be made and compiled. Code that runs a few times calls the guard alone. Both forms mean the same, so a wrong count
costs time and nothing else.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

__all__ = ("SELDOM", "Counts")

SELDOM: Final = 16
"""How often code may run and still call the guard alone: about what the longer form takes to make and compile."""
_OFTEN: Final = math.inf
#: Methods that run once for each object that their class makes.
_MAKING: Final = frozenset({"__init__", "__new__", "__post_init__"})
_OWN_CLASS: Final = frozenset({"cls", "__class__"})
"""Names by which a method calls a class whose name the text does not have there."""
_SAME_CALLS: Final = frozenset({"classmethod", "staticmethod"})
"""Decorators that leave it to the text how often a function is called."""

_Code: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(eq=False, slots=True)
class _Function:
    """A function, or the whole script. `calls` has what one run of it calls, each with how often."""

    names: tuple[str, ...] = ()
    calls: list[tuple[str, float]] = field(default_factory=list)
    runs: float = 0


class Counts:
    """How often each function and loop runs. `Bindings` walks the script and says what it meets."""

    def __init__(self, tree: ast.Module) -> None:
        self._script = self._function = _Function()
        self._turns: float = 1
        """How often the code here runs while the function around it runs once."""
        self._functions: list[_Function] = []
        self._read: set[str] = set()
        """Names that the script also reads without a call: anything may call what they mean."""
        self._pieces: list[tuple[ast.AST, _Function, float]] = [(tree, self._script, 1)]

    def call(self, name: str) -> None:
        """Note that the script calls `name(…)` or `value.name(…)` here; without a name, it may call any class."""
        if not name or name in _OWN_CLASS:
            self._read |= _MAKING
        self._function.calls.append((name, self._turns))

    def read(self, name: str) -> None:
        """Note that the script reads a name or an attribute here without a call."""
        self._read.add(name)

    @contextmanager
    def function(self, node: _Code, owner: str) -> Iterator[None]:
        """Count what is met within as code of a function; `owner` is the name of the class around it, or empty."""
        around = self._function, self._turns
        self._function, self._turns = _Function(_names(node, owner)), 1
        self._functions.append(self._function)
        self._pieces.append((node, self._function, 1))
        yield
        self._function, self._turns = around

    @contextmanager
    def loop(self, node: ast.AST, *iterables: ast.expr) -> Iterator[None]:
        """Count what is met within as run once for each item of the iterables; without any, as run often."""
        around = self._turns
        for length in map(_length, iterables) if iterables else [_OFTEN]:
            self._turns = _times(self._turns, length)
        self._pieces.append((node, self._function, self._turns))
        yield
        self._turns = around

    def seldom(self) -> frozenset[ast.AST]:
        """Return the script, functions, loops and comprehensions whose code runs `SELDOM` times or less.

        A function that the text never calls is not one of them: Blender, or a name made of texts, may call it often.
        """
        self._follow_calls()
        return frozenset(
            node
            for node, function, turns in self._pieces
            if function.runs and _times(function.runs, turns) <= SELDOM
        )

    def _follow_calls(self) -> None:
        """Count the runs of functions, from the script on along their calls. A name's count grows 17 times at most."""
        runs: dict[str, float] = {}
        named: dict[str, list[_Function]] = {}
        waiting: list[tuple[_Function, float]] = [(self._script, 1)]
        for function in self._functions:
            for name in function.names:
                named.setdefault(name, []).append(function)
            if not function.names or not self._read.isdisjoint(function.names):
                waiting.append((function, _OFTEN))
        while waiting:
            function, more = waiting.pop()
            function.runs += more
            for name, times in function.calls:
                before = runs.get(name, 0)
                after = before + _times(more, times)
                if name in named and after > before:
                    runs[name] = after = after if after <= SELDOM else _OFTEN
                    waiting += [(each, after - before) for each in named[name]]


def _times(first: float, second: float) -> float:
    """Return the product, or `_OFTEN` above the limit: numbers of any size would take time, or overflow."""
    if not first or not second:
        return 0
    return _OFTEN if first > SELDOM or second > SELDOM or first * second > SELDOM else first * second


def _names(node: _Code, owner: str) -> tuple[str, ...]:
    """Return the names by which a script calls a function; none where its calls do not show."""
    if not isinstance(node, ast.FunctionDef):
        return ()
    if any(not (isinstance(each, ast.Name) and each.id in _SAME_CALLS) for each in node.decorator_list):
        return ()
    if not (node.name.startswith("__") and node.name.endswith("__")):
        return (node.name,)
    return (node.name, owner) if owner and node.name in _MAKING else ()


def _length(node: ast.expr) -> float:
    """Return how many items an expression gives to a loop."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Dict(keys=parts):
            unpacked = any(part is None or isinstance(part, ast.Starred) for part in parts)
            return _OFTEN if unpacked else len(parts)
        case ast.Call(func=ast.Name(id="enumerate" | "reversed" | "sorted"), args=[inner, *_]):
            return _length(inner)
        case ast.Call(func=ast.Name(id="zip"), args=[_, *_] as parts):
            return min(map(_length, parts))
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "keys" | "values"), args=[]):
            return _length(inner)
        case ast.Call(func=ast.Name(id="range"), args=args):
            constants = [each.value for each in args if isinstance(each, ast.Constant)]
            numbers = [each for each in constants if isinstance(each, int)]
            if len(numbers) == len(args):
                return _length_of_range(numbers)
    return _OFTEN


def _length_of_range(numbers: list[int]) -> float:
    try:
        return len(range(*numbers))
    except (TypeError, ValueError, OverflowError):  # the script has an error here, or goes on for ever
        return _OFTEN
