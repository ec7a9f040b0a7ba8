# SPDX-License-Identifier: GPL-3.0-or-later
"""A client whose user says yes, on a small animation."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

import pytest
from bl_ext.user_default.mcp_bridge import approvals
from bl_ext.user_default.mcp_bridge.base import folders
from bl_ext.user_default.mcp_bridge.rendering.farms import follow

from support.clients.tool_calls import Tools
from support.services import farm


@pytest.fixture
def connect(empty_scene: None) -> Iterator[Callable[[], Tools]]:
    """Starts a bridge with its client; called again, after the one before was stopped, it is the next start."""
    farm.scene()
    approvals.close()
    started: list[Tools] = []

    def start() -> Tools:
        started.append(Tools(elicitation={"form": {}}))
        return started[-1]

    yield start
    for tools in started[-1:]:
        for job in tools("list_jobs")["jobs"]:
            tools("cancel_job", job_id=job["job_id"])
        while follow._follower.runs:
            follow._follower.wake.wait(0.05)
        tools.stop()
    follow.stop()
    shutil.rmtree(folders.user_folder() / "renders", ignore_errors=True)
