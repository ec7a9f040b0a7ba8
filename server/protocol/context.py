# SPDX-License-Identifier: GPL-3.0-or-later
"""What a handler is given: who asks, what the client can do, and the ways to talk to it meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol

from .messages.content import Json, ToolResult
from .messages.errors import MissingCapability
from .messages.revisions import TASKS_EXTENSION

if TYPE_CHECKING:
    from ...base.jobs import JobHandle
    from .messages.request_state import Rounds

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVELS: tuple[str, ...] = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)

#: How long a call waits for work in the background before it answers `pending`, in seconds. Desktop clients
#: drop a call at about 60 s.
WAIT_SECONDS = 45.0


class Era(Enum):
    """How a request is written."""

    #: After `initialize`: 2024-11-05 to 2025-11-25. The server may ask the client by requests of its own.
    HANDSHAKE = "handshake"
    #: With the `_meta` envelope: 2026-07-28. The server asks by answering `input_required`.
    STATELESS = "stateless"
    #: `{"type": …, "params": …}` without JSON-RPC: the client can't be asked or told anything meanwhile.
    PLAIN = "plain"


class Principal(Protocol):
    """The client whose token came with the connection (`access.Client`)."""

    @property
    def id(self) -> str:
        """Stays the same for a client, and is nobody else's."""

    @property
    def name(self) -> str:
        """What its token is called."""


class InputRequired(BaseException):
    """Ends a stateless run: the client is to answer `requests` and to send the request again.

    Control flow, not an error, hence no `Exception`: a handler's own `except Exception` must not eat it.
    """

    def __init__(self, requests: Mapping[str, Json]) -> None:
        super().__init__("input required")
        self.requests = dict(requests)


@dataclass(slots=True, eq=False)
class Call:
    """One request that a handler works on. The core makes it, the dispatcher runs it."""

    request_id: str | int | None
    method: str
    params: Json
    era: Era
    version: str
    client: Principal
    client_capabilities: Mapping[str, Any]
    client_info: Mapping[str, Any] | None = None
    progress_token: str | int | None = None
    log_level: str | None = None
    #: What earlier rounds of the call brought (stateless).
    rounds: Rounds | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
    #: Set once the answer was made: nothing more may be sent for this call.
    answered: bool = False
    last_progress: float | None = None

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's `_meta`."""
        found: Mapping[str, Any] = self.params.get("_meta") or {}
        return found


