# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts and stops the server: this module creates all parts and connects them.

Call everything here on Blender's main thread, unless a docstring says otherwise. The server's libraries are imported
when it starts, so that enabling the extension stays cheap.
"""

from __future__ import annotations

import base64
import logging
import os
import secrets
import socket
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import bpy
from bpy.app.handlers import persistent

from .. import approvals
from ..approvals import client_names
from ..approvals.store import Store
from ..approvals.whom_to_ask import has_window
from ..base import folders, jobs, main_thread, settings
from ..base.errors import BridgeError, ExternalServiceError, SettingsError
from ..base.process.other_processes import process_lives
from ..base.telemetry import logs
from ..files import client_files
from ..sandbox import confinement
from ..sandbox.rehearsal import pool
from ..sandbox.run import undo
from ..scene import events
from . import libraries, telemetry
from .clients import discovery
from .clients.authenticator import ENVIRONMENT_CLIENT, LOCAL_CLIENT, Authenticator
from .clients.pairing import Pairings
from .clients.token_store import new_token, token_store

if TYPE_CHECKING:
    from ..base.settings import Settings
    from .metrics import Metrics
    from .protocol.context import Principal
    from .protocol.features import Features, Tool
    from .transport.asgi import App
    from .transport.listener import Listener

__all__ = ("Bridge", "Status", "current", "start", "status", "stop", "token_store")

PRODUCT = discovery.PRODUCT
#: If the default port is busy, this many following ports are tried.
_PORTS_TO_TRY = 50
_SHORT_TOKEN = 16

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Status:
    """The server's state for a panel. `error` says why the server does not run although it should."""

    state: Literal["stopped", "running", "failed"]
    url: str = ""
    clients: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Bridge:
    """A running server. `token` is the one in the discovery record.

    The token admits this user's programs that read it; if there are `pairings`, it only lets them ask for access.
    """

    settings: Settings
    host: str
    port: int
    token: str
    instance_id: str
    features: Features
    authenticator: Authenticator
    pairings: Pairings | None
    app: App
    listener: Listener
    metrics: Metrics

    def change_tools(self, removed: Sequence[Tool], added: Sequence[Tool]) -> None:
        """Remove some tools, add others, and notify clients that the list has changed. Any thread."""

        def change() -> None:
            self.features.remove(*removed)
            self.features.add(*added)

        self.listener.call(change)

    def disconnect(self, client_id: str) -> None:
        """End everything of a revoked client at once, before the server notices the revocation itself. Any thread."""
        _forget(client_id)
        self.listener.call(partial(self.app.drop, client_id))

    @property
    def url(self) -> str:
        """The address of Streamable HTTP."""
        return f"http://{self._authority}/mcp"

    @property
    def websocket_url(self) -> str:
        """The address of the WebSocket."""
        return f"ws://{self._authority}/mcp"

    @property
    def _authority(self) -> str:
        host = discovery.reachable_host(self.host)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


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
    from . import resources
    from .extension_tools import ExtensionTools

    libraries.check()
    logs.configure(chosen, folders.user_folder())
    confinement.read_configuration(folders.user_folder() / "sandbox.toml")
    approvals.open_queue(Store(folders.user_folder() / "requests", process_lives))
    features = _features()
    listening = _bind(chosen)
    try:
        bridge = _assemble(chosen, features, listening)
    except BaseException:
        listening.close()
        raise
    main_thread.start()
    events.register()
    resources.watch(features)
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


def _assemble(chosen: Settings, features: Features, listening: socket.socket) -> Bridge:
    from .transport.listener import Listener

    token, instance_id = new_token(), secrets.token_hex(8)
    # Without a window there is no user to ask, so the record's token admits this user's programs.
    pairings = Pairings(token_store()) if has_window() else None
    port = listening.getsockname()[1]
    fixed = {token: LOCAL_CLIENT}
    if chosen.token:
        if len(chosen.token) < _SHORT_TOKEN:
            _log.warning(
                "BLENDER_MCP_TOKEN has %d characters; a longer one is harder to guess", len(chosen.token)
            )
        fixed[chosen.token] = ENVIRONMENT_CLIENT
    authenticator = Authenticator(
        token_store(),
        host=chosen.host,
        port=port,
        allowed_hosts=chosen.allowed_hosts,
        fixed=fixed,
        pairings=pairings,
    )
    app, metrics = _app(chosen, features, authenticator, pairings, instance_id)
    telemetry.start(chosen, _version(), instance_id)
    listener = Listener(listening, app)
    return Bridge(
        chosen,
        chosen.host,
        port,
        token,
        instance_id,
        features,
        authenticator,
        pairings,
        app,
        listener,
        metrics,
    )


