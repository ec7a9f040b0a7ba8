# SPDX-License-Identifier: GPL-3.0-or-later
"""Resources that a client can read without a tool (`blender://…`), subscriptions, and completion of names.

Reading happens on Blender's main thread, everything else on the network thread.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from .. import approvals
from ..approvals.request import Entry, State
from ..base import jobs, journal, main_thread
from ..base.errors import InvalidParamsError
from ..files.client_files import store
from ..scene import events, history
from ..scene.describe import datablocks, overview
from .protocol.context import RequestContext
from .protocol.features import Completer, Features, Resource, ResourceTemplate
from .protocol.messages import content, wire
from .protocol.messages.content import Json
from .tools import job_tools

__all__ = ("RENDER", "completers", "install", "remember_render", "unwatch", "watch")

T = TypeVar("T")

SCENE, OBJECTS, SELECTION = "blender://scene", "blender://objects", "blender://selection"
MATERIALS, JOURNAL, RENDER = "blender://materials", "blender://journal", "blender://render/last"
EVENTS = "blender://events"
_JSON = "application/json"

#: Subscribers hear of changes together, this long (seconds) after the first one.
DEBOUNCE_S = 0.25
#: The most journal records that the resource shows, the newest ones.
_MOST_RECORDS = 200
_MOST_EVENTS = 200
#: A scene with more objects than this must be read with `get_scene_info`, page by page.
_MOST_OBJECTS = 10_000
#: The most bytes of a file that is read as a whole, and the bytes of one part of a larger file.
_MOST_WHOLE, _PART = 16 << 20, 8 << 20


def install(features: Features) -> None:
    """Add all resources and templates."""
    global _features
    _features = features
    features.add(
        _json(SCENE, "scene", "Scene", "The open scene, with up to 100 objects", overview.scene_info, 1.0),
        _json(OBJECTS, "objects", "Objects", "All objects of the open scene", _objects, 0.7),
        _json(
            SELECTION, "selection", "Selection", "What is selected, and the active object", _selection, 0.9
        ),
        _json(EVENTS, "events", "Events", "What happened in Blender lately, and by whom", _events, 0.4),
        _json(MATERIALS, "materials", "Materials", "All materials of the file", datablocks.materials, 0.5),
        _resource(
            JOURNAL, "journal", "Journal", "The newest records of the audit journal about you", _journal, 0.2
        ),
        _resource(RENDER, "last-render", "Last Render", "The newest picture of render_image", _render, 0.6),
        _template("object", "Object", "One object in full", overview.object_info),
        _template("material", "Material", "One material with its nodes", datablocks.material_info),
        _template("collection", "Collection", "One collection", datablocks.collection_info),
        ResourceTemplate(
            uri_template="blender://request/{id}",
            name="request",
            title="Request",
            description="One request or job of yours: its state, progress, rehearsal, decision and result",
            mime_type=_JSON,
            read=_request,
        ),
        _file("blender://file/{id}", "file", "File", "A file of yours, up to 16 MiB"),
        _file(
            "blender://file/{id}/{part}",
            "file-part",
            "Part of a File",
            "8 MiB of a file of yours; parts from 0",
        ),
    )


def _file(uri_template: str, name: str, title: str, description: str) -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=uri_template, name=name, title=title, description=description, read=_read_file
    )


def completers() -> dict[str, Completer]:
    """Return completers of names, by kind: object, material, collection, scene, operator."""
    return {kind: _completer(names) for kind, names in datablocks.NAMES.items()}


_features: Features | None = None
_last_render: tuple[bytes, str] | None = None


def remember_render(picture: bytes, mime_type: str) -> None:
    """Make a picture the contents of `blender://render/last`. Network thread."""
    global _last_render
    _last_render = (picture, mime_type)
    if _features:
        # Not with `add`: the list has the same resources as before, and clients would request it again.
        listed = replace(_features.resources[RENDER], mime_type=mime_type, size=len(picture))
        _features.resources[RENDER] = listed
        _features.resource_updated(RENDER)


_watcher: _Watcher | None = None


def watch(features: Features) -> None:
    """Notify subscribers of changes in Blender, debounced, until `unwatch`. Main thread."""
    global _watcher
    unwatch()
    _watcher = _Watcher(features)


def unwatch() -> None:
    """Stop notifying. Does nothing if nothing is watched."""
    global _watcher
    if _watcher:
        _watcher.stop()
        _watcher = None


class _Watcher:
    """Waits a moment after a first change, then notifies subscribers of all changes together."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._timer: threading.Timer | None = None
        self._requests: set[str] = set()
        self._lock = threading.Lock()
        self._happened = False
        events.take()  # nobody has subscribed yet, so earlier changes do not count
        self._unlisten = [
            events.listen(self.begin),
            history.listen(self._note_event),
            jobs.registry.listen(self._note),
        ]
        queue = approvals.current()
        if queue is not None:
            self._unlisten.append(queue.listen(self._note))

    def begin(self) -> None:
        """Schedule a notification after a change, unless one is already scheduled."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(DEBOUNCE_S, self._tell)
                self._timer.daemon = True
                self._timer.start()

    def stop(self) -> None:
        """Stop notifying, and end the waiting thread now."""
        for unlisten in self._unlisten:
            unlisten()
        with self._lock:
            timer = self._timer
        if timer:
            timer.cancel()
            timer.join(1.0)

    def _note(self, changed: jobs.Job | Entry) -> None:
        """Note the change of a job or a request. Any thread."""
        with self._lock:
            self._requests.add(changed.id)
        self.begin()

    def _note_event(self, _event: history.Event) -> None:
        self._happened = True
        self.begin()

    def _tell(self) -> None:
        with self._lock:
            self._timer = None
            requests, self._requests = self._requests, set()
            happened, self._happened = self._happened, False
        if happened:
            self._features.resource_updated(EVENTS)
        for request_id in requests:
            self._features.resource_updated(f"blender://request/{request_id}")
        changes = events.take()
        if changes.everything:
            self._features.resources_updated("blender://")
            return
        for uri in _affected(changes):
            self._features.resource_updated(uri)


def _affected(changes: events.Changes) -> list[str]:
    """Return the URIs of the resources that a change affects."""
    named = {
        "object": changes.objects,
        "material": changes.materials,
        "collection": changes.collections,
    }
    uris = [
        f"blender://{kind}/{quote(name, safe='')}" for kind, names in named.items() for name in sorted(names)
    ]
    if changes.objects or changes.collections or changes.selection:
        uris.append(SCENE)
    if changes.objects:
        uris.append(OBJECTS)
    if changes.selection:
        uris.append(SELECTION)
    if changes.materials:
        uris.append(MATERIALS)
    return uris


def _json(
    uri: str, name: str, title: str, description: str, get: Callable[[], Any], priority: float
) -> Resource:
    async def read(ctx: RequestContext, uri: str) -> list[Json]:
        return [content.text_contents(uri, wire.encode(await _on_main_thread(ctx, get, name)), _JSON)]

    return _resource(uri, name, title, description, read, priority)


def _resource(uri: str, name: str, title: str, description: str, read: Any, priority: float) -> Resource:
    return Resource(
        uri=uri,
        name=name,
        title=title,
        description=description,
        mime_type=_MIME.get(uri, _JSON),
        annotations={"audience": ["assistant"], "priority": priority},
        read=read,
    )


def _template(kind: str, title: str, description: str, get: Callable[[str], Any]) -> ResourceTemplate:
    async def read(ctx: RequestContext, uri: str, variables: Mapping[str, str]) -> list[Json]:
        try:
            found = await _on_main_thread(ctx, partial(get, variables["name"]), kind)
        except InvalidParamsError as error:
            raise LookupError(str(error)) from error
        return [content.text_contents(uri, wire.encode(found), _JSON)]

    return ResourceTemplate(
        uri_template=f"blender://{kind}/{{name}}",
        name=kind,
        title=title,
        description=description,
        mime_type=_JSON,
        read=read,
        complete={"name": _completer(datablocks.NAMES[kind])},
    )


def _completer(names: Callable[[], Sequence[str]]) -> Completer:
    async def complete(ctx: RequestContext, begun: str, _context: Mapping[str, str]) -> Sequence[str]:
        """Return matching names: first those that start with the text, then those that contain it."""
        sought = begun.casefold()
        found = [
            name for name in await _on_main_thread(ctx, names, "completion") if sought in name.casefold()
        ]
        return sorted(found, key=lambda name: (not name.casefold().startswith(sought), name))

    return complete


async def _journal(ctx: RequestContext, uri: str) -> list[Json]:
    lines = await asyncio.to_thread(_last_lines, journal.current().path, ctx.client.id)
    return [content.text_contents(uri, "".join(lines), _MIME[JOURNAL])]


def _last_lines(path: Path, client_id: str) -> list[str]:
    """Return the newest records of this client's own requests; it must not see those of others."""
    marked = f'"client":{json.dumps(client_id)}'
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            own = (line for line in file if marked in line and _client_of(line) == client_id)
            return list(deque(own, maxlen=_MOST_RECORDS))
    except FileNotFoundError:
        return []


