# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of a request as data. The protocol creates it from a message; `server.handlers` does it.

Nobody changes it; like the `actions`, it is not frozen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from .context import RequestContext
from .features import Completer, Prompt, Tool
from .messages.content import Json


@dataclass(slots=True)
class CallTool:
    """A call of `tool` with the client's arguments, which are not checked yet."""

    tool: Tool
    arguments: Json


@dataclass(slots=True)
class ReadResource:
    """A read of the resource `uri`; `read` raises LookupError if it does not exist (any more)."""

    uri: str
    read: Callable[[RequestContext], Awaitable[list[Json]]]


@dataclass(slots=True)
class GetPrompt:
    """A prompt to fill in with checked arguments."""

    prompt: Prompt
    arguments: dict[str, str]


@dataclass(slots=True)
class Complete:
    """A completion of `value`; `context` has the arguments so far. Without a completer the result is empty."""

    completer: Completer | None
    value: str
    context: Mapping[str, str]


Work = CallTool | ReadResource | GetPrompt | Complete
