# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that render images and animations."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import bpy

from ...base import folders, main_thread
from ...base.errors import InvalidParamsError, LimitExceeded
from ...files.client_files import store
from ...rendering import frames as animation
from ...rendering import image
from ...sandbox.rehearsal import program
from ...scene.look.picture import Format
from .. import resources
from ..protocol.context import WAIT_SECONDS, RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult
from . import files, pictures, target_render
from .pictures import picture_block
from .registry import tool
from .schema import Bounds

Side = Annotated[int, Bounds(4, 16384)]


class RenderResult(TypedDict):
    """The place of the picture, or the job that makes it."""

    status: Literal["success", "pending"]
    uri: NotRequired[str]
    width: NotRequired[int]
    height: NotRequired[int]
    seconds: NotRequired[float]
    engine: NotRequired[str]
    job_id: NotRequired[str]
    message: NotRequired[str]


@tool(title="Render Image", read_only=True, output=RenderResult, seldom=("format", "wait_seconds"))
async def render_image(
    context: RequestContext,
    camera: str | None = None,
    engine: image.Engine = "CYCLES",
    resolution: tuple[Side, Side] | None = None,
    samples: Annotated[int, Bounds(1, 65536)] | None = None,
    frame: int | None = None,
    format: Format | None = None,  # noqa: A002 - the parameter's name is the tool's interface
    wait_seconds: Annotated[float, Bounds(0, WAIT_SECONDS)] = WAIT_SECONDS,
) -> ToolResult:
    """Render the current frame, or another, beside the open Blender, which stays usable. A large picture comes small,
    with a link.

    camera: another camera than the scene's.
    engine: CYCLES works everywhere; the others need a graphics card.
    resolution: width and height in pixels; default as the scene has it.
    format: without it jpeg, or png where the background is transparent.
    wait_seconds: answer with a job after this long; get_job then has the picture.
    """
    plan = await asyncio.wrap_future(
        main_thread.run(
            partial(
                image.prepare,
                camera=camera,
                engine=engine,
                resolution=resolution,
                samples=samples,
                frame=frame,
                picture_format=format,
                most_bytes=pictures.MOST_BYTES,
            ),
            changes=False,
            cancelled=context.cancelled,
            label="render_image",
        )
    )
    job = await context.background("render", plan.title, wait_seconds=wait_seconds)
    picture = await files.in_worker_thread(image.run, plan, context.report_progress, job.cancelled)
    kind = plan.facts["format"]
    resources.remember_render(picture.data, f"image/{kind}")
    shown = await asyncio.to_thread(_block_or_link, context, picture.data, kind)
    return _result(picture, shown, shown.get("uri", resources.RENDER))


def _block_or_link(context: RequestContext, picture: bytes, kind: Format) -> dict[str, Any]:
    """Return the picture, or a link to the client's own copy: another render may be the last one by then."""
    try:
        return picture_block(context, picture, kind, name="render")
    except LimitExceeded:
        mime_type = f"image/{kind}"
        return content.resource_link(resources.RENDER, "last-render", mimeType=mime_type, size=len(picture))


def _result(picture: image.Picture, shown: dict[str, Any], uri: str) -> ToolResult:
    facts: RenderResult = {
        "status": "success",
        "uri": uri,
        "width": picture.width,
        "height": picture.height,
        "seconds": picture.seconds,
        "engine": picture.engine,
    }
    note = f"{picture.width} × {picture.height} pixels in {picture.seconds:g} s by {picture.engine}"
    if picture.note:
        note += f", {picture.note}"
    if not picture.preview or shown["type"] == "image":
        return ToolResult([shown, content.text(note)], facts)
    note += "; this is a preview, the whole picture is behind the link"
    return ToolResult([content.image(picture.preview, "image/jpeg"), content.text(note), shown], facts)


class AnimationResult(TypedDict):
    """The place of the frames, or the job that makes them."""

    status: Literal["success", "pending"]
    folder: NotRequired[str]
    first: NotRequired[str]
    last: NotRequired[str]
    frames: NotRequired[int]
    #: Frames that existed before this call.
    frames_before: NotRequired[int]
    note: NotRequired[str]
    render_id: NotRequired[str]
    job_id: NotRequired[str]
    message: NotRequired[str]


