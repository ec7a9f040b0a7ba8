# SPDX-License-Identifier: GPL-3.0-or-later
"""Headers mirror the body, or the request is refused."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.features import Features, Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import HEADER_MISMATCH
from bl_ext.user_default.mcp_bridge.server.transport import http_headers

from support.bridges.protocol import request, stateless


def _features() -> Features:
    async def handler(_ctx: Any, _arguments: Any) -> Any:
        raise AssertionError

    nested = {"type": "object", "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}}
    properties = {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "more": nested,
    }
    features = Features()
    features.add(Tool(name="sql", input_schema={"type": "object", "properties": properties}, handler=handler))
    return features


FEATURES = _features()
CALL = stateless(1, "tools/call", name="sql", arguments={"region": "eu", "dry": True, "more": {"count": 42}})
GOOD = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "sql",
    "mcp-param-region": "eu",
    "mcp-param-dry": "true",
    "mcp-param-count": "42.0",
}


def _encoded(value: str) -> str:
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def test_mirrored_headers_are_good() -> None:
    assert http_headers.check(GOOD, CALL, FEATURES) is None
    encoded = {**GOOD, "mcp-name": _encoded("sql"), "mcp-param-region": _encoded("eu")}
    assert http_headers.check(encoded, CALL, FEATURES) is None


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_each_header_is_required(missing: str) -> None:
    problem = http_headers.check({k: v for k, v in GOOD.items() if k != missing}, CALL, FEATURES)
    assert problem
    assert problem.code == HEADER_MISMATCH
    assert f"{missing} is required" in problem.message.lower()


@pytest.mark.parametrize(
    ("header", "value", "why"),
    [
        ("mcp-protocol-version", "2025-11-25", "does not match the body's '2026-07-28'"),
        ("mcp-method", "TOOLS/CALL", "does not match"),
        ("mcp-name", "other", "Mcp-Name 'other' does not match the body's 'sql'"),
        ("mcp-name", "=?base64?!!?=", "is not valid Base64"),
        ("mcp-param-region", "e\xfc", "characters that a header may not have"),
        ("mcp-param-dry", "True", "does not match"),
        ("mcp-param-count", "43", "does not match"),
        ("mcp-param-count", "many", "does not match"),
    ],
)
def test_each_mismatch_is_named(header: str, value: str, why: str) -> None:
    problem = http_headers.check({**GOOD, header: value}, CALL, FEATURES)
    assert problem
    assert why in problem.message


def test_a_header_without_its_argument_is_refused() -> None:
    call = stateless(1, "tools/call", name="sql", arguments={})
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "sql"}
    assert http_headers.check(headers, call, FEATURES) is None
    problem = http_headers.check({**headers, "mcp-param-region": "eu"}, call, FEATURES)
    assert problem
    assert "the argument is not there" in problem.message


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("resources/read", {"uri": "test://ü"}, _encoded("test://ü")),
        ("prompts/get", {"name": "greet"}, "greet"),
        ("tasks/get", {"taskId": "t1"}, "t1"),
    ],
)
def test_the_header_has_the_name_of_what_the_method_uses(
    method: str, params: dict[str, str], name: str
) -> None:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name}
    assert http_headers.check(headers, stateless(1, method, **params), FEATURES) is None
    assert http_headers.check({**headers, "mcp-name": "x"}, stateless(1, method, **params), FEATURES)


def test_the_era_of_a_post() -> None:
    assert http_headers.is_stateless({"mcp-protocol-version": "2026-07-28"}, [])
    assert http_headers.is_stateless({}, stateless(1, "tools/list"))
    assert not http_headers.is_stateless({"mcp-protocol-version": "2025-11-25"}, request(1, "tools/list"))
    assert not http_headers.is_stateless({}, 5)


@pytest.mark.parametrize(
    ("code", "status"), [(-32601, 404), (-32602, 400), (-32020, 400), (-32603, 500), (-31000, 503)]
)
def test_status_of_errors(code: int, status: int) -> None:
    assert http_headers.status({"error": {"code": code}}) == status
    assert http_headers.status({"result": {}}) == 200
