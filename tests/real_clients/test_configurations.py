# SPDX-License-Identifier: GPL-3.0-or-later
"""Real clients read the files that *Connect…* writes: each is asked by its own command, most while Blender serves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.server.clients import stdio_shim
from bl_ext.user_default.mcp_bridge.server.clients.config import files, snippets, table

import real_clients
from support.bridges.serving import TOKEN, Served, serving

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("blender")) as running:
        yield running


@dataclass
class Home:
    """A user's home with one client, which is asked in it."""

    folder: Path
    kind: table.ClientKind
    program: Path

    @property
    def file(self) -> Path:
        # The tests run on Linux, whatever else the table knows.
        return self.folder / table.place(self.kind, "linux", {}).removeprefix("~/")

    def write(self, entry: dict[str, Any]) -> None:
        files.write(files.connect(self.kind, self.file, entry))

    def asks(self, *arguments: str) -> str:
        """What the client's command prints, without colours."""
        env = {
            **{
                name: value for name, value in os.environ.items() if not name.startswith(("BLENDER_", "XDG_"))
            },
            "HOME": str(self.folder),
            "PATH": real_clients.path(),
            "DISABLE_AUTOUPDATER": "1",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
        done = subprocess.run(
            [self.program, *arguments],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
        )
        return _COLOURS.sub("", done.stdout)


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    try:
        program = real_clients.install(real_clients.PROGRAMS[request.param])
    except real_clients.NotInstalled as why:
        pytest.skip(str(why))
    return Home(tmp_path, table.find(request.param), program)


def entry(kind: table.ClientKind, form: table.Form, served: Served) -> dict[str, Any]:
    """What *Connect…* writes for the Blender that serves; its port, since another may run on this computer."""
    here = snippets.Here(sys.executable, str(Path(stdio_shim.__file__)), "127.0.0.1", served.port, "4.2")
    made = snippets.entry(kind, form, here, TOKEN)
    if form == "stdio":
        made[kind.words[2]]["BLENDER_PORT"] = str(served.port)
    return made


@pytest.mark.timeout(400)
@pytest.mark.parametrize("form", ["stdio", "http"])
@pytest.mark.parametrize(
    ("home", "connected"),
    [
        ("claude_code", r"^blender: .* Connected$"),
        ("gemini", r"blender: .* - Connected$"),
        ("qwen", r"blender: .* - Connected$"),
        ("opencode", r"✓ blender connected"),
    ],
    indirect=["home"],
)
def test_the_client_says_that_it_is_connected(
    home: Home, connected: str, form: table.Form, served: Served
) -> None:
    home.write(entry(home.kind, form, served))
    printed = home.asks("mcp", "list")
    assert re.search(connected, printed, re.MULTILINE), printed


@pytest.mark.timeout(400)
@pytest.mark.parametrize("form", ["stdio", "http"])
@pytest.mark.parametrize("home", ["codex"], indirect=True)
def test_codex_lists_it(home: Home, form: table.Form, served: Served) -> None:
    home.write(entry(home.kind, form, served))
    printed = home.asks("mcp", "list", "--json")
    [found] = json.loads(printed[printed.index("[\n") :])
    assert (found["name"], found["enabled"], found["tool_timeout_sec"]) == ("blender", True, 600)
    expected = sys.executable if form == "stdio" else f"http://127.0.0.1:{served.port}/mcp"
    assert found["transport"]["command" if form == "stdio" else "url"] == expected


@pytest.mark.timeout(400)
@pytest.mark.parametrize("form", ["stdio", "http"])
@pytest.mark.parametrize("home", ["continue"], indirect=True)
def test_continue_takes_it_for_valid(home: Home, form: table.Form, served: Served) -> None:
    home.write(entry(home.kind, form, served))
    printed = home.asks("--config", str(home.file), "-p", "hello")
    assert "No model specified" in printed  # the next thing it asks for, after the file was read
    home.write({"name": "blender", "kommand": "x"})
    assert "Failed to parse config: mcpServers.0" in home.asks("--config", str(home.file), "-p", "hello")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("form", ["stdio", "http"])
@pytest.mark.parametrize("home", ["cline_cli"], indirect=True)
def test_cline_keeps_it_beside_what_it_adds_itself(home: Home, form: table.Form, served: Served) -> None:
    """The form that it writes itself is the one that we write."""
    made = entry(home.kind, form, served) if form == "http" else snippets_without_token(home.kind)
    home.write(made)
    transport = made["transport"]
    own = (
        ["--", transport["command"], *transport["args"]]
        if form == "stdio"
        else ["--transport", "http", transport["url"], "--header", f"Authorization: Bearer {TOKEN}"]
    )
    assert "Installed MCP server other." in home.asks("mcp", "add", "other", "--yes", *own)
    servers = json.loads(home.file.read_text(encoding="utf-8"))["mcpServers"]
    assert servers["blender"] == made
    assert servers["other"] == made


def snippets_without_token(kind: table.ClientKind) -> dict[str, Any]:
    return snippets.entry(kind, "stdio", snippets.Here("/python", "/shim.py", "127.0.0.1", 1, "4.2"), "")
