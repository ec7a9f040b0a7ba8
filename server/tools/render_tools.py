# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that render."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Literal, NotRequired, TypedDict

from ... import main_thread
from .. import render, resources
from ..mcp import content
from ..mcp.content import ToolResult
from ..mcp.context import WAIT_SECONDS, RequestContext
from .registry import tool
from .schema import Bounds

#: Larger pictures (bytes) come as a link: clients refuse large answers, and a model pays for every pixel.
_MOST_BYTES = 1024 * 1024

Side = Annotated[int, Bounds(4, 16384)]


class RenderResult(TypedDict):
    """Where the picture is, or the job that makes it."""

    status: Literal["success", "pending"]
    uri: NotRequired[str]
    width: NotRequired[int]
    height: NotRequired[int]
    seconds: NotRequired[float]
    engine: NotRequired[str]
    job_id: NotRequired[str]
    message: NotRequired[str]


@tool(title="Render Image", read_only=True, output=RenderResult)
async def render_image(
    context: RequestContext,
    camera: str | None = None,
    engine: render.Engine = "CYCLES",
    resolution: tuple[Side, Side] | None = None,
    samples: Annotated[int, Bounds(1, 65536)] | None = None,
    frame: int | None = None,
    wait_seconds: Annotated[float, Bounds(0, WAIT_SECONDS)] = WAIT_SECONDS,
) -> ToolResult:
    """Render the scene beside the open Blender, which stays usable. Large pictures come as a link.

    camera: another camera than the scene's.
    engine: CYCLES works everywhere; the others need a graphics card.
    resolution: width and height in pixels; default as the scene has it.
    wait_seconds: answer with a job after this long; get_job then has the picture.
    """
    plan = await asyncio.wrap_future(
        main_thread.run(
            partial(
                render.prepare,
                camera=camera,
                engine=engine,
                resolution=resolution,
                samples=samples,
                frame=frame,
            ),
            changes=False,
            cancelled=context.cancelled,
            label="render_image",
        )
    )
    job = await context.background("render", plan.title, wait_seconds=wait_seconds)
    try:
        picture = await asyncio.to_thread(render.run, plan, context.report_progress, job.cancelled)
    except render.Cancelled:
        raise asyncio.CancelledError from None
    resources.remember_render(picture.data, "image/png")
    return _result(picture)


def _result(picture: render.Picture) -> ToolResult:
    size = len(picture.data)
    if size <= _MOST_BYTES:
        shown = content.image(picture.data)
    else:
        shown = content.resource_link(resources.RENDER, "last-render", mimeType="image/png", size=size)
    facts: RenderResult = {
        "status": "success",
        "uri": resources.RENDER,
        "width": picture.width,
        "height": picture.height,
        "seconds": picture.seconds,
        "engine": picture.engine,
    }
    note = f"{picture.width} × {picture.height} pixels in {picture.seconds:g} s by {picture.engine}"
    if picture.note:
        note += f", {picture.note}"
    return ToolResult([shown, content.text(note)], facts)
