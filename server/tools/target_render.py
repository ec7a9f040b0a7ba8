# SPDX-License-Identifier: GPL-3.0-or-later
"""Submits an animation to a render target: packs it, measures one frame, asks the user, then writes the job."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy

from ...approvals import consent
from ...base import folders
from ...base.errors import BridgeError, InvalidParamsError
from ...rendering import frames as animation
from ...rendering.farms import follow, prepare, targets
from ...rendering.farms.adapters import ADAPTERS
from ...rendering.farms.order import FarmJob
from ...rendering.farms.prepare import Copied, Prepared
from ...scene import events
from ..protocol.context import RequestContext
from ..protocol.messages.content import ToolResult
from . import files

__all__ = ("order",)

#: Scenes packed for a question that is not answered yet; a new one replaces the oldest.
_MOST_WAITING = 4
_waiting: dict[str, Prepared] = {}

#: The least pixels of a video's side: Blender's writer of videos takes no less.
_LEAST_VIDEO = 16

_NOT_ASKED = (
    "Rendering on a target needs the user's approval, which this client can't ask for. Without `where` it renders "
    "beside this Blender, unasked."
)


async def order(
    context: RequestContext,
    where: str,
    path: str,
    span: tuple[int | None, int | None, int],
    choice: dict[str, Any],
    *,
    video: bool,
) -> ToolResult:
    """Ask the user, and hand the animation to the target; return the job that follows it. Raises BridgeError."""
    target = targets.named(where)
    engine = ADAPTERS[target.engine]
    if video and not engine.VIDEO:
        raise InvalidParamsError(f"{target.engine} makes no video from here: leave video out.")
    to = await files.target(context, path, {".png"})
    frames, revision = await files.on_main_thread(context, lambda: _frames(span))
    there = sorted(str(file) for file in _places(to, frames, video) if file.exists())
    key = files.question_key(
        "render", context.client.id, where, str(to), frames, choice, revision, video, there
    )
    if video and min(choice["resolution"] or (_LEAST_VIDEO,)) < _LEAST_VIDEO:
        raise InvalidParamsError(
            f"A video has at least {_LEAST_VIDEO} pixels on each side: choose a larger resolution."
        )
    prepared = await _prepared(context, key, frames, choice)
    try:
        await consent.confirm(
            context,
            key,
            _question(prepared, target, to, there, video=video),
            title=f"Render {len(frames)} frames on {where}",
            otherwise=_NOT_ASKED,
        )
        await files.note("render_handed_on", context, to)
        job = _job(context.client.id, prepared, target, to, overwrite=bool(there), video=video)
        _waiting.pop(key, None)
        await asyncio.to_thread(_hand_on, job, prepared, target)
    except (BridgeError, asyncio.CancelledError):
        _waiting.pop(key, None)
        prepare.discard(prepared.copied)
        raise
    answer = {
        "status": "pending",
        "job_id": job.id,
        "folder": job.folder,
        "frames": len(frames),
        "message": f"Handed to {where}. get_job with this job_id shows frames done and failed, and the last one.",
    }
    return ToolResult(structured=answer)


def _frames(span: tuple[int | None, int | None, int]) -> tuple[tuple[int, ...], int]:
    scene: Any = bpy.context.scene
    start, end, step = span
    frames = animation.frames_of(
        scene.frame_start if start is None else start, scene.frame_end if end is None else end, step
    )
    return frames, events.revision()


def _places(to: Path, frames: Sequence[int], video: bool) -> list[Path]:
    found = [to.with_name(animation.frame_name(to.stem, frame)) for frame in frames]
    return [*found, follow.video_place(to.parent, to.stem)] if video else found


async def _prepared(
    context: RequestContext, key: str, frames: tuple[int, ...], choice: dict[str, Any]
) -> Prepared:
    """Return the packed scene; in the second round of a question, the one of its first round."""
    if key in _waiting:
        return _waiting[key]
    home = folders.user_folder() / "renders"

    def copy() -> Copied:
        return prepare.copy_scene(home, frames, **choice)

    copied = await files.on_main_thread(context, copy)
    try:
        prepared = await files.in_worker_thread(prepare.prepare, copied, context.cancelled)
    except BaseException:
        prepare.discard(copied)
        raise
    while len(_waiting) >= _MOST_WAITING:
        prepare.discard(_waiting.pop(next(iter(_waiting))).copied)
    _waiting[key] = prepared
    return prepared


def _question(
    prepared: Prepared, target: targets.Target, to: Path, there: Sequence[str], *, video: bool
) -> str:
    facts, frames = prepared.copied.facts, prepared.copied.frames
    width, height = facts["resolution"]
    samples = f", {prepared.samples} samples" if facts["engine"] == "CYCLES" else ""
    if prepared.seconds is None:
        time = f"A frame takes more than {prepare.MOST_TEST_S:g} s here."
    else:
        time = (
            f"A frame takes {prepared.seconds:g} s here, all of them {_span(prepared.seconds * len(frames))}."
        )
    lines = [
        f"Render {len(frames)} frames ({frames[0]} to {frames[-1]}) on {target.name} ({target.engine})?",
        f"{width} × {height} pixels by {facts['engine']}{samples}. {time}",
        f"Results: {to.parent / animation.frame_name(to.stem, frames[0])} and on"
        + (f", and {follow.video_place(to.parent, to.stem).name}." if video else "."),
        "Workers get a copy of the file with what it refers to. Scripts in it do not run there.",
    ]
    if there:
        lines.append(f"Overwrites what is there: {_named(there)}.")
    if prepared.scripts:
        lines.append(f"Such scripts are: {_named(prepared.scripts)}.")
    if prepared.outside:
        lines.append(f"Workers have to see under the same path: {_named(prepared.outside)}.")
    if prepared.missing:
        lines.append(f"Missing, so frames will lack it: {_named(prepared.missing)}.")
    return "\n".join(lines)


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    return ", ".join(paths[:5]) + more


def _span(seconds: float) -> str:
    """Return a time in words for a person."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _job(
    owner: str, prepared: Prepared, target: targets.Target, to: Path, *, overwrite: bool, video: bool
) -> FarmJob:
    copied = prepared.copied
    home = copied.home / copied.id
    return FarmJob(
        id=copied.id,
        owner=owner,
        title=f"Render of {len(copied.frames)} frames, {to.stem}",
        where=target.name,
        folder=str(to.parent),
        stem=to.stem,
        frames=copied.frames,
        chunk=prepared.chunk(ADAPTERS[target.engine].WORKERS),
        seconds=prepared.seconds,
        version=prepared.version,
        command=copied.blender.start,
        outside=prepared.outside,
        scripts=prepared.scripts,
        overwrite=overwrite,
        video=video,
        bundle=str(home if target.engine == "openjd" else target.folder / f"mcp_bridge_{copied.id}"),
    )


def _hand_on(job: FarmJob, prepared: Prepared, target: targets.Target) -> None:
    follow.begin(prepared.copied.home, job, target, prepared.scene)
