# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors that the bridge reports, and the one form in which a client receives them.

Every error of the bridge is one of five kinds, which the specification names: `CANONICAL`. A finer class derives from
one of them; on the wire, and in the journal, `error` is the kind and `cause` the finer class.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

__all__ = (
    "CANONICAL",
    "Breakout",
    "BridgeError",
    "Cancelled",
    "ExternalServiceError",
    "HandlerError",
    "InvalidParamsError",
    "LimitExceeded",
    "NeedsRehearsal",
    "PolicyError",
    "SettingsError",
    "failure_of",
)


class BridgeError(Exception):
    """Base class of all errors that a person or an assistant reads. Code raises a subclass, never this class.

    A client receives `facts` beside the message. `text`, if set, replaces the message for an assistant. `recorded`
    says that the journal already has a record of the error.
    """

    facts: Mapping[str, Any] = MappingProxyType({})
    text: str = ""
    recorded: bool = False


class InvalidParamsError(BridgeError):
    """A parameter is missing or does not fit; the message names it."""


class ExternalServiceError(BridgeError):
    """Something outside the bridge (Blender, a disk, an asset service, a process) is missing or failed."""


class HandlerError(BridgeError):
    """The work of a command failed by itself: `original` is the script's own exception.

    `line` is the line of the script (from 1) where it was raised, or None.
    """

    def __init__(self, command: str, original: BaseException, *, line: int | None = None) -> None:
        super().__init__(f"{command} failed: {type(original).__name__}: {original}")
        self.command = command
        self.original = original
        self.line = line


class PolicyError(BridgeError):
    """The policy refuses a call: a check before it runs, or a guard while it runs. `line` is the script's line (from
    1), or None.
    """

    def __init__(self, message: str, *, code: str = "policy", line: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.line = line


class Breakout(PolicyError):
    """A script got past the guards; Python's audit hook stopped it where it opened a file, started a program, etc."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message, code="breakout", line=line)


class LimitExceeded(BridgeError):
    """The work reached a limit and stopped. `limit` names it (`time`, `output`, …); `line` as in `PolicyError`."""

    def __init__(self, message: str, *, limit: str, line: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.line = line


class Cancelled(LimitExceeded):
    """Somebody cancelled the work: it never started, or the bridge has undone all of it."""

    def __init__(self, message: str = "Cancelled.") -> None:
        super().__init__(message, limit="cancelled")


class NeedsRehearsal(LimitExceeded):
    """The estimate for a step is above the limit: a rehearsal has to measure the step before it may run live."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message, limit="geometry", line=line)


class SettingsError(PolicyError):
    """A setting has an invalid value, so the bridge allows nothing. The message names setting, value and source."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="settings")


#: The kinds of errors, as the specification names them.
CANONICAL: Final = (InvalidParamsError, ExternalServiceError, PolicyError, LimitExceeded, HandlerError)


def failure_of(error: BaseException) -> dict[str, Any]:
    """The error as a client receives it: `status`, `error` (a name of `CANONICAL`), `cause`, `message`, `line`.

    `cause` (the finer class) and `line` are left out where they are unknown. An exception that is no `BridgeError`
    counts as a `HandlerError`.
    """
    kind = next((kind for kind in CANONICAL if isinstance(error, kind)), HandlerError)
    failure: dict[str, Any] = {"status": "error", "error": kind.__name__, "message": _message(error)}
    finer = error.original if isinstance(error, HandlerError) else error
    if type(finer) is not kind:
        failure["cause"] = type(finer).__name__
    line = getattr(error, "line", None)
    if isinstance(line, int):
        failure["line"] = line
    return failure | getattr(error, "facts", {})


def _message(error: BaseException) -> str:
    """The message and the exception's notes, which say for example what could not be undone or recorded."""
    return "\n".join([str(error) or type(error).__name__, *getattr(error, "__notes__", ())])
