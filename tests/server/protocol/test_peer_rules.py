# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever comes in, in whatever order: the core never raises, answers each request once and a notification never.

Random legal and illegal messages of both eras are interleaved on one connection, while handlers finish, fail, ask,
report and are cancelled at random moments.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from bl_ext.user_default.mcp_bridge.server.protocol.actions import Action, Send, Start, Stop
from bl_ext.user_default.mcp_bridge.server.protocol.context import Call, Era
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError
from bl_ext.user_default.mcp_bridge.server.protocol.peer import Peer
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from support.bridges.protocol import ALICE, core, handshake, request, stateless

Json = dict[str, Any]

IDS = st.integers(0, 5) | st.sampled_from(["a", "b", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
METHODS = st.sampled_from(
    [
        "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tools/list",
        "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
        "prompts/get", "completion/complete", "server/discover", "subscriptions/listen", "tasks/get",
        "tasks/update", "tasks/cancel", "no/such", "notifications/cancelled",
    ]
)  # fmt: skip
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["echo", "wait", "ask", "greet", "no"]) | JSON,
        "arguments": st.sampled_from([{"text": "x"}, {"who": "x"}, {}]) | JSON,
        "uri": st.sampled_from(["test://one", "test://named/x", "test://no"]) | JSON,
        "cursor": JSON,
        "level": st.sampled_from(["debug", "error"]) | JSON,
        "protocolVersion": st.sampled_from(["2025-11-25", "2024-11-05", "x"]) | JSON,
        "capabilities": st.sampled_from([{}, {"elicitation": {}}]) | JSON,
        "notifications": st.sampled_from([{}, {"toolsListChanged": True}]) | JSON,
        "ref": st.sampled_from([{"type": "ref/prompt", "name": "greet"}]) | JSON,
        "argument": st.sampled_from([{"name": "who", "value": "a"}]) | JSON,
        "requestId": IDS,
        "inputResponses": JSON,
        "requestState": JSON,
        "_meta": st.fixed_dictionaries({}, optional={"progressToken": IDS | JSON}) | JSON,
    },
)
ERAS = st.sampled_from([request, stateless])


