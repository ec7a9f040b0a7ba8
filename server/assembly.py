# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes all parts of a server and connects them. It needs the server's libraries, so `bridge` imports it at a start."""

from __future__ import annotations

import base64
import logging
import secrets
import socket
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import approvals
from ..approvals import client_names
from ..approvals.whom_to_ask import has_window
from ..base import folders, jobs, main_thread
from ..base.errors import BridgeError, ExternalServiceError
from ..files import client_files
from ..sandbox import confinement
from . import call_records, resources, telemetry
from .clients import discovery
from .clients.authenticator import ENVIRONMENT_CLIENT, LOCAL_CLIENT, Authenticator
from .clients.pairing import Pairings
from .clients.token_store import new_token, token_store
from .metrics import Metrics
from .prompts import prompt_files
from .protocol.core import Core
from .protocol.features import Features, Tool
from .protocol.messages.request_state import RequestStates
from .tools import all_tools
from .tools.served import serve
from .transport.asgi import App
from .transport.listener import Listener, PortBusy, bind

if TYPE_CHECKING:
    from ..base.settings import Settings
    from .protocol.context import Principal

__all__ = ("PRODUCT", "Bridge", "assemble")

PRODUCT = discovery.PRODUCT
#: If the default port is busy, this many following ports are tried.
_PORTS_TO_TRY = 50
_SHORT_TOKEN = 16

_log = logging.getLogger(__name__)


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


def assemble(chosen: Settings) -> Bridge:
    """Make a server whose port is open, and which answers nobody before its listener starts.

    Raises ExternalServiceError if the port is busy, and SettingsError for a name that cannot be a host's.
    """
    features, listening = _features(), _bind(chosen)
    try:
        return _connect(chosen, features, listening)
    except BaseException:
        listening.close()
        raise


def _connect(chosen: Settings, features: Features, listening: socket.socket) -> Bridge:
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
    features = Features()
    serve(features)
    features.add(*all_tools())
    resources.install(features)
    files = prompt_files.load(prompt_files.SHIPPED, folders.user_folder() / "prompts")
    features.add(*prompt_files.prompts(files.values(), resources.completers(), features))
    return features


def _bind(chosen: Settings) -> socket.socket:
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
    version = _version()
    metrics = Metrics(
        queue_depth=main_thread.waiting,
        connections=lambda: app.connections,
        processes=_processes,
        spans=lambda: asdict(telemetry.counts()),
    )
    main_thread.timed.clear()
    main_thread.timed.connect(metrics.on_main_thread)
    core = _core(features, metrics, version)
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


def _core(features: Features, metrics: Metrics, version: str) -> Core:
    return Core(
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
