# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of the docs: all pages are in it, every link stays inside, and the reference has every tool."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.server.tools import all_tools

import docs
from blenders import ROOT


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    docs.stage(folder, all_tools())
    return folder


def test_every_link_stays_inside(staged: Path) -> None:
    links = [
        (page.parent / target)
        for page in staged.rglob("*.md")
        for _, target, _ in docs.LINK.findall(page.read_text("utf-8"))
        if "://" not in target
    ]
    assert len(links) > 100
    assert [str(path) for path in links if not path.is_file()] == []


def test_every_page_is_in_the_navigation(staged: Path) -> None:
    named = set(re.findall(r"- ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    assert named == {path.relative_to(staged).as_posix() for path in staged.rglob("*.md")}


def test_the_reference_has_each_tool_with_its_parameters() -> None:
    tools = all_tools()
    sections = docs.reference(tools).split("\n## ")[1:]
    assert [section.partition("\n")[0] for section in sections] == sorted(tool.name for tool in tools)
    for section, tool in zip(sections, sorted(tools, key=lambda tool: tool.name), strict=True):
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(tool.input_schema["properties"])
        assert tool.description in section


def test_a_parameter_is_told_with_its_type_its_limits_and_its_default() -> None:
    page = docs.reference(all_tools())
    assert "| `max_size` | integer 64 to 4096 | `800` | longer side in pixels. |" in page
    assert "| `name` | string | required | as get_scene_info gives it. |" in page


def test_a_link_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    page = ROOT / "docs" / "nowhere.md"
    with pytest.raises(FileNotFoundError, match="gone"):
        docs._linked(tmp_path, page, next(docs.LINK.finditer("[a](gone.py)")))
