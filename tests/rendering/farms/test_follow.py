# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a frame that an engine did not render."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.rendering.farms import follow
from bl_ext.user_default.mcp_bridge.rendering.farms.collecting import Told
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Seen


@pytest.mark.parametrize(
    ("told", "seen", "why"),
    [
        (Told("failed", "n1", 1, "no memory"), Seen(False), "no memory"),
        (Told("failed", "n1", 1, ""), Seen(False), "it gave no reason"),
        (Told("done", "n1", 1, ""), Seen(False), "its picture is not there, or not whole"),
        (
            Told("begun", "n1", 1, ""),
            Seen(False, "exit code 9"),
            "the worker ended while it rendered this frame: exit code 9",
        ),
        (
            Told("begun", "n1", 1, ""),
            Seen(False),
            "the worker ended while it rendered this frame: the engine says nothing",
        ),
    ],
)
def test_a_failure_names_worker_and_reason(told: Told, seen: Seen, why: str) -> None:
    assert follow._reason(told, seen) == ("n1", why)
