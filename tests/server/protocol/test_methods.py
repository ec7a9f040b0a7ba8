# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists, calls, reads, prompts, completion and tasks, handler included."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError
from bl_ext.user_default.mcp_bridge.server import handlers
from bl_ext.user_default.mcp_bridge.server.protocol.actions import Start
from bl_ext.user_default.mcp_bridge.server.protocol.context import RequestContext
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages import content
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import MissingCapability, RpcError
from bl_ext.user_default.mcp_bridge.server.protocol.peer import Peer

from support.bridges.protocol import ALICE, BOB, core, handshake, request, stateless

Json = dict[str, Any]
TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def peer() -> Peer:
    peer = Peer(core(), ALICE)
    peer.receive(handshake(0))
    return peer


def answer(peer: Peer, message: Json) -> Json:
    """Send a request and run its handler to the end, which in these tests never waits."""
    (action,) = peer.receive(message)
    if isinstance(action, Start):
        context = RequestContext(action.call, None)  # type: ignore[arg-type]
        coroutine = handlers.perform(peer.core, context, action.call, action.work)
        try:
            coroutine.send(None)
        except StopIteration as done:
            (action,) = peer.finish(action.call, done.value)
        except RpcError as error:
            (action,) = peer.fail(action.call, error)
        else:
            raise AssertionError("the handler waits")
    return action.message  # type: ignore[union-attr]


def add_tool(peer: Peer, handler: Any) -> None:
    peer.core.features.add(Tool(name="new", input_schema={"type": "object"}, handler=handler))


# Tools


def test_tools_list(peer: Peer) -> None:
    tools = answer(peer, request(1, "tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["echo", "wait", "ask"]
    assert tools[1] == {"name": "wait", "inputSchema": {"type": "object"}}


def test_long_lists_come_in_pages(peer: Peer) -> None:
    for number in range(250):
        peer.core.features.add(
            Tool(name=f"t{number}", input_schema={"type": "object"}, handler=lambda *_: None)
        )
    names: list[str] = []
    params: Json = {}
    while True:
        result = answer(peer, request(1, "tools/list", **params))["result"]
        names += [tool["name"] for tool in result["tools"]]
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert names == list(peer.core.features.tools)
    assert answer(peer, request(1, "prompts/list", **params))["error"]["code"] == -32602


def test_structured_results_come_as_text_too(peer: Peer) -> None:
    result = answer(peer, request(1, "tools/call", name="echo", arguments={"text": "ü"}))["result"]
    assert result == {
        "content": [{"type": "text", "text": '{"text":"ü"}'}],
        "isError": False,
        "structuredContent": {"text": "ü"},
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"text": 5}, "Invalid arguments for echo: text: must be string"),
        ({}, "'text' is missing (parameters: text)"),
        ({"text": "a", "more": 1}, "there is no 'more' (parameters: text)"),
    ],
)
def test_bad_arguments_are_a_result_that_names_the_field(peer: Peer, arguments: Json, says: str) -> None:
    result = answer(peer, request(1, "tools/call", name="echo", arguments=arguments))["result"]
    assert result["isError"] is True
    assert says in result["content"][0]["text"]


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"name": "no"}, "Unknown tool: no"),
        ({}, "name: must be a string"),
        ({"name": "echo", "arguments": []}, "arguments: must be an object"),
    ],
)
def test_calls_of_nothing_are_errors(peer: Peer, params: Json, says: str) -> None:
    error = answer(peer, request(1, "tools/call", **params))["error"]
    assert error == {"code": -32602, "message": says}


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (InvalidParamsError("there is no Cube"), "InvalidParamsError", "there is no Cube"),
        (ZeroDivisionError("x"), "HandlerError", "new failed: ZeroDivisionError: x"),
    ],
)
def test_failures_of_a_tool_are_results(peer: Peer, raised: Exception, kind: str, message: str) -> None:
    async def handler(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        raise raised

    add_tool(peer, handler)
    result = answer(peer, request(1, "tools/call", name="new"))["result"]
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": f"{kind}: {message}"}]
    assert (result["structuredContent"]["error"], result["structuredContent"]["message"]) == (kind, message)


def test_a_missing_capability_is_an_error_or_a_result_by_era(peer: Peer) -> None:
    async def handler(_ctx: RequestContext, _arguments: Json) -> ToolResult:
        raise MissingCapability({"elicitation": {"form": {}}})

    add_tool(peer, handler)
    result = answer(peer, request(1, "tools/call", name="new"))["result"]
    assert result["content"][0]["text"] == "PolicyError: This needs a client that offers: elicitation"
    error = answer(peer, stateless(1, "tools/call", name="new"))["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


def test_tool_result_forms() -> None:
    assert content.tool_result(ToolResult([content.text("a")], meta={"k": 1})) == {
        "content": [{"type": "text", "text": "a"}],
        "isError": False,
        "_meta": {"k": 1},
    }
    assert content.tool_result(ToolResult(structured=0))["content"] == [{"type": "text", "text": "0"}]


# Resources


def test_resources(peer: Peer) -> None:
    assert answer(peer, request(1, "resources/list"))["result"]["resources"][0]["uri"] == "test://one"
    listed = answer(peer, request(1, "resources/templates/list"))["result"]["resourceTemplates"]
    assert listed == [{"uriTemplate": "test://named/{name}", "name": "named"}]
    read = answer(peer, request(1, "resources/read", uri="test://named/a%20b"))["result"]["contents"]
    assert read == [{"uri": "test://named/a%20b", "mimeType": "text/plain", "text": "a b"}]
    modern = answer(peer, stateless(1, "resources/read", uri="test://one"))["result"]
    assert (modern["resultType"], modern["ttlMs"], modern["cacheScope"]) == ("complete", 0, "private")


@pytest.mark.parametrize("uri", ["test://no", "test://named/gone"])
def test_a_missing_resource_has_another_code_in_each_era(peer: Peer, uri: str) -> None:
    for make, code in ((request, -32002), (stateless, -32602)):
        error = answer(peer, make(1, "resources/read", uri=uri))["error"]
        assert error == {"code": code, "message": f"Resource not found: {uri}", "data": {"uri": uri}}


# Prompts and completion


def test_prompts(peer: Peer) -> None:
    listed = answer(peer, request(1, "prompts/list"))["result"]["prompts"]
    assert listed[0]["arguments"] == [{"name": "who", "required": True}]
    result = answer(peer, request(1, "prompts/get", name="greet", arguments={"who": "me"}))["result"]
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": "Greet me"}}]
    assert result["description"] == "A greeting"


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"name": "no"}, "Unknown prompt: no"),
        ({"name": "greet"}, "arguments.who: is required by prompt greet"),
        ({"name": "greet", "arguments": {"who": 5}}, "arguments.who: must be a string"),
    ],
)
def test_wrong_prompts_are_named(peer: Peer, params: Json, says: str) -> None:
    assert answer(peer, request(1, "prompts/get", **params))["error"]["message"] == says


