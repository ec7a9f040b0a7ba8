# SPDX-License-Identifier: GPL-3.0-or-later
"""Who we are on the network, and whether we may use it. Light, because it is set when Blender starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ("COLLECTOR", "THIS_COMPUTER", "Identity", "configure", "current")

#: Stand in place of an asset service: what the user runs elsewhere, and what runs on this computer.
COLLECTOR, THIS_COMPUTER = "collector", "this computer"


@dataclass(frozen=True, slots=True)
class Identity:
    """Both are asked before each request, in its thread."""

    #: What requests name as their sender.
    user_agent: Callable[[], str] = lambda: "MCP-Bridge"
    #: None when Blender may go online to this service, else a text that says what to do about it.
    barred: Callable[[str], str | None] = lambda _service: None


_identity = Identity()


def configure(identity: Identity) -> None:
    """Take over what this Blender says."""
    global _identity
    _identity = identity


def current() -> Identity:
    """What was configured."""
    return _identity
