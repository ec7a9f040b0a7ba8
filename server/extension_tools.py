# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves tools of other extensions: an enabled extension offers them in a function `register_mcp_tools(add)`.

The bridge calls this function when both extensions are enabled, and removes the tools when the other extension is
disabled. The code of a tool is the extension's own, with all its rights: it is not sandboxed. A tool that changes
something needs an approval like a script, is one undo step, is in the journal before it runs, and is refused where no
script may run. docs/extensions.md explains this to authors.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NotRequired, TypedDict

import bpy

from ..approvals.consent import confirm
from ..approvals.whom_to_ask import is_unasked
from ..base import journal, main_thread, settings
from ..base.errors import BridgeError, ExternalServiceError, HandlerError, SettingsError
from ..sandbox.run import gates, undo
from ..sandbox.run.result import to_json
from .protocol.context import RequestContext
from .protocol.features import Tool
from .protocol.messages import wire
from .protocol.messages.content import ToolResult
from .tools.registry import hints, tidy, whole_numbers
from .tools.schema import describe, input_schema, of_type

__all__ = ("HOOK", "ExtensionTools")

#: The name of the function in an extension's package that offers tools.
HOOK = "register_mcp_tools"
_LONGEST_NAME = 64
_LONGEST_SHOWN = 2000

_log = logging.getLogger(__name__)

#: A function that removes the first tools and adds the second ones.
Change = Callable[[Sequence[Tool], Sequence[Tool]], None]


class ExtensionResult(TypedDict):
    """The result of another extension's tool: `result` is the return value of its function, as JSON."""

    status: Literal["success", "pending"]
    result: NotRequired[Any]
    dry_run: NotRequired[bool]
    job_id: NotRequired[str]
    message: NotRequired[str]


@dataclass(frozen=True, slots=True)
class _Offer:
    """A function that an extension offers. `hook` is the extension's `register_mcp_tools` at the time of the call."""

    package: str
    hook: Callable[..., object]
    function: Callable[..., Any]
    title: str
    read_only: bool

    @property
    def extension(self) -> str:
        """The extension's id."""
        return self.package.rpartition(".")[2]

    @property
    def name(self) -> str:
        """The tool's name, which is unique among all extensions."""
        return f"{self.extension}__{self.function.__name__}"


class ExtensionTools:
    """The tools of all enabled extensions. It calls `change` with the removed and the added tools."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._known: dict[str, Callable[..., object]] = {}
        self._tools: dict[str, tuple[Tool, ...]] = {}

    def look(self) -> None:
        """Call the hooks of newly enabled extensions, and remove the tools of disabled ones.

        Main thread; cheap if nothing changed.
        """
        now = dict(_hooks()) if _allowed() else {}
        if now == self._known:
            return
        gone = [name for name, hook in self._known.items() if now.get(name) is not hook]
        came = [name for name, hook in now.items() if self._known.get(name) is not hook]
        self._known = now
        removed = [tool for name in gone for tool in self._tools.pop(name, ())]
        for name in came:
            self._tools[name] = _ask_for_tools(name, now[name])
        self._change(removed, [tool for name in came for tool in self._tools[name]])


def _allowed() -> bool:
    try:
        return settings.current().extension_tools
    except SettingsError:
        return False


def _hooks() -> Iterator[tuple[str, Callable[..., object]]]:
    """Iterate over the package and the hook of each enabled extension with a hook."""
    for addon in bpy.context.preferences.addons:
        module = sys.modules.get(addon.module)
        hook = getattr(module, HOOK, None)
        if callable(hook) and getattr(module, "__addon_enabled__", False):
            yield addon.module, hook


def _ask_for_tools(package: str, hook: Callable[..., object]) -> tuple[Tool, ...]:
    """Return the tools that an extension offers; none if its hook fails, and then the log has the error."""
    made: dict[str, Tool] = {}

    def add(
        function: Callable[..., Any],
        *,
        title: str = "",
        read_only: bool = False,
        destructive: bool = True,
        idempotent: bool = False,
        open_world: bool = False,
    ) -> None:
        """Offer a function as a tool; the flags are MCP's annotations. Raises TypeError or ValueError."""
        if inspect.iscoroutinefunction(function) or not inspect.isfunction(function):
            raise TypeError(f"{function!r} is no plain function: Blender calls it on its main thread")
        title = title or function.__name__.replace("_", " ").title()
        offer = _Offer(package, hook, function, title, read_only)
        if offer.name in made:
            raise ValueError(f"there is a tool {offer.name} already: give the function another name")
        told = hints(read_only, destructive, idempotent, open_world)
        made[offer.name] = _tool(offer, told)

    try:
        hook(add)
    except Exception:
        _log.exception("%s offers no tools: its %s failed", package, HOOK)
        return ()
    return tuple(made.values())