def _client_of(line: str) -> Any:
    """Return the client of a record. Parses the line, since a text inside it may look like the client's mark."""
    try:
        return json.loads(line).get("client")
    except (ValueError, AttributeError):
        return None


async def _render(_ctx: RequestContext, uri: str) -> list[Json]:
    if _last_render is None:
        raise LookupError("nothing was rendered yet: call render_image first")
    picture, mime_type = _last_render
    return [content.blob_contents(uri, picture, mime_type)]


async def _read_file(ctx: RequestContext, uri: str, variables: Mapping[str, str]) -> list[Json]:
    owner = ctx.client.id
    try:
        file = await asyncio.to_thread(store.get, owner, variables["id"])
        begin, length = 0, file.size
        if "part" in variables:
            begin, length = _part(variables["part"], file.size)
        elif file.size > _MOST_WHOLE:
            raise LookupError(f"{file.name!r} has {file.size} bytes: read {uri}/0 and so on.")
        data = await asyncio.to_thread(store.read, owner, file.id, begin, length)
    except InvalidParamsError as error:
        raise LookupError(str(error)) from error
    return [content.blob_contents(uri, data, file.mime_type)]


def _part(number: str, size: int) -> tuple[int, int]:
    if not re.fullmatch(r"[0-9]{1,6}", number) or int(number) * _PART >= max(size, 1):
        raise LookupError(f"there is no part {number[:20]!r} of a file of {size} bytes")
    return int(number) * _PART, _PART


