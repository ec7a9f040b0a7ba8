# SPDX-License-Identifier: GPL-3.0-or-later
"""From a request to a run: whether a script may run now, and who says so."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from ..errors import PolicyError
from ..settings import Level, Settings
from . import execute

__all__ = ("new_request_id", "run_unasked")


def new_request_id() -> str:
    """An id for one request; it stands in the journal and in answers."""
    return secrets.token_hex(8)


def run_unasked(
    script: str,
    *,
    settings: Settings,
    window: bool,
    requester: str,
    title: str,
    level: Level | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Run a script without asking anybody, which only `BLENDER_MCP_CONFIRM=auto` allows. Main thread.

    Gives and raises what `execute.run` does, and PolicyError where somebody would have to be asked.
    """
    confirm = settings.confirm_with(window=window)
    if confirm != "auto" and not settings.dry_run:
        raise PolicyError(
            f"Scripts run here only after they were confirmed ({confirm}), and this version cannot ask yet. "
            "Whoever starts Blender can let scripts run within the sandbox by BLENDER_MCP_CONFIRM=auto.",
            code="confirm",
        )
    return execute.run(
        script,
        request_id=new_request_id(),
        title=title,
        requester=requester,
        level=level,
        cancelled=cancelled,
    )
