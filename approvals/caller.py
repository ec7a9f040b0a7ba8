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
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


class Caller(Protocol):
    """One call of a client, while it is worked on. `RequestContext` documents each member."""

    @property
    def client(self) -> Client: ...
    @property
    def client_info(self) -> Mapping[str, Any] | None: ...
    @property
    def takes_tasks(self) -> bool: ...
    @property
    def cancelled(self) -> threading.Event: ...
    def supports(self, capability: str, mode: str | None = None) -> bool: ...
    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...
    async def elicit(self, key: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Ask the user through the client. Raises CannotBeAsked."""

    async def background(
        self, kind: str, title: str, *, job_id: str | None = None, wait_seconds: float = ..., **pending: Any
    ) -> JobHandle: ...