@tool(title="Render Animation", destructive=True, output=AnimationResult)
async def render_animation(
    context: RequestContext,
    path: Annotated[str, Bounds(longest=1000)] = "",
    start: Annotated[int, Bounds(0, 1_048_574)] | None = None,
    end: Annotated[int, Bounds(0, 1_048_574)] | None = None,
    step: Annotated[int, Bounds(1, 10_000)] = 1,
    camera: str | None = None,
    engine: image.Engine = "CYCLES",
    resolution: tuple[Side, Side] | None = None,
    samples: Annotated[int, Bounds(1, 65536)] | None = None,
    resume: str | None = None,
    where: Annotated[str, Bounds(longest=40)] = "",
    video: bool = False,
    wait_seconds: Annotated[float, Bounds(0, WAIT_SECONDS)] = 5,
) -> ToolResult:
    """Render frames as PNG pictures beside the open Blender, which stays usable, into a folder that the user named.
    A job: get_job tells how far it is, cancel_job stops it, and resume goes on where it was.

    path: such as `shots/turn.png`, which gives turn_0001.png and so on; overwriting asks the user.
    start: first frame; start and end default to the scene's.
    engine: CYCLES works everywhere; the others need a graphics card.
    resume: the render_id of a render that ended early; it goes on with the scene as it was then.
    where: a render target that the user has set up, such as `this computer`; asks the user. Outlasts this Blender.
    video: with where, a video of the frames, too.
    """
    if where and resume is not None:
        raise InvalidParamsError("resume continues only a render on this computer: leave where out.")
    if video and not where:
        raise InvalidParamsError("video needs a render target that makes it: name one in where.")
    if where:
        choice = {"camera": camera, "engine": engine, "resolution": resolution, "samples": samples}
        return await target_render.order(context, where, path, (start, end, step), choice, video=video)
    if resume is None:
        ordered, blender = await _ordered(
            context,
            path,
            (start, end, step),
            {"camera": camera, "engine": engine, "resolution": resolution, "samples": samples},
        )
    else:
        ordered, blender = await _resumed(context, resume)
    before = len(ordered.frames) - len(ordered.left)
    title = f"Render of {len(ordered.frames)} Frames"
    job = await context.background("render", title, wait_seconds=wait_seconds, render_id=ordered.id)
    done, note = await files.in_worker_thread(
        animation.run, _home(), ordered, blender, context.report_progress, job.cancelled
    )
    await asyncio.to_thread(_note_written, context.client.id, done)
    facts: AnimationResult = {
        "status": "success",
        "folder": done.folder,
        "first": done.place(done.frames[0]).name,
        "last": done.place(done.frames[-1]).name,
        "frames": len(done.frames),
        "frames_before": before,
        "render_id": done.id,
    }
    if note:
        facts["note"] = note
    return ToolResult(structured=facts)


async def _ordered(
    context: RequestContext, path: str, span: tuple[int | None, int | None, int], choice: dict[str, Any]
) -> tuple[animation.Order, program.Program]:
    to = await files.target(context, path, {".png"})
    start, end, step = span

    def frames() -> tuple[int, ...]:
        scene: Any = bpy.context.scene
        return animation.frames_of(
            scene.frame_start if start is None else start, scene.frame_end if end is None else end, step
        )

    chosen = await files.on_main_thread(context, frames)
    there = await files.agreed_to_overwrite(
        context, [to.with_name(animation.frame_name(to.stem, frame)) for frame in chosen]
    )
    await files.note("animation_rendered", context, to)

    def order() -> tuple[animation.Order, program.Program]:
        made = animation.order(
            _home(), to, owner=context.client.id, frames=chosen, overwrite=bool(there), **choice
        )
        return made, program.find()

    return await files.on_main_thread(context, order)


async def _resumed(context: RequestContext, render_id: str) -> tuple[animation.Order, program.Program]:
    ordered = await asyncio.to_thread(animation.load, _home(), render_id, context.client.id)
    to = await files.target(context, str(ordered.place(ordered.frames[0])), {".png"})
    if not ordered.overwrite:
        done = set(ordered.done)
        places = [ordered.place(frame) for frame in ordered.left if frame not in done]
        there = await files.agreed_to_overwrite(context, places)
        ordered = replace(ordered, overwrite=bool(there))
    await files.note("animation_resumed", context, to)
    return ordered, await files.on_main_thread(context, program.find)


def _note_written(owner: str, done: animation.Order) -> None:
    """Note that the client wrote its frames, so that it may fetch them without a question."""
    for frame in done.frames:
        with contextlib.suppress(FileNotFoundError):  # another program has removed it since
            store.note_written(owner, done.place(frame))


def _home() -> Path:
    """Return the folder of unfinished renders."""
    return folders.user_folder() / "renders"
