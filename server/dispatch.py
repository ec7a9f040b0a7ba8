# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the handlers of requests on the event loop, and reports their results to the protocol core.

Call everything here on the loop's thread, unless a docstring says otherwise.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent import futures
from contextvars import Context, copy_context
from functools import partial
from typing import TYPE_CHECKING, Any

from ..base import main_thread
from ..base.errors import Cancelled
from ..base.telemetry import tracing
from . import handlers, spans
from .link import Link
from .loop_calls import LoopCalls
from .protocol import tasks
from .protocol.actions import Action, Answered, Send, Start, Stop
from .protocol.context import Call, InputRequired, Principal, RequestContext
from .protocol.messages import content
from .protocol.messages.errors import INTERNAL_ERROR, SERVER_BUSY, RpcError
from .protocol.peer import Peer
from .protocol.work import CallTool

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.jobs import Job
    from .link import Outlet
    from .protocol.core import Core
    from .protocol.messages.content import Json, ToolResult

#: The most requests of one client that may run at the same time.
MAX_IN_FLIGHT = 64

_log = logging.getLogger(__name__)


#: A running request: `cancel` stops it.
Running = asyncio.Task[None] | futures.Future[Any]


class Dispatcher:
    """The dispatcher of one server; create it on the server's event loop."""

    def __init__(self, core: Core, *, max_in_flight: int = MAX_IN_FLIGHT) -> None:
        self.core = core
        self.loop = asyncio.get_running_loop()
        self.calls = LoopCalls(self.loop)
        self.connections: set[Connection] = set()
        self._max_in_flight = max_in_flight
        #: Client id -> its running calls, also after its connection has ended.
        self._running: dict[str, dict[Call, Running]] = {}
        #: The connection of the last request.
        self._last: Connection | None = None
        self._unlisten = (core.features.listen(self._on_change), core.jobs.listen(self._on_job))

    def connect(self, client: Principal, outlet: Outlet, *, allow_plain: bool = False) -> Connection:
        """Start a connection."""
        connection = Connection(self, Peer(self.core, client, allow_plain=allow_plain), outlet)
        self.connections.add(connection)
        return connection

    def close(self) -> None:
        """End all streams and stop all handlers, because the server stops."""
        for stop in self._unlisten:
            stop()
        for connection in list(self.connections):
            connection.end_listens()
            connection.close()
        self.calls.close()

    def drop(self, client_id: str) -> None:
        """End the connections, running calls and jobs of a revoked client."""
        for connection in list(self.connections):
            if connection.peer.client.id == client_id:
                connection.close()
        for call, running in list(self._running.get(client_id, {}).items()):
            if not call.cancelled.is_set():
                call.cancelled.set()
                running.cancel()

    def has_room(self, client_id: str) -> bool:
        """Return whether a client may have one more running request."""
        return len(self._running.get(client_id, ())) < self._max_in_flight

    def start(self, connection: Connection, request: Callable[[], None]) -> None:
        """Start a request: at once, or together with those that arrive in this turn of the loop.

        Together, many take less time, because the main thread wakes once for all. But one alone takes 60 µs longer. So
        a request starts at once if the one before it came over the same connection and has ended.
        """
        is_alone = self._last is connection and not self._running and not self.calls.waiting
        self._last = connection
        if is_alone:
            request()
        else:
            self.calls.in_next_turn(request)

    def note_begin(self, call: Call, running: Running) -> None:
        """Note that a request runs."""
        self._running.setdefault(call.client.id, {})[call] = running

    def note_end(self, call: Call) -> None:
        """Note that a request does not run any more."""
        running = self._running[call.client.id]
        del running[call]
        if not running:
            del self._running[call.client.id]

    @property
    def in_flight(self) -> int:
        """The number of running requests of all clients."""
        return sum(map(len, self._running.values()))

    def _on_change(self, what: str, which: str) -> None:
        self.calls.soon(self._broadcast, what, which)

    def _broadcast(self, what: str, which: str) -> None:
        for connection in list(self.connections):
            peer = connection.peer
            tell = {
                "updated": peer.resource_updated,
                "updated_below": peer.resources_updated,
                "list_changed": peer.list_changed,
            }[what]
            connection.act(tell(which))

    def _on_job(self, job: Job) -> None:
        self.calls.soon(self._job_changed, job)

    def _job_changed(self, job: Job) -> None:
        if job.ended:
            self.core.inputs.forget(job.id)
        for connection in list(self.connections):
            if connection.peer.listens and connection.peer.client.id == job.owner:
                connection.act(connection.peer.task_changed(job.id, tasks.detailed(job, self.core.inputs)))


