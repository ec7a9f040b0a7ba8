# SPDX-License-Identifier: GPL-3.0-or-later
"""Parse the value of a setting: a text from the environment, or a value from TOML or Blender.

Each parser raises a ValueError whose message says what to write instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = (
    "Choice",
    "Seconds",
    "Several",
    "Whole",
    "address",
    "flag",
    "folders",
    "header_fields",
    "headers",
    "names",
    "path",
    "text",
    "token",
)

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to `high`."""

    low: int
    high: int

    def __call__(self, value: Any) -> int:
        """Read it. Raises ValueError."""
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = self.low - 1
        if not self.low <= number <= self.high:
            raise ValueError(f"use a whole number from {self.low} to {self.high}")
        return number


@dataclass(frozen=True, slots=True)
class Seconds:
    """A number of seconds from `low` to `high`."""

    low: float
    high: float

    def __call__(self, value: Any) -> float:
        """Read it. Raises ValueError."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = self.low - 1
        if not self.low <= number <= self.high:
            raise ValueError(f"use a number of seconds from {self.low:g} to {self.high:g}")
        return number


@dataclass(frozen=True, slots=True)
class Choice:
    """One of `allowed`; upper and lower case are the same."""

    allowed: tuple[str, ...]
    fold: Callable[[str], str] = str.lower

    def __call__(self, value: Any) -> str:
        """Read it. Raises ValueError."""
        chosen = self.fold(str(value).strip())
        if chosen not in self.allowed:
            raise ValueError(f"use one of {', '.join(self.allowed)}")
        return chosen


@dataclass(frozen=True, slots=True)
class Several:
    """Any number of `allowed`, separated by commas or spaces; the result is in the order of `allowed`."""

    allowed: tuple[str, ...]

    def __call__(self, value: Any) -> tuple[str, ...]:
        """Read them. Raises ValueError."""
        named = set(value.replace(",", " ").split() if isinstance(value, str) else value)
        if named - set(self.allowed):
            raise ValueError(f"use any of {', '.join(self.allowed)}")
        return tuple(choice for choice in self.allowed if choice in named)


def flag(value: Any) -> bool:
    """Parse a value that is on or off."""
    if isinstance(value, bool):
        return value
    written = str(value).strip().lower()
    if written in _TRUE:
        return True
    if written in _FALSE:
        return False
    raise ValueError("use on or off")


def text(value: Any) -> str:
    """A text that is not empty; spaces at both ends are removed."""
    written = str(value).strip()
    if not written:
        raise ValueError("use a text that is not empty")
    return written


def token(value: Any) -> str:
    """A text that is valid in an HTTP header."""
    written = text(value)
    if not written.isascii() or not written.isprintable() or " " in written:
        raise ValueError("use printable ASCII characters without spaces")
    return written


def address(value: Any) -> str:
    """The address of an HTTP server."""
    written = token(value)
    try:
        parts = urlsplit(written)
        usable = (
            parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and not parts.query
        )
    except ValueError:  # a port that is no number
        usable = False
    if not usable or "@" in written or "#" in written:
        raise ValueError("use an address such as http://127.0.0.1:4318, without user, query and fragment")
    return written


def header_fields(written: str) -> dict[str, str]:
    """Parse `name=value,name=value`, percent-encoded, the form of OpenTelemetry's headers. Raises ValueError."""
    found: dict[str, str] = {}
    for part in filter(str.strip, written.split(",")):
        name, equals, value = part.partition("=")
        name, value = name.strip(), unquote(value.strip())
        if not equals or not _HEADER_NAME.fullmatch(name) or not value.isprintable() or not value.isascii():
            raise ValueError("use name=value, with commas between several")
        found[name] = value
    return found


def headers(value: Any) -> str:
    """A text that `header_fields` understands."""
    written = text(value)
    header_fields(written)
    return written


def names(value: Any) -> tuple[str, ...]:
    """Names separated by commas; the result is in lower case."""
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(str(part).strip().lower() for part in parts if str(part).strip())


def path(value: Any) -> Path:
    """A path; `~` is the user's home."""
    return Path(text(value)).expanduser()


def folders(value: Any) -> tuple[Path, ...] | None:
    """Absolute paths, separated as in PATH; None if the value is empty."""
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    found = tuple(path(part) for part in parts if str(part).strip())
    for folder in found:
        if not folder.is_absolute() or str(folder).startswith("//"):
            raise ValueError(f"use absolute paths, with {os.pathsep!r} between them")
    return found or None
