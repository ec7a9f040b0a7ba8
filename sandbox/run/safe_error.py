# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a script's exception safe for the host to show.

An exception's text is made of its arguments. These may unfold to more text than there is memory, or be instances whose
methods no longer answer after the run. So the text is made while the run and its limits are alive, and an exception
that holds anything but short plain values is replaced by one of the same name that holds this text.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, Final

from ..guard.values.plain import SCALAR_TYPES

__all__ = ("TEXT_LIMIT", "safe_error")

TEXT_LIMIT: Final = 4_000
"""The most characters that are kept of an exception's text."""


def safe_error(error: Exception, show: Callable[[object], str]) -> Exception:
    """Return `error` if showing it is always harmless, else a stand-in. `show` is the guards' `str`."""
    line_of = error.__traceback__
    if _is_plain(error):
        _drop_others(error)
        return error
    try:
        text = show(error)
    except Exception as failed:
        text = f"<its text could not be made: {type(failed).__name__}>"
    if len(text) > TEXT_LIMIT:
        text = f"{text[:TEXT_LIMIT]}… ({len(text):,} characters)"
    kind = type(type(error).__name__, (Exception,), {"__str__": lambda self: self.args[0]})
    stand_in: Exception = kind(text)
    return stand_in.with_traceback(line_of)


def _is_plain(error: BaseException) -> bool:
    if type(error).__module__ == "<script>":  # its own methods answer only during the run
        return False
    held = [*_arguments(error), *vars(error).values(), *_fields(error)]
    if not all(type(each) in SCALAR_TYPES for each in held):
        return False
    return sum(len(each) for each in held if isinstance(each, str | bytes)) <= TEXT_LIMIT and not any(
        isinstance(each, int) and each.bit_length() > TEXT_LIMIT for each in held
    )


def _fields(error: BaseException) -> list[object]:
    """Return what Python's own exceptions keep besides `args`: `OSError.strerror`, `UnicodeError.object`, …"""
    found = []
    for kind in type(error).__mro__:
        if kind.__module__ == "builtins":
            slots = [each for each in vars(kind).values() if type(each) is types.MemberDescriptorType]
            found += [slot.__get__(error) for slot in slots if slot.__name__ not in ("obj", "name_from")]
    return found


def _drop_others(error: BaseException) -> None:
    """Remove the exceptions that led to this one, unless showing them is harmless, too."""
    seen = {id(error)}
    while error is not None:
        for name in ("__cause__", "__context__"):
            other = getattr(error, name)
            if other is not None and (id(other) in seen or not _is_plain(other)):
                setattr(error, name, None)
        following = error.__cause__ or error.__context__
        if following is None:
            return
        seen.add(id(following))
        error = following


_arguments: Final[Callable[[BaseException], tuple[Any, ...]]] = BaseException.args.__get__  # type: ignore[attr-defined]
"""Reads `error.args` from Python's own class, whatever the script's class says."""
