# SPDX-License-Identifier: GPL-3.0-or-later
"""The lists of `members.json`: each says why it matters, is read by somebody, and names nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default import mcp_bridge
from bl_ext.user_default.mcp_bridge.sandbox.facts.members import sections

ROOT = Path(mcp_bridge.__file__).parent / "sandbox"


@pytest.mark.parametrize("title", sections())
def test_each_list_says_why_it_matters(title: str) -> None:
    assert sections()[title]["why"].endswith(".")
    assert len(sections()[title].keys() & {"names", "numbers", "rows"}) == 1


@pytest.mark.parametrize("title", sections())
def test_each_list_is_read_in_one_place(title: str) -> None:
    readers = [path for path in ROOT.rglob("*.py") if f'"{title}"' in path.read_text("utf-8")]
    assert len(readers) == 1


@pytest.mark.parametrize("title", [title for title, section in sections().items() if "names" in section])
def test_names_stand_in_order_and_once(title: str) -> None:
    names = sections()[title]["names"].split()
    assert names == sorted(set(names))
