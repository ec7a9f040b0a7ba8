# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a message and what is not."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages import jsonrpc
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": "a", "result": {}}, None),
        ({"id": 1, "method": "ping"}, 'jsonrpc must be "2.0"'),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 'jsonrpc must be "2.0"'),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, "id must be a string or an integer"),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, "id must be a string or an integer"),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, "id must be a string or an integer"),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, "method must be a string"),
        ({"jsonrpc": "2.0", "id": 1}, "neither a request, a notification nor an answer"),
        ({"jsonrpc": "2.0", "result": {}}, "neither a request, a notification nor an answer"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}, "neither a request"),
    ],
)
def test_problems_are_named(message: dict[str, Any], problem: str | None) -> None:
    found = jsonrpc.problem(message)
    assert found is None if problem is None else found is not None and found.startswith(problem)


def test_an_error_without_a_usable_id_has_none() -> None:
    error = RpcError(-1, "no", {"why": 1})
    assert jsonrpc.error(None, error) == {
        "jsonrpc": "2.0",
        "error": {"code": -1, "message": "no", "data": {"why": 1}},
    }
    assert jsonrpc.error(0, error)["id"] == 0
    assert jsonrpc.usable_id({"id": 5, "method": "x"}) == 5
    assert jsonrpc.usable_id({"id": 5, "result": {}}) is None


def test_notifications() -> None:
    assert jsonrpc.notification("a/b") == {"jsonrpc": "2.0", "method": "a/b"}
    assert jsonrpc.notification("a/b", {"c": 1})["params"] == {"c": 1}
