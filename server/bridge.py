# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts and stops the server, whose parts `assembly` makes.

Call everything here on Blender's main thread, unless a docstring says otherwise. The server's libraries are imported
when it starts, so that enabling the extension stays cheap.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import bpy
from bpy.app.handlers import persistent

from .. import approvals
from ..approvals.store import Store
from ..base import folders, jobs, main_thread, settings
from ..base.errors import BridgeError, SettingsError
from ..base.process.other_processes import process_lives
from ..base.telemetry import logs
from ..files import client_files
from ..sandbox import confinement, early
from ..sandbox.rehearsal import pool
from ..sandbox.run import undo
from ..scene import events
from . import libraries, telemetry
from .clients import discovery
from .clients.token_store import token_store

if TYPE_CHECKING:
    from ..base.settings import Settings
    from .assembly import Bridge

__all__ = ("Status", "current", "start", "status", "stop", "token_store")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Status:
    """The server's state for a panel. `error` says why the server does not run although it should."""

    state: Literal["stopped", "running", "failed"]
    url: str = ""
    clients: tuple[str, ...] = ()
    error: str = ""


_bridge: Bridge | None = None
_failure = ""


def current() -> Bridge | None:
    """Return the running server, or None."""
    return _bridge


def status() -> Status:
    """Return the state of the server; cheap enough for a panel's timer."""
    if _bridge is None:
        return Status("failed" if _failure else "stopped", error=_failure)
    if not _bridge.listener.alive:
        return Status(
            "failed", error="The server has ended by itself; the log says why. Stop and start it again."
        )
    return Status("running", _bridge.url, tuple(_bridge.app.clients()))


def start(chosen: Settings | None = None) -> Bridge:
    """Start the server with these settings (None: the current ones), or return the one that already runs.

    Raises BridgeError with the reason if the server cannot start; every part is then stopped again.
    """
    global _bridge, _failure
    if _bridge is not None:
        return _bridge
    _failure = ""
    try:
        _bridge = _start(chosen or settings.current())
    except BridgeError as error:
        _failure = str(error)
        _tidy_up()
        raise
    except Exception as error:
        _failure = f"{type(error).__name__}: {error}"
        _tidy_up()
        raise
    _log.info("serving MCP on %s", _bridge.url)
    return _bridge


def stop() -> None:
    """Stop the server: end connections, join threads, remove handlers and timers. Does nothing if it does not run."""
    global _bridge, _failure
    bridge, _bridge, _failure = _bridge, None, ""
    if bridge is not None:
        _tidy_up(bridge)
        _log.info("stopped")
    logs.reset()


def _start(chosen: Settings) -> Bridge:
    from ..rendering.farms import follow

    libraries.check()  # before the next modules import them
    from . import assembly, resources
    from .extension_tools import ExtensionTools

    logs.configure(chosen, folders.user_folder())
    confinement.read_configuration(folders.user_folder() / "sandbox.toml")
    approvals.open_queue(Store(folders.user_folder() / "requests", process_lives))
    bridge = assembly.assemble(chosen)
    main_thread.start()
    events.register()
    resources.watch(bridge.features)
    extensions = ExtensionTools(bridge.change_tools)
    try:
        bridge.listener.start()
    except BaseException:
        _tidy_up(bridge)
        raise
    for look in (extensions.look, partial(_look_at_services, bridge)):
        look()
        main_thread.regularly.connect(look)
    follow.resume(folders.user_folder() / "renders")
    _announce(bridge)
    for handlers, function in _handlers():
        handlers.append(function)
    early.load()
    return bridge


def _look_at_services(bridge: Bridge) -> None:
    """Remove the tools of unavailable services from the list, and notify clients when that changes."""
    from .tools import out_of_use

    try:
        now = out_of_use()
    except SettingsError:
        return  # invalid settings allow no call, so the list does not matter
    if now != bridge.features.out_of_use:
        bridge.features.out_of_use = now
        bridge.features.list_changed("tools")


def _announce(bridge: Bridge) -> None:
    """Write the record by which the stdio shim finds this Blender. If that fails, the server runs without a record."""
    record = discovery.Instance(
        pid=os.getpid(),
        host=discovery.reachable_host(bridge.host),
        port=bridge.port,
        token=bridge.token,
        instance_id=bridge.instance_id,
        started=time.time(),
        blend_file=bpy.data.filepath,
        blender_version=bpy.app.version_string,
        pairs=bridge.pairings is not None,
    )
    try:
        discovery.announce(record)
    except BridgeError as error:
        _log.warning("%s", error)


@persistent
def _on_file(*_: Any) -> None:
    """Update the record after another file is opened or the file gets a new name."""
    if _bridge is not None:
        _announce(_bridge)


@persistent
def _on_undo(*_: Any) -> None:
    """Remove the marker of a request's undo step after the user went back to the state before that request."""
    undo.forget_witness()


def _handlers() -> list[tuple[list[Any], Callable[..., None]]]:
    lists = bpy.app.handlers
    return [
        (lists.load_post, _on_file),
        (lists.save_post, _on_file),
        (lists.undo_post, _on_undo),
        (lists.redo_post, _on_undo),
    ]


def _tidy_up(bridge: Bridge | None = None) -> None:
    """Stop all parts, in an order in which no part waits for one that has already stopped."""
    from ..rendering.farms import follow
    from . import resources

    for handlers, function in _handlers():
        if function in handlers:
            handlers.remove(function)
    discovery.withdraw()
    main_thread.stop()
    main_thread.timed.clear()
    main_thread.regularly.clear()
    approvals.expire()
    follow.stop()
    jobs.registry.cancel_all()
    client_files.store.clear()
    pool.shutdown()
    if bridge is not None and not bridge.listener.stop():
        _log.warning("the server's thread did not end in time; it is a daemon and ends with Blender")
    telemetry.stop()
    resources.unwatch()
    events.unregister()
