# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that show the scene."""

from __future__ import annotations

from typing import Annotated

from ...scene.look import picture
from ..protocol.context import RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult
from .pictures import picture_block
from .registry import tool
from .schema import Bounds


@tool(title="Get Viewport Screenshot", read_only=True)
def get_viewport_screenshot(
    context: RequestContext,
    max_size: Annotated[int, Bounds(64, 4096)] = 800,
    format: picture.Format = "jpeg",  # noqa: A002 - the parameter's name is the tool's interface
    area: Annotated[str, Bounds(longest=40)] = "",
) -> ToolResult:
    """A picture of the 3D viewport as the user sees it; without a window, a quick render through the camera.

    max_size: longer side in pixels.
    area: another open editor instead, such as NODE_EDITOR.
    """
    if area:
        shot = picture.area(area, max_size=max_size, picture_format=format)
    else:
        shot = picture.viewport(max_size=max_size, picture_format=format)
    note = f"{shot.width} × {shot.height} pixels, made by a {shot.source}."
    return ToolResult([picture_block(context, shot.data, format), content.text(note)])
