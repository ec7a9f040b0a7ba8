# SPDX-License-Identifier: GPL-3.0-or-later
"""What the README promises is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from bl_ext.user_default.mcp_bridge.server.clients import stdio_shim
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


#: What starts a thread or a process, or calls C; the names of audit events, which are texts, are none of it.
_WHAT_REVIEWERS_LOOK_FOR = re.compile(r"\b(?:Thread|Timer|Popen)\(|\bsubprocess\.run\(|(?<!\")\bctypes\.")


def _runs_text_as_code(source: str) -> bool:
    """Whether a module calls `exec` or `eval`; docstrings that show such a call do not count."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id in ("exec", "eval") for called in calls)


def test_reviewers_are_told_every_place_and_no_other() -> None:
    named = {
        name
        for name in re.findall(r"`([\w/.]+)`", _section(_REVIEWERS))
        if "/" in name or name.endswith(".py")
    }
    root = Path(stdio_shim.__file__).parents[2]
    assert [name for name in sorted(named) if not (root / name).exists()] == []
    sources = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    found = {
        name
        for name, source in sources.items()
        if _WHAT_REVIEWERS_LOOK_FOR.search(source) or _runs_text_as_code(source)
    }
    told = tuple(name if name.endswith(".py") else name.rstrip("/") + "/" for name in named)
    assert [name for name in sorted(found) if not name.startswith(told)] == []


_REVIEWERS = "For reviewers: where it uses what you look for"
