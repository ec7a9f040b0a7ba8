# SPDX-License-Identifier: GPL-3.0-or-later
"""What a handler may know and ask of its client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.context import Call, Era, InputRequired, RequestContext
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import MissingCapability

from support.bridges.protocol import ALICE


class Link:
    """Answers what is asked by what was asked."""

    async def ask(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        return {key: {"roots": [request]} for key, request in requests.items()}


def context(**capabilities: Any) -> RequestContext:
    params = {"_meta": {"traceparent": "00-1"}}
    call = Call(1, "tools/call", params, Era.HANDSHAKE, "2025-11-25", ALICE, capabilities)
    return RequestContext(call, Link())  # type: ignore[arg-type]


def test_what_a_handler_sees() -> None:
    seen = context(sampling={})
    assert (seen.client, seen.request_id, seen.era, seen.version) == (ALICE, 1, Era.HANDSHAKE, "2025-11-25")
    assert seen.meta == {"traceparent": "00-1"}
    assert seen.client_info is None
    assert not seen.cancelled.is_set()


@pytest.mark.parametrize(
    ("offered", "mode", "supported"),
    [
        ({}, None, True),
        ({}, "form", True),
        ({}, "url", False),
        ({"form": {}}, "form", True),
        ({"url": {}}, "url", True),
        ({"url": {}}, "form", False),
    ],
)
def test_modes_of_elicitation(offered: Any, mode: str | None, supported: bool) -> None:
    assert context(elicitation=offered).supports("elicitation", mode) is supported
    assert not context().supports("elicitation", mode)


def test_only_what_was_declared_is_asked() -> None:
    able = context(elicitation={"form": {}, "url": {}}, sampling={}, roots={})
    asked = asyncio.run(able.elicit("k", "Well?", {"type": "object"}))["roots"][0]
    assert asked["params"] == {"mode": "form", "message": "Well?", "requestedSchema": {"type": "object"}}
    assert asyncio.run(able.elicit_url("k", "Go", "https://a"))["roots"][0]["params"]["mode"] == "url"
    sampled = asyncio.run(able.sample("k", [], 10, temperature=0.5))["roots"][0]
    assert sampled["params"] == {"messages": [], "maxTokens": 10, "temperature": 0.5}
    assert asyncio.run(able.list_roots()) == [{"method": "roots/list"}]
    unable = context()
    for question, needed in (
        (unable.elicit("k", "Well?", {}), {"elicitation": {"form": {}}}),
        (unable.elicit_url("k", "Go", "https://a"), {"elicitation": {"url": {}}}),
        (unable.sample("k", [], 10), {"sampling": {}}),
        (unable.list_roots(), {"roots": {}}),
    ):
        with pytest.raises(MissingCapability) as caught:
            asyncio.run(question)
        assert caught.value.data == {"requiredCapabilities": needed}


def test_the_way_out_of_a_stateless_run_is_not_an_exception_that_handlers_catch() -> None:
    assert not issubclass(InputRequired, Exception)
    assert InputRequired({"k": {}}).requests == {"k": {}}
