# SPDX-License-Identifier: GPL-3.0-or-later
"""Records a bridge's answers that need no scene, for the stdio shim's `offline.json`."""

from __future__ import annotations

import json
import threading
from typing import Any

from bl_ext.user_default.mcp_bridge.base import main_thread, settings
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.assembly import Bridge
from websockets.sync.client import connect

from support.running.ports import free_port

__all__ = ("record", "text")

_CLIENT = {"name": "recording", "version": "1"}
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _CLIENT,
}
_HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}


def record() -> dict[str, Any]:
    """Start a bridge, ask it, stop it; return the contents of `offline.json`."""
    running = bridge.start(settings.load(environ={"BLENDER_PORT": str(free_port())}))
    answers: dict[str, Any] = {}
    thread = threading.Thread(target=lambda: answers.update(_ask(running)))
    thread.start()
    main_thread.pump(thread.is_alive)
    thread.join()
    bridge.stop()
    return answers


def text(recorded: dict[str, Any]) -> str:
    """Return the file's text; the same answers make the same text."""
    return json.dumps(recorded, indent=1, ensure_ascii=False) + "\n"


def _ask(running: Bridge) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {running.token}"}
    address = running.websocket_url
    with connect(address, subprotocols=["mcp"], additional_headers=headers, proxy=None) as connection:  # type: ignore[list-item]

        def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            connection.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
            answer: dict[str, Any] = json.loads(connection.recv(timeout=20))
            return answer["result"]

        discovered = ask("server/discover", {"_meta": _MODERN})
        initialized = ask("initialize", _HANDSHAKE)
        connection.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        tools: list[Any] = []
        cursor: dict[str, Any] = {}
        while True:
            page = ask("tools/list", cursor)
            tools += page["tools"]
            if "nextCursor" not in page:
                return {"initialize": initialized, "discover": discovered, "tools": tools}
            cursor = {"cursor": page["nextCursor"]}
