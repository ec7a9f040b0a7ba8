# SPDX-License-Identifier: GPL-3.0-or-later
"""The two ends around the stdio shim: a bridge that a test scripts, and a client of the shim's process."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from http import HTTPStatus
from pathlib import Path
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

Json = dict[str, Any]

#: The most seconds for anything in these tests that should be immediate.
PATIENCE = 10.0

CAPABILITIES = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "resources": {}}


class ScriptedBridge:
    """A WebSocket server on a loopback port with the bridge's /health; answers `initialize` and `tools/list`.

    `next` returns the messages that arrive; the test sends everything else.
    """

    def __init__(
        self, *, port: int = 0, instance_id: str = "first", token: str = "token", product: str = "mcp_bridge"
    ):
        self.instance_id, self.token, self.product = instance_id, token, product
        self.answers_pings = True
        self.tokens_seen: list[str] = []
        self._received: queue.Queue[Json] = queue.Queue()
        self._connection: ServerConnection | None = None
        self._server: Server = serve(
            self._serve,
            "127.0.0.1",
            port,
            subprotocols=["mcp"],
            process_request=self._before,
            max_size=None,
            compression=None,
            ping_interval=None,
        )
        self.port: int = self._server.socket.getsockname()[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> ScriptedBridge:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.stop()

    def announce(self, folder: Path, **changes: Any) -> None:
        """Write a record of this bridge into the run-time folder with `mcp_bridge/instances`."""
        record = {
            "pid": os.getpid(),
            "host": "127.0.0.1",
            "port": self.port,
            "token": self.token,
            "instance_id": self.instance_id,
            "started": 1.0,
            **changes,
        }
        path = folder / "mcp_bridge" / "instances" / f"{self.instance_id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))

    def next(self, method: str) -> Json:
        """Return the next message that arrived; it must have this method ('' for an answer)."""
        message = self._received.get(timeout=PATIENCE)
        assert message.get("method", "") == method, message
        return message

    def next_request(self, method: str) -> Json:
        """Return the next request, after skipping notifications."""
        while "id" not in (message := self._received.get(timeout=PATIENCE)):
            pass
        assert message["method"] == method, message
        return message

    def nothing_more(self, seconds: float = 0.3) -> bool:
        """Return whether nothing arrives for a while."""
        try:
            self._received.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    @property
    def connection(self) -> ServerConnection:
        assert self._connection is not None
        return self._connection

    def send(self, message: Json) -> None:
        self.connection.send(json.dumps(message))

    def answer(self, request: Json, result: Json) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def drop(self) -> None:
        """Break the connection without a closing handshake, as a killed Blender does."""
        self.connection.socket.shutdown(2)

    def stop(self) -> None:
        if self._connection:
            self._connection.socket.close()
        self._server.shutdown()

    def _before(self, connection: ServerConnection, request: Any) -> Any:
        if request.path == "/health":
            return connection.respond(
                HTTPStatus.OK, json.dumps({"product": self.product, "instance_id": self.instance_id})
            )
        self.tokens_seen.append(request.headers.get("Authorization", ""))
        if self.tokens_seen[-1] != f"Bearer {self.token}":
            return connection.respond(
                HTTPStatus.UNAUTHORIZED, '{"error": "This token is not known to Blender."}'
            )
        return None

    def _serve(self, connection: ServerConnection) -> None:
        self._connection = connection
        try:
            for text in connection:
                message = json.loads(text)
                self._received.put(message)
                if message.get("method") == "initialize":
                    version = message["params"]["protocolVersion"]
                    server = {"name": "scripted", "version": self.instance_id}
                    self.answer(
                        message,
                        {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": server},
                    )
        except (ConnectionClosed, OSError):
            return


class ShimClient:
    """The shim as a real process, and the client that started it."""

    def __init__(self, shim: Path, *arguments: str, environ: dict[str, str]):
        command = [os.environ.get("SHIM_PYTHON", sys.executable), "-W", "error", str(shim), *arguments]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("BLENDER_")}
        self.process = subprocess.Popen(
            command,
            env={**inherited, "PYTHONUTF8": "0", **environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> ShimClient:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message: Json) -> None:
        self.write(json.dumps(message).encode())

    def request(self, key: int | str, method: str, params: Json | None = None) -> None:
        self.send({"jsonrpc": "2.0", "id": key, "method": method, "params": params or {}})

    def notify(self, method: str, params: Json | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def line(self, timeout: float = PATIENCE) -> bytes:
        """Return the next line that the shim wrote, without its end."""
        return self._lines.get(timeout=timeout)

    def next(self, timeout: float = PATIENCE) -> Json:
        message: Json = json.loads(self.line(timeout))
        return message

    def silent(self, seconds: float = 0.3) -> bool:
        """Return whether the shim writes nothing for a while."""
        try:
            self._lines.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    def initialize(self, version: str = "2025-11-25") -> Json:
        """Shake hands as a client does; return the result."""
        client = {"name": "test", "version": "1"}
        self.request(
            "hello",
            "initialize",
            {"protocolVersion": version, "capabilities": {"x": 1}, "clientInfo": client},
        )
        answer = self.next()
        assert answer["id"] == "hello", answer
        self.notify("notifications/initialized")
        result: Json = answer["result"]
        return result

    def finish(self) -> tuple[int, str]:
        """Close the shim's input; return its exit code and its output on stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE)
        return code, self.process.stderr.read().decode()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip(b"\n"))
