# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors that leave a room, and the one form in which they reach a client.

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
    """Any error of the bridge that is meant to be read by a person or an assistant. What is raised is a kind of it.

    `facts` are added to what a client is told, `text` is what an assistant reads in place of the message. `recorded`
    says that the journal has it already.
    """

    facts: Mapping[str, Any] = MappingProxyType({})
    text: str = ""
    recorded: bool = False


class InvalidParamsError(BridgeError):
    """A parameter is missing or does not fit; the message names it."""


class ExternalServiceError(BridgeError):
    """Something outside the bridge (Blender, a disk, an asset service, a process) is not there or failed."""


class HandlerError(BridgeError):
    """The work a command was asked to do failed by itself: `original` is the script's own exception.

    `line` is the line of the script (from 1) where it was raised, or None.
    """

    def __init__(self, command: str, original: BaseException, *, line: int | None = None) -> None:
        super().__init__(f"{command} failed: {type(original).__name__}: {original}")
        self.command = command
        self.original = original
        self.line = line


class PolicyError(BridgeError):
    """Refused by policy, before running or by a guard. `line` is the script's line (from 1), or None."""

    def __init__(self, message: str, *, code: str = "policy", line: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.line = line


class Breakout(PolicyError):
    """A script got past the guards and was stopped where Python itself opens files, starts programs and the like."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message, code="breakout", line=line)


class LimitExceeded(BridgeError):
    """A limit stopped the work. `limit` names it (`time`, `output`, …); `line` as in `PolicyError`."""

    def __init__(self, message: str, *, limit: str, line: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.line = line


class Cancelled(LimitExceeded):
    """Somebody cancelled the work: it was not begun, or nothing of it is left."""

    def __init__(self, message: str = "Cancelled.") -> None:
        super().__init__(message, limit="cancelled")


class NeedsRehearsal(LimitExceeded):
    """A step is estimated to make more than the limit: a rehearsal has to measure it before it may run live."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message, limit="geometry", line=line)


class SettingsError(PolicyError):
    """A setting has an unusable value, so nothing is allowed; the message names it, its value and its source."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="settings")


#: The kinds of errors, as the specification names them.
CANONICAL: Final = (InvalidParamsError, ExternalServiceError, PolicyError, LimitExceeded, HandlerError)


def failure_of(error: BaseException) -> dict[str, Any]:
    """What a client is told: `status`, `error` (a name of `CANONICAL`), `cause` (a finer class), `message`, `line`.

    `cause` and `line` are there where they are known. What is none of the bridge's own counts as a failure of the work.
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
    """The message with the notes that were added on the way: what could not be undone or recorded, for example."""
    return "\n".join([str(error) or type(error).__name__, *getattr(error, "__notes__", ())])
