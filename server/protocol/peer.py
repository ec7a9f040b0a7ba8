# SPDX-License-Identifier: GPL-3.0-or-later
"""The protocol state of one client's connection: it takes messages and returns actions.

A peer is a WebSocket connection, a session of Streamable HTTP, or a single stateless POST. Each request has an era of
its own (`envelope`), so one connection may have requests of both. These rules always hold: a request gets one answer, a
notification none, and nothing follows a cancellation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import asking, methods, plain, tasks
from .actions import Action, Answered, Send, Start, Stop
from .context import LOG_LEVELS, Call, Era, Principal
from .core import CAPABILITIES, Core
from .envelope import Session, read_call
from .messages import content, jsonrpc
from .messages.content import Json
from .messages.errors import (
    INVALID_REQUEST,
    SERVER_BUSY,
    RpcError,
    invalid_params,
    method_not_found,
    resource_not_found,
)
from .messages.request_state import Rounds, digest
from .messages.revisions import SERVER_INFO, SUBSCRIPTION_ID, negotiate
from .subscriptions import Filter, Listen
from .work import Work

#: The most streams of `subscriptions/listen` on one connection.
MAX_LISTENS = 16
#: The most resources that one handshake session may subscribe to.
MAX_SUBSCRIPTIONS = 1000
#: The most plain commands that wait for the one before them.
MAX_PLAIN = 64


@dataclass(frozen=True, slots=True)
class _Ask:
    call: Call
    key: str
    request: Json


class Peer:
    """The state of one client's connection. Not thread-safe: it belongs to the event loop.

    `allow_plain` admits plain commands (`{"type": …}`), which only a WebSocket has.
    """

    def __init__(self, core: Core, client: Principal, *, allow_plain: bool = False) -> None:
        self.core = core
        self.client = client
        self.session: Session | None = None
        self.calls: dict[str | int, Call] = {}
        self.listens: dict[str | int, Listen] = {}
        self._allow_plain = allow_plain
        self._plain: deque[Start] = deque()
        self._asks: dict[str, _Ask] = {}
        self._ask_count = 0

    # What the client sends

    def receive(self, message: object, *, stateless: bool = False) -> list[Action]:
        """Take one decoded message. `stateless` says that the transport already knows the era (an HTTP header)."""
        if not isinstance(message, dict):
            what = "batches are not part of MCP" if isinstance(message, list) else "must be a JSON object"
            return [_refusal(None, what)]
        if self._allow_plain and "jsonrpc" not in message and "type" in message:
            return self._receive_plain(message)
        problem = jsonrpc.problem(message)
        if problem:
            return [_refusal(jsonrpc.usable_id(message), problem)]
        if "method" not in message:
            return self._receive_answer(message)
        if "id" not in message:
            return self._receive_notification(message["method"], message.get("params", {}))
        return self._receive_request(message, stateless)

    def _receive_request(self, message: Json, stateless: bool) -> list[Action]:
        request_id = message["id"]
        if request_id in self.calls or request_id in self.listens:
            # Answered without the id, or the running request with that id would look answered.
            return [_refusal(None, f"id {request_id!r} belongs to a request that is under way")]
        try:
            call = read_call(self.core, self.client, self.session, message, stateless=stateless)
            outcome = self._perform(call)
        except RpcError as error:
            return [Send(jsonrpc.error(request_id, error), final=True)]
        if isinstance(outcome, list):
            return outcome
        if isinstance(outcome, dict):
            return [self._answer(call, outcome)]
        self.calls[request_id] = call
        return [Start(call, outcome)]

    def _perform(self, call: Call) -> Json | Work | list[Action]:
        if call.era is Era.STATELESS:
            if call.method == "subscriptions/listen":
                return self._listen(call)
            method = methods.STATELESS_METHODS.get(call.method)
        else:
            if call.method in _HANDSHAKE:
                return _HANDSHAKE[call.method](self, call)
            method = methods.SHARED.get(call.method)
        if method is None:
            raise method_not_found(call.method)
        return method(self.core, call)

    def _receive_notification(self, method: str, params: object) -> list[Action]:
        if method == "notifications/cancelled" and isinstance(params, dict):
            request_id = params.get("requestId")
            if jsonrpc.is_id(request_id):
                return self.cancel(request_id)
        return []

    def _receive_answer(self, message: Json) -> list[Action]:
        ask = self._asks.pop(message["id"], None) if isinstance(message["id"], str) else None
        if ask is None:
            return []
        answer: Json | RpcError
        if "error" in message:
            answer = asking.refused(message["error"])
        else:
            try:
                answer = asking.checked(ask.key, ask.request, message["result"])
            except RpcError as error:
                answer = error
        return [Answered(message["id"], answer)]

    def _receive_plain(self, message: Json) -> list[Action]:
        try:
            call, work = plain.read(self.core, self.client, message)
            if len(self._plain) >= MAX_PLAIN:
                raise RpcError(SERVER_BUSY, f"Busy: {MAX_PLAIN} commands are waiting")
        except RpcError as error:
            return [Send(plain.failure(error), final=True)]
        self._plain.append(Start(call, work))
        return [self._plain[0]] if len(self._plain) == 1 else []

    # The handshake era's own requests

    def _initialize(self, call: Call) -> Json:
        version = call.params.get("protocolVersion")
        if not isinstance(version, str):
            raise invalid_params("protocolVersion: must be a string")
        capabilities = call.params.get("capabilities", {})
        if not isinstance(capabilities, dict):
            raise invalid_params("capabilities: must be an object")
        info = call.params.get("clientInfo")
        self.session = Session(negotiate(version), capabilities, info if isinstance(info, dict) else None)
        result: Json = {
            "protocolVersion": self.session.version,
            "capabilities": CAPABILITIES,
            "serverInfo": self.core.introduction,
        }
        if self.core.instructions:
            result["instructions"] = self.core.instructions
        return result

    def _ping(self, _call: Call) -> Json:
        return {}

    def _set_level(self, call: Call) -> Json:
        level = call.params.get("level")
        if level not in LOG_LEVELS:
            raise invalid_params(f"level: must be one of {', '.join(LOG_LEVELS)}")
        assert self.session
        self.session.log_level = level
        return {}

    def _subscribe(self, call: Call) -> Json:
        uri = _uri(call)
        features = self.core.features
        if uri not in features.resources and features.match(uri) is None:
            raise resource_not_found(uri, stateless=call.era is Era.STATELESS)
        assert self.session
        if len(self.session.subscribed) >= MAX_SUBSCRIPTIONS:
            raise RpcError(SERVER_BUSY, f"At most {MAX_SUBSCRIPTIONS} subscriptions")
        self.session.subscribed.add(uri)
        return {}

    def _unsubscribe(self, call: Call) -> Json:
        assert self.session
        self.session.subscribed.discard(_uri(call))
        return {}

    # The stateless era's streams

    def _listen(self, call: Call) -> list[Action]:
        wanted = Filter.parse(call.params.get("notifications"))
        if wanted.tasks:
            tasks.require(call.client_capabilities)
            mine = {job.id for job in self.core.jobs.list(self.client.id)}
            wanted = Filter(wanted.flags, wanted.resources, wanted.tasks & mine)
        if len(self.listens) >= MAX_LISTENS:
            raise RpcError(SERVER_BUSY, f"At most {MAX_LISTENS} subscriptions/listen streams on a connection")
        assert call.request_id is not None
        listen = self.listens[call.request_id] = Listen(call, wanted)
        acknowledged = {"notifications": wanted.as_json()}
        return [Send(listen.notification("notifications/subscriptions/acknowledged", acknowledged), call)]

    # What the dispatcher reports

    def finish(self, call: Call, result: Json) -> list[Action]:
        """Answer `call` with its handler's result."""
        return self._end(call, self._answer(call, result))

    def fail(self, call: Call, error: RpcError) -> list[Action]:
        """Answer `call` with its handler's error."""
        plainly = call.era is Era.PLAIN
        answer = plain.failure(error) if plainly else jsonrpc.error(call.request_id, error)
        return self._end(call, Send(answer, call, final=True))

    def require_input(self, call: Call, requests: Mapping[str, Json]) -> list[Action]:
        """Answer a stateless `call` with `input_required`: its handler needs these answers first."""
        rounds = call.rounds or Rounds()
        asked = rounds.asked | {key: digest(request) for key, request in requests.items()}
        state = self.core.states.seal(call.method, call.params, self.client.id, rounds.answers, asked)
        result = {"resultType": "input_required", "inputRequests": dict(requests), "requestState": state}
        return self._end(call, self._answer(call, result))

    def answers(self, call: Call, requests: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
        """Return the answers that have arrived for a stateless handler's requests, and the requests still open.

        An answer counts only for the same request that it answered. Raises RpcError for an answer that does not fit.
        """
        rounds = call.rounds or Rounds()
        given = {
            key: asking.checked(f"inputResponses.{key}", request, rounds.answers[key])
            for key, request in requests.items()
            if key in rounds.answers and rounds.asked.get(key) == digest(request)
        }
        return given, {key: request for key, request in requests.items() if key not in given}

    def ask(self, call: Call, key: str, request: Json) -> tuple[str, Send]:
        """Ask a handshake client; return an id, with which the answer comes as `Answered`, and the message."""
        self._ask_count += 1
        ask_id = f"server-{self._ask_count}"
        self._asks[ask_id] = _Ask(call, key, request)
        return ask_id, Send({"jsonrpc": "2.0", "id": ask_id, **request}, call)

    def progress(self, call: Call, progress: float, total: float | None, message: str | None) -> list[Action]:
        """Report progress, if the client wants it and it has increased."""
        if call.progress_token is None or call.answered:
            return []
        if call.last_progress is not None and progress <= call.last_progress:
            return []
        call.last_progress = progress
        params: Json = {"progressToken": call.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        return [Send(jsonrpc.notification("notifications/progress", params), call)]

    def log(self, call: Call, level: str, data: Any, logger: str | None) -> list[Action]:
        """Send a log message, if the client wants that level."""
        if call.log_level is None or call.answered:
            return []
        wanted = self.session.log_level if self.session and call.era is Era.HANDSHAKE else call.log_level
        if LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted):
            return []
        params: Json = {"level": level, "data": data}
        if logger:
            params["logger"] = logger
        return [Send(jsonrpc.notification("notifications/message", params), call)]

    def cancel(self, request_id: str | int) -> list[Action]:
        """Stop a request that the client no longer waits for; it gets no answer."""
        if self.listens.pop(request_id, None):
            return []
        call = self.calls.get(request_id)
        if call is None:
            return []
        call.cancelled.set()
        self._leave(call)
        return [Stop(call)]

    # What happens in the server

    def list_changed(self, kind: str) -> list[Action]:
        """Notify the client that the list of "tools", "resources" or "prompts" has changed."""
        method = f"notifications/{kind}/list_changed"
        actions: list[Action] = [Send(jsonrpc.notification(method))] if self.session else []
        return actions + [
            Send(listen.notification(method, {}), listen.call)
            for listen in self.listens.values()
            if listen.wants_list(kind)
        ]

    def resource_updated(self, uri: str) -> list[Action]:
        """Notify the client that a resource has new contents."""
        method, params = "notifications/resources/updated", {"uri": uri}
        wanted = self.session and uri in self.session.subscribed
        actions: list[Action] = [Send(jsonrpc.notification(method, params))] if wanted else []
        return actions + [
            Send(listen.notification(method, params), listen.call)
            for listen in self.listens.values()
            if uri in listen.filter.resources
        ]

    def resources_updated(self, prefix: str) -> list[Action]:
        """Notify the client once for each subscribed resource whose URI starts with `prefix`."""
        named = set(self.session.subscribed) if self.session else set()
        named.update(*(listen.filter.resources for listen in self.listens.values()))
        below = sorted(uri for uri in named if uri.startswith(prefix))
        return [action for uri in below for action in self.resource_updated(uri)]

    def task_changed(self, job_id: str, task: Json) -> list[Action]:
        """Notify the client of a change of its job; `task` is its `DetailedTask`."""
        return [
            Send(listen.notification("notifications/tasks", task), listen.call)
            for listen in self.listens.values()
            if job_id in listen.filter.tasks
        ]

    def end_listens(self) -> list[Action]:
        """End every stream gracefully, because the server stops."""
        ended = list(self.listens.values())
        self.listens.clear()
        return [
            self._answer(listen.call, {"_meta": {SUBSCRIPTION_ID: listen.call.request_id}})
            for listen in ended
        ]

    def close(self) -> list[Action]:
        """Stop all calls of a client that has disconnected."""
        calls = [*self.calls.values(), *(start.call for start in list(self._plain)[:1])]
        for call in calls:
            call.cancelled.set()
            call.answered = True
        self.calls.clear()
        self.listens.clear()
        self._plain.clear()
        self._asks.clear()
        return [Stop(call) for call in calls]

    # Endings

    def _end(self, call: Call, answer: Send) -> list[Action]:
        if call.answered:
            return []
        return [answer, *self._leave(call)]

    def _leave(self, call: Call) -> list[Action]:
        """Remove a call from the running ones; returns the actions that follow from that."""
        call.answered = True
        if call.era is Era.PLAIN:
            if self._plain and self._plain[0].call is call:
                self._plain.popleft()
            return [self._plain[0]] if self._plain else []
        assert call.request_id is not None
        self.calls.pop(call.request_id, None)
        dropped = [ask_id for ask_id, ask in self._asks.items() if ask.call is call]
        for ask_id in dropped:
            del self._asks[ask_id]
        return [
            Send(jsonrpc.notification("notifications/cancelled", {"requestId": ask_id}), call)
            for ask_id in dropped
        ]

    def _answer(self, call: Call, result: Json) -> Send:
        if call.era is Era.PLAIN:
            return Send(plain.success(result), call, final=True)
        if call.method == "tools/call" and "content" in result:
            result = content.for_client(result, call.client_info)
        if call.era is Era.STATELESS:
            result = self._as_stateless(call, result)
        return Send({"jsonrpc": "2.0", "id": call.request_id, "result": result}, call, final=True)

    def _as_stateless(self, call: Call, result: Json) -> Json:
        """Return the result with the members that 2026-07-28 requires in every result."""
        info = self.core.introduction if call.method == "server/discover" else self.core.info
        meta = {**result.get("_meta", {}), SERVER_INFO: info}
        full: Json = {"resultType": "complete", **result, "_meta": meta}
        ttl = methods.TTL_MS.get(call.method)
        if ttl is not None and full["resultType"] == "complete":
            full["ttlMs"] = ttl
            full["cacheScope"] = "private"
        return full


_HANDSHAKE = {
    "initialize": Peer._initialize,
    "ping": Peer._ping,
    "logging/setLevel": Peer._set_level,
    "resources/subscribe": Peer._subscribe,
    "resources/unsubscribe": Peer._unsubscribe,
}


def _uri(call: Call) -> str:
    uri = call.params.get("uri")
    if not isinstance(uri, str):
        raise invalid_params("uri: must be a string")
    return uri


def _refusal(request_id: str | int | None, why: str) -> Send:
    return Send(jsonrpc.error(request_id, RpcError(INVALID_REQUEST, f"Invalid request: {why}")), final=True)
