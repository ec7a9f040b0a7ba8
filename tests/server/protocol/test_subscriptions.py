# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters are checked and acknowledged as they are honored."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.server.protocol.messages.errors import RpcError
from bl_ext.user_default.mcp_bridge.server.protocol.subscriptions import MAX_NAMED, Filter


def test_unknown_and_unwanted_notifications_are_left_out() -> None:
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": False,
        "other": 1,
        "resourceSubscriptions": ["b", "a"],
    }
    assert Filter.parse(wanted).as_json() == {"toolsListChanged": True, "resourceSubscriptions": ["a", "b"]}
    assert Filter.parse({}).as_json() == {}


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (None, "notifications: must be an object"),
        ({"toolsListChanged": 1}, "notifications.toolsListChanged: must be a boolean"),
        ({"resourceSubscriptions": "a"}, "notifications.resourceSubscriptions: must be an array of strings"),
        ({"taskIds": [1]}, "notifications.taskIds: must be an array of strings"),
        ({"taskIds": ["x"] * (MAX_NAMED + 1)}, f"notifications.taskIds: at most {MAX_NAMED}"),
    ],
)
def test_an_invalid_filter_names_the_mistake(wanted: object, says: str) -> None:
    with pytest.raises(RpcError, match=says):
        Filter.parse(wanted)
