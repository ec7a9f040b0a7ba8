# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal has each call that may change something before it begins; walked over all tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base import journal, settings
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.server import call_records, handlers
from bl_ext.user_default.mcp_bridge.server.protocol.context import Era
from bl_ext.user_default.mcp_bridge.server.protocol.features import Tool
from bl_ext.user_default.mcp_bridge.server.protocol.messages.content import ToolResult
from bl_ext.user_default.mcp_bridge.server.tools import all_tools

from support.bridges.protocol import ALICE, core
from support.clients.tool_calls import ToolError, Tools

TOOLS = {tool.name: tool for tool in all_tools()}


@pytest.fixture(autouse=True)
def _own_journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "audit"))


def _records() -> list[dict[str, Any]]:
    path = journal.current().path
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _call(tool: Tool, arguments: dict[str, Any], **call: Any) -> Any:
    served = core()
    served.record = call_records.called
    about: Any = SimpleNamespace(client=ALICE, era=Era.HANDSHAKE, **call)
    if tool.now is not None:
        return handlers.call_now(served, about, about, tool, arguments)
    return asyncio.run(handlers.call_tool(served, about, about, tool, arguments))


def _with(tool: Tool, begin: Any) -> Tool:
    """The tool, whose work is only to call `begin`."""

    async def handler(_context: Any, _arguments: Any) -> ToolResult:
        return ToolResult(structured=begin())

    plain = {"input_schema": {"type": "object"}, "output_schema": None}
    if tool.now is not None:
        return replace(tool, now=lambda _context, _arguments: ToolResult(structured=begin()), **plain)
    return replace(tool, handler=handler, **plain)


@pytest.mark.parametrize("name", TOOLS)
def test_a_call_is_on_the_disk_before_it_begins(name: str) -> None:
    """Read-only tools change nothing, tools that run scripts record each run, and two tools only call others."""
    tool = TOOLS[name]
    _call(_with(tool, lambda: {"records": _records()}), {"name": "Cube"})
    found = _records()
    if tool.annotations.get("readOnlyHint") or tool.runs_scripts or name in ("batch", "use_tool"):
        assert found == []
        return
    [record] = found
    kept = {key: record[key] for key in ("event", "tool", "requester", "client", "arguments")}
    assert kept == {
        "event": "tool_called",
        "tool": name,
        "requester": ALICE.name,
        "client": ALICE.id,
        "arguments": {"name": "Cube"},
    }


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if tool.is_recorded])
def test_without_a_record_nothing_begins(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(journal, "_current", journal.Journal(tmp_path / "file" / "audit"))
    begun: list[str] = []
    with pytest.raises(BridgeError, match=r"The journal .* cannot be written .*so nothing is run"):
        _call(_with(TOOLS[name], lambda: begun.append(name) or {}), {})
    assert begun == []


def test_invalid_arguments_leave_no_record() -> None:
    with pytest.raises(BridgeError, match="Invalid arguments for download_polyhaven_asset"):
        _call(TOOLS["download_polyhaven_asset"], {"asset": 1})
    assert _records() == []


@pytest.fixture
def _without_texts() -> Iterator[None]:
    settings.set_arguments({"journal_code": False})
    yield
    settings.set_arguments({})


def test_a_record_has_no_long_text_and_no_long_list() -> None:
    tool = _with(TOOLS["upload_file"], dict)
    _call(
        tool, {"data": "A" * 600, "many": list(range(60)), "deep": {str(n): n for n in range(60)}, "n": 1.5}
    )
    [record] = _records()
    given = record["arguments"]
    assert given["data"] == "A" * 500 + "… (600 characters)"
    assert given["many"] == [*range(50), "… (60 items)"]
    assert given["deep"] == {**{str(n): n for n in range(50)}, "…": "(60 items)"}
    assert given["n"] == 1.5


@pytest.mark.parametrize(
    "password", ["ab1", "my secret pw", "it's mine", 'pa"ss1', r"a\bcde", "pässword", "p" * 600]
)
def test_a_record_has_no_password(password: str) -> None:
    tool = _with(TOOLS["download_sketchfab_model"], dict)
    _call(tool, {"uid": "x", "password": password, "deep": [{"api_key": password}]})
    [record] = _records()
    assert record["arguments"] == {
        "uid": "x",
        "password": "(left out)",
        "deep": [{"api_key": "(left out)"}],
    }


def test_a_secret_that_would_be_cut_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_TOKEN", "a-token-of-this-test")
    _call(_with(TOOLS["upload_file"], dict), {"data": "A" * 490 + "a-token-of-this-test" + "B" * 600})
    assert "a-token" not in _records()[0]["arguments"]["data"]


@pytest.mark.usefixtures("_without_texts")
def test_where_texts_are_not_kept_a_record_has_only_the_names() -> None:
    _call(_with(TOOLS["upload_file"], dict), {"name": "a.png", "data": "AAAA"})
    assert _records()[0]["arguments"] == ["data", "name"]


def test_a_call_by_another_tool_is_recorded_once(empty_scene: None) -> None:
    tools = Tools()
    try:
        tools("batch", calls=[{"tool": "get_scene_info", "arguments": {}}])
        with pytest.raises(ToolError, match="none"):
            tools("use_tool", name="remove_file", arguments={"file": "none"})
    finally:
        tools.stop()
    found = [record["tool"] for record in _records() if record["event"] == "tool_called"]
    assert found == ["remove_file"]
