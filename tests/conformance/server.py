# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by run.py in a Blender of its own: the bridge, and the two proxies in front of it.

Prints one line of JSON when all is up, `{"http": port, "websocket": port}`, and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading

import uvicorn
from bl_ext.user_default.mcp_bridge.base import main_thread
from bl_ext.user_default.mcp_bridge.server import bridge
from bl_ext.user_default.mcp_bridge.server.assembly import Bridge

from conformance import door, pack
from conformance.proxy import Proxy
from support.running.ports import free_port


def main(*, fixtures: bool) -> None:
    """Serve until the input ends; with the fixtures of the suite, or as a user has it."""
    running = bridge.start()
    if fixtures:
        pack.install(running.features)
    ports = {"http": free_port(), "websocket": free_port()}
    up = threading.Event()
    threading.Thread(target=lambda: asyncio.run(_proxies(running, ports, up)), daemon=True).start()
    up.wait()
    print(json.dumps(ports), flush=True)
    waiting = threading.Thread(target=sys.stdin.read, daemon=True)
    waiting.start()
    main_thread.pump(waiting.is_alive)
    bridge.stop()


async def _proxies(running: Bridge, ports: dict[str, int], up: threading.Event) -> None:
    await door.serve(ports["http"], running.port, running.token)
    proxy = Proxy(ports["websocket"], running.port, running.token, running.features)
    config = uvicorn.Config(
        proxy, host="127.0.0.1", port=ports["websocket"], lifespan="off", log_config=None, ws="none"
    )
    up.set()
    await uvicorn.Server(config).serve()
