# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools for Poly Haven."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal, NotRequired, TypedDict

from ...base import main_thread
from ...importers.polyhaven import planning, scene
from ...importers.polyhaven.api import PolyHaven
from ...importers.polyhaven.asset import SITE, Asset, Category, Kind, Resolution
from ...importers.polyhaven.files import Plan
from ...importers.work import Work
from ..protocol.context import RequestContext
from .assets import AssetId, ImportResult, Location, bring_in, in_thread
from .registry import tool
from .schema import Bounds

FileFormat = Literal["hdr", "exr", "blend", "gltf", "fbx"]


class FoundAsset(TypedDict):
    """One result of a search. `size_m`: width and depth of a texture; for a model, also the height."""

    id: str
    name: str
    type: Kind
    description: NotRequired[str]
    authors: list[str]
    categories: list[str]
    tags: list[str]
    size_m: NotRequired[list[float]]
    max_resolution: NotRequired[list[int]]
    downloads: int
    url: str
    thumbnail_url: NotRequired[str]


class FoundAssets(TypedDict):
    """A page of assets."""

    source: str
    assets: list[FoundAsset]
    total: int
    ordered_by: Literal["relevance", "keywords", "popularity"]
    next_cursor: NotRequired[str]


class CategoryInfo(TypedDict):
    """A category, and how many assets it has."""

    path: str
    name: str
    description: NotRequired[str]


class Categories(TypedDict):
    """Categories by type of asset."""

    categories: dict[str, list[CategoryInfo]]


@tool(title="Search Poly Haven Assets", read_only=True, open_world=True)
async def search_polyhaven_assets(
    context: RequestContext,
    query: Annotated[str, Bounds(longest=200)] = "",
    asset_type: Literal["hdris", "textures", "models", "all"] = "all",
    category: Annotated[str | None, Bounds(longest=200, pattern="^[A-Za-z0-9 _/&,'-]+$")] = None,
    limit: Annotated[int, Bounds(1, 100)] = 20,
    cursor: Annotated[str | None, Bounds(pattern="^[0-9]{1,6}$")] = None,
) -> FoundAssets:
    """Find HDRIs, textures and models of Poly Haven (polyhaven.com), all free under CC0.

    query: what to look for, in words; without it the most popular come first.
    category: a path that get_polyhaven_categories gives; what lies below it counts too.
    cursor: the next_cursor of the page before, with the same filters.
    """
    offset = int(cursor or 0)
    kind: Kind | None = None if asset_type == "all" else asset_type

    def search(work: Work) -> FoundAssets:
        service = PolyHaven(work.cache, work.cancelled)
        found = service.search(query, kind, category, limit=limit, offset=offset)
        page: FoundAssets = {
            "source": f"{SITE.name} (polyhaven.com)",
            "assets": [_found(asset) for asset in found.assets],
            "total": found.total,
            "ordered_by": found.by,
        }
        if offset + limit < found.total:
            page["next_cursor"] = str(offset + limit)
        return page

    return await in_thread(context, search)


@tool(title="Get Poly Haven Categories", read_only=True, open_world=True)
async def get_polyhaven_categories(
    context: RequestContext, asset_type: Literal["hdris", "textures", "models", "all"] = "all"
) -> Categories:
    """The categories of Poly Haven, by type of asset, each parent before its children."""

    def read(work: Work) -> Categories:
        service = PolyHaven(work.cache, work.cancelled)
        kinds = service.kinds() if asset_type == "all" else [asset_type]
        return {
            "categories": {kind: [_category(found) for found in service.categories(kind)] for kind in kinds}
        }

    return await in_thread(context, read)


