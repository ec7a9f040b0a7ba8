# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools that read the scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from ...scene.describe import aspects, file_info
from ...scene.describe.aspects import Aspect, ObjectAspect
from ...scene.describe.overview import (
    DEFAULT_FIELDS,
    More,
    ObjectField,
    ObjectInfo,
    SceneInfo,
    object_info,
    scene_info,
)
from ..protocol.context import RequestContext
from .registry import tool
from .schema import Bounds


def _makes_nodes(arguments: Mapping[str, Any]) -> bool:
    return aspects.makes_nodes(arguments.get("describe") or ())


def _more(wanted: Sequence[Aspect] | None) -> More | None:
    return partial(aspects.read_aspects, wanted) if wanted else None


@tool(title="Get Scene Info", read_only=True, disturbs=_makes_nodes, seldom=("scene", "collection"))
def get_scene_info(
    context: RequestContext,
    scene: str | None = None,
    types: list[str] | None = None,
    collection: str | None = None,
    name_contains: str = "",
    selected_only: bool = False,
    fields: list[ObjectField] | None = None,
    describe: list[Aspect] | None = None,
    limit: Annotated[int, Bounds(1, 1000)] = 100,
    cursor: str | None = None,
) -> SceneInfo:
    """The open scene: file, settings, collections, statistics, and its objects page by page; later pages have only
    objects.

    scene: another scene than the active one.
    types: only these object types, such as MESH, LIGHT, CAMERA.
    collection: only objects in this collection and those below it.
    name_contains: only objects whose name contains this, in upper or lower case.
    fields: what to tell of each object besides its name; default type, location, dimensions, visible.
    describe: more to tell, of the objects of the page.
    limit: objects a page.
    cursor: the next_cursor of the page before, with the same filters.
    """
    return scene_info(
        name=scene,
        types=types or (),
        collection=collection,
        name_contains=name_contains,
        selected_only=selected_only,
        fields=DEFAULT_FIELDS if fields is None else fields,
        limit=limit,
        cursor=cursor,
        more=_more(describe),
    )


@tool(title="Get Object Info", read_only=True, disturbs=_makes_nodes)
def get_object_info(
    context: RequestContext, name: str, describe: list[ObjectAspect] | None = None
) -> ObjectInfo:
    """One object in full: transform, bounds in world space, mesh, materials, modifiers, constraints, relatives,
    custom properties.

    name: as get_scene_info gives it.
    describe: more to tell.
    """
    return object_info(name, _more(describe))


@tool(title="Get File Info", read_only=True)
def get_file_info(context: RequestContext, unused_only: bool = False) -> dict[str, Any]:
    """What the open file contains and depends on: counts of all kinds of data-blocks, those that nobody uses, linked
    libraries, files that are missing, images with unsaved changes.

    unused_only: tell only the data-blocks that nobody uses.
    """
    return file_info.file_info(unused_only=unused_only)
