# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers once a second what the panels and the preferences show, so that drawing computes nothing.

`view` is replaced, never changed; panels read it. A window is redrawn only when something in it has changed.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import bpy

from ..base import jobs, settings
from ..base.enabling.late import late, loaded
from ..base.errors import BridgeError
from ..base.signal import Signal
from . import redraw, target_jobs
from .view import Pasted, View, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .. import approvals
    from ..approvals import approval_queue
    from ..approvals.request import Entry as Request
    from ..rendering.farms import targets
    from ..sandbox import confinement as supervisor
    from ..scene import events
    from ..server.clients import discovery, token_store
    from ..server.clients.config import files, snippets, table
else:
    approvals, approval_queue = late("approvals"), late("approvals.approval_queue")
    events, supervisor, targets = map(
        late, ("scene.events", "sandbox.confinement", "rendering.farms.targets")
    )
    discovery, token_store = (late(f"server.clients.{name}") for name in ("discovery", "token_store"))
    files, snippets, table = (
        late(f"server.clients.config.{name}") for name in ("files", "snippets", "table")
    )

__all__ = (
    "Pasted",
    "View",
    "Work",
    "bridge_module",
    "end_welcome",
    "here",
    "listen",
    "note",
    "refresh",
    "register",
    "request",
    "running_bridge",
    "show_paste_place",
    "store",
    "unregister",
)

_INTERVAL_S = 1.0
_LOOK_EVERY_S = 10.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_MOST_DONE = 12
_MOST_ALERTS = 3
#: Seconds for which the panel shows a refused request; after that only *Activity* lists it.
_RECENT_S = 3600.0
#: State of a request -> what happens in it, in the user's words.
_DOING: Mapping[str, str] = MappingProxyType(
    {
        "received": "reading",
        "extracted": "checking",
        "validated": "rehearsing",
        "rehearsed": "rehearsing",
        "confirmed": "running",
    }
)
#: Final states that the user did not choose: the panel shows such a request until the user dismisses it. Blender asks
#: nobody before it closes, so the panel shows a request that expired then after the next start.
_TOLD = frozenset({"rejected", "failed", "expired"})
#: Jobs that are shown elsewhere: a request among the requests, the panel's own import beside its assets.
_SHOWN_ELSEWHERE = frozenset({jobs.QUESTION})

_log = logging.getLogger(__name__)


view = View()
_listeners: Signal[[]] = Signal()
_pasted: Pasted | None = None
#: Whether the user has never opened the tab; None before the first look.
_new: bool | None = None
#: The time of the last search for clients' programs, and its result.
_looked: tuple[float, tuple[table.ClientKind, ...]] | None = None
_by_id: dict[str, Request] = {}
_noted: set[tuple[str, str]] | None = None
"""Requests and what was said of them that the user has taken note of; None as long as nobody has looked."""


def bridge_module() -> Any:
    """`server.bridge` if it has been loaded, else None: as long as it has not, nothing runs."""
    return loaded("server.bridge")


def running_bridge() -> Any:
    """The running `Bridge`, or None."""
    module = bridge_module()
    return module.current() if module else None


def store() -> token_store.TokenStore:
    """The list of this user's clients."""
    return token_store.token_store()


#: The list that is looked at every second: it reads its file again only after a change.
_own_store = cache(store)


def here() -> snippets.Here:
    """This Blender as a client's configuration has to name it."""
    bridge = running_bridge()
    return snippets.Here(
        python=sys.executable,
        shim=str(Path(__file__).resolve().parent.parent / "server" / "clients" / "stdio_shim.py"),
        host=discovery.reachable_host(bridge.host if bridge else ""),
        port=bridge.port if bridge else None,
        blender=".".join(map(str, bpy.app.version[:2])),
    )


def request(request_id: str) -> Request | None:
    """The request with this id, as the panels show it now."""
    return _by_id.get(request_id)


