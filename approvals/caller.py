# SPDX-License-Identifier: GPL-3.0-or-later
"""What this room needs of whoever makes a request: the server's `RequestContext` is one."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Protocol

from ..base.jobs import JobHandle

__all__ = ("Caller", "CannotBeAsked", "Client")


class CannotBeAsked(Exception):
    """The client did not declare what a question to its user needs."""


class Client(Protocol):
    """The client whose token came with the request."""

    @property
    def id(self) -> str:
        """Stays the same for a client, and is nobody else's."""

    @property
    def name(self) -> str:
        """What its token is called."""


class Caller(Protocol):
    """One call of a client, while it is worked on. `RequestContext` documents each member."""

    @property
    def client(self) -> Client:
        """Who asks."""

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """What the client says it is; for display only."""

    @property
    def takes_tasks(self) -> bool:
        """Whether it is answered with a task where work takes long."""

    @property
    def cancelled(self) -> threading.Event:
        """Set when nobody waits for the answer any more."""

    def supports(self, capability: str, mode: str | None = None) -> bool:
        """Whether the client offers `capability`, such as "elicitation", and its `mode`."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the work is: `progress` of `total`."""

    async def elicit(self, key: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Make the call a job that outlives it; who waits longer than `wait_seconds` is answered `pending`."""

    async def background(
        self, kind: str, title: str, *, job_id: str | None = None, wait_seconds: float = ..., **pending: Any
    ) -> JobHandle:
        """Make the call a job that outlives it; who waits longer than `wait_seconds` is answered `pending`."""
