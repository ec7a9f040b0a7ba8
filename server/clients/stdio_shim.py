#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""MCP over stdin and stdout, for clients that start a program: passes messages to and from a running Blender.

    python stdio_shim.py [--instance PID | PORT | PART-OF-FILE-NAME]

Stand-alone: one file, the standard library, Python 3.9 or newer. It finds Blender by the record that the bridge writes
to the user's run-time folder, or by BLENDER_HOST and BLENDER_PORT, and sends its token (BLENDER_MCP_TOKEN, else the
record's) only to a port that answers GET /health as that bridge. Without a token of its own it asks Blender, whose
panel asks the user, once for each client. It never exits by itself: without a Blender it answers from `offline.json`,
a bridge's recorded answers, and connects when a Blender appears.

With several Blenders it has two tools of its own, `list_instances` and `use_instance`, so that an assistant can tell
them apart and work in another one.

Two threads: the main one reads the client, the other keeps the connection and reads Blender. If the connection breaks
during a request, the request is sent again only if it cannot have changed the scene.

Time: BLENDER_SOCKET_TIMEOUT (10 s) limits connecting and silence between requests, never a call.
BLENDER_CONNECT_ATTEMPTS (3) is how often it tries to connect for a request before it answers with the failure,
BLENDER_RETRY_BACKOFF (0.5 s) the first pause between two tries; each further pause is twice as long, up to 30 s.
Without anything to connect to, it answers a request at once. BLENDER_COMMAND_ATTEMPTS (3) is how often it sends a
request that is safe to repeat.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    Json = dict[str, Any]

PRODUCT = "mcp_bridge"
#: Revisions with the `initialize` handshake, the newest last.
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

_OWN_ID = "mcp-bridge-shim:"
_ENVELOPE = "io.modelcontextprotocol/protocolVersion"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LISTS = ("tools", "resources", "prompts")
_REPLAYED = {"logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
#: The longest pause between two tries for a request, and between two looks for Blender while nobody waits.
_LONGEST_PAUSE_S, _LOOK_EVERY_S = 30.0, 2.0
_LAST_ANSWERS_S = 1.0
_WHAT_TO_DO = (
    "Open Blender, go to the MCP tab in the sidebar of the 3D view (key N) and press Start; then try again."
)
#: The shim's own tools; the list has them while there are several Blenders.
_OWN_TOOLS: tuple[Json, ...] = (
    {
        "name": "list_instances",
        "title": "List Blenders",
        "description": "The Blenders that run now: file, version, port, and which one you work in.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "use_instance",
        "title": "Use Another Blender",
        "description": "Work in another one of the running Blenders from now on.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "instance": {
                    "type": "string",
                    "description": "Its port, process id or part of its file's name.",
                }
            },
            "required": ["instance"],
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
    },
)
_MAYBE_APPLIED = (
    "Blender closed, or the connection to it broke, while this was under way. It may or may not have been applied: "
    "look at the scene before you repeat it."
)


# --- finding Blender ----------------------------------------------------------------------------------------


class Instance(NamedTuple):
    """A running bridge, from its record. `token` is valid for this run only; `started` is a Unix time.

    `pairs`: the token only lets a program ask for access; the user answers in Blender.
    """

    pid: int
    host: str
    port: int
    token: str
    instance_id: str
    started: float
    blend_file: str = ""
    blender_version: str = ""
    pairs: bool = False


