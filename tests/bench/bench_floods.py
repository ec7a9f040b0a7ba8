# SPDX-License-Identifier: GPL-3.0-or-later
"""An honest client beside floods: what it notices of them, and what they cost the server in memory.

The floods come with another token, and each from a process of its own.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bl_ext.user_default.mcp_bridge.server.clients.token_store import TokenStore

from support.bench import Row, percentile
from support.bridges.serving import TOKEN, serving
from support.clients import floods
from support.clients.raw_client import RawClient
from support.running.processes import resident

#: Seconds for which the honest client calls, without a flood and beside it.
_QUIET_S, _FLOODED_S = 2.0, 4.0
MIB = 1024 * 1024


def rows() -> Iterator[Row]:
    for kind in floods.KINDS:
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), killed=True) as served:
            _, token = TokenStore(Path(folder) / "blender" / "mcp_bridge" / "clients.json").mint("Flood")
            honest = RawClient(served.port, TOKEN)
            _calls(honest, 0.5)
            quiet = _calls(honest, _QUIET_S)
            rest = resident(served.pid)
            with floods.flood(kind, served.port, token), _largest(served.pid) as most:
                flooded = _calls(honest, _FLOODED_S)
            usual, median = percentile(quiet, 0.5) * 1e3, percentile(flooded, 0.5) * 1e3
            yield Row(
                f"{kind}: median", median / usual, "×", "≤ 5", f"{median:.3f} ms, {usual:.3f} ms without"
            )
            yield Row(
                f"{kind}: longest", flooded[-1] * 1e3, "ms", "≤ 250", f"{quiet[-1] * 1e3:.1f} ms without"
            )
            yield Row(
                f"{kind}: memory above rest",
                (most[0] - rest) / MIB,
                "MiB",
                "≤ 256",
                f"{rest / MIB:.0f} MiB at rest",
            )


def _calls(client: RawClient, seconds: float) -> list[float]:
    """How long each of the calls took that were made in this time, in seconds, sorted."""
    taken, until = [], time.perf_counter() + seconds
    while (begin := time.perf_counter()) < until:
        client.call("get_object_info", name="Cube")
        taken.append(time.perf_counter() - begin)
    return sorted(taken)


@contextmanager
def _largest(pid: int) -> Iterator[list[int]]:
    """The most memory that a process has meanwhile, in bytes, as the only item."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            most[0] = max(most[0], resident(pid))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield most
    finally:
        over.set()
        looking.join()
