# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides who may call those methods of a script's classes that C code calls: `__len__`, `__getitem__`, `__float__`, ….

Blender's own C code does not expect an argument to run code: a sequence that returns another length the second time,
empties the list that holds it, or removes what is being written makes Blender use freed memory. So each such method
checks the frame that calls it. An instruction of the script may call it, and so may a function that holds the
permission: a module of ours gives it to its own functions, by `may_call_scripts(globals())`, if none of them calls
Blender. The permission belongs to the code object of a function and not to any name; any other caller is refused.
"""

from __future__ import annotations

import functools
import opcode
import random
import statistics
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar

from ..language.builtin_methods import CALLED_BY_C
from .audit import may_raise
from .meter import Meter

__all__ = (
    "call",
    "calls_anything",
    "has_own_table",
    "may_call_scripts",
    "refuse_if_blender_calls",
)


F = TypeVar("F", bound=Callable[..., Any])


def _codes(*names: str) -> frozenset[int]:
    """Return the codes of those instructions that this Python has; `POP_JUMP*` means all whose names begin so."""
    return frozenset(
        code
        for name, code in opcode.opmap.items()
        if name in names or any(each.endswith("*") and name.startswith(each[:-1]) for each in names)
    )


_ITERATING: Final = _codes(
    *("GET_ITER", "FOR_ITER", "SEND", "GET_YIELD_FROM_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND"),
    *("SET_UPDATE", "CONTAINS_OP", "POP_JUMP*", "JUMP_IF*", "UNARY_NOT", "TO_BOOL", "GET_LEN", "MATCH_*"),
)
_ITEM: Final = _codes("BINARY_SUBSCR", "BINARY_SLICE", "BINARY_OP", "DICT_MERGE", "DICT_UPDATE") | _ITERATING
_INSTRUCTIONS: Final[dict[str, frozenset[int]]] = {
    "__len__": _ITERATING,
    "__length_hint__": _ITERATING,
    "__iter__": _ITERATING,
    "__next__": _ITERATING,
    "__getitem__": _ITEM,
    "__setitem__": _codes("STORE_SUBSCR", "STORE_SLICE"),
    "__float__": frozenset(),
    "__index__": frozenset(),
    "__complex__": frozenset(),
}
"""The instructions of Python by which a script itself calls a method."""

assert _INSTRUCTIONS.keys() == CALLED_BY_C

_PERMITTED: Final[set[types.CodeType]] = set()
"""The code of the functions that may call the methods; our modules add to it when they are imported."""
_BY_INSTRUCTION: Final[set[types.CodeType]] = set()
"""The code of the functions that may call the methods by the same instructions as a script."""
_CALLING_ANYTHING: Final[set[types.CodeType]] = set()
"""The code of the functions of such modules that call a script's value, which may be a function of Blender's."""
_SCALARS: Final = frozenset({bool, int, float, str})


def calls_anything(function: F) -> F:
    """Decorate a function that calls a value from a script: it gets no permission, nor do the functions within it."""
    _CALLING_ANYTHING.update(_codes_of(function.__code__))
    return function


def may_call_scripts(module: Mapping[str, Any], *, by_instruction: bool = False) -> None:
    """Permit the functions of a module, given as its `globals()`, and the functions within them.

    Call it at the end of a module whose functions call nothing of Blender's. Use `by_instruction` at the end of one
    whose functions call Blender, but not by the instructions by which a script itself calls the methods. Lambdas, and
    functions that `calls_anything` decorates, get no permission: what they call may have come from the script.
    """
    permitted = _BY_INSTRUCTION if by_instruction else _PERMITTED
    file = module["__file__"]
    waiting = [each for each in module.values() if getattr(each, "__module__", None) == module["__name__"]]
    while waiting:
        each = waiting.pop()
        if isinstance(each, type):
            waiting += vars(each).values()
        for function in (each, *(getattr(each, name, None) for name in ("fget", "__func__", "__wrapped__"))):
            code = getattr(function, "__code__", None)
            if type(code) is types.CodeType and code.co_filename == file:
                permitted.update(inner for inner in _codes_of(code) if inner.co_name != "<lambda>")


def _codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function, and of the functions that it defines."""
    yield code
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield from _codes_of(constant)


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call `function(…)`, for a call of one of `CALLING_BUILTINS` in a script."""
    return function(*arguments, **named)


def has_own_table(value: Any) -> bool:
    """Return whether dicts and lists contain a dict of a script's own class: C code would call its `keys()`."""
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if type(each).__module__ == "<script>":
                return True
            parts: Any = each.values()
        else:
            parts = each
        if id(each) not in seen and not _SCALARS.issuperset(map(type, parts)):
            seen.add(id(each))
            waiting += [part for part in parts if isinstance(part, dict | list | tuple)]
    return False


def refuse_if_blender_calls(kind: str, body: Any, namespace: Mapping[str, Any], meter: Meter) -> None:
    """Let the methods of `CALLED_BY_C` in the body of the class `kind` check who calls them.

    `namespace`: the globals of the script that makes the class; `meter` stops its run.
    """
    for name in [name for name in body if name in CALLED_BY_C and body[name] is not None]:
        body[name] = _checking(kind, name, body[name], namespace, meter)


@may_raise("sys._getframe", "object.__getattr__")
def _checking(
    kind: str, name: str, method: Any, namespace: Mapping[str, Any], meter: Meter
) -> Callable[..., Any]:
    codes = _INSTRUCTIONS[name]
    get = getattr(type(method), "__get__", None)

    @functools.wraps(method, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def looking(self: Any, *arguments: Any) -> Any:
        frame = sys._getframe(1)
        code = frame.f_code
        by_script = frame.f_globals is namespace
        # Code objects with the same source are equal: code in a script's globals never holds the permission.
        permitted = not by_script and code in _PERMITTED and code not in _CALLING_ANYTHING
        instructed = by_script or code in _BY_INSTRUCTION
        if not permitted and not (instructed and code.co_code[frame.f_lasti] in codes):
            meter.refuse(
                f"Blender would run {kind}.{name}() in the midst of its own work: give it plain values, "
                "such as list(…) and float(…) make",
                code="class",
            )
        return (method if get is None else get(method, self, type(self)))(*arguments)

    return looking


for _library in (random, statistics):
    may_call_scripts(vars(_library))
may_call_scripts({"call": call, "has_own_table": has_own_table, "__name__": __name__, "__file__": __file__})
