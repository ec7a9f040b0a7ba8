# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs scripts in this Blender as an assistant's scripts run, and returns their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bl_ext.user_default.mcp_bridge.sandbox.guard.guards import Guard
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

__all__ = ("finding", "keeping", "result")


@contextmanager
def finding(names: Mapping[str, object]) -> Iterator[None]:
    """Inside this context, scripts find these values under these names, as through a hole in the sandbox."""
    begin = Guard.begin

    def with_names(guard: Guard, *arguments: Any, **named: Any) -> None:
        begin(guard, *arguments, **named)
        guard.namespace |= names

    Guard.begin = with_names  # type: ignore[method-assign]
    try:
        yield
    finally:
        Guard.begin = begin  # type: ignore[method-assign]


@contextmanager
def keeping(names: dict[str, Any], *, ends: bool) -> Iterator[None]:
    """Inside this context, a script's globals, hooks too, go into `names` when its run ends.

    `ends`: whether its guards then let go of everything, as they do otherwise.
    """
    end = Guard.end

    def keep(guard: Guard) -> None:
        names.update(guard.namespace)
        if ends:
            end(guard)

    Guard.end = keep  # type: ignore[method-assign]
    try:
        yield
    finally:
        Guard.end = end  # type: ignore[method-assign]


def result(code: str) -> Any:
    """Return the `result` of a script, which need not import bpy."""
    return execute.execute_blender_code({"code": "import bpy\n" + code})["result"]
