# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes temporary node trees: a new node in one shows the default values to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import bpy

from .. import events

__all__ = ("bench_for", "is_of_scene", "scratch")

_SCRATCH = ".mcp_bridge_scratch"


def is_of_scene(tree: Any) -> bool:
    """Return whether a tree is a scene's own compositor (before Blender 5.0), which allows more nodes than a group."""
    return bool(tree.is_embedded_data and tree.bl_idname == "CompositorNodeTree")


@contextmanager
def scratch(tree_type: str, *, of_scene: bool = False) -> Iterator[Any]:
    """Yield a temporary empty tree; `of_scene` is the answer of `is_of_scene`."""
    data: Any = bpy.data
    with events.quiet():
        blocks = data.scenes if of_scene else data.node_groups
        made = blocks.new(_SCRATCH) if of_scene else blocks.new(_SCRATCH, tree_type)
        try:
            if of_scene:
                made.use_nodes = True
                made.node_tree.nodes.clear()
            yield made.node_tree if of_scene else made
        finally:
            blocks.remove(made)


@contextmanager
def bench_for(tree: Any) -> Iterator[Any]:
    """Yield a temporary empty tree of the same type, created only when something unknown is read from it.

    With each new data-block Blender rebuilds its dependency graph: a second or more in a scene of 10,000 objects.
    """
    with ExitStack() as stack:
        yield _Bench(tree, stack)


class _Bench:
    """A stand-in that knows its tree type; reading any other attribute creates the tree."""

    def __init__(self, tree: Any, stack: ExitStack) -> None:
        self.bl_idname = tree.bl_idname
        self.is_embedded_data = is_of_scene(tree)
        self._stack = stack
        self._tree: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._tree is None:
            made = scratch(self.bl_idname, of_scene=self.is_embedded_data)
            self._tree = self._stack.enter_context(made)
        return getattr(self._tree, name)
