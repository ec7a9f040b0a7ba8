# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers run, ask, report, become jobs and are stopped."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded
from bl_ext.user_default.mcp_bridge.base.telemetry import tracing
from bl_ext.user_default.mcp_bridge.server import link
from bl_ext.user_default.mcp_bridge.server.dispatch import Connection, Dispatcher
from bl_ext.user_default.mcp_bridge.server.protocol.actions import Send
from bl_ext.user_default.mcp_bridge.server.protocol.context import Call, RequestContext
from bl_ext.user_default.mcp_bridge.server.protocol.features import Resource, Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult, text
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError

from support.bridges.protocol import ALICE, BOB, core, handshake, notification, request, stateless

Json = dict[str, Any]
TASKS: Json = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
PICTURE: Json = {"type": "image", "data": "", "mimeType": "image/png"}
FORM: Json = {"type": "object", "properties": {"ok": {"type": "boolean"}}}


class Client:
    """A connection whose messages are kept."""

    def __init__(self, dispatcher: Dispatcher, client: Any = ALICE) -> None:
        self.sent: list[Json] = []
        self.released: list[Call] = []
        self.connection: Connection = dispatcher.connect(client, self, allow_plain=True)

    def deliver(self, send: Send) -> None:
        self.sent.append(send.message)

    def release(self, call: Call) -> None:
        self.released.append(call)

    async def answer(self, request_id: Any) -> Json:
        return await self.find(lambda message: message.get("id") == request_id and "method" not in message)

    async def find(self, wanted: Callable[[Json], bool]) -> Json:
        """Wait for a message."""
        async with asyncio.timeout(5):
            while True:
                for message in self.sent:
                    if wanted(message):
                        return message
                await asyncio.sleep(0.001)

    async def call(self, request_id: Any, name: str, make: Any = request, *args: Any, **params: Any) -> Json:
        self.connection.feed(make(request_id, "tools/call", *args, name=name, **params))
        return await self.answer(request_id)


def run(work: Callable[[Dispatcher], Awaitable[None]], **limits: Any) -> None:
    """Run `work` with a dispatcher that is closed afterwards, and look that nothing is left running."""

    async def main() -> None:
        dispatcher = Dispatcher(core(), **limits)
        await work(dispatcher)
        dispatcher.close()
        await asyncio.sleep(0.01)
        assert dispatcher.in_flight == 0
        assert not dispatcher.connections

    asyncio.run(main())


def add(dispatcher: Dispatcher, handler: Any) -> None:
    dispatcher.core.features.add(Tool(name="new", input_schema={"type": "object"}, handler=handler))


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)


def test_failures_of_other_handlers_are_errors() -> None:
    async def broken(_ctx: RequestContext, _uri: str) -> list[Json]:
        raise ZeroDivisionError("x")

    async def work(dispatcher: Dispatcher) -> None:
        dispatcher.core.features.add(Resource(uri="test://broken", name="b", read=broken))
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        client.connection.feed(request(1, "resources/read", uri="test://broken"))
        error = (await client.answer(1))["error"]
        assert error == {"code": -32603, "message": "resources/read failed: ZeroDivisionError: x"}

    run(work)