class Connection:
    """A peer and the handlers that run for it."""

    def __init__(self, dispatcher: Dispatcher, peer: Peer, outlet: Outlet) -> None:
        self.dispatcher = dispatcher
        self.peer = peer
        self.outlet = outlet
        self._running: dict[Call, Running] = {}
        self._asks: dict[str, asyncio.Future[Json]] = {}

    def feed(self, message: object, *, stateless: bool = False) -> None:
        """Take one decoded message from the client."""
        self.act(self.peer.receive(message, stateless=stateless))

    def act(self, actions: list[Action]) -> None:
        """Carry out the core's actions."""
        for action in actions:
            match action:
                case Send():
                    self.outlet.deliver(action)
                case Start():
                    self.dispatcher.start(self, partial(self._start, action))
                case Stop():
                    self._stop(action.call)
                case Answered():
                    self._answered(action)

    def close(self) -> None:
        """End the connection of a client that has disconnected."""
        self.dispatcher.connections.discard(self)
        self.act(self.peer.close())

    def end_listens(self) -> None:
        """End every listening stream gracefully."""
        self.act(self.peer.end_listens())

    def ask(self, call: Call, key: str, request: Json) -> asyncio.Future[Json]:
        """Send a request to a handshake client; return a future of its answer."""
        ask_id, send = self.peer.ask(call, key, request)
        future = self._asks[ask_id] = self.dispatcher.loop.create_future()
        future.add_done_callback(lambda _: self._asks.pop(ask_id, None))
        self.outlet.deliver(send)
        return future

    def _start(self, start: Start) -> None:
        call = start.call
        if call.cancelled.is_set():  # since it came; `_stop` has found nothing to stop
            return
        if not self.dispatcher.has_room(call.client.id):
            busy = RpcError(
                SERVER_BUSY, "Busy: too many requests of this client are under way; try again later"
            )
            self.act(self.peer.fail(call, busy))
            return
        context = copy_context()  # the request's trace, and who asks, belong to this request alone
        try:
            running = context.run(self._begin, start, context)
        except Exception as error:
            context.run(self._end, call, Link(self, call), None, error)
            return
        self._running[call] = running
        self.dispatcher.note_begin(call, running)

    def _ended(self, call: Call) -> None:
        del self._running[call]
        self.dispatcher.note_end(call)

    def _stop(self, call: Call) -> None:
        running = self._running.get(call)
        if running:
            running.cancel()

    def _answered(self, answered: Answered) -> None:
        future = self._asks.get(answered.ask_id)
        if future is None or future.done():
            return
        if isinstance(answered.answer, RpcError):
            future.set_exception(answered.answer)
        else:
            future.set_result(answered.answer)

    def _begin(self, start: Start, own: Context) -> Running:
        """Begin the work of a request: on Blender's main thread if that is all of it, otherwise as a task.

        `own`: the context variables of this request, in which it ends, too.
        """
        call, work = start.call, start.work
        main_thread.asker.set(self)
        span = tracing.begin_request(
            call.meta.get("traceparent"),
            call.request_id,
            partial(spans.about, call, self.dispatcher.core.features),
        )
        link = Link(self, call)
        context = RequestContext(call, link)
        if isinstance(work, CallTool) and work.tool.now is not None:
            visit = handlers.Visit(self.dispatcher.core, call, work.tool, work.arguments)
            end = partial(self._end_visit, call, link, span, visit)
            begun = visit.begin(context)
            begun.add_done_callback(
                lambda ended: self.dispatcher.calls.in_next_turn(partial(own.run, end, ended))
            )
            return begun
        task = self.dispatcher.loop.create_task(self._perform(start, context, link, span))
        task.add_done_callback(lambda _: self._ended(call))
        return task

    def _end_visit(
        self,
        call: Call,
        link: Link,
        span: tracing.Span | None,
        visit: handlers.Visit,
        work: futures.Future[ToolResult],
    ) -> None:
        outcome: Json | BaseException
        try:
            outcome = visit.result(work)
        except BaseException as error:  # also what a tool must not raise: its call has to end
            outcome = error
        self._ended(call)
        self._end(call, link, span, outcome)

    async def _perform(
        self, start: Start, context: RequestContext, link: Link, span: tracing.Span | None
    ) -> None:
        outcome: Json | BaseException
        try:
            outcome = await handlers.perform(self.dispatcher.core, context, start.call, start.work)
        except (InputRequired, asyncio.CancelledError, Exception) as error:
            outcome = error
        self._end(start.call, link, span, outcome)

    def _end(self, call: Call, link: Link, span: tracing.Span | None, outcome: Json | BaseException) -> None:
        """Answer a request with its result, or with what ended it."""
        actions: list[Action] = []
        if isinstance(outcome, dict):
            try:
                actions = self.peer.finish(call, outcome)
            except Exception as error:  # a part of the result is not JSON
                outcome = error
        match outcome:
            case dict():
                if outcome.get("isError"):
                    facts = outcome.get("structuredContent")
                    spans.fail(span, str(facts.get("error", "")) if isinstance(facts, dict) else "tool_error")
                link.complete_job(outcome)
            case InputRequired():
                link.cancel_job()
                actions = self.peer.require_input(call, outcome.requests)
            case RpcError():
                spans.fail(span, str(outcome.code))
                link.fail_job(outcome)
                actions = self.peer.fail(call, outcome)
            case asyncio.CancelledError() | futures.CancelledError():
                spans.fail(span, "Cancelled")
                link.cancel_job()
                actions = self._cancelled(call)
            case _:
                kind = type(outcome).__name__
                spans.fail(span, kind)
                _log.error("%s failed", call.method, exc_info=outcome)
                failure = RpcError(INTERNAL_ERROR, f"{call.method} failed: {kind}: {outcome}")
                link.fail_job(failure)
                actions = self.peer.fail(call, failure)
        tracing.end(span)
        self.act(actions)

    def _cancelled(self, call: Call) -> list[Action]:
        """Answer a client that still waits for work that something else, such as `cancel_job`, has cancelled."""
        if call.method == "tools/call":
            return self.peer.finish(call, content.tool_result(content.failed(Cancelled())))
        return self.peer.fail(call, RpcError(INTERNAL_ERROR, "Cancelled"))
