# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools for long work: list jobs, show their progress, and stop them. For clients without MCP's tasks."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated, Any, NotRequired, TypedDict, cast

from ...base import jobs
from ...base.errors import failure_of
from ...base.until import until
from ..protocol import tasks
from ..protocol.context import WAIT_SECONDS, RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult, text
from ..protocol.messages.errors import as_bridge_error
from .registry import tool
from .schema import Bounds

#: The most running jobs whose last frame the list shows.
_MOST_PICTURES = 4


class FrameFailure(TypedDict):
    """A frame that failed for good, and its worker."""

    frame: int
    worker: str
    why: str


class TargetRender(TypedDict):
    """An animation on a render target: how many frames are in the folder, and which have failed."""

    where: str
    folder: str
    frames: int
    done: int
    failures: list[FrameFailure]
    video: NotRequired[str]


class FileFailure(TypedDict):
    """A file that failed for good, and its worker."""

    file: str
    worker: str
    why: str


class TargetFiles(TypedDict):
    """A script on files on a render target: how many copies are saved, and which files have failed."""

    where: str
    folder: str
    files: int
    done: int
    failures: list[FileFailure]


class JobInfo(TypedDict):
    """A job as it is now; `state` is working, input_required, completed, failed or cancelled."""

    job_id: str
    kind: str
    title: str
    state: str
    progress: float
    total: float | None
    message: str
    error: NotRequired[str]
    result: NotRequired[Any]
    render: NotRequired[TargetRender]
    in_files: NotRequired[TargetFiles]


class JobList(TypedDict):
    """Jobs, the newest first."""

    jobs: list[JobInfo]


@tool(title="Get Job", read_only=True, output=JobInfo)
async def get_job(
    context: RequestContext, job_id: str, wait_seconds: Annotated[float, Bounds(0, WAIT_SECONDS)] = 0
) -> ToolResult:
    """How far a job is, by the job_id of a pending answer, and its result once it has ended.

    wait_seconds: wait so long for its end.
    """
    if wait_seconds:
        await _ended(job_id, context.client.id, wait_seconds)
    job = jobs.registry.get(job_id, context.client.id)
    info = about(job)
    pictures: list[dict[str, Any]] = []
    if job.state == "completed" and _is_tool_result(job.result):
        pictures = [block for block in job.result["content"] if block["type"] != "text"]
        info["result"] = job.result.get("structuredContent", _texts(job.result))
    elif job.state == "completed":
        info["result"] = job.result
    if job.picture is not None:
        pictures.append(content.image(job.picture, "image/jpeg"))
    block, structured = content.text_and_structure(info)
    return ToolResult([block, *pictures], structured)


@tool(title="Cancel Job", idempotent=True)
async def cancel_job(context: RequestContext, job_id: str) -> JobInfo:
    """Stop a job or an unanswered request. One that has ended stays as it is."""
    return about(jobs.registry.cancel(job_id, context.client.id))


@tool(title="List Jobs", read_only=True, output=JobList)
async def list_jobs(context: RequestContext) -> ToolResult:
    """Your jobs, the newest first: requests, rehearsals, renders, downloads."""
    found = jobs.registry.list(context.client.id)
    info: JobList = {"jobs": [about(job) for job in found]}
    block, structured = content.text_and_structure(info)
    blocks = [block]
    for job in [one for one in found if one.picture is not None and not one.ended][:_MOST_PICTURES]:
        assert job.picture is not None
        blocks += [
            text(f"The last frame of {job.title} ({job.id}):"),
            content.image(job.picture, "image/jpeg"),
        ]
    return ToolResult(blocks, structured, meta={content.FOR_PROGRAMS: True})


async def _ended(job_id: str, owner: str, seconds: float) -> None:
    """Return when the job has ended, or after `seconds`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until(jobs.registry.listen, lambda: jobs.registry.get(job_id, owner).ended)


def about(job: jobs.Job) -> JobInfo:
    """Return what a client sees of a job, without its result."""
    info: JobInfo = {
        "job_id": job.id,
        "kind": job.kind,
        "title": job.title,
        "state": job.state,
        "progress": job.progress,
        "total": job.total,
        "message": job.message,
    }
    if job.details is not None and "frames" in job.details:
        info["render"] = cast(TargetRender, job.details)
    elif job.details is not None:
        info["in_files"] = cast(TargetFiles, job.details)
    if job.state == "failed":
        told = failure_of(as_bridge_error(tasks.failure(job)))
        info["error"], info["message"] = told["error"], told["message"]
    return info


def _is_tool_result(result: Any) -> bool:
    return isinstance(result, dict) and isinstance(result.get("content"), list)


def _texts(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")