@pytest.mark.parametrize(
    "ref", [{"type": "ref/prompt", "name": "greet"}, {"type": "ref/resource", "uri": "test://named/{name}"}]
)
def test_completion_gives_a_hundred_at_most(peer: Peer, ref: Json) -> None:
    name = "who" if ref["type"] == "ref/prompt" else "name"
    params = {"ref": ref, "argument": {"name": name, "value": "Cu"}}
    completion = answer(peer, request(1, "completion/complete", **params))["result"]["completion"]
    assert completion["values"][:2] == ["Cu0", "Cu1"]
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 150, True)


@pytest.mark.parametrize(
    ("ref", "argument", "says"),
    [
        ({"type": "ref/prompt", "name": "no"}, {"name": "who", "value": ""}, "ref.name: unknown prompt 'no'"),
        (
            {"type": "ref/resource", "uri": "x"},
            {"name": "n", "value": ""},
            "ref.uri: unknown resource template",
        ),
        ({"type": "other"}, {"name": "n", "value": ""}, "ref.type: must be"),
        (
            {"type": "ref/prompt", "name": "greet"},
            {"name": "x", "value": ""},
            "prompt greet has no argument 'x'",
        ),
        ({"type": "ref/prompt", "name": "greet"}, {"name": "who"}, "argument.value: must be a string"),
    ],
)
def test_wrong_completions_are_named(peer: Peer, ref: Json, argument: Json, says: str) -> None:
    error = answer(peer, request(1, "completion/complete", ref=ref, argument=argument))["error"]
    assert says in error["message"]


def test_an_argument_without_a_completer_has_no_values(peer: Peer) -> None:
    params = {
        "ref": {"type": "ref/resource", "uri": "test://named/{name}"},
        "argument": {"name": "x", "value": ""},
    }
    assert answer(peer, request(1, "completion/complete", **params))["result"]["completion"]["values"] == []


# Tasks


def test_tasks_need_the_extension(peer: Peer) -> None:
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        error = answer(peer, stateless(1, method, taskId="x"))["error"]
        assert error["code"] == -32021
        assert error["data"]["requiredCapabilities"] == TASKS


def test_a_task_belongs_to_its_client(peer: Peer) -> None:
    job = peer.core.jobs.begin("render", "Render", BOB.id)
    error = answer(peer, stateless(1, "tasks/get", TASKS, taskId=job.id))["error"]
    assert error == {"code": -32602, "message": f"taskId: there is no task {job.id!r}"}
    assert peer.core.jobs.get(job.id, BOB.id).state == "working"


def test_the_life_of_a_task(peer: Peer) -> None:
    job = peer.core.jobs.begin("render", "Render", ALICE.id)
    working = answer(peer, stateless(1, "tasks/get", TASKS, taskId=job.id))["result"]
    assert (working["resultType"], working["status"], working["ttlMs"]) == ("complete", "working", None)
    assert (
        answer(peer, stateless(2, "tasks/cancel", TASKS, taskId=job.id))["result"]["resultType"] == "complete"
    )
    assert answer(peer, stateless(3, "tasks/get", TASKS, taskId=job.id))["result"]["status"] == "cancelled"
    assert "error" not in answer(peer, stateless(4, "tasks/cancel", TASKS, taskId=job.id))


def test_a_task_is_answered_bit_by_bit_and_wrong_answers_are_named(peer: Peer) -> None:
    job = peer.core.jobs.begin("ask", "Ask", ALICE.id)
    given: list[Json] = []
    for key in ("a", "b"):
        peer.core.inputs.ask(job.id, key, {"method": "roots/list"}, given.append)
    job.wait_for_input("Waiting")
    task = answer(peer, stateless(1, "tasks/get", TASKS, taskId=job.id))["result"]
    assert set(task["inputRequests"]) == {"a", "b"}

    def update(**responses: Any) -> Json:
        return answer(peer, stateless(2, "tasks/update", TASKS, taskId=job.id, inputResponses=responses))

    assert "roots must be an array" in update(a={"roots": 1})["error"]["message"]
    assert "result" in update(a={"roots": []}, unknown={})
    task = answer(peer, stateless(3, "tasks/get", TASKS, taskId=job.id))["result"]
    assert set(task["inputRequests"]) == {"b"}
    assert "result" in update(a={"roots": []})
    assert given == [{"roots": []}]
