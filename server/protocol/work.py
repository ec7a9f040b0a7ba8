# SPDX-License-Identifier: GPL-3.0-or-later
"""What a request wants to have done. The protocol makes it of a message; `server.handlers` does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from .context import RequestContext
from .features import Completer, Prompt, Tool
from .messages.content import Json


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call `tool` with the arguments as they came: they are not checked yet."""

    tool: Tool
    arguments: Json


@dataclass(frozen=True, slots=True)
class ReadResource:
    """Read the resource `uri`; `read` raises LookupError where it is not there (any more)."""

    uri: str
    read: Callable[[RequestContext], Awaitable[list[Json]]]


@dataclass(frozen=True, slots=True)
class GetPrompt:
    """Get a prompt for arguments that are checked."""

    prompt: Prompt
    arguments: dict[str, str]


@dataclass(frozen=True, slots=True)
class Complete:
    """Complete `value`; `context` has the arguments so far. Nothing completes it where there is no completer."""

    completer: Completer | None
    value: str
    context: Mapping[str, str]


Work = CallTool | ReadResource | GetPrompt | Complete
