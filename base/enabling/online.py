# SPDX-License-Identifier: GPL-3.0-or-later
"""The user agent of our requests, and whether Blender may go online. Imports little, since Blender's start sets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ("COLLECTOR", "THIS_COMPUTER", "Identity", "configure", "current")

#: Names used like those of asset services: for a collector that the user runs elsewhere, and for this computer.
COLLECTOR, THIS_COMPUTER = "collector", "this computer"


@dataclass(frozen=True, slots=True)
class Identity:
    """Two functions, which each request calls in its own thread."""

    #: Returns the `User-Agent` header.
    user_agent: Callable[[], str] = lambda: "MCP-Bridge"
    #: Returns None if Blender may go online to this service, else a text that says what the user can do.
    barred: Callable[[str], str | None] = lambda _service: None


_identity = Identity()


def configure(identity: Identity) -> None:
    """Set the identity of this Blender."""
    global _identity
    _identity = identity


def current() -> Identity:
    """The identity that `configure` set."""
    return _identity
