# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors that leave a room. What a tool, a panel or a caller shows is `str(error)`."""

from __future__ import annotations

__all__ = (
    "BridgeError",
    "ExternalServiceError",
    "HandlerError",
    "InvalidParamsError",
    "LimitExceeded",
    "PolicyError",
    "SettingsError",
)


class BridgeError(Exception):
    """Any error of the bridge that is meant to be read by a person or an assistant."""


class InvalidParamsError(BridgeError):
    """A parameter is missing or does not fit; the message names it."""


class ExternalServiceError(BridgeError):
    """Something outside the bridge (Blender, an asset service, a process) is not there or failed."""


class SettingsError(BridgeError):
    """A setting has an unusable value; the message names the setting, its value and where it came from."""


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


class LimitExceeded(BridgeError):
    """A limit stopped the work. `limit` names it (`time`, `output`, …); `line` as in `PolicyError`."""

    def __init__(self, message: str, *, limit: str, line: int | None = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.line = line
