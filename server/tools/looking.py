# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that show objects from several sides, and compare two such pictures."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Annotated, Any

from ...base.errors import InvalidParamsError
from ...scene import events
from ...scene.look import sheet
from ...scene.look.picture import Format
from ...scene.look.sheet import Shading, Sheet, View
from ..protocol.context import RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult
from .pictures import picture_block
from .registry import tool
from .schema import Bounds

#: The most sheets that compare_views can still compare with.
_MOST_KEPT = 8
_kept: OrderedDict[str, tuple[str, dict[str, Any], Sheet]] = OrderedDict()


@tool(title="Look", read_only=True, seldom=("turntable", "frames", "format"))
def look(
    context: RequestContext,
    objects: Annotated[list[str], Bounds(longest=100)] | None = None,
    views: Annotated[list[View], Bounds(longest=16)] | None = None,
    turntable: Annotated[int, Bounds(0, 16)] = 0,
    frames: Annotated[list[int], Bounds(longest=16)] | None = None,
    shading: Shading = "solid",
    max_size: Annotated[int, Bounds(128, 2048)] = 640,
    format: Format = "jpeg",  # noqa: A002 - the parameter's name is the tool's interface
) -> ToolResult:
    """See objects from several sides as one picture: by default front, right, top and perspective; or other views, or
    a turntable, or frames of an animation. Each has its name in it, those along an axis a scale bar.

    objects: what to frame; without it all that is visible.
    turntable: this many views from a circle around the objects instead.
    frames: one perspective view at each of these frames instead.
    shading: solid adds a light, rendered takes the scene's own.
    max_size: the longer side in pixels.
    """
    asked: dict[str, Any] = {
        "objects": objects or (),
        "views": views or (),
        "turntable": turntable,
        "frames": frames or (),
        "shading": shading,
        "max_size": max_size,
    }
    with events.quiet():  # around both: Blender evaluates a large scene anew once, not after each of them
        made = sheet.make(**asked)
        data = made.encoded(format)
    view_id = secrets.token_hex(4)
    _kept[view_id] = (context.client.id, asked, made)
    while len(_kept) > _MOST_KEPT:
        _kept.popitem(last=False)
    note = f"{made.note}. view_id {view_id}: compare_views shows what has changed since."
    return ToolResult([picture_block(context, data, format), content.text(note)])


@tool(title="Compare Views", read_only=True)
def compare_views(
    context: RequestContext,
    view_id: Annotated[str, Bounds(longest=32)],
    format: Format = "jpeg",  # noqa: A002 - the parameter's name is the tool's interface
) -> ToolResult:
    """Look again as an earlier `look` did: before, after, and what differs, side by side.

    view_id: from the answer of look; the last few are kept.
    """
    client, asked, before = _kept.get(view_id, ("", {}, None))
    if before is None or client != context.client.id:
        raise InvalidParamsError(
            f"there is no view {view_id!r} any more: call look, change things, then compare"
        )
    with events.quiet():
        both, share = sheet.difference(before, sheet.make(**asked))
        data = both.encoded(format)
    note = f"Left before, middle after, right what differs: {100 * share:.1f} % of the pixels."
    return ToolResult([picture_block(context, data, format), content.text(note)])