def test_a_handshake_client_is_asked_and_answers() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        client = Client(dispatcher)
        client.connection.feed(handshake(0, elicitation={}))
        client.connection.feed(request(1, "tools/call", name="ask"))
        question = await client.find(lambda message: message.get("method") == "elicitation/create")
        answer = {"action": "accept", "content": {"name": "Ada"}}
        client.connection.feed({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        assert (await client.answer(1))["result"]["content"][0]["text"] == "Ada"
        refused = await client.call(2, "ask", stateless)
        assert refused["error"]["code"] == -32021

    run(work)


def test_a_client_that_cannot_be_asked_gets_a_result_that_says_so() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        result = (await client.call(1, "ask"))["result"]
        assert result["isError"]
        assert result["structuredContent"]["message"] == "This needs a client that offers: elicitation"
        client.connection.feed({"type": "ask"})
        plain = await client.find(lambda message: message.get("status") == "error")
        assert plain["message"] == "This needs a client that offers: elicitation"

    run(work)


def test_reports_of_a_thread_are_taken_together_and_only_increase() -> None:
    async def reporting(ctx: RequestContext, _arguments: Json) -> ToolResult:
        def thread() -> None:
            for step in range(1000):
                ctx.report_progress(step, 1000)
            ctx.log("warning", "from a thread")

        await asyncio.to_thread(thread)
        return ToolResult([text("done")])

    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, reporting)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        await client.call(1, "new", _meta={"progressToken": "p"})
        *news, answer = client.sent[1:]
        assert answer["id"] == 1
        steps = [one["params"]["progress"] for one in news if one["method"] == "notifications/progress"]
        assert steps == sorted(set(steps))
        assert steps[-1] == 999
        assert [one["params"]["data"] for one in news if one["method"] == "notifications/message"] == [
            "from a thread"
        ]

    run(work)


def test_cancelling_stops_the_handler_and_frees_its_place() -> None:
    seen: list[RequestContext] = []

    async def waiting(ctx: RequestContext, _arguments: Json) -> ToolResult:
        seen.append(ctx)
        await asyncio.Event().wait()
        raise AssertionError

    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, waiting)
        client, other = Client(dispatcher), Client(dispatcher, BOB)
        for one in (client, other):
            one.connection.feed(handshake(0))
        client.connection.feed(request(1, "tools/call", name="new"))
        await until(lambda: seen)
        assert (await client.call(2, "echo", arguments={"text": "a"}))["error"]["code"] == -31000
        assert "result" in await other.call(2, "echo", arguments={"text": "a"})
        client.connection.feed(notification("notifications/cancelled", requestId=1))
        assert seen[0].cancelled.is_set()
        await until(lambda: dispatcher.in_flight == 0)
        assert "result" in await client.call(3, "echo", arguments={"text": "a"})
        assert not [message for message in client.sent if message.get("id") == 1]

    run(work, max_in_flight=1)


# Jobs


async def _job(ctx: RequestContext, arguments: Json) -> ToolResult:
    job = await ctx.background("nap", "Nap", wait_seconds=arguments.get("wait", 45), request_id="r")
    job.report(1, 2)
    await ctx.progress(1, 2)
    if arguments.get("ask"):
        answer = await ctx.elicit("ok", "Go on?", FORM)
        return ToolResult(structured=answer["content"])
    if arguments.get("fail"):
        raise RpcError(-32602, "no camera")
    await asyncio.sleep(arguments.get("seconds", 0))
    return ToolResult(structured={"status": "success"})


def test_a_quick_job_answers_as_if_it_were_none() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, _job)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        assert (await client.call(1, "new"))["result"]["structuredContent"] == {"status": "success"}
        (job,) = dispatcher.core.jobs.list(ALICE.id)
        assert (job.state, job.kind, job.title, job.progress) == ("completed", "nap", "Nap", 1)

    run(work)


def test_a_slow_job_answers_pending_and_goes_on_without_its_client() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, _job)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        answer = await client.call(1, "new", arguments={"wait": 0.01, "seconds": 0.1})
        (job,) = dispatcher.core.jobs.list(ALICE.id)
        assert answer["result"]["structuredContent"] == {
            "status": "pending",
            "job_id": job.id,
            "message": "Nap: still at work. Ask get_job for it.",
            "request_id": "r",
        }
        client.connection.close()
        await until(lambda: dispatcher.core.jobs.get(job.id, ALICE.id).state == "completed")

    run(work)


@pytest.mark.parametrize("make", [request, stateless])
def test_cancelling_the_job_of_a_client_that_waits_answers_it(make: Any) -> None:
    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, _job)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        client.connection.feed(make(1, "tools/call", name="new", arguments={"seconds": 60}))
        await until(lambda: dispatcher.core.jobs.list(ALICE.id))
        (job,) = dispatcher.core.jobs.list(ALICE.id)
        threading.Thread(target=dispatcher.core.jobs.cancel, args=(job.id, ALICE.id)).start()
        result = (await client.answer(1))["result"]
        assert (result["isError"], result["structuredContent"]["cause"]) == (True, "Cancelled")

    run(work)


