# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers for living objects, without the audit event that each call of `id` raises (PEP 578)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

__all__ = ("identity",)

identity: Final[Callable[[Any], int]] = object.__hash__
"""Returns the same number for the same object, and another for each other object that exists.

Python makes it from the object's address, whatever the object's own `__hash__` is. While a script runs, the audit wall
looks at each event, which takes longer than `id` itself.
"""
