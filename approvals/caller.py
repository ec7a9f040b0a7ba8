# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface that approvals need from the caller of a tool; the server's `RequestContext` implements it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from ..base import main_thread
from ..base.flag import Flag
from ..base.jobs import JobHandle

__all__ = ("Caller", "CannotBeAsked", "Client", "on_main_thread")

T = TypeVar("T")


class CannotBeAsked(Exception):
    """The client did not declare the capability that a question to its user needs."""


class Client(Protocol):
    """The client whose token came with the request."""

    @property
    def id(self) -> str:
        """The id of the client; it never changes and is unique."""

    @property
    def name(self) -> str:
        """The name of its token."""


class Caller(Protocol):
    """One call of a client, while the server handles it. `RequestContext` documents each member."""

    @property
    def client(self) -> Client:
        """The client that made the call."""

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """The client's own description of itself; for display only."""

    @property
    def takes_tasks(self) -> bool:
        """Whether the client accepts a task as the answer to a long call."""

    @property
    def cancelled(self) -> Flag:
        """Set when the client no longer waits for the answer."""

    def supports(self, capability: str, mode: str | None = None) -> bool:
        """Whether the client offers `capability`, such as "elicitation", and its `mode`."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the client: `progress` of `total`."""

    async def elicit(self, key: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        """Ask the user through the client with a form; returns the action and, if accepted, the content."""

    async def background(
        self, kind: str, title: str, *, job_id: str | None = None, wait_seconds: float = ..., **pending: Any
    ) -> JobHandle:
        """Make the call a job that outlives it. A client that waits `wait_seconds` gets `pending` as the answer."""


async def on_main_thread(context: Caller, do: Callable[[], T], *, changes: bool = False) -> T:
    """Call `do` on the main thread, unless the caller cancels before. `changes`: it may change something."""
    work = main_thread.run(do, changes=changes, cancelled=context.cancelled, label="the request")
    return await asyncio.wrap_future(work)
