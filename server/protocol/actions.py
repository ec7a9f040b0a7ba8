# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions that a peer returns; the dispatcher carries them out in order."""

from __future__ import annotations

from dataclasses import dataclass

from .context import Call
from .messages.content import Json
from .messages.errors import RpcError
from .work import Work


@dataclass(frozen=True, slots=True)
class Send:
    """Send `message`. `call` is the request that it belongs to; `final`: the message is the answer to that request."""

    message: Json
    call: Call | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Do the work of `call`, then tell `finish`, `fail` or `require_input`."""

    call: Call
    work: Work


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop the handler of `call`: it was cancelled."""

    call: Call


@dataclass(frozen=True, slots=True)
class Answered:
    """The client answered our request `ask_id`."""

    ask_id: str
    answer: Json | RpcError


Action = Send | Start | Stop | Answered
