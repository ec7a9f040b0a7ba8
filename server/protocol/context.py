# SPDX-License-Identifier: GPL-3.0-or-later
"""The context of a request for its handler: the client, its capabilities, and how to talk to it during the call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ...base.flag import Cancellation
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
    """The form of a request."""

    #: After `initialize`: 2024-11-05 to 2025-11-25. The server may send requests to the client.
    HANDSHAKE = "handshake"
    #: With the `_meta` envelope: 2026-07-28. The server asks by answering `input_required`.
    STATELESS = "stateless"
    #: `{"type": …, "params": …}` without JSON-RPC: the server cannot ask or notify the client during a call.
    PLAIN = "plain"


class Principal(Protocol):
    """The client whose token came with the connection (`token_store.Client`)."""

    @property
    def id(self) -> str:
        """The id of the client; it never changes and is unique."""

    @property
    def name(self) -> str:
        """The name of its token."""


class InputRequired(BaseException):
    """Ends a stateless run: the client has to answer `requests` and send the request again.

    It is control flow and no `Exception`, so that a handler's own `except Exception` does not catch it.
    """

    def __init__(self, requests: Mapping[str, Json]) -> None:
        super().__init__("input required")
        self.requests = dict(requests)


@dataclass(slots=True, eq=False)
class Call:
    """One request that a handler works on. The core creates it, the dispatcher runs it."""

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
    #: The answers from earlier rounds of the call (stateless).
    rounds: Rounds | None = None
    cancelled: Cancellation = field(default_factory=Cancellation)
    #: True after the answer: nothing more may be sent for this call.
    answered: bool = False
    last_progress: float | None = None

    @property
    def meta(self) -> Mapping[str, Any]:
        """The request's `_meta`."""
        found: Mapping[str, Any] = self.params.get("_meta") or {}
        return found


class Link(Protocol):
    """Connects a context to its client; the dispatcher implements it."""

    def report_progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress for `RequestContext.report_progress`. Any thread."""

    def log(self, level: str, data: Any, logger: str | None) -> None:
        """Send a log message for `RequestContext.log`. Any thread."""

    async def ask(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Send requests to the client for `RequestContext.ask`."""

    async def background(
        self, kind: str, title: str, job_id: str | None, wait_seconds: float, pending: Json
    ) -> JobHandle:
        """Make the handler a job for `RequestContext.background`."""

    async def release_stream(self) -> None:
        """Close the HTTP stream for `RequestContext.release_stream`."""

    async def list_tools(self, names: Iterable[str]) -> None:
        """Add tools to the client's list for `RequestContext.list_tools`."""

    async def use_tool(self, context: RequestContext, name: str, arguments: Json) -> ToolResult:
        """Call another tool for `RequestContext.use_tool`."""

    def use_now(self, context: RequestContext, name: str, arguments: Json) -> ToolResult:
        """Call another tool at once for `RequestContext.use_now`. Blender's main thread."""


