# SPDX-License-Identifier: GPL-3.0-or-later
"""Connects a running handler to its client: progress, log messages, questions, jobs, and calls of other tools.

Call everything here on the loop's thread, unless a docstring says otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..base.errors import InvalidParamsError
from ..base.similar_names import did_you_mean
from . import handlers
from .protocol import tasks
from .protocol.context import Call, Era, InputRequired, RequestContext
from .protocol.messages import content
from .protocol.messages.errors import MissingCapability, RpcError
from .protocol.messages.revisions import TASKS_EXTENSION

if TYPE_CHECKING:
    from ..base.jobs import JobHandle
    from .loop_calls import LoopCalls
    from .protocol.actions import Action, Send
    from .protocol.core import Core
    from .protocol.features import Tool
    from .protocol.messages.content import Json, ToolResult
    from .protocol.peer import Peer

__all__ = ("LIST_AGAIN_S", "Link", "Outlet")

#: After a notification of further tools, seconds that a call waits for the client to request its list: several clients
#: act on the answer at once, with the list that they have then.
LIST_AGAIN_S = 0.7


class Outlet(Protocol):
    """The sending side of a transport for one connection. Neither method may block."""

    def deliver(self, send: Send) -> None:
        """Queue a message for the client."""

    def release(self, call: Call) -> None:
        """Close the HTTP stream of this call; its messages wait until the client reconnects."""


class LinkedConnection(Protocol):
    """What a link uses of its client's connection (`dispatch.Connection`)."""

    @property
    def dispatcher(self) -> LinkedDispatcher:
        """The dispatcher of all connections."""

    @property
    def peer(self) -> Peer:
        """The protocol state of the connection."""

    @property
    def outlet(self) -> Outlet:
        """The sending side of the transport."""

    def act(self, actions: list[Action]) -> None:
        """Carry out the core's actions."""

    def ask(self, call: Call, key: str, request: Json) -> asyncio.Future[Json]:
        """Send a request to a handshake client; return a future of its answer."""


class LinkedDispatcher(Protocol):
    """What a link uses of the server's dispatcher (`dispatch.Dispatcher`)."""

    @property
    def core(self) -> Core:
        """The protocol's core."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The server's event loop."""

    @property
    def calls(self) -> LoopCalls:
        """Calls functions on that loop, from any thread."""

    @property
    def connections(self) -> Collection[LinkedConnection]:
        """The connections of all clients."""


