# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools for the timeline: the frame, its range and rate, and the animated properties."""

from __future__ import annotations

import asyncio
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from ...base import main_thread
from ...base.errors import InvalidParamsError
from ...scene import keyframes
from ...scene.keyframes import Kind
from ..protocol.context import RequestContext
from ..protocol.messages.content import ToolResult
from . import scripts
from .code import CodeResult, execute_blender_code, runs_scripts
from .registry import tool
from .schema import Bounds, Shown

_SCRIPT = Path(__file__).parent.parent.parent / "scene" / "scripts" / "set_timeline.py"
Name = Annotated[str, Bounds(shortest=1, longest=255)]
Frame = Annotated[int, Bounds(-1048574, 1048574)]
Interpolation = Literal[
    "CONSTANT", "LINEAR", "BEZIER", "SINE", "QUAD", "CUBIC", "QUART", "QUINT", "EXPO", "CIRC", "BACK", "BOUNCE",
    "ELASTIC",
]  # fmt: skip


@tool(title="Get Animation", read_only=True)
def get_animation(
    context: RequestContext, kind: Kind, name: Name, limit: Annotated[int, Bounds(1, 20000)] = 1000
) -> dict[str, Any]:
    """What is animated of an object, material, world, light, camera, scene or node group: the curves with keys as
    [frame, value, interpolation], drivers, NLA tracks; and the scene's frame, range and rate.

    name: of the object, material, …
    limit: keys in all.
    """
    return keyframes.animation(kind, name, limit=limit)


@tool(title="Set Frame", idempotent=True, output=CodeResult)
@runs_scripts
async def set_frame(
    context: RequestContext,
    frame: Frame | None = None,
    start: Annotated[int, Bounds(0, 1048574)] | None = None,
    end: Annotated[int, Bounds(0, 1048574)] | None = None,
    rate: Annotated[float, Bounds(0.1, 1000)] | None = None,
) -> ToolResult:
    """Go to a frame, and set the scene's frame range and rate, as one undo step. The user may be asked, as for a
    script.

    start: first frame of the range.
    end: last frame of the range.
    rate: frames per second.
    """
    if start is not None and end is not None and start > end:
        raise InvalidParamsError(f"the range begins at {start}, after its end at {end}")
    plan = {"frame": frame, "start": start, "end": end, "rate": rate}
    return await execute_blender_code(
        context, scripts.with_data(_script(), "PLAN", plan, "set_frame"), "Frame and range"
    )


@tool(title="Set Keyframes", output=CodeResult)
@runs_scripts
async def set_keyframes(
    context: RequestContext,
    kind: Kind,
    name: Name,
    data_path: Annotated[str, Bounds(shortest=1, longest=500)],
    keys: Annotated[list[list[Any]], Bounds(shortest=1, longest=2000), Shown(list[list[float]])],
    interpolation: Interpolation = "BEZIER",
) -> ToolResult:
    """Animate a property: set keys on it, as one undo step. The user may be asked, as for a script.

    name: of the object, material, …
    data_path: such as location, location[2], data.energy, modifiers["Wave"].height, ["custom"],
        node_tree.nodes["Mix"].inputs[0].default_value, data.shape_keys.key_blocks["Smile"].value.
    keys: each [frame, value], or [frame, x, y, z] where the value has several numbers.
    """
    keys = [[key[0], key[1:]] if len(key) > 2 else key for key in keys]
    wrong = next((key for key in keys if not _is_key(key)), None)
    if wrong is not None:
        raise InvalidParamsError(f"a key is [frame, value], not {str(wrong)[:80]!r}")
    work = main_thread.run(
        partial(keyframes.target, kind, name, data_path),
        changes=False,
        cancelled=context.cancelled,
        label="set_keyframes",
    )
    found = await asyncio.wrap_future(work)
    plan = {
        "collection": keyframes.KINDS[kind],
        "name": name,
        **found,
        "keys": keys,
        "interpolation": interpolation,
    }
    script = scripts.with_data(_script(), "PLAN", plan, "set_keyframes")
    return await execute_blender_code(context, script, f"Animate {name}")


def _is_key(key: list[Any]) -> bool:
    return len(key) == 2 and isinstance(key[0], (int, float)) and not isinstance(key[0], bool)


@cache
def _script() -> str:
    return _SCRIPT.read_text(encoding="utf-8")