def _tool(offer: _Offer, told: Mapping[str, bool]) -> Tool:
    description = describe(offer.function)[0]
    if not description:
        raise ValueError(f"{offer.name} has no docstring: an assistant decides by it when to call the tool")
    if len(offer.name) > _LONGEST_NAME:
        raise ValueError(f"{offer.name} has {len(offer.name)} characters, more than {_LONGEST_NAME}")
    return Tool(
        name=offer.name,
        title=offer.title,
        description=description,
        input_schema=input_schema(offer.function, context=False),
        listed_schema=input_schema(offer.function, context=False, shown=True),
        output_schema=of_type(ExtensionResult),
        handler=partial(_handle, offer, whole_numbers(offer.function, context=False)),
        annotations=told,
        records_itself=True,
    )


async def _handle(
    offer: _Offer, integers: frozenset[str], context: RequestContext, arguments: dict[str, Any]
) -> ToolResult:
    given = tidy(arguments, integers)
    if not offer.read_only:
        gates.check("")
        if settings.current().dry_run:
            message = f"dry run: {offer.name} was not called"
            return ToolResult(structured={"status": "success", "dry_run": True, "message": message})
        await _agreed(offer, context, given)
    work = main_thread.run(
        partial(_call, offer, context, given),
        changes=not offer.read_only,
        cancelled=context.cancelled,
        label=offer.name,
    )
    return ToolResult(structured={"status": "success", "result": await asyncio.wrap_future(work)})


async def _agreed(offer: _Offer, context: RequestContext, given: Mapping[str, Any]) -> None:
    """Return when the user has said yes, or if no question is needed. Raises PolicyError."""
    if is_unasked(context):
        return
    shown = wire.encode(given)
    what = f"“{offer.title}” of the extension {offer.extension}"
    await confirm(
        context,
        f"call-{hashlib.sha256(f'{offer.name} {shown}'.encode()).hexdigest()[:16]}",
        f"{context.client.name} wants to use {what} with {shown[:_LONGEST_SHOWN]}. It is one undo step.",
        title=f"{offer.title}: {shown}",
        otherwise=f"The user has to agree before {what} is used, and nobody can be asked here.",
    )


def _call(offer: _Offer, context: RequestContext, given: Mapping[str, Any]) -> Any:
    """Call the function, with journal records before and after it. Main thread."""
    if dict(_hooks()).get(offer.package) is not offer.hook:
        raise ExternalServiceError(f"the extension {offer.extension} was disabled, and its tools with it")
    about = {"tool": offer.name, "requester": context.client.name, "client": context.client.id}
    asked = {"arguments": given} if settings.current().journal_code else {}
    record = journal.current()
    if offer.read_only:
        record.note("extension_tool_called", **about, **asked)
    else:
        record.write("extension_tool_started", **about, **asked)
    try:
        if offer.read_only:
            return to_json(_result(offer, given))
        with undo.one_step(offer.title):
            result = to_json(_result(offer, given))
    except BridgeError as error:
        record.note("extension_tool_failed", **about, message=str(error)[:_LONGEST_SHOWN])
        raise
    record.note("extension_tool_succeeded", **about)
    return result


def _result(offer: _Offer, given: Mapping[str, Any]) -> Any:
    try:
        return offer.function(**given)
    except BridgeError:
        raise
    except Exception as error:
        raise HandlerError(offer.name, error) from error
