# SPDX-License-Identifier: GPL-3.0-or-later
"""Submits a script for .blend files to a render target: asks the user, then writes the job."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from typing import Any

import bpy

from ...base import folders, settings
from ...base.errors import InvalidParamsError
from ...files.scripted import Item
from ...rendering.farms import follow, targets
from ...rendering.farms.adapters import ADAPTERS
from ...rendering.farms.order import FarmJob
from ...sandbox.rehearsal import program
from ..protocol.context import RequestContext
from ..protocol.messages.content import ToolResult
from . import files

__all__ = ("hand_on", "target")

#: The files that one task works on.
_CHUNK = 10


def target(where: str) -> targets.Target:
    """Return the target. Raises InvalidParamsError if there is none, or if it takes only renders."""
    found = targets.named(where)
    if not ADAPTERS[found.engine].FILES:
        raise InvalidParamsError(
            f"{found.engine} can only render: leave where out, or choose another target."
        )
    return found


async def hand_on(
    context: RequestContext,
    to: targets.Target,
    items: Sequence[Item],
    script: str,
    *,
    title: str,
    overwrite: bool,
) -> ToolResult:
    """Hand the files to the target; return the job that follows it. Raises BridgeError."""

    def job() -> FarmJob:
        job_id, home = secrets.token_hex(8), folders.user_folder() / "renders"
        (home / job_id).mkdir(parents=True)
        workers = ADAPTERS[to.engine].WORKERS
        bundle = home / job_id if to.engine == "openjd" else to.folder / f"mcp_bridge_{job_id}"
        facts: dict[str, Any] = {"id": job_id, "owner": context.client.id, "title": title, "where": to.name}
        return FarmJob(
            **facts,
            folder=str(items[0].to.parent),
            stem="",
            frames=tuple(range(1, len(items) + 1)),
            chunk=min(_CHUNK, -(-len(items) // workers)),
            seconds=None,
            version=".".join(map(str, bpy.app.version[:2])),
            command=program.find().start,
            outside=(),
            scripts=(),
            overwrite=overwrite,
            video=False,
            bundle=str(bundle),
            files=tuple((str(item.source), str(item.folder), str(item.to)) for item in items),
            script=script,
            level=settings.current().level,
        )

    made = await files.on_main_thread(context, job)
    await asyncio.to_thread(follow.begin, folders.user_folder() / "renders", made, to)
    answer = {
        "status": "pending",
        "job_id": made.id,
        "message": f"Handed to {to.name}. get_job with this job_id shows files done and failed.",
    }
    return ToolResult(structured=answer)
