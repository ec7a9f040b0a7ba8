# SPDX-License-Identifier: GPL-3.0-or-later
"""Methods of a script's classes that C code may ask for while it works: `__len__`, `__getitem__`, `__float__`, ….

Blender's own C code does not expect that what it is given answers by running code: a sequence that says another length
the second time, empties the list that holds it, or removes what is being written makes Blender use freed memory. So
such a method looks who asks: a statement of the script, Python's own functions or the guards may, Blender may not.
"""

from __future__ import annotations

import functools
import opcode
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .guards import Guard

__all__ = ("ASKED", "ASKING", "ask", "has_own_table", "look_who_asks")


def _codes(*names: str) -> frozenset[int]:
    """Those that this Python has; `POP_JUMP*` stands for all that begin so."""
    return frozenset(
        code
        for name, code in opcode.opmap.items()
        if name in names or any(each.endswith("*") and name.startswith(each[:-1]) for each in names)
    )


_GONE_THROUGH: Final = _codes(
    *("GET_ITER", "FOR_ITER", "SEND", "GET_YIELD_FROM_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND"),
    *("SET_UPDATE", "CONTAINS_OP", "POP_JUMP*", "JUMP_IF*", "UNARY_NOT", "TO_BOOL", "GET_LEN", "MATCH_*"),
)
_ITEM: Final = (
    _codes("BINARY_SUBSCR", "BINARY_SLICE", "BINARY_OP", "DICT_MERGE", "DICT_UPDATE") | _GONE_THROUGH
)
_ASKED_BY: Final[dict[str, frozenset[int]]] = {
    "__len__": _GONE_THROUGH,
    "__length_hint__": _GONE_THROUGH,
    "__iter__": _GONE_THROUGH,
    "__next__": _GONE_THROUGH,
    "__getitem__": _ITEM,
    "__setitem__": _codes("STORE_SUBSCR", "STORE_SLICE"),
    "__float__": frozenset(),
    "__index__": frozenset(),
    "__complex__": frozenset(),
}
"""By which instructions of Python a script itself asks for a method."""

ASKED: Final = frozenset(_ASKED_BY)
"""The methods that look who asks."""
ASKING: Final = frozenset("all any bin bool chr complex float hex len list next oct tuple".split())
"""Python's own builtins whose call, where a script has such methods, goes through `ask`."""

_ROOM: Final = __name__.rpartition(".")[0]
_GUARDS: Final = f"{_ROOM}.guards"
_MAY_ASK: Final = frozenset({"random", "statistics"}) | {
    f"{_ROOM}.{name}"
    for name in "asked builtins hashing library methods operators result text value_library weight".split()
}
"""Modules whose functions call nothing of Blender's, but for those in `_CALLS_ANYTHING`."""
_CALLS_ANYTHING: Final = ("Builtins.ticking.<locals>.call", "<lambda>")
"""How the names of functions end that call whatever a script gave."""
_SCALARS: Final = frozenset({bool, int, float, str})


def ask(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """`function(…)`, for a call of one of `ASKING` in a script."""
    return function(*arguments, **named)


def has_own_table(value: Any) -> bool:
    """Whether there is a dict of a script's own class in dicts and lists: C code would call its `keys()`."""
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


def look_who_asks(kind: str, body: Any, guard: Guard) -> None:
    """Let the methods in the body of the class `kind` that C code may ask for look who asks."""
    for name in [name for name in body if name in ASKED and body[name] is not None]:
        body[name] = _looking(kind, name, body[name], guard)


def _looking(kind: str, name: str, method: Any, guard: Guard) -> Callable[..., Any]:
    codes = _ASKED_BY[name]
    get = getattr(type(method), "__get__", None)

    @functools.wraps(method, assigned=("__name__", "__qualname__", "__doc__"), updated=())
    def asked(self: Any, *arguments: Any) -> Any:
        frame = sys._getframe(1)
        trusted = frame.f_code.co_code[frame.f_lasti] in codes and (
            frame.f_globals is guard.namespace or frame.f_globals["__name__"] == _GUARDS
        )
        if not (trusted or _may_ask(frame)):
            guard.meter.refuse(
                f"Blender would run {kind}.{name}() in the midst of its own work: give it plain values, "
                "such as list(…) and float(…) make",
                code="class",
            )
        return (method if get is None else get(method, self, type(self)))(*arguments)

    return asked


def _may_ask(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in _MAY_ASK and not frame.f_code.co_qualname.endswith(
        _CALLS_ANYTHING
    )
