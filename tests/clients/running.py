# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one client over one transport and judges what came of it."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tap
from agents import Agent
from model import Model, pictures, results
from scenario import COLUMNS, STEPS, WAIT, Step
from sdks import Sdk

import clients
import real_clients
from support.bridges.serving import TOKEN, Served, serving
from support.running.blender import EXTENSION, installed_folder

__all__ = ("Row", "blender", "rows")

YES, NO, UNKNOWN = "yes", "no", "–"
#: What a client may take for all calls, in seconds.
_LONGEST_S = 150


@dataclass
class Row:
    """What works in a client over a transport: a word for each column."""

    client: str
    version: str
    transport: str
    cells: dict[str, str] = field(default_factory=lambda: dict.fromkeys(COLUMNS, UNKNOWN))
    note: str = ""


@contextmanager
def blender(folder: Path) -> Iterator[Served]:
    """A Blender that asks through the client."""
    importlib.import_module("bpy")
    import addon_utils  # found only after bpy is there

    addon_utils.enable(EXTENSION, default_set=True)
    own = folder / "blender"
    own.mkdir()
    with serving(own, BLENDER_MCP_CONFIRM="client") as served:
        yield served


def rows(
    client: Agent | Sdk, transports: Sequence[str], served: Served, folder: Path, *, verbose: bool
) -> Iterator[Row]:
    """One row for each transport, with a note where the client cannot be installed."""
    for transport in transports:
        place = folder / client.id / transport
        place.mkdir(parents=True)
        run = _Run(client, transport, served, place, verbose)
        row, begin = Row(client.label, run.version, transport), time.monotonic()
        try:
            run.judge(row)
        except real_clients.NotInstalled as why:
            row.note = str(why).splitlines()[0]
        seconds = round(time.monotonic() - begin)
        print(row.client, row.transport, row.cells, row.note, f"{seconds} s", file=sys.stderr, flush=True)
        yield row


