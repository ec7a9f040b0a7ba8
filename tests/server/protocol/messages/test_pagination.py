# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages make up the whole list; cursors are opaque and checked."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import INVALID_PARAMS, RpcError
from bl_ext.user_default.mcp_bridge.server.protocol.messages.pagination import page
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.integers(), max_size=50), st.integers(1, 7))
def test_all_pages_together_are_the_list(items: list[int], size: int) -> None:
    seen: list[int] = []
    cursor: str | None = None
    while True:
        found, cursor = page(items, cursor, "tools", size)
        seen += found
        if cursor is None:
            break
    assert seen == items


@given(st.one_of(st.text(), st.integers(), st.lists(st.integers())))
def test_a_cursor_that_was_not_given_is_refused(cursor: object) -> None:
    with pytest.raises(RpcError, match="cursor: not one that tools/list gave") as caught:
        page([1, 2, 3], cursor, "tools", 1)
    assert caught.value.code == INVALID_PARAMS


def test_a_cursor_belongs_to_its_list_and_a_shrunk_list_ends() -> None:
    _, cursor = page(range(10), None, "tools", 4)
    with pytest.raises(RpcError, match="prompts/list"):
        page(range(10), cursor, "prompts", 4)
    assert page(range(2), cursor, "tools", 4) == (range(2)[4:], None)