class Connection(RuleBasedStateMachine):
    """Plays the client and the dispatcher at once."""

    def __init__(self) -> None:
        super().__init__()
        self.peer = Peer(core(), ALICE, allow_plain=True)
        self.running: list[Call] = []
        #: Requests that are owed an answer, and answers that came.
        self.owed: Counter[Any] = Counter()

    def take(self, actions: list[Action]) -> None:
        """Do what the core wants done, and keep the books."""
        for action in actions:
            match action:
                case Start():
                    assert action.call not in self.running
                    self.running.append(action.call)
                case Stop():
                    self.running.remove(action.call)
                    assert action.call.cancelled.is_set()
                case Send():
                    self.sent(action)

    def sent(self, send: Send) -> None:
        message = send.message
        if "status" in message and "jsonrpc" not in message:
            return
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            if "id" in message:
                assert send.call
                assert send.call.era is Era.HANDSHAKE
            return
        assert ("result" in message) != ("error" in message)
        if "id" in message:
            key = _key(message["id"])
            assert self.owed[key] == 1, f"{message} answers nothing, or for the second time"
            del self.owed[key]

    @rule(request_id=IDS, method=METHODS, params=PARAMS | JSON, make=ERAS)
    def a_request(self, request_id: Any, method: str, params: Any, make: Any) -> None:
        if isinstance(params, dict) and make is stateless:
            meta = params.get("_meta")
            params = {**params, "_meta": meta if isinstance(meta, dict) else {}}
            message = stateless(
                request_id, method, **{str(k): v for k, v in params.items() if k.isidentifier()}
            )
        else:
            message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        self.send_request(message)

    @rule(request_id=IDS, capabilities=st.sampled_from([{}, {"elicitation": {}}]))
    def a_handshake(self, request_id: Any, capabilities: Json) -> None:
        self.send_request(handshake(request_id, **capabilities))

    @rule(request_id=IDS, name=st.sampled_from(["wait", "ask"]), make=ERAS)
    def a_call(self, request_id: Any, name: str, make: Any) -> None:
        self.send_request(make(request_id, "tools/call", name=name))

    def send_request(self, message: Json) -> None:
        key = _key(message["id"])
        busy = key in self.owed
        if not busy:
            self.owed[key] = 1
        before = self.owed.copy()
        self.take(self.peer.receive(message))
        if busy:
            assert self.owed == before, "a request with the id of another one was taken for it"

    @rule(method=METHODS, params=PARAMS | JSON)
    def a_notification(self, method: str, params: Any) -> None:
        owed = self.owed.copy()
        actions = self.peer.receive({"jsonrpc": "2.0", "method": method, "params": params})
        assert not any(isinstance(action, Send) for action in actions)
        for action in actions:
            assert isinstance(action, Stop)
            del owed[_key(action.call.request_id)]
        self.take(actions)
        if isinstance(params, dict) and method == "notifications/cancelled":
            owed.pop(_key(params.get("requestId")), None)
        self.owed = owed

    @rule(request_id=IDS)
    def a_cancellation(self, request_id: Any) -> None:
        self.a_notification("notifications/cancelled", {"requestId": request_id})

    @rule(message=JSON)
    def rubbish(self, message: Any) -> None:
        for action in self.peer.receive(message):
            assert isinstance(action, Send)
            assert "id" not in action.message
            assert "error" in action.message or action.message["status"] == "error"

    @rule(params=JSON)
    def a_plain_command(self, params: Any) -> None:
        self.take(self.peer.receive({"type": "wait", "params": params}))

    @rule(ask_id=IDS | st.sampled_from(["server-1", "server-2"]), answer=JSON)
    def an_answer(self, ask_id: Any, answer: Any) -> None:
        actions = self.peer.receive({"jsonrpc": "2.0", "id": ask_id, "result": answer})
        assert not any(isinstance(action, Send) for action in actions)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_handler_ends(self, data: st.DataObject) -> None:
        call = data.draw(st.sampled_from(self.running))
        self.running.remove(call)
        match data.draw(st.sampled_from(["result", "error", "input"])):
            case "input" if call.era is Era.STATELESS:
                self.take(self.peer.require_input(call, {"k": {"method": "roots/list"}}))
            case "error":
                self.take(self.peer.fail(call, RpcError(-32603, "broken")))
            case _:
                self.take(self.peer.finish(call, {"content": []}))
        assert self.peer.finish(call, {"content": []}) == []

    @precondition(lambda self: self.running)
    @rule(data=st.data(), progress=st.floats(0, 10))
    def a_handler_talks(self, data: st.DataObject, progress: float) -> None:
        call = data.draw(st.sampled_from(self.running))
        self.take(self.peer.progress(call, progress, None, None))
        self.take(self.peer.log(call, "error", "x", None))
        if call.era is Era.HANDSHAKE:
            _, send = self.peer.ask(call, "k", {"method": "roots/list"})
            self.take([send])

    @rule(kind=st.sampled_from(["tools", "resources", "prompts"]))
    def the_server_has_news(self, kind: str) -> None:
        self.take(self.peer.list_changed(kind))
        self.take(self.peer.resource_updated("test://one"))
        self.take(self.peer.resources_updated("test://"))

    @rule()
    def streams_end(self) -> None:
        self.take(self.peer.end_listens())

    @invariant()
    def what_is_owed_is_what_runs_or_listens(self) -> None:
        running = {_key(call.request_id) for call in self.running if call.era is not Era.PLAIN}
        listening = {_key(request_id) for request_id in self.peer.listens}
        assert set(self.owed) == running | listening

    def teardown(self) -> None:
        stopped = {id(action.call) for action in self.peer.close() if isinstance(action, Stop)}
        assert stopped == {id(call) for call in self.running}


def _key(request_id: Any) -> Any:
    return (type(request_id).__name__, str(request_id))


Connection.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestConnection = Connection.TestCase
