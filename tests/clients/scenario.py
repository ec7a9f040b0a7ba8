# SPDX-License-Identifier: GPL-3.0-or-later
"""What every client does, in this order, and what has to come back of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ("COLUMNS", "STEPS", "WAIT", "Step")


@dataclass(frozen=True, slots=True)
class Step:
    """A call. `column` is the cell that it decides, "" for one that only prepares the next; `says` is what has to stand
    in the result that the model gets.
    """

    column: str
    tool: str
    arguments: Mapping[str, Any]
    says: str = ""


STEPS = (
    Step("call", "get_scene_info", {"fields": ["type"]}, "Camera"),
    Step("", "find_tools", {"query": "list operators by prefix", "limit": 1}, "list_operators"),
    Step(
        "found tool",
        "use_tool",
        {"name": "list_operators", "arguments": '{"prefix": "mesh.primitive_cube", "limit": 2}'},
        "primitive_cube_add",
    ),
    Step("picture", "get_viewport_screenshot", {"max_size": 128}, "pixels"),
    Step("error", "get_object_info", {"name": "Nobody"}, "There is no object 'Nobody'"),
    Step("question", "execute_blender_code", {"code": "result = 6 * 7"}),
    Step("progress", "render_image", {"resolution": [64, 32], "samples": 64}, "by CYCLES"),
)
#: A call that lasts until it is cancelled.
WAIT = Step(
    "cancel",
    "use_tool",
    {"name": "wait_for_event", "arguments": '{"events": ["undo"], "timeout_seconds": 45}'},
)
COLUMNS = ("connect", "list", *(step.column for step in STEPS if step.column), "cancel")
