# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of one connection, by messages in and messages out."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol import envelope
from bl_ext.user_default.mcp_bridge.server.protocol import peer as peers
from bl_ext.user_default.mcp_bridge.server.protocol.actions import Action, Answered, Send, Start, Stop
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError
from bl_ext.user_default.mcp_bridge.server.protocol.messages.revisions import (
    CLIENT_CAPABILITIES,
    PROTOCOL_VERSION,
)
from bl_ext.user_default.mcp_bridge.server.protocol.peer import Peer

from support.bridges.protocol import ALICE, core, handshake, notification, request, stateless

Json = dict[str, Any]
ELICITATION = {"elicitation": {}}


@pytest.fixture
def peer() -> Peer:
    return Peer(core(), ALICE, allow_plain=True)


def messages(actions: list[Action]) -> list[Json]:
    """What is sent."""
    return [action.message for action in actions if isinstance(action, Send)]


def ask(peer: Peer, message: object) -> Json:
    """The only message that comes back."""
    (found,) = messages(peer.receive(message))
    return found


def started(actions: list[Action]) -> Start:
    """The only thing that happens: a handler is started."""
    (action,) = actions
    assert isinstance(action, Start)
    return action


# Eras


def test_a_peer_answers_each_method_that_only_a_session_has() -> None:
    assert peers._HANDSHAKE.keys() == envelope.HANDSHAKE_METHODS


def test_handshake(peer: Peer) -> None:
    answer = ask(peer, handshake(1))
    assert answer["id"] == 1
    result = answer["result"]
    assert result["protocolVersion"] == "2025-11-25"
    assert result["serverInfo"] == {"name": "test", "version": "1"}
    assert result["instructions"] == "Be careful"
    assert result["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
    assert "resultType" not in result
    assert peer.receive(notification("notifications/initialized")) == []


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2026-07-28", "2025-11-25"),
        ("x", "2025-11-25"),
    ],
)
def test_a_version_that_is_not_known_is_answered_by_the_newest(peer: Peer, asked: str, agreed: str) -> None:
    assert ask(peer, handshake(1, asked))["result"]["protocolVersion"] == agreed


def test_discover(peer: Peer) -> None:
    result = ask(peer, stateless(1, "server/discover"))["result"]
    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["resultType"] == "complete"
    assert result["capabilities"]["extensions"] == {"io.modelcontextprotocol/tasks": {}}
    assert result["_meta"] == {"io.modelcontextprotocol/serverInfo": {"name": "test", "version": "1"}}
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] == "private"


def test_icons_come_only_with_an_introduction(peer: Peer) -> None:
    icons = [{"src": "data:,"}]
    peer.core.icons = icons
    assert ask(peer, handshake(1))["result"]["serverInfo"]["icons"] == icons
    key = "io.modelcontextprotocol/serverInfo"
    assert ask(peer, stateless(2, "server/discover"))["result"]["_meta"][key]["icons"] == icons
    assert "icons" not in ask(peer, stateless(3, "tools/list"))["result"]["_meta"][key]


def test_eras_interleave_on_one_connection(peer: Peer) -> None:
    assert "ttlMs" in ask(peer, stateless(1, "tools/list"))["result"]
    ask(peer, handshake(2))
    assert "ttlMs" not in ask(peer, request(3, "tools/list"))["result"]
    assert "ttlMs" in ask(peer, stateless(4, "tools/list"))["result"]
    assert ask(peer, request(5, "ping"))["result"] == {}


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"]
)
def test_methods_that_the_stateless_era_does_not_have(peer: Peer, method: str) -> None:
    assert ask(peer, stateless(1, method))["error"]["code"] == -32601


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen", "tasks/get"])
def test_methods_that_a_session_does_not_have(peer: Peer, method: str) -> None:
    ask(peer, handshake(1))
    assert ask(peer, request(2, method))["error"]["code"] == -32602
    assert ask(peer, request(3, "no/such"))["error"]["code"] == -32601


def test_without_handshake_and_envelope_only_a_ping_is_possible(peer: Peer) -> None:
    error = ask(peer, request(1, "tools/list"))["error"]
    assert error["code"] == -32602
    assert "begin with initialize" in error["message"]
    assert ask(peer, request(2, "ping"))["result"] == {}


