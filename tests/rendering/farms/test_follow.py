# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a frame that an engine did not render, and which Blender follows a render."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.rendering.farms import claims, follow
from bl_ext.user_default.mcp_bridge.rendering.farms.collecting import WorkerReport
from bl_ext.user_default.mcp_bridge.rendering.farms.engines import Seen

from support.running import fork


@pytest.mark.parametrize(
    ("told", "seen", "why"),
    [
        (WorkerReport("failed", "n1", 1, "no memory"), Seen(False), "no memory"),
        (WorkerReport("failed", "n1", 1, ""), Seen(False), "it gave no reason"),
        (WorkerReport("done", "n1", 1, ""), Seen(False), "what it made is not there, or not whole"),
        (
            WorkerReport("begun", "n1", 1, ""),
            Seen(False, "exit code 9"),
            "the worker ended while it was at it: exit code 9",
        ),
        (
            WorkerReport("begun", "n1", 1, ""),
            Seen(False),
            "the worker ended while it was at it: the engine says nothing",
        ),
    ],
)
def test_a_failure_names_worker_and_reason(told: WorkerReport, seen: Seen, why: str) -> None:
    assert follow._reason(told, seen) == ("n1", why)


_CAME_ALONG: dict[Path, object] = {}


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_render_is_followed_by_one_blender_until_that_one_lets_go(tmp_path: Path) -> None:
    def another() -> bool:
        _CAME_ALONG.update(claims._held)  # a lock that is thrown away is released, and a fork shares it
        claims._held.clear()
        return claims.claim(tmp_path)

    assert claims.claim(tmp_path)
    assert not claims.claim(tmp_path)
    assert fork.run(another) is False
    claims.let_go(tmp_path)
    assert fork.run(another) is True
    assert claims.claim(tmp_path)  # the other one has ended
    claims.let_go(tmp_path)