class _Run:
    def __init__(
        self, client: Agent | Sdk, transport: str, served: Served, folder: Path, verbose: bool
    ) -> None:
        self.client, self.transport, self.served, self.folder = client, transport, served, folder
        self.verbose = verbose
        self.version = (
            client.version
            if isinstance(client, Sdk)
            else real_clients.PROGRAMS[client.id].package.rpartition("@")[2]
        )

    def judge(self, row: Row) -> None:
        """Run the scenario, then the call that is cancelled, and fill in the row."""
        said, got, body = self._once("all", STEPS)
        _connection(said, row)
        for number, step in enumerate(STEPS):
            if step.column and step.says:
                shown = got[number] if number < len(got) else None
                row.cells[step.column] = UNKNOWN if shown is None else YES if step.says in shown else NO
        picture = [step.column for step in STEPS].index("picture")
        if len(got) > picture:
            row.cells["picture"] = pictures(body[picture])
        _question(said, row)
        number = [step.column for step in STEPS].index("question")
        if row.cells["question"] == "accept" and "42" not in "".join(got[number : number + 1]):
            row.cells["question"] = NO  # it said yes, and nothing ran
        _progress(said, row)
        before = self._ended()
        said, _, _ = self._once("cancel", (WAIT,))
        ended = _comes(lambda: self._ended() > before)
        row.cells["cancel"] = _cancelled(said, ended)
        _end_what_is_left(self.folder)

    def _ended(self) -> int:
        """How many calls that waited have ended without an answer, as Blender counts them."""
        found = re.search(
            r'calls_total\{outcome="error",tool="wait_for_event"\} (\d+)', _metrics(self.served.port)
        )
        return int(found[1]) if found else 0

    def _once(self, name: str, steps: Sequence[Step]) -> tuple[list[dict[str, Any]], list[str], list[Any]]:
        """What both sides said, the results as the model gets them, and for each what it got besides."""
        home = self.folder / name
        home.mkdir()
        log = home / "tap.jsonl"
        with tap.HttpTap(self.served.port, log) as http:
            if isinstance(self.client, Sdk):
                return self._sdk(self.client, home, log, http.port, steps)
            return self._agent(self.client, home, log, http.port, steps)

    # --- assistants

    def _agent(
        self, agent: Agent, home: Path, log: Path, port: int, steps: Sequence[Step]
    ) -> tuple[list[dict[str, Any]], list[str], list[Any]]:
        program = real_clients.install(real_clients.PROGRAMS[agent.id])
        self._configure(agent, home, log, port)
        with Model(steps) as model:
            arguments, more = agent.model(home, model.url)
            inherited = {
                name: value for name, value in os.environ.items() if not name.startswith(("BLENDER_", "XDG_"))
            }
            env = {**inherited, "HOME": str(home), "PATH": real_clients.path(), "NO_COLOR": "1", **more}
            env |= {"TAP_LOG": str(log), "DISABLE_AUTOUPDATER": "1", "CI": "1"}
            output = home / "output.txt"
            with output.open("wb") as file:
                process = subprocess.Popen(
                    [program, *arguments],
                    cwd=home,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            try:
                if steps == (WAIT,):
                    _interrupt(process, log)
                process.wait(_LONGEST_S)
            except subprocess.TimeoutExpired:
                pass
            finally:
                _end(process)
            if self.verbose:
                print(output.read_text(errors="replace")[-6000:], file=sys.stderr)
                asked = [(path, sorted(body)) for path, body in model.all[:12]]
                print(json.dumps(asked)[:3000], file=sys.stderr)
        return tap.read(log), *_what_the_model_got(model)

    def _configure(self, agent: Agent, home: Path, log: Path, port: int) -> None:
        """Write what *Connect…* writes, with the tap in the place of the shim or of Blender's port."""
        config = f"{EXTENSION}.server.clients.config"
        files, snippets, table = (
            importlib.import_module(f"{config}.{name}") for name in ("files", "snippets", "table")
        )
        kind = table.find(agent.id)
        here = snippets.Here(sys.executable, str(Path(tap.__file__)), "127.0.0.1", port, "4.2")
        entry = snippets.entry(kind, self.transport, here, TOKEN)
        if self.transport == "stdio":
            inner = entry[kind.within] if kind.within else entry
            inner[kind.words[2]] |= self._shim_environment(log)
        place = home / table.place(kind, "linux", {}).removeprefix("~/")
        files.write(files.connect(kind, place, entry))

    def _shim_environment(self, log: Path) -> dict[str, str]:
        return {
            "TAP_LOG": str(log),
            "TAP_SHIM": str(installed_folder() / "server" / "clients" / "stdio_shim.py"),
            "BLENDER_PORT": str(self.served.port),
            "BLENDER_MCP_TOKEN": TOKEN,
        }

    # --- SDKs

    def _sdk(
        self, sdk: Sdk, home: Path, log: Path, port: int, steps: Sequence[Step]
    ) -> tuple[list[dict[str, Any]], list[str], list[Any]]:
        command, more = sdk.command()
        with tap.WebSocketTap(self.served.port, TOKEN, log) as socket, Model(steps) as model:
            told = {
                "transport": self.transport,
                "url": f"http://127.0.0.1:{port}/mcp",
                "websocket": f"ws://127.0.0.1:{socket.port}/mcp",
                "token": TOKEN,
                "command": sys.executable,
                "args": [str(Path(tap.__file__))],
                "env": self._shim_environment(log),
                "steps": [{"tool": one.tool, "arguments": _objects(one.arguments)} for one in steps],
                "cancel": steps == (WAIT,),
                "model": model.url,
            }
            output = home / "output.txt"
            with output.open("wb") as file, contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    command,
                    cwd=clients.CLIENTS,
                    env={**os.environ, **more, "TOLD": json.dumps(told)},
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=_LONGEST_S,
                )
            time.sleep(0.5)  # the shim's last words
        text = output.read_text(errors="replace")
        if self.verbose:
            print(text[-6000:], file=sys.stderr)
        if sdk.scripted:
            return tap.read(log), *_what_the_model_got(model)
        given = [line.removeprefix("RESULT ") for line in text.splitlines() if line.startswith("RESULT ")]
        shown = [json.dumps(json.loads(line), ensure_ascii=False) for line in given]
        return tap.read(log), shown, [json.loads(line) for line in given]


