# SPDX-License-Identifier: GPL-3.0-or-later
"""A long time with restless clients: `make soak`, MCP_BRIDGE_SOAK_SECONDS of it (600).

Clients come, call, misbehave and hang up in the middle, all at once and at random. The server must answer whoever
behaves, and must neither grow nor leave threads and files behind.
"""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from support.bridges.serving import TOKEN, serving
from support.clients.raw_client import RawClient

SECONDS = float(os.environ.get("MCP_BRIDGE_SOAK_SECONDS", "600"))
CLIENTS = 8
OBJECTS = 500
#: Memory settles while the first clients come: growth counts from then on, in MiB.
WARM_UP = 0.25
MAX_GROWTH_MIB = 48


class Load:
    """What the clients do to the server at `port`, and what they saw."""

    def __init__(self, port: int, seconds: float) -> None:
        self.port = port
        self.until = time.monotonic() + seconds
        self.did: Counter[str] = Counter()
        self.wrong: list[str] = []

    def client(self, seed: int) -> None:
        """Do one thing after another until the time is over; stop at the first wrong answer."""
        chance = random.Random(seed)
        acts: list[Callable[[random.Random], None]] = [
            self.calls,
            self.hangs_up,
            self.nonsense,
            self.stranger,
        ]
        while time.monotonic() < self.until and not self.wrong:
            act = chance.choices(acts, weights=(6, 2, 1, 1))[0]
            try:
                act(chance)
            except Exception as error:
                self.wrong.append(f"{act.__name__}: {type(error).__name__}: {error}")
            self.did[act.__name__] += 1

    def calls(self, chance: random.Random) -> None:
        """A client that behaves."""
        client = RawClient(self.port, TOKEN)
        for _ in range(chance.randrange(1, 200)):
            if chance.random() < 0.1:
                page = client.call("get_scene_info", limit=50)["structuredContent"]
                assert len(page["objects"]) == 50
            elif chance.random() < 0.1:
                assert client.call("get_object_info", name="Nothing of the kind")["isError"] is True
            else:
                name = f"Part {chance.randrange(OBJECTS):05}"
                assert client.call("get_object_info", name=name)["structuredContent"]["name"] == name
        client.close()

    def hangs_up(self, chance: random.Random) -> None:
        """A client that is killed with calls under way."""
        client = RawClient(self.port, TOKEN)
        for number in range(chance.randrange(1, 20)):
            call = {"name": "get_scene_info", "arguments": {}}
            request = {"jsonrpc": "2.0", "id": f"left-{number}", "method": "tools/call", "params": call}
            client.send(json.dumps(request).encode())
        client.close()

    def nonsense(self, chance: random.Random) -> None:
        """A client that does not speak JSON-RPC: it is told so, or cut off."""
        client = RawClient(self.port, TOKEN)
        client.send(chance.choice([b"{", b"[]", b'"text"', b'{"jsonrpc": "2.0", "id": 1}', b"\xff\xfe"]))
        try:
            client.receive()
        except ConnectionError:
            self.did["cut off"] += 1
        client.close()

    def stranger(self, _: random.Random) -> None:
        """Somebody without a token, and somebody who says nothing."""
        with pytest.raises(ConnectionError, match="401"):
            RawClient(self.port, "not-a-token")
        socket.create_connection(("127.0.0.1", self.port), timeout=10).close()


def _process_of(port: int) -> int:
    """Return the process that listens on `port`."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
        assert json.load(answer)["status"] == "ok"
    entry = f"0100007F:{port:04X} 00000000:0000 0A"
    lines = Path("/proc/net/tcp").read_text().splitlines()
    inode = next(line.split()[9] for line in lines if entry in line)
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == f"socket:[{inode}]":
                return int(link.parts[2])
        except OSError:  # that process has ended meanwhile
            continue
    raise ProcessLookupError(f"no process listens on port {port}")


def _memory_mib(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def _left_open(process: int) -> tuple[int, int]:
    """Return how many threads and how many open files the process has."""
    folder = Path(f"/proc/{process}")
    return len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))


@pytest.mark.timeout(SECONDS + 120)
def test_restless_clients_leave_the_server_as_it_was(tmp_path: Path) -> None:
    with serving(tmp_path, objects=OBJECTS) as served:
        process = _process_of(served.port)
        threads, files = _left_open(process)
        load = Load(served.port, SECONDS)
        clients = [threading.Thread(target=load.client, args=(seed,), daemon=True) for seed in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(SECONDS * WARM_UP)
        warm = _memory_mib(process)
        for client in clients:
            client.join(SECONDS + 60)
        grown = _memory_mib(process) - warm
        print(f"\n{dict(load.did)}; memory {warm:.0f} MiB {grown:+.1f}")
        assert load.wrong == []
        assert load.did["calls"] > 0
        assert load.did["hangs_up"] > 0
        assert grown < MAX_GROWTH_MIB
        time.sleep(2)
        threads_after, files_after = _left_open(process)
        assert threads_after <= threads + 2
        assert files_after <= files + 2
        assert RawClient(served.port, TOKEN).call("get_object_info", name="Cube")["isError"] is not True