def test_a_client_that_goes_before_it_was_answered_takes_its_job_along() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, _job)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        client.connection.feed(request(1, "tools/call", name="new", arguments={"seconds": 60}))
        await until(lambda: dispatcher.core.jobs.list(ALICE.id))
        client.connection.close()
        await until(lambda: dispatcher.core.jobs.list(ALICE.id)[0].state == "cancelled")

    run(work)


def test_a_task_asks_and_is_answered() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, _job)
        client = Client(dispatcher)
        created = await client.call(1, "new", stateless, TASKS, arguments={"ask": True})
        task_id = created["result"]["taskId"]
        wanted = {"taskIds": [task_id]}
        client.connection.feed(stateless("w", "subscriptions/listen", TASKS, notifications=wanted))
        jobs = dispatcher.core.jobs
        await until(lambda: jobs.get(task_id, ALICE.id).state == "input_required")
        client.connection.feed(stateless(2, "tasks/get", TASKS, taskId=task_id))
        task = (await client.answer(2))["result"]
        assert task["inputRequests"]["ok"]["params"]["message"] == "Go on?"
        responses = {"ok": {"action": "accept", "content": {"ok": True}}}
        client.connection.feed(stateless(3, "tasks/update", TASKS, taskId=task_id, inputResponses=responses))
        await until(lambda: jobs.get(task_id, ALICE.id).state == "completed")
        told = await client.find(lambda message: message.get("params", {}).get("status") == "completed")
        assert told["params"]["result"]["structuredContent"] == {"ok": True}
        assert dispatcher.core.inputs.pending(task_id) == {}

    run(work)


def test_a_job_that_fails_by_protocol_is_a_failed_task() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, _job)
        client = Client(dispatcher)
        created = await client.call(1, "new", stateless, TASKS, arguments={"fail": True})
        task_id = created["result"]["taskId"]
        await until(lambda: dispatcher.core.jobs.get(task_id, ALICE.id).ended)
        client.connection.feed(stateless(2, "tasks/get", TASKS, taskId=task_id))
        task = (await client.answer(2))["result"]
        assert (task["status"], task["error"]) == ("failed", {"code": -32602, "message": "no camera"})

    run(work)


def test_a_client_without_tasks_cannot_be_asked_after_pending() -> None:
    async def asking(ctx: RequestContext, _arguments: Json) -> ToolResult:
        await ctx.background("nap", "Nap", wait_seconds=0.01)
        await asyncio.sleep(0.05)
        await ctx.elicit("ok", "Go on?", FORM)
        raise AssertionError

    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, asking)
        client = Client(dispatcher)
        client.connection.feed(handshake(0, elicitation={}))
        await client.call(1, "new")
        await until(lambda: dispatcher.core.jobs.list(ALICE.id)[0].ended)
        (job,) = dispatcher.core.jobs.list(ALICE.id)
        assert job.result["isError"]
        assert "offers: extensions" in job.result["content"][0]["text"]

    run(work)


def test_a_call_is_a_job_only_once() -> None:
    async def twice(ctx: RequestContext, _arguments: Json) -> ToolResult:
        first = await ctx.background("a", "A")
        assert await ctx.background("b", "B") is first
        return ToolResult([text("once")])

    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, twice)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        result = (await client.call(1, "new"))["result"]
        assert result["content"][0]["text"] == "once"
        (job,) = dispatcher.core.jobs.list(ALICE.id)
        assert (job.kind, job.title) == ("a", "A")

    run(work)


# News and the end


def test_news_reach_every_connection_from_any_thread_and_nobody_after_the_end() -> None:
    kept: list[Dispatcher] = []

    async def work(dispatcher: Dispatcher) -> None:
        kept.append(dispatcher)
        clients = [Client(dispatcher), Client(dispatcher, BOB)]
        for client in clients:
            client.connection.feed(handshake(0))
        features = dispatcher.core.features
        await asyncio.to_thread(features.add, features.tools["echo"])
        for client in clients:
            await client.find(lambda message: message.get("method") == "notifications/tools/list_changed")

    run(work)
    features = kept[0].core.features
    features.add(features.tools["echo"])
    failures: list[object] = []
    thread = threading.Thread(target=kept[0].calls.soon, args=(failures.append, "called"))
    thread.start()
    thread.join()
    assert failures == []