@tool(
    title="Download Poly Haven Asset",
    open_world=True,
    seldom=("asset_type", "file_format", "lod", "ambient_occlusion", "switch_resolution", "mark_asset"),
)
async def download_polyhaven_asset(
    context: RequestContext,
    asset_id: AssetId,
    asset_type: Kind | None = None,
    resolution: Resolution | None = None,
    file_format: FileFormat | None = None,
    lod: Annotated[int, Bounds(0, 9)] = 0,
    location: Location = None,
    ambient_occlusion: bool = False,
    switch_resolution: bool = False,
    mark_asset: bool = False,
) -> ImportResult:
    """Bring an asset of Poly Haven into the scene, as one undo step: an HDRI as a new world, a texture as a new
    material with every map connected, a model at its real size.

    asset_id: an id from search_polyhaven_assets.
    asset_type: refuse an asset of another type.
    resolution: of the pictures; without it 2k, or the nearest below that is offered.
    file_format: hdr or exr for an HDRI; blend, gltf or fbx for a model. Without it the best that fits.
    lod: which level of detail of a model, 0 the finest.
    location: where to put a model, in metres; without it at the 3D cursor.
    ambient_occlusion: darken a material's colour by its ambient occlusion map.
    switch_resolution: add nothing, exchange the asset's pictures in this file for those of this resolution.
    mark_asset: mark it for Blender's asset browser, in a catalogue named as its category.
    """
    plan = await in_thread(
        context,
        lambda work: planning.plan(
            work,
            asset_id,
            kind=asset_type,
            resolution=resolution,
            file_format=file_format,
            ambient_occlusion=ambient_occlusion,
        ),
    )
    wanted = planning.prepare(plan, lod=lod, location=location, switch=switch_resolution)
    mark = mark_asset and not switch_resolution
    return await bring_in(context, f"Import {plan.asset.name}", wanted, mark=mark)


@tool(title="Set Texture", open_world=True)
async def set_texture(
    context: RequestContext,
    object_name: Annotated[str, Bounds(shortest=1, longest=255)],
    texture_id: AssetId,
    resolution: Resolution | None = None,
    slot: Annotated[int | None, Bounds(0, 1000)] = None,
) -> ImportResult:
    """Put a Poly Haven texture on an object at its real size, as one undo step; it is fetched if the file does not
    have it yet.

    object_name: the object's name, exactly as get_scene_info gives it.
    texture_id: an id from search_polyhaven_assets with asset_type textures.
    resolution: of a texture that is fetched; without it 2k, or the nearest below that is offered.
    slot: which material slot to fill, counted from 0; without it the active one. The others stay as they are.
    """

    def look() -> bool:
        scene.check_object(object_name)
        return scene.has_material(texture_id)

    known = await asyncio.wrap_future(main_thread.run(look, changes=False, cancelled=context.cancelled))

    def find(work: Work) -> tuple[Asset, Plan | None]:
        if known and resolution is None:
            return PolyHaven(work.cache, work.cancelled).asset(texture_id), None
        plan = planning.plan(work, texture_id, kind="textures", resolution=resolution)
        return plan.asset, plan

    asset, plan = await in_thread(context, find)
    wanted = planning.prepare_texture(plan, asset, object_name, slot)
    return await bring_in(context, f"Texture {object_name}", wanted)


def _found(asset: Asset) -> FoundAsset:
    told: FoundAsset = {
        "id": asset.id,
        "name": asset.name,
        "type": asset.kind,
        "authors": list(asset.authors),
        "categories": list(asset.categories),
        "tags": list(asset.tags),
        "downloads": asset.downloads,
        "url": asset.url,
    }
    if asset.description:
        told["description"] = asset.description
    if asset.size:
        told["size_m"] = list(asset.size)
    if asset.max_resolution:
        told["max_resolution"] = list(asset.max_resolution)
    if asset.thumbnail_url:
        told["thumbnail_url"] = asset.thumbnail_url
    return told


def _category(found: Category) -> CategoryInfo:
    told: CategoryInfo = {"path": found.path, "name": found.name}
    if found.description:
        told["description"] = found.description
    return told
