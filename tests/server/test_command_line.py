# SPDX-License-Identifier: GPL-3.0-or-later
"""Serving without a window: how it comes up, how it ends, and what the exit code says."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.server import command_line
from bl_ext.user_default.mcp_bridge.server.clients.config import table

from support.running import blender
from support.running.ports import free_port, is_open

_RUN = f"""
import sys
from {blender.EXTENSION}.server import command_line
sys.exit(command_line.run(ARGUMENTS))
"""


@contextmanager
def _serving(folder: Path, *arguments: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        blender.command(f"ARGUMENTS = {arguments!r}\n{_RUN}"),
        env=blender.environment(folder, **env),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait_until_open(port: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 30
    while not is_open(port):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    with _serving(tmp_path, BLENDER_PORT=str(port), BLENDER_MCP_TOKEN="a-token-of-the-test") as process:
        _wait_until_open(port, process)
        process.send_signal(number)
        printed, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert f"http://127.0.0.1:{port}/mcp" in printed
    assert f"ws://127.0.0.1:{port}/mcp" in printed
    snippet = json.loads(re.search(r"^\{.*^\}", printed, re.DOTALL | re.MULTILINE)[0])
    assert snippet["mcpServers"]["blender"]["headers"]["Authorization"] == "Bearer a-token-of-the-test"
    for kind in table.CLIENTS:
        assert kind.label in printed
    assert 'type: "streamable_http"' in printed  # Goose's own way of writing it
    assert printed.endswith("MCP Bridge has stopped.\n")
    assert not is_open(port)
    assert list((tmp_path / "run").rglob("instances/*.json")) == []


def test_argument_wins_over_the_environment(tmp_path: Path) -> None:
    port = free_port()
    with _serving(tmp_path, "--port", str(port), BLENDER_PORT=str(free_port())) as process:
        _wait_until_open(port, process)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            assert json.load(answer)["product"] == "mcp_bridge"


def test_the_journal_is_verified_and_the_exit_code_says_how_it_is(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from {blender.EXTENSION}.base import journal
from {blender.EXTENSION}.server import command_line
kept = journal.configure(Path({str(tmp_path / "audit")!r}))
for number in range(3):
    kept.write("step", number=number)
whole = command_line.run(["--verify-journal"])
lines = kept.path.read_text().splitlines(keepends=True)
kept.path.write_text("".join(lines[:-1]))
print("codes", whole, command_line.run(["--verify-journal"]))
"""
    done = subprocess.run(
        blender.command(code), env=blender.environment(tmp_path), text=True, capture_output=True, timeout=60
    )
    assert "audit is whole.\n" in done.stdout
    assert "codes 0 4" in done.stdout
    assert "ends with record 2 of 3: the rest is missing" in done.stderr


def test_busy_port_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with _serving(tmp_path, BLENDER_PORT=str(port)) as process:
            _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"MCP Bridge cannot start: Port {port} on 127.0.0.1 is in use by another program" in errors


def test_unusable_setting_is_an_error(tmp_path: Path) -> None:
    with _serving(tmp_path, BLENDER_PORT="80") as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "BLENDER_PORT" in errors


def test_unknown_argument_is_an_error(tmp_path: Path) -> None:
    with _serving(tmp_path, "--no-such-thing") as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "unrecognized arguments: --no-such-thing" in errors


def test_help_lists_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["--help"]) == command_line.STOPPED
    shown = " ".join(capsys.readouterr().out.split())
    assert [f"{code} {meaning}" in shown for code, meaning in command_line.EXIT_CODES.items()] == [True] * 5