def _objects(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a program has them: an object is one, where the list of tools shows a text to a model."""
    return {name: json.loads(value) if name == "arguments" else value for name, value in arguments.items()}


def _interrupt(process: subprocess.Popen[bytes], log: Path) -> None:
    """As Ctrl-C in a terminal, once the call that waits has begun; twice, as programs ask for it."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        if any(one["message"].get("method") == "tools/call" for one in tap.read(log)):
            break
        time.sleep(0.2)
    for _ in range(2):
        time.sleep(2.0)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _end_what_is_left(folder: Path) -> None:
    """End what clients with a home in here have left running: Cline's command line starts a service that stays."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"\0HOME={folder}/".encode() in b"\0" + (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGTERM)


def _what_the_model_got(model: Model) -> tuple[list[str], list[Any]]:
    """The results, each from the request in which it came first, and that request."""
    got: list[str] = []
    bodies: list[Any] = []
    for body in model.seen:
        found = results(body)[model.searched :]
        while len(found) > len(got):
            got.append(found[len(got)])
            bodies.append(body)
    return got, bodies


# --- what the tap tells


def _methods(said: list[dict[str, Any]], who: str, method: str) -> list[dict[str, Any]]:
    return [
        one["message"]
        for one in said
        if one["from"] == who and isinstance(one["message"], dict) and one["message"].get("method") == method
    ]


def _answers(said: list[dict[str, Any]], who: str, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids = {json.dumps(one.get("id")) for one in requests}
    return [
        one["message"]
        for one in said
        if one["from"] == who
        and isinstance(one["message"], dict)
        and "method" not in one["message"]
        and json.dumps(one["message"].get("id")) in ids
    ]


def _connection(said: list[dict[str, Any]], row: Row) -> None:
    hello = _methods(said, "client", "initialize") + _methods(said, "client", "server/discover")
    lists = _methods(said, "client", "tools/list")
    for column, asked in (("connect", hello), ("list", lists)):
        answered = any("result" in one for one in _answers(said, "server", asked))
        row.cells[column] = YES if answered else NO


def _question(said: list[dict[str, Any]], row: Row) -> None:
    """Asked by a request of ours, or by an answer that wants input."""
    asked = _methods(said, "server", "elicitation/create")
    actions = [
        str((one.get("result") or {}).get("action", "error")) for one in _answers(said, "client", asked)
    ]
    for one in _methods(said, "client", "tools/call"):
        for answer in (one["params"].get("inputResponses") or {}).values():
            actions.append(str(answer.get("action", "error")))
    row.cells["question"] = actions[-1] if actions else "asked" if asked else "cannot be asked"


def _progress(said: list[dict[str, Any]], row: Row) -> None:
    renders = [
        one for one in _methods(said, "client", "tools/call") if one["params"].get("name") == "render_image"
    ]
    if renders:
        wanted = any("progressToken" in (one["params"].get("_meta") or {}) for one in renders)
        told = _methods(said, "server", "notifications/progress")
        row.cells["progress"] = YES if told else NO if wanted else "not asked for"


def _cancelled(said: list[dict[str, Any]], ended: bool) -> str:
    """`ended`: Blender has ended the call long before its time was over."""
    if not _methods(said, "client", "tools/call"):
        return UNKNOWN
    if not ended:
        return NO
    return YES if _methods(said, "client", "notifications/cancelled") else "closes"


def _comes(there: Callable[[], bool]) -> bool:
    """Whether it becomes so within some seconds."""
    until = time.monotonic() + 8
    while not there() and time.monotonic() < until:
        time.sleep(0.2)
    return there()


def _metrics(port: int) -> str:
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return answer.read().decode()
