# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of everything that the server offers: tools, resources, prompts and their completion.

The registry is filled when the server starts and may change while it runs (`listChanged`). It is read
and changed on the network thread. `resource_updated` and the listeners may be called on any thread, so a listener only
passes the change on to its own loop.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ...base.signal import Signal
from .messages.content import Json, ToolResult
from .messages.uri_template import UriTemplate

if TYPE_CHECKING:
    from .context import RequestContext

ToolHandler = Callable[["RequestContext", dict[str, Any]], Awaitable[ToolResult]]
#: The work of a tool as one function for Blender's main thread.
ToolFunction = Callable[["RequestContext", dict[str, Any]], ToolResult]
#: Returns the contents of a resource: `text_contents` or `blob_contents` objects.
ResourceReader = Callable[["RequestContext", str], Awaitable[list[Json]]]
#: A function like `Read`; the second argument holds the template's variables.
TemplateReader = Callable[["RequestContext", str, dict[str, str]], Awaitable[list[Json]]]
#: Returns the messages of a prompt for its arguments.
PromptReader = Callable[["RequestContext", dict[str, str]], Awaitable[list[Json]]]
#: Returns the values that start with the second argument, best first; the third has the arguments so far.
Completer = Callable[["RequestContext", str, Mapping[str, str]], Awaitable[Sequence[str]]]

