# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules of the extension that load when something of them is first used: enabling the extension must stay cheap.

In a module that is loaded when the extension is enabled:

    if TYPE_CHECKING:
        from ..scene import events
    else:
        events = late("scene.events")
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__all__ = ("late", "loaded")

_ROOT = __name__.rpartition(".base.")[0]


class _Late:
    """Stands for a module until something of it is used, and then passes on each use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


def late(module: str) -> Any:
    """Something that has all names of a module of the extension, such as `scene.events`. Their first use loads it."""
    return _Late(f"{_ROOT}.{module}")


def loaded(module: str) -> Any:
    """A module of the extension that something has loaded already, else None."""
    return sys.modules.get(f"{_ROOT}.{module}")