@pytest.mark.parametrize(
    ("meta", "code", "says"),
    [
        ({CLIENT_CAPABILITIES: {}}, -32602, "protocolVersion"),
        ({PROTOCOL_VERSION: "2026-07-28"}, -32602, "clientCapabilities"),
        ({PROTOCOL_VERSION: 5, CLIENT_CAPABILITIES: {}}, -32602, "protocolVersion"),
        ({PROTOCOL_VERSION: "2026-07-28", CLIENT_CAPABILITIES: []}, -32602, "clientCapabilities"),
        ({PROTOCOL_VERSION: "1900-01-01", CLIENT_CAPABILITIES: {}}, -32022, "1900-01-01"),
        ({PROTOCOL_VERSION: "2025-11-25", CLIENT_CAPABILITIES: {}}, -32022, "2025-11-25"),
    ],
)
def test_a_broken_envelope_is_named(peer: Peer, meta: Json, code: int, says: str) -> None:
    error = ask(peer, request(1, "tools/list", _meta=meta))["error"]
    assert error["code"] == code
    assert says in error["message"]
    if code == -32022:
        assert error["data"] == {"supported": ["2026-07-28"], "requested": meta[PROTOCOL_VERSION]}


# Malformed messages


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ([request(1, "ping")], "batches are not part of MCP"),
        (5, "must be a JSON object"),
        (None, "must be a JSON object"),
        ({"jsonrpc": "2.0"}, "neither a request"),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, "id must be"),
    ],
)
def test_an_invalid_message_is_answered_without_an_id(peer: Peer, message: object, says: str) -> None:
    answer = ask(peer, message)
    assert "id" not in answer
    assert answer["error"]["code"] == -32600
    assert says in answer["error"]["message"]
    assert ask(peer, request(2, "ping"))["result"] == {}


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ([], "params: must be an object"),
        ({"_meta": 5}, "params._meta"),
        ({"_meta": {"progressToken": 1.5}}, "progressToken"),
    ],
)
def test_malformed_parameters_are_named(peer: Peer, params: object, says: str) -> None:
    answer = ask(peer, {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": params})
    assert answer["id"] == 1
    assert answer["error"]["code"] == -32602
    assert says in answer["error"]["message"]


def test_an_id_that_is_under_way_is_refused_without_seeming_to_answer_it(peer: Peer) -> None:
    ask(peer, handshake(0))
    call = started(peer.receive(request(1, "tools/call", name="wait"))).call
    answer = ask(peer, request(1, "ping"))
    assert "id" not in answer
    assert "id 1 belongs to a request that is under way" in answer["error"]["message"]
    assert messages(peer.finish(call, {}))[0]["id"] == 1
    assert ask(peer, request(1, "ping"))["id"] == 1


# Calls


def test_a_call_is_answered_once(peer: Peer) -> None:
    ask(peer, handshake(0))
    call = started(peer.receive(request(1, "tools/call", name="echo", arguments={"text": "a"}))).call
    assert messages(peer.finish(call, {"content": []})) == [
        {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
    ]
    assert peer.finish(call, {"content": []}) == []
    assert peer.fail(call, RpcError(-1, "late")) == []


def test_a_cancelled_call_is_stopped_and_nothing_follows(peer: Peer) -> None:
    ask(peer, handshake(0))
    meta = {"progressToken": "p"}
    call = started(peer.receive(request(1, "tools/call", name="wait", _meta=meta))).call
    assert messages(peer.progress(call, 1, 2, "half"))
    assert peer.receive(notification("notifications/cancelled", requestId=1)) == [Stop(call)]
    assert call.cancelled.is_set()
    assert peer.progress(call, 2, 2, None) == []
    assert peer.log(call, "error", "x", None) == []
    assert peer.finish(call, {}) == []
    assert peer.receive(notification("notifications/cancelled", requestId=1)) == []


@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": 99}, {"requestId": []}])
def test_a_cancellation_of_nothing_is_ignored(peer: Peer, params: Json) -> None:
    assert peer.receive(notification("notifications/cancelled", **params)) == []


def test_progress_only_increases_and_only_if_wanted(peer: Peer) -> None:
    ask(peer, handshake(0))
    call = started(peer.receive(request(1, "tools/call", name="wait", _meta={"progressToken": 0}))).call
    sent = [peer.progress(call, value, 10, "m") for value in (1, 1, 0.5, 2, 2.5)]
    assert [message["params"]["progress"] for actions in sent for message in messages(actions)] == [1, 2, 2.5]
    quiet = started(peer.receive(request(2, "tools/call", name="wait"))).call
    assert peer.progress(quiet, 1, None, None) == []


def test_log_levels_of_both_eras(peer: Peer) -> None:
    ask(peer, handshake(0))
    call = started(peer.receive(request(1, "tools/call", name="wait"))).call
    assert peer.log(call, "debug", "x", None) == []
    assert messages(peer.log(call, "info", {"a": 1}, "me"))[0]["params"] == {
        "level": "info",
        "data": {"a": 1},
        "logger": "me",
    }
    ask(peer, request(2, "logging/setLevel", level="error"))
    assert peer.log(call, "warning", "x", None) == []
    assert ask(peer, request(3, "logging/setLevel", level="loud"))["error"]["code"] == -32602
    silent = started(peer.receive(stateless(4, "tools/call", name="wait"))).call
    assert peer.log(silent, "emergency", "x", None) == []
    meta = {"io.modelcontextprotocol/logLevel": "warning"}
    wanted = started(peer.receive(stateless(5, "tools/call", name="wait", _meta=meta))).call
    assert peer.log(wanted, "info", "x", None) == []
    assert messages(peer.log(wanted, "error", "x", None))


# Asking the client


def test_a_handshake_client_is_asked_by_a_request(peer: Peer) -> None:
    ask(peer, handshake(0, elicitation={}))
    call = started(peer.receive(request(1, "tools/call", name="ask"))).call
    question = {"method": "roots/list"}
    ask_id, send = peer.ask(call, "roots", question)
    assert send.message == {"jsonrpc": "2.0", "id": ask_id, "method": "roots/list"}
    answer = {"jsonrpc": "2.0", "id": ask_id, "result": {"roots": []}}
    assert peer.receive(answer) == [Answered(ask_id, {"roots": []})]
    assert peer.receive(answer) == []


def test_wrong_and_refused_answers_become_errors(peer: Peer) -> None:
    ask(peer, handshake(0))
    call = started(peer.receive(request(1, "tools/call", name="ask"))).call
    first, _ = peer.ask(call, "roots", {"method": "roots/list"})
    (answered,) = peer.receive({"jsonrpc": "2.0", "id": first, "result": {"roots": 5}})
    assert isinstance(answered, Answered)
    assert str(answered.answer) == "roots: roots must be an array"
    second, _ = peer.ask(call, "roots", {"method": "roots/list"})
    (answered,) = peer.receive({"jsonrpc": "2.0", "id": second, "error": {"code": 1, "message": "no"}})
    assert isinstance(answered, Answered)
    assert str(answered.answer) == "The client could not answer: no"


def test_a_question_that_is_open_when_its_call_ends_is_withdrawn(peer: Peer) -> None:
    ask(peer, handshake(0))
    call = started(peer.receive(request(1, "tools/call", name="ask"))).call
    ask_id, _ = peer.ask(call, "roots", {"method": "roots/list"})
    answer, withdrawn = messages(peer.finish(call, {}))
    assert answer["id"] == 1
    assert withdrawn == notification("notifications/cancelled", requestId=ask_id)


def test_a_stateless_client_is_asked_by_the_answer(peer: Peer) -> None:
    question = {"method": "roots/list"}
    call = started(peer.receive(stateless(1, "tools/call", name="ask"))).call
    assert peer.answers(call, {"roots": question}) == ({}, {"roots": question})
    (answer,) = messages(peer.require_input(call, {"roots": question}))
    result = answer["result"]
    assert result["resultType"] == "input_required"
    assert result["inputRequests"] == {"roots": question}
    retry = {
        "name": "ask",
        "requestState": result["requestState"],
        "inputResponses": {"roots": {"roots": []}},
    }
    again = started(peer.receive(stateless(2, "tools/call", **retry))).call
    assert peer.answers(again, {"roots": question}) == ({"roots": {"roots": []}}, {})
    other = {"method": "roots/list", "params": {"a": 1}}
    assert peer.answers(again, {"roots": other})[1] == {"roots": other}
    elsewhere = ask(peer, stateless(3, "tools/call", **{**retry, "name": "wait"}))
    assert "belongs to another request" in elsewhere["error"]["message"]


# News of the server


def test_a_session_hears_of_lists_and_of_what_it_subscribed_to(peer: Peer) -> None:
    assert peer.list_changed("tools") == []
    ask(peer, handshake(0))
    assert messages(peer.list_changed("tools")) == [
        {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    ]
    assert peer.resource_updated("test://one") == []
    assert ask(peer, request(1, "resources/subscribe", uri="test://one"))["result"] == {}
    assert ask(peer, request(2, "resources/subscribe", uri="test://named/x"))["result"] == {}
    assert ask(peer, request(3, "resources/subscribe", uri="test://no"))["error"]["code"] == -32002
    updated = notification("notifications/resources/updated", uri="test://one")
    assert messages(peer.resource_updated("test://one")) == [updated]
    assert len(peer.resources_updated("test://")) == 2
    ask(peer, request(4, "resources/unsubscribe", uri="test://one"))
    assert peer.resource_updated("test://one") == []


def test_a_listen_stream_is_acknowledged_filtered_and_ended(peer: Peer) -> None:
    wanted = {"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["test://one"]}
    (first,) = messages(peer.receive(stateless("s", "subscriptions/listen", notifications=wanted)))
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == {
        "toolsListChanged": True,
        "resourceSubscriptions": ["test://one"],
    }
    tag = {"io.modelcontextprotocol/subscriptionId": "s"}
    assert first["params"]["_meta"] == tag
    assert peer.list_changed("prompts") == []
    (changed,) = messages(peer.list_changed("tools"))
    assert changed["params"] == {"_meta": tag}
    (updated,) = messages(peer.resource_updated("test://one"))
    assert updated["params"] == {"uri": "test://one", "_meta": tag}
    (ended,) = messages(peer.end_listens())
    assert ended["id"] == "s"
    assert ended["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "s"
    assert peer.list_changed("tools") == []


def test_a_cancelled_listen_stream_ends_silently(peer: Peer) -> None:
    peer.receive(stateless("s", "subscriptions/listen", notifications={"toolsListChanged": True}))
    assert peer.receive(notification("notifications/cancelled", requestId="s")) == []
    assert peer.list_changed("tools") == []


def test_listen_streams_are_bounded(peer: Peer) -> None:
    for number in range(peers.MAX_LISTENS):
        peer.receive(stateless(number, "subscriptions/listen", notifications={}))
    error = ask(peer, stateless("more", "subscriptions/listen", notifications={}))["error"]
    assert error["code"] == -31000


def test_tasks_in_a_filter_need_the_extension(peer: Peer) -> None:
    wanted = {"taskIds": ["t"]}
    error = ask(peer, stateless(1, "subscriptions/listen", notifications=wanted))["error"]
    assert error["code"] == -32021
    extension: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    job = peer.core.jobs.begin("k", "t", "alice")
    wanted = {"taskIds": [job.id, "unknown"]}
    (first,) = messages(peer.receive(stateless(2, "subscriptions/listen", extension, notifications=wanted)))
    assert first["params"]["notifications"] == {"taskIds": [job.id]}
    assert len(peer.task_changed(job.id, {"taskId": job.id})) == 1
    assert peer.task_changed("unknown", {}) == []


# Plain commands


def test_plain_commands_run_one_after_the_other(peer: Peer) -> None:
    first = started(peer.receive({"type": "echo", "params": {"text": "a"}}))
    assert peer.receive({"type": "echo", "params": {"text": "b"}}) == []
    answer, second = peer.finish(first.call, {"content": [], "structuredContent": {"text": "a"}})
    assert isinstance(answer, Send)
    assert answer.message == {"status": "success", "result": {"text": "a"}, "message": None}
    assert isinstance(second, Start)
    (failed,) = messages(peer.fail(second.call, RpcError(-1, "broken")))
    assert failed == {"status": "error", "error": "ExternalServiceError", "result": None, "message": "broken"}


def test_plain_commands_are_for_websockets_only() -> None:
    (answer,) = messages(Peer(core(), ALICE).receive({"type": "echo", "params": {"text": "a"}}))
    assert answer["error"]["code"] == -32600


def test_waiting_plain_commands_are_bounded(peer: Peer) -> None:
    for _ in range(peers.MAX_PLAIN):
        peer.receive({"type": "wait"})
    assert ask(peer, {"type": "wait"})["message"] == f"Busy: {peers.MAX_PLAIN} commands are waiting"


# The end


def test_when_the_client_is_gone_everything_of_it_stops(peer: Peer) -> None:
    ask(peer, handshake(0))
    calls = [started(peer.receive(request(n, "tools/call", name="wait"))).call for n in (1, 2)]
    calls.append(started(peer.receive({"type": "wait"})).call)
    peer.receive(stateless("s", "subscriptions/listen", notifications={}))
    assert peer.close() == [Stop(call) for call in calls]
    assert all(call.cancelled.is_set() for call in calls)
    assert [peer.finish(call, {"content": []}) for call in calls] == [[], [], []]
    assert not peer.calls
    assert not peer.listens
    assert peer.close() == []