def _features() -> Features:
    from . import prompt_files, resources
    from .protocol.features import Features
    from .tools import all_tools
    from .tools.served import serve

    features = Features()
    serve(features)
    features.add(*all_tools())
    resources.install(features)
    files = prompt_files.load(Path(__file__).parent / "prompts", folders.user_folder() / "prompts")
    features.add(*prompt_files.prompts(files.values(), resources.completers(), features))
    return features


def _bind(chosen: Settings) -> socket.socket:
    from .transport.listener import PortBusy, bind

    asked_for = "port" in chosen.origins
    for port in range(chosen.port, chosen.port + (1 if asked_for else _PORTS_TO_TRY)):
        try:
            return bind(chosen.host, port)
        except PortBusy as busy:
            if asked_for:
                raise ExternalServiceError(
                    f"Port {port} on {chosen.host} is in use by another program, and the "
                    f"{chosen.origins['port']} asks for exactly this one. Stop that program or choose another port."
                ) from busy
    raise ExternalServiceError(
        f"Ports {chosen.port} to {port} are all in use. Choose another port in the preferences."
    )


def _app(
    chosen: Settings,
    features: Features,
    authenticator: Authenticator,
    pairings: Pairings | None,
    instance_id: str,
) -> tuple[App, Metrics]:
    from . import call_records
    from .metrics import Metrics
    from .protocol.core import Core
    from .protocol.messages.request_state import RequestStates
    from .transport.asgi import App

    version = _version()
    metrics = Metrics(
        queue_depth=main_thread.waiting,
        connections=lambda: app.connections,
        processes=_processes,
        spans=lambda: asdict(telemetry.counts()),
    )
    main_thread.timed.clear()
    main_thread.timed.connect(metrics.on_main_thread)
    core = Core(
        features=features,
        info={"name": PRODUCT, "title": "MCP Bridge", "version": version},
        states=RequestStates(secrets.token_bytes(32), time.time),
        jobs=jobs.registry,
        instructions=(Path(__file__).parent / "instructions.md").read_text(encoding="utf-8").strip(),
        icons=[_icon()],
        whole_list=_lists_every_tool,
        record=call_records.called,
        refused=call_records.refused,
        called=partial(_called, metrics),
    )
    app = App(
        core,
        authenticator,
        health=lambda: {
            "status": "ok",
            "product": PRODUCT,
            "version": version,
            "instance_id": instance_id,
            "processes": _processes(),
        },
        metrics=metrics.text,
        ask_in=lambda info: pairings.ask(client_names.label(info) or "A program") if pairings else "",
        shut_out=_forget,
        max_message_bytes=chosen.max_message_bytes,
        max_connections=chosen.max_connections,
        max_in_flight=chosen.max_in_flight,
    )
    return app, metrics


def _forget(client_id: str) -> None:
    """End the trust, the requests and the files of a revoked client. Any thread."""
    queue = approvals.current()
    if queue is not None:
        queue.revoke(client_id)
    client_files.store.forget(client_id)


def _lists_every_tool(client_id: str) -> bool:
    try:
        return token_store().lists_every_tool(client_id)
    except BridgeError as error:  # the list of clients is damaged; the panel reports it
        _log.warning("%s", error)
        return False


def _processes() -> dict[str, int]:
    """Return the number of running confined processes, and of ended ones by outcome."""
    return asdict(confinement.counts())


def _icon() -> dict[str, Any]:
    """Return the icon that a client may show for this server."""
    picture = base64.b64encode((Path(__file__).parent / "icon.svg").read_bytes()).decode()
    return {"src": f"data:image/svg+xml;base64,{picture}", "mimeType": "image/svg+xml", "sizes": ["any"]}


def _version() -> str:
    """Return the extension's version, from its manifest."""
    manifest = Path(__file__).parent.parent / "blender_manifest.toml"
    return str(tomllib.loads(manifest.read_text(encoding="utf-8"))["version"])


def _called(metrics: Metrics, tool: Tool, client: Principal, seconds: float, failed: bool) -> None:
    metrics.tool_called(tool.name, seconds, failed=failed)
    if _log.isEnabledFor(logging.DEBUG):
        facts = {"tool": tool.name, "client": client.id, "seconds": round(seconds, 6), "failed": failed}
        _log.debug("%s took %.4f s", tool.name, seconds, extra={"fields": facts})


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
    queue = approvals.current()
    if queue is not None:
        queue.expire("the bridge was stopped")
    follow.stop()
    jobs.registry.cancel_all()
    client_files.store.clear()
    pool.shutdown()
    if bridge is not None and not bridge.listener.stop():
        _log.warning("the server's thread did not end in time; it is a daemon and ends with Blender")
    telemetry.stop()
    resources.unwatch()
    events.unregister()
