# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.errors import SettingsError
from bl_ext.user_default.mcp_bridge.base.telemetry import logs


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    yield
    logs.reset()


def _logger() -> logging.Logger:
    return logging.getLogger(f"{logs.ROOT}.server.bridge")


def test_json_lines_go_to_the_file(tmp_path: Path) -> None:
    environ = {"BLENDER_MCP_LOG_HANDLER": "file", "BLENDER_MCP_LOG_FORMAT": "json"}
    logs.configure(settings.load(environ=environ), tmp_path)
    _logger().info("listening on %d", 9876, extra={"fields": {"request": "abc"}})
    _logger().debug("not at this level")
    try:
        raise ValueError("boom")
    except ValueError:
        _logger().exception("failed")
    first, second = (json.loads(line) for line in (tmp_path / "blender_mcp.log").read_text().splitlines())
    assert first.pop("time")
    assert first == {
        "level": "INFO",
        "logger": "server.bridge",
        "message": "listening on 9876",
        "request": "abc",
    }
    assert "ValueError: boom" in second["exception"]


def test_text_goes_to_the_console_once_even_when_configured_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(settings.load(environ={}), tmp_path)
    logs.configure(settings.load(environ={"BLENDER_MCP_LOG_LEVEL": "warning"}), tmp_path)
    _logger().info("quiet")
    _logger().warning("loud")
    written = capsys.readouterr().err
    assert written.count("loud") == 1
    assert "WARNING MCP Bridge: loud" in written
    assert "quiet" not in written


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "log"
    environ = {"BLENDER_MCP_LOG_HANDLER": "file", "BLENDER_MCP_LOG_FILE": str(path)}
    with pytest.raises(SettingsError, match=f"The log file {path} cannot be opened"):
        logs.configure(settings.load(environ=environ), tmp_path)


def test_reset_leaves_no_handler(tmp_path: Path) -> None:
    logs.configure(settings.load(environ={}), tmp_path)
    logs.reset()
    assert logging.getLogger(logs.ROOT).handlers == []
