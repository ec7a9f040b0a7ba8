# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that the bundles are for take them, and what they start finds the Blender that serves."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import bundles
import real_clients
from support.bridges.live import until
from support.bridges.scripted_bridge import ShimClient
from support.bridges.serving import serving


def _run(client: str, home: Path, *arguments: str | Path, more: dict[str, str] | None = None) -> str:
    try:
        program = real_clients.install(real_clients.PROGRAMS[client])
    except real_clients.NotInstalled as why:
        pytest.skip(str(why))
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("BLENDER_", "XDG_"))
    }
    done = subprocess.run(
        [program, *arguments],
        cwd=home,
        env={**inherited, "HOME": str(home), "PATH": real_clients.path(), **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.timeout(400)
def test_the_bundle_is_valid_and_its_shim_needs_nothing_else(tmp_path: Path) -> None:
    made = bundles.bundle(tmp_path / "dist")
    _run("mcpb", tmp_path, "unpack", made, tmp_path / "unpacked")
    assert "Manifest schema validation passes" in _run("mcpb", tmp_path, "validate", tmp_path / "unpacked")
    with serving(tmp_path) as served:
        environ = {"XDG_RUNTIME_DIR": served.env["XDG_RUNTIME_DIR"]}
        until(lambda: list(Path(environ["XDG_RUNTIME_DIR"]).rglob("instances/*.json")))
        with ShimClient(
            tmp_path / "unpacked" / "server" / "clients" / "stdio_shim.py", environ=environ
        ) as client:
            client.initialize()
            client.request(1, "tools/call", {"name": "get_scene_info", "arguments": {}})
            while "result" not in (answer := client.next(30.0)):
                pass
        assert not answer["result"].get("isError"), answer


@pytest.mark.timeout(400)
def test_claude_code_installs_the_plug_in_and_connects(tmp_path: Path) -> None:
    claude, _ = bundles.plugins(tmp_path / "dist")
    for part in (claude, claude / "plugins" / bundles.NAME):
        assert "Validation passed" in _run("claude_code", tmp_path, "plugin", "validate", part)
    _run("claude_code", tmp_path, "plugin", "marketplace", "add", claude)
    _run("claude_code", tmp_path, "plugin", "install", f"{bundles.NAME}@{bundles.NAME}")
    with serving(tmp_path) as served:
        more = {"XDG_RUNTIME_DIR": served.env["XDG_RUNTIME_DIR"]}
        listed = _run("claude_code", tmp_path, "mcp", "list", more=more)
    assert "blender" in listed
    assert "Connected" in listed


@pytest.mark.timeout(400)
def test_codex_installs_the_plug_in(tmp_path: Path) -> None:
    _, codex = bundles.plugins(tmp_path / "dist")
    _run("codex", tmp_path, "plugin", "marketplace", "add", codex)
    _run("codex", tmp_path, "plugin", "add", f"{bundles.NAME}@{bundles.NAME}")
    listed = _run("codex", tmp_path, "mcp", "list", "--json")
    [found] = [one for one in json.loads(listed[listed.index("[\n") :]) if one["name"] == "blender"]
    transport = found["transport"]
    assert transport["command"] == "python3"
    assert (Path(transport["cwd"] or "") / transport["args"][-1]).is_file(), transport
