# SPDX-License-Identifier: GPL-3.0-or-later
"""Streamable HTTP as each revision has it, and clients that misbehave."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.transport import http_messages as bridge_http
from bl_ext.user_default.mcp_bridge.server.transport import outbox, streamable_http

from support.bridges.live import OTHER, TOKEN, Live, until
from support.bridges.protocol import handshake, notification, request, stateless

Json = dict[str, Any]
EXTENSION: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with Live(tmp_path_factory.mktemp("live")) as running:
        yield running


class Events:
    """A response of server-sent events that is read as it comes."""

    def __init__(self, live: Live, method: str, body: Json | None = None, **headers: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)
        fields = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        self.connection.request(method, "/mcp", body and json.dumps(body), fields)
        self.response = self.connection.getresponse()
        self.headers = {name.lower(): value for name, value in self.response.getheaders()}

    def next(self) -> Json | None:
        """The fields of the next event, None at the end of the response."""
        event: Json = {}
        while line := self.response.readline().decode():
            if line == "\n":
                if event:
                    return event
                continue
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                event[name] = value
        return None

    def messages(self) -> list[Json]:
        """All messages up to the end of the response."""
        found = []
        while event := self.next():
            if event.get("data"):
                found.append(json.loads(event["data"]))
        return found

    def close(self) -> None:
        self.response.close()
        self.connection.close()


def mirrored(message: Json) -> dict[str, str]:
    """The headers of a stateless message."""
    name = message["params"].get("name")
    more = {"Mcp_Name": name} if name else {}
    return {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": message["method"], **more}


def sleep(request_id: int, seconds: float, make: Any = request) -> Json:
    return make(
        request_id, "tools/call", name="sleep", arguments={"seconds": seconds}, _meta={"progressToken": "p"}
    )


# What a POST must be


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        (b"{", {}, 400, "Parse error: not JSON"),
        (b'{"a":1,"a":2}', {}, 400, "duplicate key 'a'"),
        (b"[1e999]", {}, 400, "out of range"),
        (b"\xff", {}, 400, "not UTF-8"),
        (b"{}", {"Content_Type": "text/plain"}, 415, "Content-Type must be application/json"),
        (b"{}", {"Accept": "application/json"}, 406, "Accept must admit both"),
        (b"{}", {"Accept": "text/html"}, 406, "Accept must admit both"),
        (b"{}", {}, 400, "Mcp-Session-Id is required"),
        (b"{}", {"MCP_Protocol_Version": "1999-01-01"}, 400, "is not supported; supported: 2026-07-28"),
        (b"[]", {"MCP_Protocol_Version": "2026-07-28"}, 400, "batches are not part of MCP"),
    ],
)
def test_a_wrong_request_is_answered_with_the_reason(
    live: Live, body: bytes, headers: dict[str, str], status: int, says: str
) -> None:
    found, _, text = live.post(body, **headers)
    assert (found, json.loads(text)["error"]["message"].count(says)) == (status, 1)


def test_accept_may_be_a_wildcard_or_absent(live: Live) -> None:
    message = stateless(1, "tools/list")
    for accept in ("*/*", "application/*, text/*;q=0.5"):
        assert live.stateless(message, Accept=accept)[0] == 200
    assert bridge_http.accepts(None, ["text/event-stream"])


# Stateless


@pytest.mark.parametrize(
    ("message", "headers", "status", "code"),
    [
        (stateless(1, "tools/list"), {}, 200, None),
        (stateless(1, "ping"), {}, 404, -32601),
        (stateless(1, "tools/call", name="no"), {}, 400, -32602),
        (stateless(1, "tools/list"), {"Mcp_Method": "tools/call"}, 400, -32020),
        (stateless(1, "tools/call", name="ask"), {}, 400, -32021),
        (request(1, "tools/list", _meta={}), {}, 400, -32602),
        (request(None, "tools/list"), {}, 400, -32600),
    ],
)
def test_status_of_stateless_answers(
    live: Live, message: Json, headers: dict[str, str], status: int, code: int | None
) -> None:
    found, answer = live.stateless(message, **headers)
    assert (found, answer.get("error", {}).get("code")) == (status, code)


def test_a_stateless_notification_is_accepted(live: Live) -> None:
    message = notification("notifications/anything")
    assert live.post(message, **mirrored(message))[::2] == (202, "")


def test_progress_makes_an_answer_a_stream(live: Live) -> None:
    message = sleep(1, 0.1, stateless)
    events = Events(live, "POST", message, **mirrored(message))
    assert events.headers["content-type"] == "text/event-stream"
    assert events.headers["x-accel-buffering"] == "no"
    *progress, answer = events.messages()
    assert [one["params"]["progress"] for one in progress] == list(range(10))
    assert answer["result"]["resultType"] == "complete"


def test_closing_a_stateless_stream_cancels_the_request(live: Live) -> None:
    begun, cancelled = live.begun, live.cancelled
    message = sleep(1, 30, stateless)
    events = Events(live, "POST", message, **mirrored(message))
    until(lambda: live.begun == begun + 1)
    events.close()
    until(lambda: live.cancelled == cancelled + 1)
    until(lambda: live.app.connections == 0)


def test_sessions_and_get_are_gone_in_the_stateless_era(live: Live) -> None:
    for method in ("GET", "DELETE"):
        status, headers, _ = live.request(method, "/mcp", MCP_Protocol_Version="2026-07-28")
        assert (status, headers["allow"]) == (405, "POST")


def test_a_task_is_begun_polled_and_finished(live: Live) -> None:
    _, created = live.stateless(stateless(1, "tools/call", EXTENSION, name="job", arguments={"seconds": 0.2}))
    task = created["result"]
    assert (task["resultType"], task["status"]) == ("task", "working")

    def get() -> Json:
        return live.stateless(stateless(2, "tasks/get", EXTENSION, taskId=task["taskId"]))[1]["result"]

    until(lambda: "of 20" in get().get("statusMessage", ""))
    until(lambda: get()["status"] == "completed")
    assert get()["result"]["structuredContent"] == {"status": "success"}


def test_a_task_can_be_watched_and_cancelled(live: Live) -> None:
    _, created = live.stateless(stateless(1, "tools/call", EXTENSION, name="job", arguments={"seconds": 30}))
    task_id = created["result"]["taskId"]
    message = stateless("w", "subscriptions/listen", EXTENSION, notifications={"taskIds": [task_id]})
    events = Events(live, "POST", message, **mirrored(message))
    assert json.loads(events.next()["data"])["params"]["notifications"] == {"taskIds": [task_id]}  # type: ignore[index]
    assert json.loads(events.next()["data"])["params"]["status"] == "working"  # type: ignore[index]
    live.stateless(stateless(2, "tasks/cancel", EXTENSION, taskId=task_id))
    statuses = set()
    while "cancelled" not in statuses:
        found = json.loads(events.next()["data"])  # type: ignore[index]
        assert found["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "w"}
        statuses.add(found["params"]["status"])
    events.close()


# Sessions


def test_a_session_belongs_to_its_client(live: Live) -> None:
    session = live.session()
    assert re.fullmatch(r"[\x21-\x7e]{20,}", session)
    ping = request(1, "ping")
    assert live.post(ping, Mcp_Session_Id=session)[0] == 200
    assert live.post(ping, token=OTHER, Mcp_Session_Id=session)[0] == 404
    assert live.post(ping, Mcp_Session_Id="no")[0] == 404
    assert live.request("DELETE", "/mcp", Mcp_Session_Id=session)[0] == 204
    assert live.post(ping, Mcp_Session_Id=session)[0] == 404


def test_a_failed_handshake_leaves_no_session(live: Live) -> None:
    status, headers, body = live.post(request(0, "initialize"))
    assert (status, "mcp-session-id" in headers) == (200, False)
    assert "protocolVersion" in json.loads(body)["error"]["message"]


def test_ended_session_stops_its_work(live: Live) -> None:
    session, cancelled = live.session(), live.cancelled
    events = Events(live, "POST", sleep(1, 30), Mcp_Session_Id=session)
    assert live.request("DELETE", "/mcp", Mcp_Session_Id=session)[0] == 204
    until(lambda: live.cancelled == cancelled + 1)
    assert all("result" not in message for message in events.messages())


def test_a_dropped_post_goes_on_and_is_resumed_without_loss(live: Live) -> None:
    session = live.session()
    events = Events(live, "POST", sleep(1, 0.6), Mcp_Session_Id=session)
    priming = events.next()
    assert priming
    assert priming["data"] == ""
    first = events.next()
    assert first
    last, seen = first["id"], [json.loads(first["data"])]
    events.close()
    again = Events(live, "GET", Mcp_Session_Id=session, Last_Event_ID=last)
    seen += again.messages()
    assert [one["params"]["progress"] for one in seen[:-1]] == list(range(60))
    assert seen[-1]["id"] == 1
    replayed = Events(live, "GET", Mcp_Session_Id=session, Last_Event_ID=priming["id"]).messages()
    assert replayed == seen


def test_an_older_client_gets_no_empty_event(live: Live) -> None:
    session = live.session("2025-03-26")
    events = Events(live, "POST", sleep(1, 0.05), Mcp_Session_Id=session)
    first = events.next()
    assert first
    assert json.loads(first["data"])["method"] == "notifications/progress"


def test_cancellation_and_answers_come_by_posts_of_their_own(live: Live) -> None:
    session = live.session(elicitation={})
    cancelled = live.cancelled
    events = Events(live, "POST", sleep(1, 30), Mcp_Session_Id=session)
    status, _, body = live.post(notification("notifications/cancelled", requestId=1), Mcp_Session_Id=session)
    assert (status, body) == (202, "")
    until(lambda: live.cancelled == cancelled + 1)
    events.close()
    asking = Events(live, "POST", request(2, "tools/call", name="ask"), Mcp_Session_Id=session)
    asking.next()
    question = json.loads(asking.next()["data"])  # type: ignore[index]
    assert question["method"] == "elicitation/create"
    answer = {
        "jsonrpc": "2.0",
        "id": question["id"],
        "result": {"action": "accept", "content": {"name": "A"}},
    }
    assert live.post(answer, Mcp_Session_Id=session)[0] == 202
    assert asking.messages()[-1]["result"]["content"][0]["text"] == "A"


def test_an_id_under_way_is_refused_and_the_first_request_answered(live: Live) -> None:
    session = live.session()
    first = Events(live, "POST", sleep(1, 0.2), Mcp_Session_Id=session)
    status, _, body = live.post(request(1, "ping"), Mcp_Session_Id=session)
    assert (status, "is under way" in body) == (400, True)
    assert first.messages()[-1]["result"]["content"][0]["text"] == "slept"


def test_news_come_on_the_newest_get_stream(live: Live) -> None:
    session = live.session()
    live.post(request(1, "resources/subscribe", uri="test://one"), Mcp_Session_Id=session)
    live.core.features.resource_updated("test://one")
    older = Events(live, "GET", Mcp_Session_Id=session)
    older.next()
    assert json.loads(older.next()["data"])["params"] == {"uri": "test://one"}  # type: ignore[index]
    newer = Events(live, "GET", Mcp_Session_Id=session)
    newer.next()
    assert older.next() is None
    live.core.features.resource_updated("test://one")
    assert json.loads(newer.next()["data"])["method"] == "notifications/resources/updated"  # type: ignore[index]
    newer.close()


def test_a_patient_client_gets_pending_and_asks_later(live: Live) -> None:
    session = live.session()
    message = request(1, "tools/call", name="job", arguments={"seconds": 0.5, "wait": 0.1})
    _, _, body = live.post(message, Mcp_Session_Id=session)
    pending = json.loads(body)["result"]["structuredContent"]
    assert pending["status"] == "pending"
    assert "get_job" in pending["message"]
    until(lambda: live.core.jobs.get(pending["job_id"], "alice").state == "completed")
    assert live.core.jobs.get(pending["job_id"], "alice").result["structuredContent"] == {"status": "success"}


def test_idle_sessions_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable_http, "MAX_SESSIONS", 3)
    with Live(tmp_path) as live:
        first = live.session()
        busy = live.session()
        events = Events(live, "POST", sleep(1, 30), Mcp_Session_Id=busy)
        for _ in range(5):
            live.session()
        assert live.post(request(2, "ping"), Mcp_Session_Id=first)[0] == 404
        assert live.post(request(2, "ping"), Mcp_Session_Id=busy)[0] == 200
        held = [Events(live, "GET", Mcp_Session_Id=live.session()) for _ in range(2)]
        status, _, body = live.post(handshake(0))
        assert (status, "3 sessions are in use" in body) == (503, True)
        for stream in (*held, events):
            stream.close()


# Clients that misbehave


def test_a_body_that_never_comes_has_an_end(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_http, "BODY_STALL_SECONDS", 0.2)
    head = f"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nAuthorization: Bearer {TOKEN}\n"
    head += "Content-Type: application/json\nContent-Length: 100\n"
    with live.raw(head, b'{"half') as connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 408 ")
    until(lambda: live.app.connections == 0)


def test_a_client_that_goes_in_the_middle_of_a_body(live: Live) -> None:
    head = f"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nAuthorization: Bearer {TOKEN}\n"
    head += "Content-Type: application/json\nContent-Length: 100\n"
    live.raw(head, b'{"half').close()
    until(lambda: live.app.connections == 0)
    assert live.request("GET", "/health")[0] == 200


def test_a_client_that_does_not_read_is_dropped(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING", 1_000_000)
    uri = "test://" + "x" * 20_000
    message = stateless("s", "subscriptions/listen", notifications={"resourceSubscriptions": [uri]})
    body = json.dumps(message).encode()
    head = f"POST /mcp HTTP/1.1\nHost: 127.0.0.1:{live.port}\nAuthorization: Bearer {TOKEN}\n"
    head += "Content-Type: application/json\nMCP-Protocol-Version: 2026-07-28\n"
    head += f"Mcp-Method: subscriptions/listen\nContent-Length: {len(body)}\n"
    with live.raw(head, body):
        until(lambda: any(one.peer.listens for one in live.app._dispatcher.connections))
        for _ in range(2000):  # 40 MB, more than the system's buffers take
            live.core.features.resource_updated(uri)
        until(lambda: live.app.connections == 0)


def test_requests_of_one_client_are_bounded(tmp_path: Path) -> None:
    with Live(tmp_path, max_in_flight=2) as live:
        begun = live.begun
        streams = [
            Events(live, "POST", sleep(n, 30, stateless), **mirrored(sleep(n, 30, stateless))) for n in (1, 2)
        ]
        until(lambda: live.begun == begun + 2)
        status, answer = live.stateless(sleep(3, 30, stateless))
        assert (status, answer["error"]["code"]) == (503, -31000)
        other = stateless(1, "tools/call", name="echo", arguments={"text": "a"})
        assert live.stateless(other, Authorization=f"Bearer {OTHER}")[0] == 200
        for stream in streams:
            stream.close()
        until(lambda: live.cancelled == 2)
        assert live.stateless(stateless(4, "tools/call", name="echo", arguments={"text": "a"}))[0] == 200


def test_many_clients_at_once(live: Live) -> None:
    failures: list[object] = []

    def work(number: int) -> None:
        try:
            for step in range(20):
                text = f"{number}-{step}"
                _, answer = live.stateless(
                    stateless(step, "tools/call", name="echo", arguments={"text": text})
                )
                assert answer["result"]["structuredContent"] == {"text": text}
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
