# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that read the scene."""

from __future__ import annotations

from typing import Annotated, Any

from ...scene import describe, file_info
from ...scene.describe import ObjectField, ObjectInfo, SceneInfo
from ..mcp.context import RequestContext
from .registry import tool
from .schema import Bounds


@tool(title="Get Scene Info", read_only=True)
def get_scene_info(
    context: RequestContext,
    scene: str | None = None,
    types: list[str] | None = None,
    collection: str | None = None,
    name_contains: str = "",
    selected_only: bool = False,
    fields: list[ObjectField] | None = None,
    limit: Annotated[int, Bounds(1, 1000)] = 100,
    cursor: str | None = None,
) -> SceneInfo:
    """The open scene: units, frames, render settings, camera, world, collections, statistics, and its objects page by
    page; later pages have only objects. Lengths are in Blender units, angles in radians.

    scene: another scene than the active one.
    types: only these object types, such as MESH, LIGHT, CAMERA.
    collection: only objects in this collection and those below it.
    name_contains: only objects whose name contains this, in upper or lower case.
    fields: what to tell of each object besides its name; default type, location, dimensions, visible.
    limit: objects a page.
    cursor: the next_cursor of the page before, with the same filters.
    """
    return describe.scene_info(
        name=scene,
        types=types or (),
        collection=collection,
        name_contains=name_contains,
        selected_only=selected_only,
        fields=describe.DEFAULT_FIELDS if fields is None else fields,
        limit=limit,
        cursor=cursor,
    )


@tool(title="Get Object Info", read_only=True)
def get_object_info(context: RequestContext, name: str) -> ObjectInfo:
    """One object in full: transform, bounds in world space, mesh, materials, modifiers, constraints, relatives,
    custom properties.

    name: the object's name, as get_scene_info gives it.
    """
    return describe.object_info(name)


@tool(title="Get File Info", read_only=True)
def get_file_info(context: RequestContext, unused_only: bool = False) -> dict[str, Any]:
    """What the open file holds and leans on: counts of all kinds of data-blocks, those that nobody uses, linked
    libraries, files that are missing, images with unsaved changes.

    unused_only: tell only the data-blocks that nobody uses.
    """
    return file_info.file_info(unused_only=unused_only)