def test_the_end_stops_handlers_and_ends_streams() -> None:
    clients: list[Client] = []

    async def work(dispatcher: Dispatcher) -> None:
        client = Client(dispatcher)
        clients.append(client)
        client.connection.feed(
            stateless("s", "subscriptions/listen", notifications={"toolsListChanged": True})
        )
        add(dispatcher, _job)
        client.connection.feed(stateless(1, "tools/call", name="new", arguments={"seconds": 60}))
        await until(lambda: dispatcher.core.jobs.list(ALICE.id))

    run(work)
    assert clients[0].sent[-1]["id"] == "s"
    assert not [message for message in clients[0].sent if message.get("id") == 1]


def test_release_is_for_the_transport() -> None:
    async def releasing(ctx: RequestContext, _arguments: Json) -> ToolResult:
        await ctx.release_stream()
        return ToolResult([text("done")])

    async def work(dispatcher: Dispatcher) -> None:
        add(dispatcher, releasing)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        await client.call(1, "new")
        assert [call.request_id for call in client.released] == [1]

    run(work)


async def _nothing(_ctx: RequestContext, _arguments: Json) -> ToolResult:
    return ToolResult([text("called")])


def test_a_tool_that_is_not_listed_is_called_by_name_and_listed_once_it_was_found() -> None:
    async def work(dispatcher: Dispatcher) -> None:
        async def find(ctx: RequestContext, _arguments: Json) -> ToolResult:
            await ctx.list_tools(["rare", "echo"])
            return ToolResult([text("found")])

        rare = Tool(name="rare", input_schema={"type": "object"}, handler=_nothing, listed=False)
        finder = Tool(name="find", input_schema={"type": "object"}, handler=find)
        dispatcher.core.features.add(rare, finder)
        alice, bob = Client(dispatcher), Client(dispatcher, BOB)
        for client in (alice, bob):
            client.connection.feed(handshake(0))

        async def names(client: Client, request_id: int) -> list[str]:
            client.connection.feed(request(request_id, "tools/list"))
            return [tool["name"] for tool in (await client.answer(request_id))["result"]["tools"]]

        assert "rare" not in await names(alice, 1)
        assert (await alice.call(2, "rare"))["result"]["content"][0]["text"] == "called"
        for request_id in (3, 4):  # found twice, told once
            await alice.call(request_id, "find")
        changed = [m for m in alice.sent if m.get("method") == "notifications/tools/list_changed"]
        assert len(changed) == 1
        assert "rare" in await names(alice, 5)
        assert "rare" not in await names(bob, 6)
        assert not [m for m in bob.sent if m.get("method") == "notifications/tools/list_changed"]
        dispatcher.core.whole_list = lambda client_id: client_id == BOB.id
        assert "rare" in await names(bob, 7)

    run(work)


def _finder(dispatcher: Dispatcher) -> None:
    async def find(ctx: RequestContext, _arguments: Json) -> ToolResult:
        await ctx.list_tools(["rare"])
        return ToolResult([text("found")])

    rare = Tool(name="rare", input_schema={"type": "object"}, handler=_nothing, listed=False)
    dispatcher.core.features.add(rare, Tool(name="find", input_schema={"type": "object"}, handler=find))


def test_a_client_that_lists_again_is_answered_once_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LIST_AGAIN_S", 3600.0)

    async def work(dispatcher: Dispatcher) -> None:
        _finder(dispatcher)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        client.connection.feed(request(1, "tools/call", name="find"))
        await until(lambda: any("list_changed" in m.get("method", "") for m in client.sent))
        assert not [m for m in client.sent if m.get("id") == 1]
        client.connection.feed(request(2, "tools/list"))
        assert "rare" in [tool["name"] for tool in (await client.answer(2))["result"]["tools"]]
        assert (await client.answer(1))["result"]["content"][0]["text"] == "found"

    run(work)