#: A kind of list that can change, as in `notifications/<kind>/list_changed`.
Kind = Literal["tools", "resources", "prompts"]
Happening = Literal["list_changed", "updated", "updated_below"]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. Schemas are JSON Schema objects; `annotations` holds the MCP hints (`readOnlyHint`, …).

    A tool that is not `listed` can be called like any other, but it is only in the list of a client that found it
    (`RequestContext.list_tools`) or that wants the whole list.
    A tool has either a `handler`, which the event loop awaits, or `now`, which Blender's main thread calls.
    A handler whose work may outlast a client's patience calls `ctx.background` (see `RequestContext`).
    """

    name: str
    title: str = ""
    description: str = ""
    input_schema: Json
    handler: ToolHandler | None = None
    #: For a tool that does not ask the user, has no rate limit, needs no other thread and does not outlast a call.
    now: ToolFunction | None = None
    #: Whether `now`, with these arguments, may change anything in Blender (see `main_thread.run`).
    changes: Callable[[Mapping[str, Any]], bool] = lambda _arguments: True
    #: The schema for the list, if it is a different one: the tool may accept more forms than the list shows.
    listed_schema: Json | None = None
    #: Parameters that are not in the list's schema; the description names them at its end.
    further: Collection[str] = ()
    output_schema: Json | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    icons: Sequence[Json] = ()
    meta: Mapping[str, Any] | None = None
    listed: bool = True
    #: Other name of an argument -> its name in the schema. The tool accepts these names; the list does not show them.
    other_names: Mapping[str, str] = field(default_factory=dict)
    #: Whether the tool runs scripts; if so, the journal records each run with its script, and each refused call.
    runs_scripts: bool = False
    #: Whether the tool writes its own records, or only calls other tools, whose calls are recorded.
    records_itself: bool = False

    def __post_init__(self) -> None:
        if not _TOOL_NAME.fullmatch(self.name):
            raise ValueError(f"tool name {self.name!r} does not match [A-Za-z0-9_.-]{{1,128}}")
        if self.input_schema.get("type") != "object":
            raise ValueError(f"the input schema of tool {self.name} must have type 'object'")
        if (self.handler is None) == (self.now is None):
            raise ValueError(f"tool {self.name} needs either a handler or now")

    @property
    def is_recorded(self) -> bool:
        """Whether each call must be in the journal before it begins: it may change something and writes no record."""
        return not (self.annotations.get("readOnlyHint") or self.runs_scripts or self.records_itself)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource with a fixed URI."""

    uri: str
    name: str
    read: ResourceReader
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    icons: Sequence[Json] = ()
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTemplate:
    """A family of resources; `complete` maps a variable's name to its completer."""

    uri_template: str
    name: str
    read: TemplateReader
    title: str = ""
    description: str = ""
    mime_type: str = ""
    annotations: Mapping[str, Any] = field(default_factory=dict)
    icons: Sequence[Json] = ()
    complete: Mapping[str, Completer] = field(default_factory=dict)
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptArgument:
    """One argument of a prompt; its value is always a string."""

    name: str
    title: str = ""
    description: str = ""
    required: bool = False
    complete: Completer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt that the user picks; `get` returns its messages."""

    name: str
    get: PromptReader
    title: str = ""
    description: str = ""
    arguments: Sequence[PromptArgument] = ()
    icons: Sequence[Json] = ()
    meta: Mapping[str, Any] | None = None


class Features:
    """The registry that the protocol core serves.

    >>> features = Features()
    >>> features.add(Tool(name="ping_blender", input_schema={"type": "object"}, handler=handler))
    """

    def __init__(self) -> None:
        self.tools: dict[str, Tool] = {}
        self.resources: dict[str, Resource] = {}
        self.templates: dict[str, ResourceTemplate] = {}
        self.prompts: dict[str, Prompt] = {}
        #: Names of tools that cannot work now, such as those of a service without a key; no list has them.
        self.out_of_use: frozenset[str] = frozenset()
        self._matchers: dict[str, UriTemplate] = {}
        self._listeners: Signal[[Happening, str]] = Signal()

    def add(self, *features: Tool | Resource | ResourceTemplate | Prompt) -> None:
        """Add or replace features by name (tools, prompts), URI or URI template; reports each changed list once."""
        changed: set[Kind] = set()
        for feature in features:
            match feature:
                case Tool():
                    self.tools[feature.name] = feature
                    changed.add("tools")
                case Resource():
                    self.resources[feature.uri] = feature
                    changed.add("resources")
                case ResourceTemplate():
                    self._matchers[feature.uri_template] = UriTemplate(feature.uri_template)
                    self.templates[feature.uri_template] = feature
                    changed.add("resources")
                case Prompt():
                    self.prompts[feature.name] = feature
                    changed.add("prompts")
        self._tell(changed)

    def remove(self, *features: Tool | Resource | ResourceTemplate | Prompt) -> None:
        """Remove features; ignores those that are not in the registry."""
        changed: set[Kind] = set()
        for feature in features:
            match feature:
                case Tool():
                    found: object = self.tools.pop(feature.name, None)
                    kind: Kind = "tools"
                case Resource():
                    found, kind = self.resources.pop(feature.uri, None), "resources"
                case ResourceTemplate():
                    self._matchers.pop(feature.uri_template, None)
                    found, kind = self.templates.pop(feature.uri_template, None), "resources"
                case Prompt():
                    found, kind = self.prompts.pop(feature.name, None), "prompts"
            if found is not None:
                changed.add(kind)
        self._tell(changed)

    def match(self, uri: str) -> tuple[ResourceTemplate, dict[str, str]] | None:
        """Return the first template that matches a URI, with its variables."""
        for key, matcher in self._matchers.items():
            variables = matcher.match(uri)
            if variables is not None:
                return self.templates[key], variables
        return None

    def listen(self, listener: Callable[[Happening, str], object]) -> Callable[[], None]:
        """Call `listener` at every change; return a function that ends this.

        The listener is called on the thread of the change, as listener("list_changed", kind), listener("updated",
        uri), or listener("updated_below", prefix).
        """
        return self._listeners.connect(listener)

    def list_changed(self, kind: Kind) -> None:
        """Report that a list has changed for clients. Any thread."""
        self._tell({kind})

    def resource_updated(self, uri: str) -> None:
        """Report that a resource has new contents. Any thread; the caller debounces."""
        self._listeners.emit("updated", uri)

    def resources_updated(self, prefix: str) -> None:
        """Report that all resources whose URI starts with `prefix` may have new contents. Any thread."""
        self._listeners.emit("updated_below", prefix)

    def _tell(self, kinds: set[Kind]) -> None:
        for kind in sorted(kinds):
            self._listeners.emit("list_changed", kind)