def note(request_id: str) -> None:
    """Note that the user has dismissed the alert or the refusal of this request, so that it is shown no more."""
    entry, kept = _by_id.get(request_id), approvals.store()
    if entry is not None:
        said = entry.alarm or entry.reason
        _known_noted().add((entry.id, said))
        if kept is not None:
            kept.note(entry.id, said)
    refresh()


def _known_noted() -> set[tuple[str, str]]:
    global _noted
    kept = approvals.store()
    if _noted is None:
        _noted = set(kept.noted()) if kept is not None else set()
    return _noted


def listen(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` after `view` was replaced. Gives the function that ends this."""
    return _listeners.connect(listener)


def _welcome() -> Path:
    return discovery.user_folder() / "welcomed"


def _is_new() -> bool:
    global _new
    if _new is None:
        _new = not (_welcome().exists() or _own_store().path.exists())
    return _new


def end_welcome() -> None:
    """Note on disk that the user knows where the tab is, so that no Blender shows the welcome again."""
    global _new
    _new = False
    try:
        _welcome().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _welcome().touch()
    except OSError as error:
        _log.warning("that the user knows the tab is not kept: %s", error)
    refresh()


def show_paste_place(pasted: Pasted | None) -> None:
    """Show where to paste the configuration that was copied; None: show it no more."""
    global _pasted
    _pasted = pasted
    refresh()


def refresh() -> None:
    """Gather the view anew, and redraw the windows if anything has changed. Main thread."""
    global view
    now = _gather()
    if now != view:
        view = now
        _by_id.clear()
        _by_id.update((entry.id, entry) for entry in now.requests)
        _listeners.emit()
        redraw.everywhere()


def _gather() -> View:
    try:
        now = settings.current()
    except BridgeError as error:
        return View(error=str(error))
    shown = View(
        settings=now,
        targets_error=_targets_error(now.render_targets),
        pasted=_pasted,
        loads=events.loads(),
        installed=_programs(),
        new=_is_new() and running_bridge() is None,
    )
    module, bridge = bridge_module(), running_bridge()
    if module:
        status = module.status()
        shown = replace(shown, error=status.error, connected=tuple(status.clients))
    if bridge:
        shown = replace(
            shown,
            address=f"{bridge.host}:{bridge.port}",
            port=bridge.port,
            open_to_network=bridge.host not in _LOOPBACK,
            asking=tuple((one.name, one.code) for one in bridge.pairings.waiting())
            if bridge.pairings
            else (),
        )
        if not bpy.app.background:
            supervisor.current().find_out()  # once; a thread of its own tries
    held = supervisor.current()
    rehearsals = loaded("sandbox.rehearsal.pool")
    shown = replace(
        shown,
        confinement=held.confinement(),
        unconfined=held.unconfined(),
        rehearsal_failure=rehearsals.last_failure() if rehearsals else "",
    )
    shown = _with_requests(shown)
    try:
        clients = _own_store().entries()
        shown = replace(shown, clients=clients, notices=_notices(clients, bridge))
    except BridgeError as error:
        shown = replace(shown, error=shown.error or str(error))
    return _with_jobs(shown)


@lru_cache(maxsize=1)
def _targets_error(text: str) -> str:
    try:
        targets.parse(text)
    except ValueError as error:
        return f"{str(error)[0].upper()}{str(error)[1:]}."
    return ""


def _programs() -> tuple[table.ClientKind, ...]:
    """The programs that can be connected, looked for once in a while: each costs a look at some folders."""
    global _looked
    now = time.monotonic()
    if _looked is None or now - _looked[0] > _LOOK_EVERY_S:
        _looked = now, files.installed(sys.platform, os.environ)
    return _looked[1]


def _with_requests(shown: View) -> View:
    queue = approvals.current()
    if queue is None:
        return shown
    queue.expire("nobody answered in time", older_than_s=approval_queue.WAIT_LIMIT_S)
    entries, now = queue.entries(), time.time()
    ages = {entry.id: _age(now - entry.request.timestamp) for entry in entries if not entry.ended}
    opened = tuple(entry for entry in entries if not entry.ended)
    noted = _known_noted()
    to_review = tuple(e for e in reversed(opened) if e.state == "waiting" and e.asks == "panel")
    return replace(
        shown,
        requests=entries,
        ages=ages,
        trusted=tuple(queue.trusted.items()),
        waiting=sum(entry.state == "waiting" for entry in opened),
        to_review=to_review,
        waits=_age(now - to_review[0].request.timestamp) if to_review else "",
        open=opened,
        done=tuple(sorted((e for e in entries if e.ended), key=lambda e: -e.updated)[:_MOST_DONE]),
        alerts=tuple(e for e in entries if e.alarm and (e.id, e.alarm) not in noted)[:_MOST_ALERTS],
        refused=tuple(
            e
            for e in entries
            if e.state in _TOLD and not e.alarm and (e.id, e.reason) not in noted
            if e.updated > now - _RECENT_S
        )[:_MOST_ALERTS],
        undoable=_undoable(entries),
    )


def _with_jobs(shown: View) -> View:
    only = shown.connected[0] if len(shown.connected) == 1 else ""
    names = {entry.id: entry.name for entry in shown.clients}
    work = tuple(
        Work(
            id=job.id,
            owner=job.owner,
            title=job.title,
            client=names.get(job.owner, only),
            message=job.message,
            share=min(1.0, job.progress / job.total) if job.total else None,
        )
        for job in jobs.registry.going_on()
        if job.kind not in _SHOWN_ELSEWHERE and job.owner != jobs.PANEL
    )
    return replace(shown, jobs=work, doing=_doing(shown.open, work), on_targets=target_jobs.gather())


def _doing(opened: Sequence[Request], work: Sequence[Work]) -> str:
    """What assistants are doing, in a few words: the oldest script under way, else the oldest job."""
    for entry in reversed(opened):
        if entry.state in _DOING:
            return f"{entry.request.requester}: {_DOING[entry.state]} “{entry.title}”"
        if entry.state == "waiting" and entry.asks == "client":
            return f"{entry.request.requester} asks you about “{entry.title}”"
    for one in work:
        share = "" if one.share is None else f" · {one.share:.0%}"
        return f"{one.client}: {one.title}{share}" if one.client else f"{one.title}{share}"
    return ""


def _undoable(entries: tuple[Request, ...]) -> str:
    """The request whose run was the last change of the scene, "" if there is none."""
    now = events.revision()
    return next(
        (entry.id for entry in entries if entry.applied_revision == now and not entry.undone),
        "",
    )


def _age(seconds: float) -> str:
    minutes = int(seconds // 60)
    return f"{minutes // 60} h" if minutes >= 60 else f"{minutes} min" if minutes else "now"


def _notices(clients: tuple[token_store.Entry, ...], bridge: Any) -> tuple[snippets.Notice, ...]:
    if not clients:
        return ()
    others = {instance.port for instance in discovery.instances() if instance.pid != os.getpid()}
    away = bridge.authenticator.turned_away if bridge else ()
    return tuple(snippets.notices(clients, here(), turned_away=away, other_ports=others))


def _tick() -> float:
    try:
        refresh()
    except Exception:  # Blender removes a timer that raises; the next refresh may succeed
        _log.exception("the panel could not be brought up to date")
    return _INTERVAL_S


def register() -> None:
    """Gather the view once a second, from the moment when Blender is up."""
    bpy.app.timers.register(_tick, first_interval=0.1, persistent=True)


def unregister() -> None:
    """Stop the timer, and forget what was gathered."""
    global view, _pasted, _looked, _noted, _new
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    view, _pasted, _looked, _noted, _new = View(), None, None, None, None
    _own_store.cache_clear()