class RequestContext:
    """The context that every handler gets: the client of the request, and how to talk to it.

    `progress`, `elicit`, `sample`, `ask` and `background` belong to the event loop; `report_progress`, `log`
    and `cancelled` may be used from any thread.
    """

    def __init__(self, call: Call, link: Link) -> None:
        self._call = call
        self._link = link

    @property
    def client(self) -> Principal:
        """The client, identified by its token and not by its own description of itself."""
        return self._call.client

    @property
    def request_id(self) -> str | int | None:
        """The JSON-RPC id; unique only among the client's running requests."""
        return self._call.request_id

    @property
    def era(self) -> Era:
        """The form of the request."""
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
        """The client's own description of itself; for display only."""
        return self._call.client_info

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the client declares (`ClientCapabilities`)."""
        return self._call.client_capabilities

    @property
    def takes_tasks(self) -> bool:
        """Whether the client declared the tasks extension, so that a long call may answer with a task."""
        return self.supports("extensions", TASKS_EXTENSION)

    @property
    def cancelled(self) -> Cancellation:
        """Set when the client no longer waits for the answer; long work checks it."""
        return self._call.cancelled

    def supports(self, capability: str, mode: str | None = None) -> bool:
        """Return whether the client offers `capability` ("elicitation", "sampling", "roots"), and its `mode`.

        Elicitation without a mode means "form": older revisions know no other.
        """
        offered = self.client_capabilities.get(capability)
        if not isinstance(offered, Mapping):
            return False
        if mode is None or mode in offered:
            return True
        return capability == "elicitation" and mode == "form" and "url" not in offered

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the client, if it asked for it. A value that does not increase is not sent."""
        self._link.report_progress(progress, total, message)

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress from any thread; otherwise like `progress`."""
        self._link.report_progress(progress, total, message)

    def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants that level. `data` is JSON."""
        self._link.log(level, data, logger)

    async def elicit(self, key: str, message: str, schema: Json) -> Json:
        """Ask the user through the client with a form; returns `{"action": "accept"|"decline"|"cancel", "content"?}`.

        `key` names the question within this call; `schema` is a flat JSON Schema object. In the stateless era this
        ends the handler and runs it again from its start with the answer, so its earlier steps must be safe to repeat.
        Raises MissingCapability if the client cannot be asked.
        """
        params = {"mode": "form", "message": message, "requestedSchema": schema}
        return (await self.ask({key: {"method": "elicitation/create", "params": params}}))[key]

    async def elicit_url(self, key: str, message: str, url: str) -> Json:
        """Ask the user to open `url`; returns `{"action": …}`. Otherwise like `elicit`."""
        params: Json = {"mode": "url", "message": message, "url": url}
        return (await self.ask({key: {"method": "elicitation/create", "params": params}}))[key]

    async def sample(self, key: str, messages: list[Json], max_tokens: int, **more: Any) -> Json:
        """Ask the client's model; returns a CreateMessageResult. `more` are fields of CreateMessageRequestParams."""
        params = {"messages": messages, "maxTokens": max_tokens, **more}
        return (await self.ask({key: {"method": "sampling/createMessage", "params": params}}))[key]

    async def list_roots(self, key: str = "roots") -> list[Json]:
        """Ask the client for its roots."""
        answer = (await self.ask({key: {"method": "roots/list"}}))[key]
        found: list[Json] = answer.get("roots", [])
        return found

    async def ask(self, requests: Mapping[str, Json]) -> dict[str, Json]:
        """Send several requests at once, as `{key: {"method": …, "params": …}}`; returns the answers by key."""
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
        """Make the handler a job of `jobs.registry`, which outlives the call.

        A client with the tasks extension is answered with a task at once. Any other waits up to
        `wait_seconds` and is then answered `{"status": "pending", "job_id": …, "message": …, **pending}`, which
        the tool's output schema must admit. The handler goes on in either case; what it returns or raises
        ends the job. Progress goes to the job too. Cancelling the job cancels the handler. A handler that is a
        job already, because the user had to be asked first, stays that one, under the new kind and title.
        """
        return await self._link.background(kind, title, job_id, wait_seconds, pending)

    async def release_stream(self) -> None:
        """Close the HTTP stream of this request; the client reconnects for the answer (2025-11-25, SSE polling).

        Does nothing on other transports and in the stateless era.
        """
        await self._link.release_stream()

    async def list_tools(self, names: Iterable[str]) -> None:
        """Add these tools to the client's list: many clients call only tools of their list.

        If the client gets a notification, this returns when it has requested the list again, or after a while.
        """
        await self._link.list_tools(names)

    async def use_tool(self, name: str, arguments: Json) -> ToolResult:
        """Call another tool as if the client had called it, with the same checks, questions and records.

        Raises BridgeError.
        """
        return await self._link.use_tool(self, name, arguments)

    def use_now(self, name: str, arguments: Json) -> ToolResult:
        """Call another tool that has `now`, directly on Blender's main thread. Otherwise like `use_tool`."""
        return self._link.use_now(self, name, arguments)

    def _require(self, request: Json) -> None:
        """Raise MissingCapability for a request whose capability the client did not declare."""
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
