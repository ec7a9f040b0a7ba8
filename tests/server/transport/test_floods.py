# SPDX-License-Identifier: GPL-3.0-or-later
"""An honest client beside each flood, in a Blender of its own: it is served, and memory stays bounded.

Its calls are compared with those that it made before in the same Blender, and with how long a busy machine lets any
call wait. `make bench ARGS=floods` says what a quiet machine reaches, and tests/server/transport counts the turns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from bl_ext.user_default.mcp_bridge.server.clients.token_store import TokenStore

from support.bench import percentile, samples
from support.bridges.serving import TOKEN, Served, serving
from support.clients import floods
from support.clients.raw_client import RawClient
from support.running.processes import resident

MIB = 1 << 20
_CALLS = 100
#: A median that a busy machine may have, in seconds.
_BUSY_S = 0.02
#: The longest call there, in seconds: without turns, a flood holds it up for as long as it lasts.
_BUSY_LONGEST_S = 1.0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    folder = tmp_path_factory.mktemp("flooded")
    with serving(folder, killed=True) as running:
        _, token = TokenStore(folder / "blender" / "mcp_bridge" / "clients.json").mint("Flood")
        yield running, token


@pytest.mark.parametrize("kind", floods.KINDS)
def test_an_honest_client_is_served_beside_it(served: tuple[Served, str], kind: str) -> None:
    running, token = served
    honest = RawClient(running.port, TOKEN)

    def call() -> None:
        honest.call("get_object_info", name="Cube")

    quiet = percentile(samples(call, _CALLS, warm_up=20), 0.5)
    rest = most = resident(running.pid)
    with floods.flood(kind, running.port, token):
        taken = []
        until = time.monotonic() + 1.5
        while len(taken) < _CALLS or time.monotonic() < until:
            begin = time.perf_counter()
            call()
            taken.append(time.perf_counter() - begin)
            most = max(most, resident(running.pid))
    honest.close()
    assert percentile(sorted(taken), 0.5) <= 5 * max(quiet, _BUSY_S)
    assert max(taken) <= _BUSY_LONGEST_S
    assert most - rest <= 256 * MIB
