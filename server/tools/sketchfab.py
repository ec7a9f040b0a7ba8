# SPDX-License-Identifier: GPL-3.0-or-later
"""Tools for Sketchfab."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from ...base import settings
from ...importers.sketchfab import importing
from ...importers.sketchfab.api import SITE, Filters, Licence, Model, Sketchfab, Sort
from ...importers.work import Work
from ..protocol.context import RequestContext
from .assets import ImportResult, Location, bring_in, in_thread
from .registry import tool
from .schema import Bounds

Word = Annotated[str, Bounds(shortest=1, longest=60, pattern="^[A-Za-z0-9 ._&-]+$")]
Faces = Annotated[int | None, Bounds(0, 1_000_000_000)]


class FoundModel(TypedDict):
    """One result of a search. `licence_limits_use`: the licence allows less than any use with credit."""

    uid: str
    name: str
    author: str
    licence: str
    licence_limits_use: bool
    faces: int
    animations: int
    url: str
    size_mb: NotRequired[float]
    thumbnail_url: NotRequired[str]


class FoundModels(TypedDict):
    """A page of models."""

    source: str
    models: list[FoundModel]
    next_cursor: NotRequired[str]


@tool(
    title="Search Sketchfab Models",
    read_only=True,
    open_world=True,
    seldom=("tags", "user", "rigged", "staff_picked", "min_faces", "sort"),
)
async def search_sketchfab_models(
    context: RequestContext,
    query: Annotated[str, Bounds(longest=200)] = "",
    categories: Annotated[list[Word] | None, Bounds(longest=5)] = None,
    tags: Annotated[list[Word] | None, Bounds(longest=10)] = None,
    user: Word | None = None,
    animated: bool | None = None,
    rigged: bool | None = None,
    staff_picked: bool | None = None,
    min_faces: Faces = None,
    max_faces: Faces = None,
    licence: Licence | None = None,
    sort: Sort = "relevance",
    count: Annotated[int, Bounds(1, 24)] = 12,
    cursor: Annotated[str | None, Bounds(longest=500, pattern="^[!-~]+$")] = None,
) -> FoundModels:
    """Find models on Sketchfab that may be downloaded, with their authors and licences.

    categories: slugs, such as furniture-home or animals-pets.
    user: only models of this author, by user name.
    max_faces: leave out heavier models.
    cursor: the next_cursor of the page before, with the same filters.
    """
    filters = Filters(
        categories=tuple(categories or ()),
        tags=tuple(tags or ()),
        user=user,
        animated=animated,
        rigged=rigged,
        staff_picked=staff_picked,
        min_faces=min_faces,
        max_faces=max_faces,
        licence=licence,
        sort=sort,
    )

    def search(work: Work) -> FoundModels:
        page = Sketchfab(None, work.cancelled).search(query, filters, count=count, cursor=cursor)
        found: FoundModels = {"source": SITE.name, "models": [_found(model) for model in page.models]}
        if page.next_cursor:
            found["next_cursor"] = page.next_cursor
        return found

    return await in_thread(context, search)


@tool(title="Download Sketchfab Model", open_world=True, seldom=("location", "password"))
async def download_sketchfab_model(
    context: RequestContext,
    uid: Annotated[str, Bounds(shortest=1, longest=64, pattern="^[A-Za-z0-9_-]+$")],
    target_size: Annotated[float | None, Bounds(0.0001, 100_000)] = None,
    location: Location = None,
    accept_licence: Annotated[str | None, Bounds(longest=100)] = None,
    password: Annotated[str | None, Bounds(shortest=1, longest=200)] = None,
) -> ImportResult:
    """Bring a model of Sketchfab into the scene, as one undo step, standing at the 3D cursor. The author has to be
    credited wherever the licence says so; get_asset_credits gives the text.

    uid: from search_sketchfab_models.
    target_size: length of the longest side in metres; without it as the author made it, which may be any size.
    location: where it stands, in metres, instead of the 3D cursor.
    accept_licence: the licence's name, once the user agreed to one that limits what the model may be used for.
    password: of a model that its author has protected by one.
    """
    token = settings.current().sketchfab_token
    model = await in_thread(context, lambda work: Sketchfab(token, work.cancelled, password).model(uid))
    wanted = importing.prepare(
        model, accepted_licence=accept_licence, size=target_size, location=location, password=password
    )
    return await bring_in(context, f"Import {model.name}", wanted)


def _found(model: Model) -> FoundModel:
    told: FoundModel = {
        "uid": model.uid,
        "name": model.name,
        "author": model.author,
        "licence": model.licence,
        "licence_limits_use": model.limits_use,
        "faces": model.faces,
        "animations": model.animations,
        "url": model.url,
    }
    if model.size is not None:
        told["size_mb"] = round(model.size / 1e6, 1)
    if model.thumbnail_url:
        told["thumbnail_url"] = model.thumbnail_url
    return told