class Link:
    """The link of one call; the methods of `RequestContext` call its methods."""

    def __init__(self, connection: LinkedConnection, call: Call) -> None:
        self._connection = connection
        self._dispatcher = connection.dispatcher
        self._call = call
        self._job: JobHandle | None = None
        self._progress: tuple[float, float | None, str | None] | None = None

    def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress from any thread. Reports between two turns of the loop are combined."""
        if self._job:
            self._job.report(progress, total, message or "")
        waiting, self._progress = self._progress, (progress, total, message)
        if waiting is None:
            self._dispatcher.calls.soon(self._send_progress)

    def _send_progress(self) -> None:
        report, self._progress = self._progress, None
        if report:
            self._connection.act(self._connection.peer.progress(self._call, *report))

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Send a log message from any thread."""
        self._dispatcher.calls.soon(self._send_log, level, data, logger)

    def _send_log(self, level: str, data: Any, logger: str | None) -> None:
        self._connection.act(self._connection.peer.log(self._call, level, data, logger))

    async def ask(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Get answers from the client: in a job through its task, otherwise in the way of the request's era."""
        if self._job and self._call.answered:
            return await self._ask_by_task(self._job, requests)
        if self._call.era is Era.STATELESS:
            given, open_requests = self._connection.peer.answers(self._call, requests)
            if open_requests:
                raise InputRequired(open_requests)
            return given
        futures = {key: self._connection.ask(self._call, key, request) for key, request in requests.items()}
        try:
            return {key: await future for key, future in futures.items()}
        finally:
            for future in futures.values():
                future.cancel()

    async def _ask_by_task(self, job: JobHandle, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Get answers through a task: the client sees the requests in `tasks/get` and answers by `tasks/update`."""
        if not tasks.declared(self._call.client_capabilities):
            raise MissingCapability({"extensions": {TASKS_EXTENSION: {}}})
        futures: dict[str, asyncio.Future[Json]] = {}
        for key, request in requests.items():
            future = futures[key] = self._dispatcher.loop.create_future()
            self._dispatcher.core.inputs.ask(job.id, key, request, _setter(future))
        job.wait_for_input("Waiting for your answer")
        answers = {key: await future for key, future in futures.items()}
        job.resume()
        return answers

    async def background(
        self, kind: str, title: str, job_id: str | None, wait_seconds: float, pending: Json
    ) -> JobHandle:
        """Make the handler a job; see `RequestContext.background`."""
        call = self._call
        if self._job:
            self._job.become(kind, title)
            return self._job
        task = asyncio.current_task()
        assert task
        job = self._job = self._dispatcher.core.jobs.begin(kind, title, call.client.id, job_id=job_id)

        def cancel() -> None:
            call.cancelled.set()
            self._dispatcher.calls.soon(task.cancel)

        job.on_cancel(cancel)
        if call.era is Era.STATELESS and tasks.declared(call.client_capabilities):
            begun = self._dispatcher.core.jobs.get(job.id, call.client.id)
            self._connection.act(self._connection.peer.finish(call, tasks.created(begun)))
        else:
            message = f"{title}: still at work. Ask get_job for it."
            answer = {"status": "pending", "job_id": job.id, "message": message, **pending}
            result = content.tool_result(content.ToolResult(structured=answer))
            timer = self._dispatcher.loop.call_later(wait_seconds, self._give_up_waiting, result)
            task.add_done_callback(lambda _: timer.cancel())
        return job

    def _give_up_waiting(self, pending: Json) -> None:
        self._connection.act(self._connection.peer.finish(self._call, pending))

    def complete_job(self, result: Json) -> None:
        """End the job with the handler's result."""
        if self._job:
            self._job.complete(result)

    def fail_job(self, error: RpcError) -> None:
        """End the job with the handler's error."""
        if self._job:
            self._job.fail(error.message, error.as_json())

    def cancel_job(self) -> None:
        """End the job of a handler that was cancelled."""
        if self._job:
            self._dispatcher.core.jobs.cancel(self._job.id, self._call.client.id)

    async def release_stream(self) -> None:
        """Release the request's HTTP stream, if its transport has one."""
        self._connection.outlet.release(self._call)

    async def list_tools(self, names: Iterable[str]) -> None:
        """Add tools to the client's list, notify its connections, and wait a moment for them to request the list."""
        client, core = self._call.client, self._dispatcher.core
        if not core.list_tools(client.id, names):
            return
        told = False
        for connection in list(self._dispatcher.connections):
            if connection.peer.client.id == client.id:
                actions = connection.peer.list_changed("tools")
                told = told or bool(actions)
                connection.act(actions)
        if told:
            await core.next_listing(client.id, LIST_AGAIN_S)

    async def use_tool(self, context: RequestContext, name: str, arguments: Json) -> ToolResult:
        """Call another tool instead of the one that the client called."""
        core, tool = self._dispatcher.core, self._tool(name)
        return await handlers.call_tool(core, context, self._call, tool, arguments)

    def use_now(self, context: RequestContext, name: str, arguments: Json) -> ToolResult:
        """Call another tool at once. Blender's main thread."""
        core, tool = self._dispatcher.core, self._tool(name)
        return handlers.call_now(core, context, self._call, tool, arguments)

    def _tool(self, name: str) -> Tool:
        tools = self._dispatcher.core.features.tools
        if name not in tools:
            near = did_you_mean(name, tools)
            raise InvalidParamsError(f"Unknown tool: {name}.{near} find_tools finds tools by what they do.")
        return tools[name]


def _setter(future: asyncio.Future[Json]) -> Callable[[Json], None]:
    def deliver(answer: Json) -> None:
        if not future.done():
            future.set_result(answer)

    return deliver
