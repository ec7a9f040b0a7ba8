# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions that a peer returns; the dispatcher carries them out in order.

Nobody changes them. They are not frozen: each call makes some, and to make a frozen one takes three times as long.
"""

from __future__ import annotations

from dataclasses import dataclass

from .context import Call
from .messages.content import Json
from .messages.errors import RpcError
from .work import Work


@dataclass(slots=True)
class Send:
    """Tells the dispatcher to send `message` for the request `call`; `final`: the message answers that request."""

    message: Json
    call: Call | None = None
    final: bool = False


@dataclass(slots=True)
class Start:
    """Tells the dispatcher to do the work of `call`, then to call `finish`, `fail` or `require_input`."""

    call: Call
    work: Work


@dataclass(slots=True)
class Stop:
    """Tells the dispatcher to stop the handler of `call`, which was cancelled."""

    call: Call


@dataclass(slots=True)
class Answered:
    """Tells the dispatcher that the client answered our request `ask_id`."""

    ask_id: str
    answer: Json | RpcError


Action = Send | Start | Stop | Answered
