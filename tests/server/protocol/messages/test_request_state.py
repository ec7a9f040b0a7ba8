# SPDX-License-Identifier: GPL-3.0-or-later
"""A request state can't be altered, kept, borrowed or moved."""

from __future__ import annotations

import base64

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import INVALID_PARAMS, RpcError
from bl_ext.user_default.mcp_bridge.server.protocol.messages.request_state import (
    LIFETIME,
    RequestStates,
    Rounds,
    digest,
)

from support.bridges.protocol import Clock

PARAMS = {"name": "ask", "arguments": {"a": 1}, "_meta": {"x": 1}}
YES = {"action": "accept", "content": {}}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def states(clock: Clock) -> RequestStates:
    return RequestStates(b"secret" * 6, clock)


def _seal(states: RequestStates) -> str:
    return states.seal("tools/call", PARAMS, "alice", {"first": YES}, {"first": "d1", "second": "d2"})


def test_answers_of_all_rounds_come_together(states: RequestStates) -> None:
    retry = {**PARAMS, "requestState": _seal(states), "inputResponses": {"second": YES, "unknown": YES}}
    assert states.open("tools/call", {**retry, "_meta": {}}, "alice") == Rounds(
        {"first": YES, "second": YES}, {"first": "d1", "second": "d2"}
    )


def test_answers_to_nothing_that_was_asked_are_ignored(states: RequestStates) -> None:
    assert states.open("tools/call", {**PARAMS, "inputResponses": {"first": YES}}, "alice") == Rounds()


def test_every_altered_character_is_noticed(states: RequestStates) -> None:
    state = _seal(states)
    for index in range(len(state)):
        altered = state[:index] + ("A" if state[index] != "A" else "B") + state[index + 1 :]
        if _bytes(altered) == _bytes(state):
            continue  # the unused low bits at the end of a Base64 text
        with pytest.raises(RpcError, match="not one that this server gave"):
            states.open("tools/call", {**PARAMS, "requestState": altered}, "alice")


@pytest.mark.parametrize("state", ["", ".", "a.b", 5, {}, "x" * 1000, "é.é"])
def test_an_invalid_state_is_refused(states: RequestStates, state: object) -> None:
    with pytest.raises(
        RpcError, match="requestState: not one that this server gave; send the request again without it"
    ) as caught:
        states.open("tools/call", {**PARAMS, "requestState": state}, "alice")
    assert caught.value.code == INVALID_PARAMS


def test_it_expires(states: RequestStates, clock: Clock) -> None:
    params = {**PARAMS, "requestState": _seal(states)}
    clock.now += LIFETIME - 1
    states.open("tools/call", params, "alice")
    clock.now += 2
    with pytest.raises(RpcError, match="it has expired"):
        states.open("tools/call", params, "alice")


@pytest.mark.parametrize(
    ("method", "change", "client"),
    [
        ("tools/call", {}, "bob"),
        ("prompts/get", {}, "alice"),
        ("tools/call", {"arguments": {"a": 2}}, "alice"),
        ("tools/call", {"name": "other"}, "alice"),
    ],
)
def test_it_belongs_to_one_request_of_one_client(
    states: RequestStates, method: str, change: dict[str, object], client: str
) -> None:
    with pytest.raises(RpcError, match="belongs to another request"):
        states.open(method, {**PARAMS, **change, "requestState": _seal(states)}, client)


def test_another_server_did_not_give_it(clock: Clock, states: RequestStates) -> None:
    with pytest.raises(RpcError, match="not one that this server gave"):
        RequestStates(b"other" * 7, clock).open(
            "tools/call", {**PARAMS, "requestState": _seal(states)}, "alice"
        )


@pytest.mark.parametrize(
    ("responses", "why"), [([], "inputResponses: must"), ({"first": 1}, "inputResponses.first")]
)
def test_malformed_answers_are_named(states: RequestStates, responses: object, why: str) -> None:
    with pytest.raises(RpcError, match=why):
        states.open(
            "tools/call", {**PARAMS, "requestState": _seal(states), "inputResponses": responses}, "alice"
        )


def test_digests_do_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}) != digest({"a": 1, "b": 3})


def _bytes(state: str) -> list[bytes]:
    return [base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in state.split(".")]
