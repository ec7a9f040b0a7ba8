# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that describe the running Blender's Python: offline, and exact for its version."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, NotRequired, TypedDict

from ...base import main_thread, settings
from ...base.errors import InvalidParamsError
from ...sandbox.facts.policy import policy
from ...sandbox.reference import api_docs, rna
from ...sandbox.reference.api_search import Kind
from ...sandbox.reference.rna import RnaIndex
from ..protocol.context import RequestContext
from ..protocol.messages import content
from ..protocol.messages.content import ToolResult
from .registry import tool
from .schema import Bounds


class FoundNames(TypedDict):
    """The results of a search, best first; each with name, kind and summary."""

    results: list[dict[str, Any]]


class OperatorPage(TypedDict):
    """Operators, sorted by name."""

    operators: list[dict[str, Any]]
    matching: int
    next_cursor: NotRequired[str]


@tool(title="Search API Docs", read_only=True)
async def search_api_docs(
    context: RequestContext,
    query: Annotated[str, Bounds(shortest=1, longest=200)],
    kinds: list[Kind] | None = None,
    limit: Annotated[int, Bounds(1, 50)] = 10,
) -> FoundNames:
    """Find operators, types, members and module functions of this Blender's Python by words, best first.

    query: words such as `bevel edges` or `principled roughness`, or a part of a name.
    kinds: only these.
    """

    def read() -> tuple[RnaIndex, dict[str, str]]:
        return rna.current(), api_docs.docstrings()

    work = main_thread.run(read, changes=False, cancelled=context.cancelled, label="search_api_docs")
    index, texts = await asyncio.wrap_future(work)
    finder = await asyncio.to_thread(api_docs.search_index, index, texts)
    found = finder.search(query, kinds=kinds or (), limit=limit)
    return {"results": [{"name": e.name, "kind": e.kind, "summary": e.summary} for e in found]}


@tool(title="Get API Docs", read_only=True)
def get_api_docs(
    context: RequestContext, name: Annotated[str, Bounds(shortest=1, longest=200)]
) -> ToolResult:
    """The reference of one name: parameters or members with types, defaults, ranges, enum values and what they mean,
    and whether a script may use it.

    name: such as bpy.ops.mesh.bevel, bpy.types.Object, Object.location, mathutils.Vector.lerp, bmesh.ops.
    """
    return ToolResult([content.text(api_docs.docs(name, rna.current(), policy(settings.current().level)))])


@tool(title="List Operators", read_only=True)
def list_operators(
    context: RequestContext,
    prefix: Annotated[str, Bounds(longest=200)] = "",
    allowed_only: bool = False,
    limit: Annotated[int, Bounds(1, 1000)] = 200,
    cursor: str | None = None,
) -> OperatorPage:
    """Operators by name, page by page, each with its label and whether a script may call it.

    prefix: such as `mesh.` or `object.modifier_`.
    cursor: the next_cursor of the page before.
    """
    found = api_docs.operators(rna.current(), prefix, policy(settings.current().level))
    if allowed_only:
        found = [operator for operator in found if operator["allowed"]]
    begin = _position(cursor)
    page: OperatorPage = {"operators": found[begin : begin + limit], "matching": len(found)}
    if begin + limit < len(found):
        page["next_cursor"] = str(begin + limit)
    return page


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise InvalidParamsError(
            "cursor is not one that this tool gave. Leave it out to start from the beginning."
        )
    return int(cursor)
