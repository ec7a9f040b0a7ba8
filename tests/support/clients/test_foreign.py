# SPDX-License-Identifier: GPL-3.0-or-later
"""The foreign clients are there, in the versions that they are meant to be."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from support.clients import foreign


def test_python_sdk_1_beside_2() -> None:
    code = "from importlib.metadata import version; from mcp.client import websocket; print(version('mcp'))"
    assert foreign.python_1(code).strip() == "1.30.0"
    assert version("mcp") == "2.3.0"


def test_typescript_sdk_has_a_websocket_transport() -> None:
    code = """
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
console.log(typeof WebSocketClientTransport, typeof WebSocket);
"""
    assert foreign.typescript(code).split() == ["function", "function"]


def test_failing_client_fails_the_test_with_its_output() -> None:
    with pytest.raises(AssertionError, match=r"(?s)exit code 1.*no such luck"):
        foreign.typescript("throw new Error('no such luck')")