def test_a_client_that_never_lists_again_is_answered_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LIST_AGAIN_S", 0.05)

    async def work(dispatcher: Dispatcher) -> None:
        _finder(dispatcher)
        client = Client(dispatcher)
        client.connection.feed(handshake(0))
        assert (await client.call(1, "find"))["result"]["content"][0]["text"] == "found"

    run(work)


def test_a_client_that_cannot_be_told_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LIST_AGAIN_S", 3600.0)

    async def work(dispatcher: Dispatcher) -> None:
        _finder(dispatcher)
        client = Client(dispatcher)
        client.connection.feed(stateless(1, "tools/call", name="find"))
        assert (await client.answer(1))["result"]["content"][0]["text"] == "found"

    run(work)


class OnMainThread:
    """A dispatcher on a loop of its own thread, while this thread is Blender's main thread."""

    def __init__(
        self, work: Callable[[Client], Awaitable[None]], *, tools: Iterable[Tool], **limits: Any
    ) -> None:
        self.failures: list[BaseException] = []
        main_thread.start()
        thread = threading.Thread(target=self._run, args=(work, tools, limits))
        thread.start()
        main_thread.pump(thread.is_alive)
        main_thread.stop()
        thread.join()
        for failure in self.failures:
            raise failure

    def _run(self, work: Callable[[Client], Awaitable[None]], tools: Iterable[Tool], limits: Any) -> None:
        async def main(dispatcher: Dispatcher) -> None:
            dispatcher.core.features.add(*tools)
            client = Client(dispatcher)
            client.connection.feed(handshake())
            await work(client)

        try:
            run(main, **limits)
        except BaseException as error:
            self.failures.append(error)


def now(function: Callable[[RequestContext, Json], Any], name: str = "new") -> Tool:
    schema = {"type": "object", "properties": {"wanted": {"type": "integer"}}}
    return Tool(name=name, input_schema=schema, now=function)


def test_a_plain_tool_runs_on_the_main_thread_without_a_task() -> None:
    seen: list[Any] = []

    def answer(context: RequestContext, arguments: Json) -> ToolResult:
        seen.append((threading.current_thread() is threading.main_thread(), main_thread.asker.get()))
        return ToolResult(structured=arguments)

    async def work(client: Client) -> None:
        before = asyncio.all_tasks()
        client.connection.feed(request(1, "tools/call", name="new", arguments={"wanted": 5}))
        assert asyncio.all_tasks() == before
        result = (await client.answer(1))["result"]
        assert (result["structuredContent"], result["isError"]) == ({"wanted": 5}, False)
        assert result["content"] == [text('{"wanted":5}')]
        assert seen == [(True, client.connection)]
        assert main_thread.asker.get() is None, "only the request's own context has it"

    OnMainThread(work, tools=[now(answer)])


def test_every_end_of_a_plain_tool_is_answered_once() -> None:
    ends: dict[str, tuple[Callable[[], Any], str]] = {
        "invalid": (lambda: None, "Invalid arguments for invalid"),
        "own": (lambda: _raise(LimitExceeded("too much", limit="time")), "too much"),
        "unknown": (lambda: _raise(ZeroDivisionError("by zero")), "by zero"),
        "exit": (lambda: _raise(SystemExit(3)), "SystemExit"),
        "rpc": (lambda: _raise(RpcError(-32000, "of the protocol")), "of the protocol"),
        "no json": (lambda: ToolResult(structured={"is": object()}), "not JSON serializable"),
        "no json beside": (lambda: ToolResult([PICTURE], {"is": object()}), "not JSON serializable"),
        "a list": (lambda: ToolResult(structured=[1], is_error=True), "[1]"),
        "cancelled": (lambda: _raise(asyncio.CancelledError()), "Cancelled"),
        "generator": (lambda: _raise(GeneratorExit()), "GeneratorExit"),
        "keys": (lambda: _raise(KeyboardInterrupt()), "KeyboardInterrupt"),
    }
    errors = {"rpc", "no json", "no json beside", "generator"}
    tools = [now(lambda *_, end=end: end(), name.replace(" ", "_")) for name, (end, _) in ends.items()]
    counted: list[tuple[str, bool]] = []

    async def work(client: Client) -> None:
        dispatcher, peer = client.connection.dispatcher, client.connection.peer
        dispatcher.core.called = lambda tool, _client, seconds, failed: counted.append(
            (tool.name, failed and seconds > 0)
        )
        for name, (_, words) in ends.items():
            wrong = {"wanted": "x"} if name == "invalid" else {}
            answer = await client.call(name, name.replace(" ", "_"), arguments=wrong)
            assert words in str(answer), name
            assert ("error" in answer) == (name in errors), name
            assert (dispatcher.in_flight, peer.calls) == (0, {}), name
        ids = [message["id"] for message in client.sent if "id" in message]
        assert sorted(ids) == sorted({*ends, ids[0]}), "each is answered once"

    OnMainThread(work, tools=tools)
    assert counted == [(name.replace(" ", "_"), not name.startswith("no json")) for name in ends]


