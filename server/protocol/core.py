# SPDX-License-Identifier: GPL-3.0-or-later
"""The state that all connections of one server share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ...base.errors import BridgeError
from ...base.jobs import Jobs
from .context import Principal
from .features import Features, Tool
from .messages.content import Json
from .messages.request_state import RequestStates
from .messages.revisions import TASKS_EXTENSION
from .messages.validation import Check
from .tasks import TaskInputs


@dataclass(slots=True)
class Core:
    """The shared state. `info` is the server's `Implementation` object: name, title, version.

    `icons` are added only when a client asks for the server's identity, since `info` comes with every answer.
    `whole_list(client_id)`: whether the client's list has every tool. `record`, if there is one, is called before each
    call of a tool that `is_recorded`, on a thread that may wait for the disk; if it fails, so does the call. `refused`
    is called after each tool call that ended in an error, `called` after every one, with its seconds and whether it
    failed.
    """

    features: Features
    info: Json
    states: RequestStates
    jobs: Jobs
    instructions: str = ""
    icons: Sequence[Json] = ()
    whole_list: Callable[[str], bool] = lambda _client_id: False
    record: Callable[[Tool, Principal, Json], object] | None = None
    refused: Callable[[Tool, Principal, Json, BridgeError], None] = lambda *_: None
    called: Callable[[Tool, Principal, float, bool], None] = lambda *_: None
    inputs: TaskInputs = field(default_factory=TaskInputs)
    _found: dict[str, set[str]] = field(default_factory=dict)
    _listings: dict[str, asyncio.Event] = field(default_factory=dict)
    _checks: dict[str, tuple[Tool, Check]] = field(default_factory=dict)

    @property
    def introduction(self) -> Json:
        """The server's `info` with the icons."""
        return {**self.info, "icons": list(self.icons)} if self.icons else self.info

    def tools_for(self, client_id: str) -> list[Tool]:
        """Return the tools in a client's list."""
        every, found = self.whole_list(client_id), self._found.get(client_id, ())
        return [
            tool
            for tool in self.features.tools.values()
            if every or tool.name in found or (tool.listed and tool.name not in self.features.out_of_use)
        ]

    def list_tools(self, client_id: str, names: Iterable[str]) -> bool:
        """Add these tools to a client's list; returns whether the list changed."""
        before = self.tools_for(client_id)
        self._found.setdefault(client_id, set()).update(names)
        return self.tools_for(client_id) != before

    def was_listed(self, client_id: str) -> None:
        """Note that the client has requested its list of tools."""
        event = self._listings.pop(client_id, None)
        if event is not None:
            event.set()

    async def next_listing(self, client_id: str, seconds: float) -> None:
        """Return when the client requests its list of tools, or after `seconds`."""
        event = self._listings.setdefault(client_id, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()

    def known_check(self, tool: Tool) -> Check | None:
        """Return the compiled input schema of a tool, or None before its first call."""
        known = self._checks.get(tool.name)
        return known[1] if known is not None and known[0] is tool else None

    def check(self, tool: Tool) -> Check:
        """Return the compiled input schema of a tool; compile it at its first call."""
        known = self.known_check(tool)
        if known is None:
            known = Check(tool.input_schema)
            self._checks[tool.name] = (tool, known)
        return known


#: `ServerCapabilities`. Always all of them: an empty list may get entries later.
CAPABILITIES: Json = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
STATELESS_CAPABILITIES: Json = {**CAPABILITIES, "extensions": {TASKS_EXTENSION: {}}}