class Link(Protocol):
    """How a context reaches its client; the dispatcher has it."""

    def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """See `RequestContext.report_progress`. Any thread."""

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """See `RequestContext.log`. Any thread."""

    async def ask(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """See `RequestContext.ask`."""

    async def background(
        self, kind: str, title: str, job_id: str | None, wait_seconds: float, pending: Json
    ) -> JobHandle:
        """See `RequestContext.background`."""

    async def release_stream(self) -> None:
        """See `RequestContext.release_stream`."""

    async def list_tools(self, names: Iterable[str]) -> None:
        """See `RequestContext.list_tools`."""

    async def use_tool(self, context: RequestContext, name: str, arguments: Json) -> ToolResult:
        """See `RequestContext.use_tool`."""

    def use_now(self, context: RequestContext, name: str, arguments: Json) -> ToolResult:
        """See `RequestContext.use_now`. Blender's main thread."""


class RequestContext:
    """Given to every handler.

    `progress`, `elicit`, `sample`, `ask` and `background` belong to the event loop; `report_progress`, `log`
    and `cancelled` may be used from any thread.
    """

    def __init__(self, call: Call, link: Link) -> None:
        self._call = call
        self._link = link

    @property
    def client(self) -> Principal:
        """Who asks: the name of the token, not what the client says of itself."""
        return self._call.client

    @property
    def request_id(self) -> str | int | None:
        """The JSON-RPC id; unique only among the client's requests under way."""
        return self._call.request_id

    @property
    def era(self) -> Era:
        """How the request is written."""
        return self._call.era

    @property
    def version(self) -> str:
        """The protocol revision of the request, such as "2025-11-25"."""
        return self._call.version

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's `_meta`, with `traceparent` and the like."""
        return self._call.meta

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """What the client says it is; for display only."""
        return self._call.client_info

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client says it can do (`ClientCapabilities`)."""
        return self._call.client_capabilities

    @property
    def takes_tasks(self) -> bool:
        """Whether the client declared the tasks extension: it is answered with a task where work takes long."""
        return self.supports("extensions", TASKS_EXTENSION)

    @property
    def cancelled(self) -> threading.Event:
        """Set when nobody waits for the answer any more; long work looks at it."""
        return self._call.cancelled

    def supports(self, capability: str, mode: str | None = None) -> bool:
        """Whether the client offers `capability` ("elicitation", "sampling", "roots"), and its `mode`.

        Elicitation without a mode means "form": older revisions know no other.
        """
        offered = self.client_capabilities.get(capability)
        if not isinstance(offered, Mapping):
            return False
        if mode is None or mode in offered:
            return True
        return capability == "elicitation" and mode == "form" and "url" not in offered

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the client how far the work is, if it asked to know. What doesn't increase is not sent."""
        self._link.report_progress(progress, total, message)

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """As `progress`, from any thread."""
        self._link.report_progress(progress, total, message)

    def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants that level. `data` is JSON."""
        self._link.log(level, data, logger)

    async def elicit(self, key: str, message: str, schema: Json) -> Json:
        """Ask the user through the client by a form; gives `{"action": "accept"|"decline"|"cancel", "content"?}`.

        `key` names the question within this call; `schema` is a flat JSON Schema object. In the stateless era
        the handler is left here and run again from its start with the answer, so whatever it does before
        must be harmless to repeat. Raises MissingCapability when the client can't be asked.
        """
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        return (await self.ask({key: {"method": "elicitation/create", "params": params}}))[key]

    async def elicit_url(self, key: str, message: str, url: str) -> Json:
        """Ask the user to open `url`; gives `{"action": …}`. Otherwise as `elicit`."""
        params: Json = {"mode": "url", "message": message, "url": url}
        return (await self.ask({key: {"method": "elicitation/create", "params": params}}))[key]

    async def sample(self, key: str, messages: list[Json], max_tokens: int, **more: Any) -> Json:
        """Ask the client's model; gives a CreateMessageResult. `more` as in CreateMessageRequestParams."""
        params = {"messages": messages, "maxTokens": max_tokens, **more}
        return (await self.ask({key: {"method": "sampling/createMessage", "params": params}}))[key]

    async def list_roots(self, key: str = "roots") -> list[Json]:
        """Ask the client for its roots."""
        answer = (await self.ask({key: {"method": "roots/list"}}))[key]
        found: list[Json] = answer.get("roots", [])
        return found

    async def ask(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Ask several things at once, as `{key: {"method": …, "params": …}}`; gives the answers by key."""
        for request in requests.values():
            self._require(request)
        return await self._link.ask(requests)

    async def background(
        self,
        kind: str,
        title: str,
        *,
        job_id: str | None = None,
        wait_seconds: float = WAIT_SECONDS,
        **pending: Any,
    ) -> JobHandle:
        """From here on the handler is a job of `jobs.registry`, which outlives the call.

        A client with the tasks extension is answered with a task at once. Any other waits up to
        `wait_seconds` and is then answered `{"status": "pending", "job_id": …, "message": …, **pending}`, which
        the tool's output schema must admit. The handler goes on in either case; what it returns or raises
        ends the job. Progress goes to the job too. Cancelling the job cancels the handler. A handler that is a
        job already, because the user had to be asked first, stays that one, under the new kind and title.
        """
        return await self._link.background(kind, title, job_id, wait_seconds, pending)

    async def release_stream(self) -> None:
        """Close the HTTP stream of this request; the client comes back for the answer (2025-11-25, SSE polling).

        Does nothing on other transports and in the stateless era.
        """
        await self._link.release_stream()

    async def list_tools(self, names: Iterable[str]) -> None:
        """Have these tools in the client's list from now on: many clients call no tool that is not in it.

        A client that is told waits for the answer meanwhile: this returns when it has listed again, or after a while.
        """
        await self._link.list_tools(names)

    async def use_tool(self, name: str, arguments: Json) -> ToolResult:
        """Call another tool, as if the client had: checked, asked about and recorded as that. Raises BridgeError."""
        return await self._link.use_tool(self, name, arguments)

    def use_now(self, name: str, arguments: Json) -> ToolResult:
        """As `use_tool`, at once, on Blender's main thread: for a tool that is done in one visit there (`Tool.now`)."""
        return self._link.use_now(self, name, arguments)

    def _require(self, request: Json) -> None:
        """Refuse to ask for what the client did not declare."""
        match request["method"]:
            case "elicitation/create":
                mode = request["params"].get("mode", "form")
                if not self.supports("elicitation", mode):
                    raise MissingCapability({"elicitation": {mode: {}}})
            case "sampling/createMessage":
                if not self.supports("sampling"):
                    raise MissingCapability({"sampling": {}})
            case "roots/list":
                if not self.supports("roots"):
                    raise MissingCapability({"roots": {}})