def test_a_cancelled_plain_tool_does_not_begin_and_gets_no_answer() -> None:
    begun: list[str] = []
    free = threading.Event()

    def hold(context: RequestContext, arguments: Json) -> ToolResult:
        free.wait(5)
        return ToolResult(structured={})

    def note(context: RequestContext, arguments: Json) -> ToolResult:
        begun.append("note")
        return ToolResult(structured={})

    async def work(client: Client) -> None:
        client.connection.feed(request(1, "tools/call", name="hold"))
        client.connection.feed(request(2, "tools/call", name="note"))
        client.connection.feed(notification("notifications/cancelled", requestId=2))
        await until(lambda: client.connection.dispatcher.in_flight == 1)
        assert not free.is_set(), "the cancelled one has left its place, although the main thread is busy"
        free.set()
        await client.answer(1)
        await client.call(3, "hold")
        assert [message["id"] for message in client.sent if "result" in message][-2:] == [1, 3]
        assert begun == []

    OnMainThread(work, tools=[now(hold, "hold"), now(note, "note")])


def test_requests_that_arrive_together_begin_together_and_a_single_one_at_once() -> None:
    free = threading.Event()

    def hold(_context: RequestContext, arguments: Json) -> ToolResult:
        free.wait(5)
        return ToolResult(structured=arguments)

    async def work(client: Client) -> None:
        dispatcher = client.connection.dispatcher
        other = Client(dispatcher, BOB)
        other.connection.feed(handshake())
        free.set()
        await client.call("first", "hold")
        free.clear()
        client.connection.feed(request("alone", "tools/call", name="hold"))
        assert dispatcher.in_flight == 1, "it began at once"
        for one in (client, other):
            one.connection.feed(request("beside", "tools/call", name="hold"))
        assert dispatcher.in_flight == 1, "they wait for the next turn"
        await until(lambda: dispatcher.in_flight == 3)
        free.set()
        await client.answer("beside")
        await other.answer("beside")
        client.connection.feed(request("after another client", "tools/call", name="hold"))
        assert dispatcher.in_flight == 0
        await client.answer("after another client")

    OnMainThread(work, tools=[now(hold, "hold")])


def test_a_request_that_is_cancelled_as_it_arrives_does_not_begin() -> None:
    begun: list[str] = []

    def plain(_context: RequestContext, _arguments: Json) -> ToolResult:
        begun.append("plain")
        return ToolResult()

    async def other(_context: RequestContext, _arguments: Json) -> ToolResult:
        begun.append("other")
        return ToolResult()

    async def work(client: Client) -> None:
        gone = Client(client.connection.dispatcher)
        gone.connection.feed(handshake())
        for name in ("plain", "other"):
            for one in (client, gone):
                one.connection.feed(request(name, "tools/call", name=name))
            client.connection.feed(notification("notifications/cancelled", requestId=name))
        gone.connection.close()
        assert "result" in await client.call("last", "echo", arguments={"text": "a"})
        assert [message["id"] for message in client.sent if "id" in message][1:] == ["last"]

    tools = [now(plain, "plain"), Tool(name="other", input_schema={"type": "object"}, handler=other)]
    OnMainThread(work, tools=tools)
    assert begun == []


