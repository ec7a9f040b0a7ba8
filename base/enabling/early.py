# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals to which code may listen before the room that emits them is loaded."""

from __future__ import annotations

from typing import Any

from ..signal import Signal

__all__ = ("request_changed",)

#: Emitted by `approvals` after each change of a request, with its `Entry`, on whichever thread made it; in this queue
#: and in later ones.
request_changed: Signal[[Any]] = Signal()
