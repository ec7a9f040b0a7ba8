# SPDX-License-Identifier: GPL-3.0-or-later
"""What the README promises is there."""

from __future__ import annotations

import re
from pathlib import Path

from bl_ext.user_default.mcp_bridge import settings
from bl_ext.user_default.mcp_bridge.server.tools import all_tools

_README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return _README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _first_cells(section: str) -> list[str]:
    return [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]


def test_the_table_names_every_tool_once() -> None:
    named = [
        name
        for cell in _first_cells(_section("What an assistant can do"))
        for name in re.findall(r"`(\w+)`", cell)
    ]
    assert sorted(named) == sorted(tool.name for tool in all_tools())


def test_the_table_of_settings_names_variables_that_are_read() -> None:
    named = set(re.findall(r"`(BLENDER_\w+)`", _section("Settings")))
    read = {variable for variable, _ in settings._FIELDS.values() if variable}
    files = {"BLENDER_MCP_ENV_FILE", "BLENDER_MCP_POLICY_FILE", "BLENDER_SYSTEM_EXTENSIONS"}
    assert named - files <= read