def test_a_client_may_have_so_many_plain_tools_under_way_and_no_more() -> None:
    free = threading.Event()

    def hold(context: RequestContext, arguments: Json) -> ToolResult:
        free.wait(5)
        return ToolResult(structured={})

    async def work(client: Client) -> None:
        for number in range(3):
            client.connection.feed(request(number, "tools/call", name="hold"))
        assert "Busy" in (await client.answer(2))["error"]["message"]
        free.set()
        await client.answer(0)
        await client.answer(1)
        assert "result" in await client.call(3, "hold")

    OnMainThread(work, tools=[now(hold, "hold")], max_in_flight=2)


def test_a_plain_tool_ends_in_the_context_of_its_request() -> None:
    """The log says of each failure to which request it belongs, whatever woke the loop."""
    ids: list[Any] = []

    def fail(context: RequestContext, arguments: Json) -> ToolResult:
        context.report_progress(1, 2, "half")
        raise ZeroDivisionError

    async def work(client: Client) -> None:
        client.connection.dispatcher.core.called = lambda *_: ids.append(tracing.rpc_id())
        for number in range(5):
            client.connection.feed(request(number, "tools/call", name="new", _meta={"progressToken": "p"}))
        for number in range(5):
            await client.answer(number)
        assert tracing.rpc_id() is None

    OnMainThread(work, tools=[now(fail)])
    assert ids == [0, 1, 2, 3, 4]


def test_a_request_that_succeeds_leaves_nothing_that_only_the_garbage_collector_frees() -> None:
    """Otherwise many calls would make it search Blender's objects, and the window stand still meanwhile."""

    def plain(context: RequestContext, arguments: Json) -> ToolResult:
        context.report_progress(1, 2, "half")
        return ToolResult(structured=arguments)

    async def other(context: RequestContext, arguments: Json) -> ToolResult:
        context.log("info", "half", None)
        return ToolResult(structured=arguments)

    async def read(_context: RequestContext, _uri: str) -> list[Json]:
        return []

    requests: dict[str, tuple[str, Json]] = {
        "a plain tool": ("tools/call", {"name": "plain", "_meta": {"progressToken": "p"}}),
        "another tool": ("tools/call", {"name": "other", "arguments": {"wanted": 5}}),
        "a resource": ("resources/read", {"uri": "test://one"}),
        **{method: (method, {}) for method in ("ping", "tools/list", "resources/list", "prompts/list")},
    }
    left: dict[str, int] = {}

    async def work(client: Client) -> None:
        client.connection.dispatcher.core.features.add(Resource(uri="test://one", name="one", read=read))
        for what, (method, params) in requests.items():
            for times in (2, 20):
                client.sent.clear()
                gc.collect()
                for number in range(times):
                    client.connection.feed(request(number, method, **params))
                while len([message for message in client.sent if "id" in message]) < times:
                    await asyncio.sleep(0.001)
                await asyncio.sleep(0.001)
                left[what] = gc.collect()

    gc.disable()
    try:
        other_tool = Tool(name="other", input_schema={"type": "object"}, handler=other)
        OnMainThread(work, tools=[now(plain, "plain"), other_tool])
    finally:
        gc.enable()
    assert left == dict.fromkeys(requests, 0)


def test_json_in_a_text_that_is_nested_too_deeply_is_refused_like_any_other() -> None:
    schema = {"type": "object", "properties": {"part": {"type": "object"}}}
    made = Tool(
        name="new", input_schema=schema, now=lambda _context, arguments: ToolResult(structured=arguments)
    )

    async def work(client: Client) -> None:
        for depth in (150, 700, 5000):
            deep = '{"a":' * depth + "1" + "}" * depth
            answer = await client.call(depth, "new", arguments={"part": deep})
            assert "Invalid arguments for new: part" in str(answer), depth
        assert "result" in await client.call("good", "new", arguments={"part": '{"a": {"b": 1}}'})

    OnMainThread(work, tools=[made])


def _raise(error: BaseException) -> Any:
    raise error
