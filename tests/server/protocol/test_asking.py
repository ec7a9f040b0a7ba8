# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client answers is checked."""

from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol import asking
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
ELICIT = {"method": "elicitation/create", "params": {"mode": "form", "message": "?", "requestedSchema": FORM}}
URL = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "?", "url": "https://example.com"},
}
SAMPLE: dict[str, Any] = {"method": "sampling/createMessage", "params": {}}
ROOTS = {"method": "roots/list"}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (ELICIT, {"action": "accept", "content": {"ok": True}}),
        (ELICIT, {"action": "decline"}),
        (ELICIT, {"action": "cancel", "content": {}}),
        (URL, {"action": "accept"}),
        (SAMPLE, {"role": "assistant", "content": {}, "model": "m"}),
        (ROOTS, {"roots": []}),
    ],
)
def test_good_answers(request_: dict[str, Any], answer: dict[str, Any]) -> None:
    assert asking.checked("k", request_, answer) == answer


def test_what_a_form_leaves_out_is_what_it_declares() -> None:
    """Clients that accept by themselves, or whose user touched nothing, send a form back without its content; others
    have null where nothing was said.
    """
    tick = {"type": "boolean", "default": False}
    form = {"type": "object", "properties": {"apply": tick, "why": {"type": "string"}}, "required": ["apply"]}
    request = {"method": "elicitation/create", "params": {"requestedSchema": form}}
    for content in (None, {}, {"apply": None}, {"why": None}):
        answer = {"action": "accept", "content": content}
        assert asking.checked("k", request, answer)["content"] == {"apply": False}
    assert asking.checked("k", request, {"action": "accept"})["content"] == {"apply": False}
    filled = {"action": "accept", "content": {"apply": True, "why": "x"}}
    assert asking.checked("k", request, filled) == filled
    half = {"action": "accept", "content": {"apply": True, "why": None}}
    assert asking.checked("k", request, half)["content"] == {"apply": True}
    with pytest.raises(RpcError, match="k: apply: must be boolean"):
        asking.checked("k", request, {"action": "accept", "content": {"apply": "yes"}})


@pytest.mark.parametrize(
    ("request_", "answer", "says"),
    [
        (ELICIT, 5, "k: the answer must be an object"),
        (ELICIT, {}, "k: action must be one of accept, decline, cancel"),
        (ELICIT, {"action": "accept"}, "k: 'ok' is missing (parameters: ok)"),
        (ELICIT, {"action": "accept", "content": {"ok": None}}, "k: 'ok' is missing (parameters: ok)"),
        (ELICIT, {"action": "accept", "content": {"ok": "yes"}}, "k: ok: must be boolean"),
        (SAMPLE, {"role": "assistant"}, "k: content, model missing"),
        (ROOTS, {}, "k: roots must be an array"),
    ],
)
def test_bad_answers_are_named(request_: dict[str, Any], answer: Any, says: str) -> None:
    with pytest.raises(RpcError) as caught:
        asking.checked("k", request_, answer)
    assert str(caught.value) == says


def test_refusals() -> None:
    assert str(asking.refused({"code": 1, "message": "busy"})) == "The client could not answer: busy"
    assert str(asking.refused("what")) == "The client could not answer: no reason given"
