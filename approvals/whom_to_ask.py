# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is asked before something is done: the user in Blender's panel, the user through the client, or nobody."""

from __future__ import annotations

import bpy

from ..base import settings
from ..base.errors import PolicyError
from . import queue
from .caller import Caller
from .request import Asks, Tool

__all__ = (
    "CANNOT_ASK_CLIENT",
    "asked_at",
    "can_be_asked",
    "has_window",
    "is_unasked",
    "require_somebody",
    "somebody",
)

CANNOT_ASK_CLIENT = (
    "The user has to agree before a script runs, and this Blender asks through the client, which cannot ask: "
    "it does not offer elicitation. Use a client that does, or a Blender with a window, which asks in its MCP panel "
    "(BLENDER_MCP_CONFIRM=panel)."
)
_CANNOT_ASK_HERE = (
    "The user has to agree in Blender's MCP panel before a script runs (BLENDER_MCP_CONFIRM=panel), and this "
    "Blender has no window. BLENDER_MCP_CONFIRM=client asks through the client."
)


def has_window() -> bool:
    """Whether this Blender has a window, and so a panel for questions."""
    return not bpy.app.background


def require_somebody(context: Caller, tool: Tool) -> Asks:
    """Who is asked about a request of this tool. Raises PolicyError if somebody must be asked and nobody can be."""
    asks = asked_at(context, tool)
    if not can_be_asked(context, asks):
        raise PolicyError(_CANNOT_ASK_HERE if asks == "panel" else CANNOT_ASK_CLIENT, code="confirm")
    return asks


def somebody(context: Caller) -> bool:
    """Whether a person can be asked a question."""
    return can_be_asked(context, asked_at(context, "question"))


def is_unasked(context: Caller) -> bool:
    """Whether this client's code runs without a question, because of the settings or the user's trust."""
    return asked_at(context, "execute_blender_code") == "nobody"


def asked_at(context: Caller, tool: Tool) -> Asks:
    """Who is asked about a request of this tool, as the settings and the user's trust say."""
    chosen = settings.current().confirm_with(window=has_window())
    if tool == "execute_blender_code" and (chosen == "auto" or context.client.id in queue().trusted):
        return "nobody"
    if chosen == "auto":
        return "panel" if has_window() else "client"
    return chosen


def can_be_asked(context: Caller, asks: Asks) -> bool:
    """Whether the person that has to be asked can be asked."""
    if asks == "panel":
        return has_window()
    return asks == "nobody" or context.supports("elicitation", "form")
