# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that read a node tree as data and build it from data."""

from __future__ import annotations

import asyncio
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from ...base import main_thread
from ...scene.nodes import plan as node_plan
from ...scene.nodes import tree as node_tree
from ...scene.nodes.tree import Kind
from ..protocol.context import RequestContext
from ..protocol.messages.content import ToolResult
from . import scripts
from .code import CodeResult, execute_blender_code, runs_scripts
from .registry import tool
from .schema import Bounds, Shown

_BUILDER = Path(__file__).parent.parent.parent / "scene" / "scripts" / "build_node_tree.py"
Name = Annotated[str, Bounds(shortest=1, longest=255)]


@tool(title="Get Node Tree", read_only=True, output=dict)
async def get_node_tree(context: RequestContext, kind: Kind, name: Name) -> dict[str, Any]:
    """The nodes of a material, world, light, line style, texture, scene (the compositor) or node group (geometry
    nodes too): what differs from new nodes, and the links. Edit it and send it back with set_node_tree.

    name: of the material, scene, group, …
    """

    # Reading makes nodes to compare with, and removes them: not while the user drags something or a render runs.
    work = main_thread.run(
        partial(node_tree.of_owner, kind, name),
        changes=True,
        cancelled=context.cancelled,
        label="get_node_tree",
    )
    return await asyncio.wrap_future(work)


@tool(title="Set Node Tree", destructive=True, idempotent=True, output=CodeResult)
@runs_scripts
async def set_node_tree(
    context: RequestContext,
    kind: Kind,
    name: Name,
    tree: Annotated[dict[str, Any], Shown(str)],
    new: bool = False,
) -> ToolResult:
    """Make the nodes exactly what `tree` says, as one undo step: nodes that it does not name go away. All is checked
    first, and a failure leaves everything as it was. The user may be asked, as for a script.

    name: of the material, scene, group, …
    tree: a JSON object as get_node_tree gives it: nodes with name, type, location, parent, properties, items, inputs,
        outputs; links as [from node, output, to node, input]; interface of a group. With "use_nodes": false they are
        built and not used.
    new: make the material, world, light, line style, texture or node group.
    """
    work = main_thread.run(
        partial(node_plan.plan, kind, name, tree, new=new),
        changes=True,
        cancelled=context.cancelled,
        label="set_node_tree",
    )
    plan = await asyncio.wrap_future(work)
    return await execute_blender_code(
        context, scripts.with_data(_builder(), "PLAN", plan, "build"), f"Nodes of {name}"
    )


@cache
def _builder() -> str:
    return _BUILDER.read_text(encoding="utf-8")
