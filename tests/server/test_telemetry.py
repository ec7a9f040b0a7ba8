# SPDX-License-Identifier: GPL-3.0-or-later
"""Traces of real requests, over both doors, at a collector on this computer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.telemetry import otlp
from bl_ext.user_default.mcp_bridge.sandbox.run import execute
from bl_ext.user_default.mcp_bridge.server import bridge, telemetry
from websockets.sync.client import connect

from support.bridges.live import until
from support.clients.tool_calls import Tools, on_worker
from support.services.web import Reply, Web

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENTS = {"sampled": f"00-{TRACE}-{PARENT}-01", "not sampled": f"00-{TRACE}-{PARENT}-00"}


@pytest.fixture
def collector() -> Iterator[Web]:
    with Web() as web:
        web.routes["/v1/traces"] = Reply({})
        yield web


@pytest.fixture
def tools(collector: Web, empty_scene: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tools]:
    monkeypatch.setenv("BLENDER_MCP_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("BLENDER_MCP_OTLP_HEADERS", "api-key=a%20key,x-team=blue")
    monkeypatch.setenv("BLENDER_MCP_CONFIRM", "auto")
    monkeypatch.setattr(otlp, "EVERY_S", 0.05)
    execute._rate.clear()
    assert not bpy.app.online_access, "a collector on this computer needs no leave to go online"
    serving = Tools()
    yield serving
    serving.stop()


def _spans(collector: Web) -> list[dict[str, Any]]:
    messages = [request.json() for request in collector.seen]
    return [span for one in messages for span in one["resourceSpans"][0]["scopeSpans"][0]["spans"]]


def _attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}


def _over_http(tools: Tools, code: str, parent: str) -> None:
    tools.meta = {"traceparent": parent}
    tools.raw("execute_blender_code", {"code": code})


def _over_websocket(tools: Tools, code: str, parent: str) -> None:
    params = {
        "name": "execute_blender_code",
        "arguments": {"code": code},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "traceparent": parent,
        },
    }

    def talk() -> None:
        url = f"ws://127.0.0.1:{tools.port}/mcp?token={tools.token}"
        with connect(url, subprotocols=["mcp"]) as socket:  # type: ignore[list-item]
            socket.send(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}))
            json.loads(socket.recv(30))

    on_worker(talk)


@pytest.mark.parametrize("call", [_over_http, _over_websocket])
def test_a_request_is_a_span_with_its_parts_in_the_clients_own_trace(
    tools: Tools, collector: Web, call: Any
) -> None:
    call(tools, "import bpy\nbpy.ops.mesh.primitive_cube_add()", PARENTS["sampled"])
    until(lambda: any(span["name"].startswith("tools/call") for span in _spans(collector)))
    spans = {span["name"]: span for span in _spans(collector)}
    request = spans["tools/call execute_blender_code"]
    assert (request["traceId"], request["parentSpanId"], request["kind"]) == (TRACE, PARENT, 2)
    assert int(request["startTimeUnixNano"]) < int(request["endTimeUnixNano"])
    about = _attributes(request)
    assert about["gen_ai.tool.name"] == "execute_blender_code"
    assert about["mcp.method.name"] == "tools/call"
    assert about["mcp_bridge.client"] == "local"
    assert "status" not in request
    run, work = spans["run script"], spans["the request"]
    assert (run["parentSpanId"], work["parentSpanId"]) == (work["spanId"], request["spanId"])
    assert {span["traceId"] for span in spans.values()} == {TRACE}
    assert "primitive_cube_add" not in json.dumps(spans), "what is in a script is nobody's affair"
    sent = collector.seen[0]
    assert (sent.headers["content-type"], sent.headers["api-key"]) == ("application/json", "a key")
    resource = {
        each["key"]: next(iter(each["value"].values()))
        for each in sent.json()["resourceSpans"][0]["resource"]["attributes"]
    }
    running = bridge.current()
    assert running
    assert (resource["service.name"], resource["service.instance.id"]) == ("mcp_bridge", running.instance_id)


def test_a_failed_tool_is_a_failed_span_by_the_name_of_its_error(tools: Tools, collector: Web) -> None:
    tools.raw("execute_blender_code", {"code": "raise ValueError('a secret')"})
    until(lambda: any(span["name"].startswith("tools/call") for span in _spans(collector)))
    [request] = [span for span in _spans(collector) if span["name"].startswith("tools/call")]
    assert request["status"] == {"code": 2}
    assert _attributes(request)["error.type"] == "HandlerError"
    assert "a secret" not in json.dumps(_spans(collector))


def test_what_the_client_does_not_sample_is_not_exported(tools: Tools, collector: Web) -> None:
    _over_http(tools, "result = 1", PARENTS["not sampled"])
    tools.meta = {}
    tools.raw("calculate", {"code": "1 + 1"})
    until(lambda: any("calculate" in span["name"] for span in _spans(collector)))
    assert TRACE not in {span["traceId"] for span in _spans(collector)}


def test_what_is_left_when_the_bridge_stops_is_sent(
    tools: Tools, collector: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.stop()
    monkeypatch.setattr(otlp, "EVERY_S", 3600.0)
    again = Tools()
    again.raw("calculate", {"code": "1 + 1"})
    again.stop()
    assert any("calculate" in span["name"] for span in _spans(collector))


def test_a_collector_that_refuses_disturbs_nothing_and_is_counted(tools: Tools, collector: Web) -> None:
    collector.routes["/v1/traces"] = Reply("no", 503)
    for _ in range(3):
        assert tools("calculate", code="1 + 1")["result"] == {"result": 2}
    until(lambda: telemetry.counts().failed >= 3)
    running = bridge.current()
    assert running
    assert b'mcp_bridge_spans{what="failed"}' in running.app._metrics()


@pytest.mark.parametrize("address", ["http://192.0.2.1:4318", "https://collector.example"])
def test_a_collector_elsewhere_is_not_asked_while_blender_is_offline(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    tools.stop()
    monkeypatch.setenv("BLENDER_MCP_OTLP_ENDPOINT", address)
    again = Tools()
    again.raw("calculate", {"code": "1 + 1"})
    until(lambda: telemetry.counts().failed)
    again.stop()
    assert (
        "The OpenTelemetry collector can't be reached: Blender is not allowed online"
        in capsys.readouterr().err
    )


def test_without_an_address_nothing_is_kept(
    tools: Tools, collector: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.stop()
    monkeypatch.delenv("BLENDER_MCP_OTLP_ENDPOINT")
    before = len(collector.seen)
    again = Tools()
    again.raw("calculate", {"code": "1 + 1"})
    again.stop()
    assert len(collector.seen) == before
    assert telemetry.counts() == otlp.Counts()


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
        ("https://api.example/otlp", "https://api.example/otlp/v1/traces"),
        ("https://api.example/otlp/v1/traces", "https://api.example/otlp/v1/traces"),
    ],
)
def test_the_path_of_the_protocol_is_added(endpoint: str, url: str) -> None:
    assert telemetry.traces_url(endpoint) == url
