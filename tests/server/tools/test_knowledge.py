# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools of knowledge, as a client calls them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.clients.tool_calls import ToolError, Tools


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    made = Tools()
    yield made
    made.stop()


def test_search_then_read(tools: Tools) -> None:
    found = tools("search_api_docs", query="bevel edges", kinds=["operator"])["results"]
    assert found[0]["name"] == "bpy.ops.mesh.bevel"
    assert found[0]["kind"] == "operator"
    text = tools.raw("get_api_docs", {"name": found[0]["name"]})["content"][0]["text"]
    assert text.startswith("operator bpy.ops.mesh.bevel(")


def test_an_unknown_name(tools: Tools) -> None:
    with pytest.raises(ToolError, match=r"has nothing named 'bpy\.ops\.mesh\.bevl'\. Did you mean"):
        tools("get_api_docs", name="bpy.ops.mesh.bevl")


def test_operators_page_by_page(tools: Tools) -> None:
    first = tools("list_operators", prefix="mesh.", limit=100)
    rest = tools("list_operators", prefix="mesh.", limit=1000, cursor=first["next_cursor"])
    names = [o["name"] for o in first["operators"] + rest["operators"]]
    assert names == sorted(names)
    assert len(names) == first["matching"]
    allowed = tools("list_operators", prefix="wm.", allowed_only=True, limit=1000)
    assert all(o["allowed"] for o in allowed["operators"])
    with pytest.raises(ToolError, match="cursor is not one that this tool gave"):
        tools("list_operators", cursor="-1")
