# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panels and the preferences show, gathered once a second, so that drawing computes nothing.

`view` is replaced, never changed; panels read it. A window is redrawn only when something in it has changed.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

from .. import approvals
from ..approvals.approval_queue import WAIT_LIMIT_S
from ..approvals.request import Entry as Request
from ..base import settings
from ..base.errors import BridgeError
from ..base.signal import Signal
from ..rendering.farms import targets
from ..sandbox import confinement as supervisor
from ..sandbox.confinement.process import Confinement
from ..scene import events
from ..server.clients import authenticator, discovery
from ..server.clients.config import files, snippets, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = (
    "Pasted",
    "View",
    "bridge_module",
    "copied",
    "here",
    "listen",
    "note",
    "refresh",
    "register",
    "request",
    "running_bridge",
    "store",
    "unregister",
)

_INTERVAL_S = 1.0
_LOOK_EVERY_S = 10.0
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_MOST_DONE = 12
_MOST_ALERTS = 3
_AREAS = frozenset({"VIEW_3D", "PREFERENCES"})
_ROOT = __package__.rpartition(".")[0]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pasted:
    """Where the configuration that was just copied has to go. `folder` is empty unless it is there to be opened."""

    label: str
    place: str
    how: str
    folder: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """Everything that is shown. `address` is empty while nothing listens; `clients` are all, `connected` names."""

    address: str = ""
    port: int = 0
    open_to_network: bool = False
    error: str = ""
    connected: tuple[str, ...] = ()
    clients: tuple[authenticator.Entry, ...] = ()
    #: Programs (name, code) that ask to come in.
    asking: tuple[tuple[str, str], ...] = ()
    notices: tuple[snippets.Notice, ...] = ()
    #: The programs on this computer that can be connected.
    installed: tuple[table.ClientKind, ...] = ()
    settings: settings.Settings = field(default_factory=settings.Settings)
    #: What is wrong with the text that names render targets.
    targets_error: str = ""
    pasted: Pasted | None = None
    #: What holds a rehearsal, as "out of reach" has just been proved; None as long as that is not known.
    confinement: Confinement | None = None
    #: Why nothing holds one here.
    unconfined: str = ""
    #: Why the last rehearsal could not be held, or not to its end; empty where it was.
    rehearsal_failure: str = ""
    #: All requests, the newest first, and how long ago each was made.
    requests: tuple[Request, ...] = ()
    ages: Mapping[str, str] = field(default_factory=dict)
    #: How many wait for the user; those that are open; the newest that have ended.
    waiting: int = 0
    open: tuple[Request, ...] = ()
    done: tuple[Request, ...] = ()
    #: Requests that tried to reach outside Blender, as long as nobody has taken note of it.
    alerts: tuple[Request, ...] = ()
    #: The id of the request that can be undone: the last one, while the scene is as it left it.
    undoable: str = ""
    #: How many files were opened: each has lists of its own, to be filled anew.
    loads: int = 0
    #: Clients (id, name) that run scripts unasked until Blender closes.
    trusted: tuple[tuple[str, str], ...] = ()

    @property
    def origins(self) -> Mapping[str, str]:
        """Setting -> where it was decided, for those that the preferences cannot change now."""
        return {name: source for name, source in self.settings.origins.items() if source != "preferences"}


view = View()
_listeners: Signal[[]] = Signal()
_pasted: Pasted | None = None
#: When the programs were looked for last, and which were there.
_looked: tuple[float, tuple[table.ClientKind, ...]] | None = None
_by_id: dict[str, Request] = {}
_noted: set[tuple[str, str]] = set()
"""Requests and the alarms about them that the user has taken note of."""


def bridge_module() -> Any:
    """`server.bridge` if it has been loaded, else None: as long as it has not, nothing runs."""
    return _loaded("server.bridge")


def _loaded(module: str) -> Any:
    """A module of the extension, or None: the panel loads none that nobody has needed yet."""
    return sys.modules.get(f"{_ROOT}.{module}")


def running_bridge() -> Any:
    """The running `Bridge`, or None."""
    module = bridge_module()
    return module.current() if module else None


def store() -> authenticator.TokenStore:
    """The list of this user's clients."""
    return authenticator.TokenStore(discovery.user_folder() / "clients.json")


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
    """The request of this id, as it is shown now."""
    return _by_id.get(request_id)


def note(request_id: str) -> None:
    """The user has taken note of the alert of this request."""
    entry = _by_id.get(request_id)
    if entry is not None:
        _noted.add((entry.id, entry.alarm))
    refresh()


def listen(listener: Callable[[], None]) -> Callable[[], None]:
    """Call `listener` after `view` was replaced. Gives the function that ends this."""
    return _listeners.connect(listener)


def copied(pasted: Pasted | None) -> None:
    """Show where to paste what was copied, or no longer."""
    global _pasted
    _pasted = pasted
    refresh()


def refresh() -> None:
    """Gather anew, and have the windows drawn again if anything has changed. On the main thread."""
    global view
    now = _gather()
    if now != view:
        view = now
        _by_id.clear()
        _by_id.update((entry.id, entry) for entry in now.requests)
        _listeners.emit()
        for window in bpy.context.window_manager.windows:
            for area in window.screen.areas:
                if area.type in _AREAS:
                    area.tag_redraw()


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
    rehearsals = _loaded("sandbox.rehearsal.rehearse")
    shown = replace(
        shown,
        confinement=held.confinement(),
        unconfined=held.unconfined(),
        rehearsal_failure=rehearsals.last_failure() if rehearsals else "",
    )
    shown = _with_requests(shown)
    try:
        clients = _store.entries()
        notices = _notices(clients, bridge)
    except BridgeError as error:
        return replace(shown, error=shown.error or str(error))
    return replace(shown, clients=clients, notices=notices)


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
    queue.expire("nobody answered in time", older_than_s=WAIT_LIMIT_S)
    entries, now = queue.entries(), time.time()
    ages = {entry.id: _age(now - entry.request.timestamp) for entry in entries if not entry.ended}
    opened = tuple(entry for entry in entries if not entry.ended)
    return replace(
        shown,
        requests=entries,
        ages=ages,
        trusted=tuple(queue.trusted.items()),
        waiting=sum(entry.state == "waiting" for entry in opened),
        open=opened,
        done=tuple(sorted((e for e in entries if e.ended), key=lambda e: -e.updated)[:_MOST_DONE]),
        alerts=tuple(entry for entry in entries if entry.alarm and (entry.id, entry.alarm) not in _noted)[
            :_MOST_ALERTS
        ],
        undoable=_undoable(entries),
    )


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


def _notices(clients: tuple[authenticator.Entry, ...], bridge: Any) -> tuple[snippets.Notice, ...]:
    if not clients:
        return ()
    others = {instance.port for instance in discovery.instances() if instance.pid != os.getpid()}
    away = bridge.authenticator.turned_away if bridge else ()
    return tuple(snippets.notices(clients, here(), turned_away=away, other_ports=others))


def _tick() -> float:
    try:
        refresh()
    except Exception:  # a timer that raises is gone for good; what is shown next time may be right again
        _log.exception("the panel could not be brought up to date")
    return _INTERVAL_S


_store = store()


def register() -> None:
    """Begin to gather: the first time once Blender is up."""
    bpy.app.timers.register(_tick, first_interval=0.1, persistent=True)


def unregister() -> None:
    """Stop, and forget."""
    global view, _pasted, _looked
    if bpy.app.timers.is_registered(_tick):
        bpy.app.timers.unregister(_tick)
    view, _pasted, _looked = View(), None, None
