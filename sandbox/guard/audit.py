# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which code may raise Python's audit events (PEP 578) while a script runs.

`facts/audit_events.json` lists the events of CPython 3.11 to 3.14. Any code may raise those under "allow"; only code
that holds a grant may raise those under "own", and no code may raise those under "deny", nor an event that is not
listed. A grant belongs to the code object of a function: a function that does such work itself, or calls a library that
does, is decorated with `may_raise`. The grant also holds for what the function calls, but not for a script or a driver
that runs within: `wall.py` looks at the frames between.
"""

from __future__ import annotations

import json
import secrets
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

__all__ = (
    "CONTROL",
    "FREE",
    "LISTED",
    "OWN",
    "attempt",
    "code_of",
    "granted",
    "may_raise",
    "may_show_errors",
    "module_may_raise",
    "trust",
)

F = TypeVar("F", bound=Callable[..., Any])

CONTROL: Final = f"mcp_bridge.audit {secrets.token_hex(4)}"
"""The event by which this package speaks to its hook, under a name that nobody can guess: see `wall.py`.

A hook stays until Blender ends. The hook of an extension that was loaded before this one listens to another event."""
LISTED: Final[Mapping[str, Mapping[str, str]]] = types.MappingProxyType(
    json.loads((Path(__file__).parent.parent / "facts" / "audit_events.json").read_text(encoding="utf-8"))
)
"""What a script attempts by an event, or why the event is harmless, by event; under "allow", "own" and "deny"."""
EVERYTHING: Final = "*"
SHOWN_ERRORS: Final = "errors"
"""Grants that are not events: all events, and those of code that shows an error."""
FREE: Final = frozenset(LISTED["allow"])
OWN: Final = frozenset(LISTED["own"])
_MOST_SHOWN: Final = 200
_CALL: Final = "__call__"
_INNER: Final = ("__wrapped__", "func", "fget")
"""Attributes with the function of a cached function, of a partial and of a property."""
_OF_C: Final = frozenset({types.BuiltinFunctionType, types.ModuleType, dict, float, str, type})

_grants: Final[list[tuple[types.CodeType, frozenset[str]]]] = []
"""The grants that were made before there was a hook."""
_has_hook = False


def may_raise(*events: str) -> Callable[[F], F]:
    """Decorate a function: it, the functions within it and what they call may raise these events of `OWN`."""

    def decorate(function: F) -> F:
        _grant(_codes_of(code_of(function)), frozenset(events))
        return function

    return decorate


def may_show_errors(function: F) -> F:
    """Decorate a function that calls Blender: Python may show an error of C code there, with its source."""
    _grant(_codes_of(code_of(function)), frozenset({SHOWN_ERRORS}))
    return function


def trust(functions: Iterable[object]) -> None:
    """Let Blender's own Python functions, which a script may call anyway, raise any event."""
    for each in functions:
        _grant(_codes_of(code_of(each)), frozenset({EVERYTHING}))


def module_may_raise(module: Mapping[str, Any], *events: str) -> None:
    """Grant these events to all functions of a module, given as its `globals()`; call it at the end of the module."""
    own = [each for each in module.values() if getattr(each, "__module__", None) == module["__name__"]]
    members = [member for each in own if isinstance(each, type) for member in vars(each).values()]
    for each in (*own, *members):
        if not isinstance(each, type):
            _grant(_codes_of(code_of(each)), frozenset(events))


def _grant(codes: Iterable[types.CodeType], events: frozenset[str]) -> None:
    """Let these code objects raise these events. Nothing that runs within a script can do so.

    Raises ValueError for an event that cannot be granted, and the hook's Breakout if the caller must not grant.
    """
    if unknown := events - OWN - {EVERYTHING, SHOWN_ERRORS}:
        raise ValueError(f"audit event {min(unknown)!r} is not listed under 'own' in facts/audit_events.json")
    given = [(code, events) for code in codes]
    if _has_hook:
        sys.audit(CONTROL, "grant", given)
    else:
        _grants.extend(given)


def granted() -> list[tuple[types.CodeType, frozenset[str]]]:
    """Return the grants so far to a new hook, which gets the later grants itself."""
    global _has_hook
    _has_hook = True
    return _grants


def code_of(value: object) -> types.CodeType | None:
    """Return the code of a function, method or other Python callable; None if it has none."""
    if type(value) in _OF_C:
        return None
    if isinstance(value, types.FunctionType):
        return value.__code__
    if isinstance(value, types.MethodType):
        return code_of(value.__func__)
    for each in (*(getattr(value, name, None) for name in _INNER), getattr(type(value), _CALL, None)):
        if isinstance(each, types.FunctionType | types.MethodType):
            return code_of(each)
    return None


def _codes_of(code: types.CodeType | None) -> Iterator[types.CodeType]:
    """Yield the code of a function and of the functions that it defines."""
    if code is not None:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from _codes_of(constant)


def attempt(event: str, details: tuple[Any, ...]) -> str:
    """Return what a script attempts by raising an event, with the event and its first text."""
    words = LISTED["deny"].get(event) or LISTED["own"].get(event) or "do what nobody has reviewed"
    about = next((each for each in details if type(each) is str and each), "")
    shown = f", {about[:_MOST_SHOWN]!r}" if about else ""
    return f"{words} (audit event {event[:_MOST_SHOWN]}{shown})"
