# SPDX-License-Identifier: GPL-3.0-or-later
"""What all connections of one server share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...jobs import Jobs
from .content import Json
from .features import Features, Tool
from .request_state import RequestStates
from .revisions import TASKS_EXTENSION
from .tasks import TaskInputs
from .validation import Check, compile_check


@dataclass(slots=True)
class Core:
    """`info` is the server's `Implementation` object: name, title, version. `icons` are shown with it where a client
    asks who the server is; elsewhere they would come with every answer.
    """

    features: Features
    info: Json
    states: RequestStates
    jobs: Jobs
    instructions: str = ""
    icons: Sequence[Json] = ()
    inputs: TaskInputs = field(default_factory=TaskInputs)
    _checks: dict[str, tuple[Tool, Check]] = field(default_factory=dict)

    @property
    def introduction(self) -> Json:
        """`info` with the icons."""
        return {**self.info, "icons": list(self.icons)} if self.icons else self.info

    def check(self, tool: Tool) -> Check:
        """The compiled input schema of a tool; compiled at its first call."""
        known = self._checks.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._checks[tool.name] = (tool, compile_check(tool.input_schema))
        return known[1]


#: `ServerCapabilities`. All of them always: lists may be empty at one moment and not at the next.
CAPABILITIES: Json = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
STATELESS_CAPABILITIES: Json = {**CAPABILITIES, "extensions": {TASKS_EXTENSION: {}}}