async def _request(ctx: RequestContext, uri: str, variables: Mapping[str, str]) -> list[Json]:
    """Return a job, a request of the queue, or both combined: an awaited request is a job with the same id."""
    shown: Json = {}
    entry = _own_entry(variables["id"], ctx.client.id)
    if entry is not None:
        shown = _about_request(entry)
    try:
        shown |= _about_job(jobs.registry.get(variables["id"], ctx.client.id))
    except InvalidParamsError as error:
        if not shown:
            raise LookupError(str(error)) from error
    return [content.text_contents(uri, wire.encode(shown), _JSON)]


def _own_entry(request_id: str, client_id: str) -> Entry | None:
    queue = approvals.current()
    entries = queue.entries() if queue is not None else ()
    return next((e for e in entries if e.id == request_id and e.request.client_id == client_id), None)


def _about_job(job: jobs.Job) -> Json:
    return {**job_tools.about(job), "result": job.result if job.state == "completed" else None}


def _about_request(entry: Entry) -> Json:
    """Return a request as its client may see it: `state` is a job's state, `request` the approval queue's state."""
    return {
        "id": entry.id,
        "kind": "request",
        "title": entry.title,
        "state": _JOB_STATES.get(entry.state, "working"),
        "message": entry.reason if entry.ended else "",
        "result": entry.record.live_result,
        "request": {
            "state": "running" if entry.running else entry.state,
            "tool": entry.request.tool,
            "asks": entry.asks,
            "sha256": entry.sha256 if entry.script else None,
            "validation": entry.validation,
            "rehearsal": entry.summary,
            "user_confirmed": entry.record.user_confirmed,
            "reason": entry.reason,
            "attempts_left": entry.attempts_left,
            "log": list(entry.record.logs),
        },
    }


_JOB_STATES: Mapping[State, jobs.State] = {
    "waiting": "input_required",
    "applied": "completed",
    "cancelled": "cancelled",
    "rejected": "failed",
    "failed": "failed",
    "denied": "failed",
    "expired": "failed",
}


def _objects() -> Any:
    return overview.scene_info(limit=_MOST_OBJECTS)["objects"]


def _events() -> Any:
    found = history.since(0)[-_MOST_EVENTS:]
    return [
        {
            **asdict(one),
            "names": {kind: sorted(names) for kind, names in one.names.items()},
            "facts": dict(one.facts),
        }
        for one in found
    ]


def _selection() -> Any:
    info = overview.scene_info(selected_only=True, limit=_MOST_OBJECTS)
    return {"mode": info["mode"], "active_object": info["active_object"], "objects": info["objects"]}


async def _on_main_thread(ctx: RequestContext, get: Callable[[], T], what: str) -> T:
    work = main_thread.run(get, changes=False, cancelled=ctx.cancelled, label=f"reading {what}")
    return await asyncio.wrap_future(work)


_MIME = {JOURNAL: "application/jsonl", RENDER: "image/png"}