def instance_folders(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> list[Path]:
    """Return the folders that may hold records, the preferred one first.

    On Linux the run-time folder can be missing (a container, a bare login): the state folder is the second choice.
    """
    home = Path(environ.get("USERPROFILE" if platform == "win32" else "HOME") or Path.home())
    if platform == "win32":
        bases = [Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")]
    elif platform == "darwin":
        bases = [home / "Library" / "Application Support"]
    else:
        runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        bases = [Path(runtime), Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state")]
    return [base / PRODUCT / "instances" for base in bases]


def read_instances(folders: list[Path]) -> list[Instance]:
    """Return every instance on record, the newest first; a Blender that was killed may have left one."""
    found = []
    for path in (path for folder in folders for path in folder.glob("*.json")):
        # Another program may just remove a record, and a file may not be a record.
        with contextlib.suppress(OSError, ValueError, TypeError):
            if os.name != "posix" or path.stat().st_uid == os.getuid():
                record = json.loads(path.read_bytes())
                found.append(Instance(**{key: record[key] for key in Instance._fields if key in record}))
    return sorted(found, key=lambda instance: instance.started, reverse=True)


def running_instances(folders: list[Path]) -> list[Instance]:
    """Return the instances on record whose process runs, as far as the standard library can tell."""
    return [instance for instance in read_instances(folders) if _lives(instance.pid)]


def _lives(pid: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def describe(instance: Instance) -> str:
    """Describe an instance in a few words."""
    file = os.path.basename(instance.blend_file.replace("\\", "/")) or "unsaved"
    return f"{file} (Blender {instance.blender_version or 'of unknown version'}, port {instance.port})"


def matches(instance: Instance, wanted: str) -> bool:
    """Return whether `wanted` (a process id, a port, or part of the file's name in any case) means this instance."""
    if wanted.isdigit() and int(wanted) in (instance.pid, instance.port):
        return True
    return wanted.lower() in os.path.basename(instance.blend_file.replace("\\", "/")).lower()


# --- WebSocket (RFC 6455), the client's side ----------------------------------------------------------------


class Unreachable(OSError):
    """Tells that there is no bridge to talk to now, and that trying again at once cannot help."""


class NotAllowed(Unreachable):
    """Tells that the user has not admitted this client, or not yet."""


class Closed(OSError):
    """Tells that the connection has ended."""


class WebSocket:
    """One connection. `send` may be called by any thread, `receive` by one."""

    def __init__(self, instance: Instance, timeout: float) -> None:
        """Connect and shake hands, no step taking longer than `timeout` seconds; raises `OSError`."""
        self._lock = threading.Lock()
        self._buffer = bytearray()
        self._parts = bytearray()
        self._socket = _shake_hands(instance, timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(None)

    def send(self, data: bytes, opcode: int = 1) -> None:
        """Send a text message. An `OSError` means that it was not sent whole: nobody can have acted on it."""
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
        key = os.urandom(4)
        mask = int.from_bytes(key * (size // 4) + key[: size % 4], "big")
        body = (int.from_bytes(data, "big") ^ mask).to_bytes(size, "big")
        with self._lock:
            self._socket.sendall(head + key + body)

    def ping(self) -> None:
        """Ask whether the other end still answers."""
        self.send(b"", opcode=9)

    def receive(self, timeout: float) -> bytes | None:
        """Return the next whole message, or None after `timeout` seconds of silence. Raises `OSError`."""
        while True:
            frame = self._next_frame()
            if frame is None:
                if not select.select([self._socket], [], [], timeout)[0]:
                    return None
                self._read_some()
                continue
            final, opcode, data = frame
            if opcode == 8:
                with contextlib.suppress(OSError):
                    self.send(data, opcode=8)
                raise Closed("Blender closed the connection")
            if opcode == 9:
                self.send(data, opcode=10)
            if opcode == 10:
                return b""  # a ping or pong: a sign of life, not a message
            if opcode in (0, 1):
                self._parts += data
                if final:
                    message, self._parts = bytes(self._parts), bytearray()
                    return message

    def close(self) -> None:
        """End the connection; it may have ended already."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in receive
        self._socket.close()

    def _read_some(self) -> None:
        data = self._socket.recv(1 << 18)
        if not data:
            raise Closed("Blender is gone")
        self._buffer += data

    def _next_frame(self) -> tuple[bool, int, bytes] | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        size, start = buffer[1] & 0x7F, 2
        if size > 125:
            form, start = ("!H", 4) if size == 126 else ("!Q", 10)
            if len(buffer) < start:
                return None
            (size,) = struct.unpack_from(form, buffer, 2)
        if len(buffer) < start + size:
            return None
        final, opcode = bool(buffer[0] & 0x80), buffer[0] & 0x0F
        data = bytes(memoryview(buffer)[start : start + size])
        del buffer[: start + size]
        return final, opcode, data


def _shake_hands(instance: Instance, timeout: float) -> socket.socket:
    """Connect, check by /health that this is the bridge on record, and only then send the token."""
    key = base64.b64encode(os.urandom(16)).decode()
    accept = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()  # noqa: S324 - the RFC's
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "mcp",
        "Authorization": f"Bearer {instance.token}",
    }
    with _bridge_at(instance, timeout) as connection:
        connection.request("GET", "/mcp", headers=headers)
        response = connection.getresponse()
        if response.status != 101:
            raise Unreachable(
                f"Blender refused the connection: {_refusal(response.read()) or response.reason}"
            )
        if response.headers["Sec-WebSocket-Accept"] != base64.b64encode(accept).decode():
            raise _stranger(instance)
    sock: socket.socket = connection.sock
    return sock  # nothing is lost in the response's buffer: a bridge never speaks first


def pair(instance: Instance, client: Json, timeout: float) -> str:
    """Return the token with which the user admits this client (its `clientInfo`). Raises `NotAllowed` without one."""
    headers = {"Authorization": f"Bearer {instance.token}", "Content-Type": "application/json"}
    with _bridge_at(instance, timeout) as connection:
        connection.request("POST", "/pair", _encode({"client": client}), headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
    if response.status == 200:
        return str(json.loads(answer)["token"])
    raise NotAllowed(_refusal(answer) or response.reason)


@contextlib.contextmanager
def _bridge_at(instance: Instance, timeout: float) -> Iterator[Any]:
    """Yield a connection to the bridge on record, after checking that it answers; close it if anything fails."""
    import http.client  # loads slowly, and the bridge loads this file, too

    connection = http.client.HTTPConnection(instance.host, instance.port, timeout=timeout)
    try:
        connection.request("GET", "/health")
        if not _is_bridge(connection.getresponse().read(), instance):
            raise _stranger(instance)
        yield connection
    except http.client.HTTPException:
        connection.close()
        raise _stranger(instance) from None
    except BaseException:
        connection.close()
        raise


def _stranger(instance: Instance) -> Unreachable:
    return Unreachable(f"{instance.host}:{instance.port} is in use by another program. {_WHAT_TO_DO}")


def _is_bridge(answer: bytes, instance: Instance) -> bool:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        health = json.loads(answer)
        return health["product"] == PRODUCT and instance.instance_id in ("", health["instance_id"])
    return False


def _refusal(answer: bytes) -> str:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        error = json.loads(answer)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    return answer[:1000].decode("utf-8", "replace").strip()


# --- answers without Blender --------------------------------------------------------------------------------


class Offline:
    """A bridge's recorded answers from `offline.json`: `initialize`, `discover` and `tools`."""

    def __init__(self, path: Path) -> None:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        self._initialize: Json = recorded["initialize"]
        self._discover: Json = recorded["discover"]
        self._tools: list[Json] = recorded["tools"]
        self.read_only = {
            tool["name"] for tool in self._tools if tool.get("annotations", {}).get("readOnlyHint") is True
        }

    def answer(self, message: Json, reason: str) -> Json:
        """Return the response to a request; `reason` says why there is no Blender to ask."""
        method, params = message["method"], _params(message)
        reply: Json = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
            reply["result"] = {**self._initialize, "protocolVersion": version}
        elif method == "server/discover":
            reply["result"] = {**self._discover, "ttlMs": 0}
        elif method == "tools/call":
            reply["result"] = tool_error(message, reason)
        elif method == "ping" or method in _REPLAYED:
            reply["result"] = {}
        elif method.endswith("/list") and not method.startswith("tasks/"):
            key = "resourceTemplates" if "templates" in method else method.split("/")[0]
            tools = [*self._tools, *_OWN_TOOLS] if several() else self._tools
            reply["result"] = {key: tools if key == "tools" else [], **_era_fields(message)}
        else:
            reply["error"] = {"code": -32603, "message": reason}
        return reply


def several() -> bool:
    """Return whether several Blenders run, so that an assistant has a choice."""
    return len(running_instances(instance_folders())) > 1


def tool_result(message: Json, text: str, facts: Json) -> Json:
    """Return the result of one of the shim's own tools, in the form of the request's revision."""
    fields = _era_fields(message)
    era = {"resultType": fields["resultType"]} if fields else {}
    return {"content": [{"type": "text", "text": text}], "structuredContent": facts, **era}


def tool_error(message: Json, text: str) -> Json:
    """Return a tool result that tells the assistant what is wrong, in the form of the request's revision."""
    fields = _era_fields(message)
    era = {"resultType": fields["resultType"]} if fields else {}
    failure = {"status": "error", "error": "ExternalServiceError", "message": text}
    return {"content": [{"type": "text", "text": text}], "structuredContent": failure, "isError": True, **era}


def _era_fields(message: Json) -> Json:
    stateless = _ENVELOPE in (_params(message).get("_meta") or {})
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if stateless else {}


def _params(message: Json) -> Json:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


# --- the shim -----------------------------------------------------------------------------------------------


class Options(NamedTuple):
    """The options from the command line and the environment."""

    instance: str = ""
    host: str = "127.0.0.1"
    port: int = 0
    token: str = ""
    timeout: float = 10.0
    connect_attempts: int = 3
    command_attempts: int = 3
    backoff: float = 0.5

    @classmethod
    def read(cls, arguments: list[str], environ: Mapping[str, str]) -> Options:
        """Read the options. Raises `ValueError` that names a variable, its value and what to use instead."""
        import argparse

        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
        parser.add_argument("--instance", default="", help="process id, port, or part of the file's name")
        instance = parser.parse_args(arguments).instance
        port = 9876 if environ.get("BLENDER_HOST") else 0
        return cls(
            instance=instance,
            host=environ.get("BLENDER_HOST") or cls._field_defaults["host"],
            port=0 if instance else _whole(environ, "BLENDER_PORT", port, 1024, 65535),
            token=environ.get("BLENDER_MCP_TOKEN", ""),
            timeout=_seconds(environ, "BLENDER_SOCKET_TIMEOUT", 10.0, 0.1, 3600),
            connect_attempts=_whole(environ, "BLENDER_CONNECT_ATTEMPTS", 3, 1, 100),
            command_attempts=_whole(environ, "BLENDER_COMMAND_ATTEMPTS", 3, 1, 100),
            backoff=_seconds(environ, "BLENDER_RETRY_BACKOFF", 0.5, 0.01, 30),
        )


def _whole(environ: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = environ.get(name, "").strip()
    with contextlib.suppress(ValueError):
        number = int(text) if text else default
        if not text or low <= number <= high:
            return number
    raise ValueError(f"{name} is {text!r}: use a whole number from {low} to {high}")


def _seconds(environ: Mapping[str, str], name: str, default: float, low: float, high: float) -> float:
    text = environ.get(name, "").strip()
    with contextlib.suppress(ValueError):
        number = float(text) if text else default
        if low <= number <= high:  # false for NaN
            return number
    raise ValueError(f"{name} is {text!r}: use a number of seconds from {low:g} to {high:g}")


class Request:
    """A request of the client that waits for its answer.

    `link` is the connection on which it was sent, `sent` how often it was sent, `tries` how often connecting for it
    failed.
    """

    def __init__(self, message: Json, line: bytes) -> None:
        self.message = message
        self.line = line
        self.method: str = message["method"]
        self.params = _params(message)
        self.link: WebSocket | None = None
        self.sent = 0
        self.tries = 0


class Shim:
    """Passes messages in both directions, and remembers what must outlive a Blender."""

    def __init__(self, options: Options, offline: Offline, output: BinaryIO) -> None:
        self._options = options
        self._offline = offline
        self._output = output
        self._output_lock = threading.Lock()
        self._lock = threading.Lock()  # protects all attributes below
        self._wake = threading.Event()
        self._link: WebSocket | None = None
        self._instance_id = ""
        self._wanted: Instance | None = None  # the instance that the assistant chose
        self._several = False  # whether the client last heard that there are several
        self._links = 0
        self._last_message = ""
        self._client: Json | None = None  # the client's own description of itself
        self._waiting: dict[str, Request] = {}
        self._initialize: Json | None = None  # the client's parameters, after its answer
        self._replayed: dict[str, Json] = {}
        self._questions: dict[str, Any] = {}  # Blender's questions to the client: our id -> Blender's id

    def run(self, lines: Iterable[bytes]) -> None:
        """Serve until the client closes its end."""
        threading.Thread(target=self._connection_thread, daemon=True).start()
        for line in lines:
            if line.strip():
                self._from_client(line.strip())
        deadline = time.monotonic() + _LAST_ANSWERS_S
        while self._waiting and time.monotonic() < deadline:
            time.sleep(0.01)

    # from the client, on the main thread

    def _from_client(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            method = message.get("method")
        except (ValueError, AttributeError) as error:
            self._to_client(
                _error(None, -32700, f"a line must be one JSON-RPC message, without batches: {error}")
            )
            return
        if not isinstance(method, str):
            self._answer_blender(message)
        elif method == "tools/call" and _params(message).get("name") in _OWN_NAMES and "id" in message:
            self._to_client({"jsonrpc": "2.0", "id": message["id"], "result": self._call_own(message)})
        elif "id" in message:
            self._client = self._client or _client_info(message)
            request = Request(message, line)
            with self._lock:
                self._waiting[json.dumps(message["id"])] = request
            self._pass_on(request)
            if request.link is None:
                self._wake.set()
        else:
            if method == "notifications/cancelled":
                with self._lock:
                    self._waiting.pop(json.dumps(_params(message).get("requestId")), None)
            self._to_blender(line)

    def _call_own(self, message: Json) -> Json:
        """Return the result of one of the shim's own tools."""
        found = running_instances(instance_folders())
        if _params(message)["name"] == "list_instances":
            facts = [
                {
                    "port": each.port,
                    "pid": each.pid,
                    "file": each.blend_file,
                    "blender_version": each.blender_version,
                    "in_use": each.instance_id == self._instance_id and self._link is not None,
                }
                for each in found
            ]
            return tool_result(
                message, json.dumps({"instances": facts}, ensure_ascii=False), {"instances": facts}
            )
        wanted = (_params(message).get("arguments") or {}).get("instance")
        if not isinstance(wanted, (str, int)) or not str(wanted).strip():
            return tool_error(
                message, "instance: give a port, a process id or part of a file's name, as a string"
            )
        if self._options.port or self._options.instance:
            return tool_error(
                message, "This client's configuration names the Blender that it works in: change it there."
            )
        fitting = [each for each in found if matches(each, str(wanted).strip())]
        if len(fitting) != 1:
            there = "; ".join(map(describe, found)) or "none"
            what = "No Blender matches" if not fitting else "Several Blenders match"
            return tool_error(message, f"{what} {wanted!r}. Running: {there}.")
        self._change_to(fitting[0])
        return tool_result(
            message,
            f"From now on you work in {describe(fitting[0])}. Look at its scene first.",
            {"status": "success"},
        )

    def _change_to(self, instance: Instance) -> None:
        with self._lock:
            link, same = self._link, instance.instance_id == self._instance_id
            self._wanted = instance
        if link is not None and not same:
            link.close()  # the other thread notices that, and connects again
        self._wake.set()

    def _pass_on(self, request: Request) -> None:
        with self._lock:
            link = self._link
            if link is None or request.link is not None:
                return
            request.link = link
            request.sent += 1
        try:
            link.send(request.line)
        except OSError:
            request.sent -= 1
            link.close()

    def _to_blender(self, line: bytes) -> None:
        link = self._link
        if link:
            try:
                link.send(line)
            except OSError:
                link.close()

    def _answer_blender(self, message: Json) -> None:
        """Pass on an answer, but only to the Blender that asked: a yes must not reach the next one."""
        own = str(message.get("id"))
        with self._lock:
            if own not in self._questions:
                return
            message["id"] = self._questions.pop(own)
        self._to_blender(_encode(message))

    # from Blender, on the thread that keeps the connection

    def _connection_thread(self) -> None:
        try:
            self._keep_connected()
        except BaseException:  # a shim must end rather than only seem to run
            sys.excepthook(*sys.exc_info())
            os._exit(70)

    def _keep_connected(self) -> None:
        while True:
            waiting = list(self._waiting.values())
            try:
                link = self._connect()
            except OSError as error:
                self._say(str(error))
                self._pause(self._count_try(waiting, error))
                continue
            try:
                self._serve(link)
            except (OSError, ValueError) as error:
                self._say(f"the connection broke: {error}")
                self._lost(link)

    def _count_try(self, waiting: list[Request], error: OSError) -> int:
        """Answer the requests that have waited long enough; return the number of tries for the others."""
        for request in waiting:
            request.tries += 1
        hopeless = isinstance(error, Unreachable)
        given_up = [one for one in waiting if hopeless or one.tries >= self._options.connect_attempts]
        self._answer_waiting(given_up, str(error))
        return max((one.tries for one in waiting if one not in given_up), default=0)

    def _pause(self, tries: int) -> None:
        """Wait before the next try: the whole back-off while requests wait, else for a request or some time."""
        if tries:
            time.sleep(min(self._options.backoff * 2 ** min(tries - 1, 20), _LONGEST_PAUSE_S))
        else:
            self._wake.wait(max(_LOOK_EVERY_S, self._options.backoff))
        self._wake.clear()

    def _connect(self) -> WebSocket:
        failure: OSError | None = None
        for instance in self._candidates():
            try:
                link = WebSocket(self._let_in(instance), self._options.timeout)
            except NotAllowed:
                raise  # nor does it ask another Blender
            except OSError as error:
                failure = failure or error
                continue
            self._instance_id = instance.instance_id
            self._say(f"connected to Blender on {instance.host}:{instance.port}")
            return link
        if isinstance(failure, Unreachable):
            raise failure
        raise Closed(f"Blender does not answer ({failure}). {_WHAT_TO_DO}")

    def _let_in(self, instance: Instance) -> Instance:
        """Return the instance with the token that admits this client."""
        if self._options.token or not instance.pairs:
            return instance
        if self._client is None:
            raise NotAllowed("waiting for the client to say who it is")
        return instance._replace(token=pair(instance, self._client, self._options.timeout))

    def _candidates(self) -> list[Instance]:
        """Return the instances to try, in order. Raises `Unreachable` if there is none."""
        options = self._options
        found = read_instances(instance_folders())
        if options.port:
            here = [item for item in found if item.port == options.port and options.host in _LOOPBACK]
            chosen = here or [Instance(0, options.host, options.port, "", "", 0.0)]
        else:
            chosen = [item for item in found if matches(item, options.instance)]
        if self._wanted is not None:
            chosen = self._chosen(self._wanted, found)
        if not found and not chosen:
            raise Unreachable(f"Blender is not running, or MCP Bridge is not started in it. {_WHAT_TO_DO}")
        if not chosen:
            there = "; ".join(map(describe, found))
            if self._wanted is not None:
                raise Unreachable(
                    f"The Blender that you chose is gone: {describe(self._wanted)}. Running: {there}. "
                    "Choose another by use_instance."
                )
            raise Unreachable(f"No Blender with MCP Bridge matches {options.instance!r}. Running: {there}.")
        chosen.sort(key=lambda item: item.instance_id != self._instance_id)
        return [item._replace(token=options.token or item.token) for item in chosen]

    def _chosen(self, wanted: Instance, found: list[Instance]) -> list[Instance]:
        """Return the instance that the assistant chose, or the one that has opened its file after a restart."""
        same = [item for item in found if item.instance_id == wanted.instance_id]
        return same or [item for item in found if item.blend_file and item.blend_file == wanted.blend_file]

    def _serve(self, link: WebSocket) -> None:
        """Pass messages until the connection breaks, with an `OSError`."""
        changed = self._introduce(link)
        with self._lock:
            self._link = link
            self._links += 1
        for name in changed:
            self._to_client({"jsonrpc": "2.0", "method": f"notifications/{name}/list_changed"})
        for request in list(self._waiting.values()):
            self._pass_on(request)
        pinged = False
        while True:
            data = link.receive(self._options.timeout)
            if data:
                self._from_blender(data)
            elif data is None:
                if pinged and not any(request.link is link for request in list(self._waiting.values())):
                    raise Closed("Blender has stopped answering")
                link.ping()
                self._tell_of_several()
            pinged = data is None

    def _tell_of_several(self) -> None:
        """Notify the client if its list of tools has changed, because there are several Blenders now or no longer."""
        if self._initialize is not None and several() != self._several:
            self._several = not self._several
            self._to_client({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def _introduce(self, link: WebSocket) -> list[str]:
        """Repeat the client's handshake with a new Blender; return the lists that may have changed."""
        if self._initialize is None:
            return []
        link.send(_encode(_own_request("initialize", "", self._initialize)))
        answer = json.loads(link.receive(self._options.timeout) or b"{}")
        if "result" not in answer:
            raise Closed(f"Blender did not accept the handshake: {answer.get('error', 'no answer')}")
        link.send(_encode({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        for message in self._replayed.values():
            link.send(_encode(message))
        return [
            name for name in _LISTS if (answer["result"]["capabilities"].get(name) or {}).get("listChanged")
        ]

    def _from_blender(self, data: bytes) -> None:
        line = data.replace(b"\r", b" ").replace(
            b"\n", b" "
        )  # in JSON these characters occur only between tokens
        message: Json = json.loads(line)
        key = message.get("id")
        if "method" in message:
            if key is not None:
                self._ask_client(message)
            elif message["method"] == "notifications/cancelled":
                self._withdraw_question(message)
            else:
                self._write(line)
            return
        with self._lock:
            request = self._waiting.pop(json.dumps(key), None)
        if request and "result" in message:
            self._remember(request)
            if request.method == "tools/list" and not message["result"].get("nextCursor"):
                self._several = several()
                if self._several:
                    message["result"]["tools"].extend(_OWN_TOOLS)
                    line = _encode(message)
        if (
            request or key is None
        ):  # the client does not get answers to cancelled requests and to the shim's own
            self._write(line)

    def _ask_client(self, message: Json) -> None:
        own = f"{_OWN_ID}{self._links}:{json.dumps(message['id'])}"
        with self._lock:
            self._questions[own] = message["id"]
        self._to_client({**message, "id": own})

    def _withdraw_question(self, message: Json) -> None:
        with self._lock:
            for own, theirs in list(self._questions.items()):
                if theirs == message["params"].get("requestId"):
                    message["params"]["requestId"] = own
                    del self._questions[own]
        self._to_client(message)

    def _remember(self, request: Request) -> None:
        """Remember what the next Blender must hear again."""
        if request.method == "initialize":
            self._initialize = request.params
        elif request.method in _REPLAYED:
            uri = str(request.params.get("uri", ""))
            self._replayed[uri] = _own_request(request.method, uri, request.params)

    def _lost(self, link: WebSocket) -> None:
        """End a broken connection: answer requests that may have changed the scene, keep the others."""
        with self._lock:
            self._link = None
            broken = [request for request in self._waiting.values() if request.link is not None]
            asked, self._questions = self._questions, {}
        link.close()
        for own in asked:
            gone = {"requestId": own, "reason": "Blender is gone"}
            self._to_client({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone})
        for request in broken:
            request.link, request.tries = None, 0
            if request.sent > 0 and not self._repeatable(request):
                self._respond(request, self._offline.answer(request.message, _MAYBE_APPLIED))

    def _repeatable(self, request: Request) -> bool:
        if request.method == "subscriptions/listen":
            return True
        harmless = request.method != "tools/call" or request.params.get("name") in self._offline.read_only
        return harmless and request.sent < self._options.command_attempts

    def _answer_waiting(self, requests: list[Request], reason: str) -> None:
        for request in requests:
            if request.method != "subscriptions/listen":  # such a request stays open until there is news
                answer = self._offline.answer(request.message, reason)
                if "result" in answer:
                    self._remember(request)
                self._respond(request, answer)

    # to the client

    def _respond(self, request: Request, answer: Json) -> None:
        with self._lock:
            known = self._waiting.pop(json.dumps(request.message["id"]), None)
        if known:
            self._to_client(answer)

    def _to_client(self, message: Json) -> None:
        self._write(_encode(message))

    def _write(self, line: bytes) -> None:
        with self._output_lock:
            try:
                self._output.write(line + b"\n")
                self._output.flush()
            except (OSError, ValueError):  # the client has ended, and the shim serves nobody else
                os._exit(0)

    def _say(self, text: str) -> None:
        """Print a text to the client's log, once for any number of repeats."""
        if text != self._last_message:
            self._last_message = text
            print(f"MCP Bridge: {text}", file=sys.stderr, flush=True)


def _client_info(message: Json) -> Json:
    """Return the client's description in a request (`initialize`, or any in later revisions); empty without one."""
    params = _params(message)
    info = params.get("clientInfo") or (params.get("_meta") or {}).get("io.modelcontextprotocol/clientInfo")
    return info if isinstance(info, dict) else {}


_OWN_NAMES = frozenset(tool["name"] for tool in _OWN_TOOLS)


def _own_request(method: str, about: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": f"{_OWN_ID}{method}:{about}", "method": method, "params": params}


def _error(key: Any, code: int, text: str) -> Json:
    return {"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": text}}


def _encode(message: Json) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def main() -> int:
    """Run until the client closes stdin. Exit codes: 0, or 2 for a bad argument or variable."""
    try:
        options = Options.read(sys.argv[1:], os.environ)
    except ValueError as error:
        print(f"MCP Bridge: {error}", file=sys.stderr)
        return 2
    offline = Offline(Path(__file__).with_name("offline.json"))
    with contextlib.suppress(KeyboardInterrupt):
        Shim(options, offline, sys.stdout.buffer).run(sys.stdin.buffer)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # do not wait for the thread that reads Blender
