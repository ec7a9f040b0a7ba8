# SPDX-License-Identifier: GPL-3.0-or-later
"""Read Poly Haven's catalogue: search, assets, categories and lists of files. No `bpy`. Source: api.polyhaven.com."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from ...base.errors import ExternalServiceError, InvalidParamsError
from ...base.flag import Flag
from ...base.similar_names import did_you_mean
from ..network import answers
from ..network.cache import Cache
from ..network.transport import HttpError
from .asset import KINDS, SITE, Asset, Category, Kind

__all__ = ("Found", "PolyHaven", "check_id")

Json = Mapping[str, Any]
#: The order of results: by the service's own search, by our word matching, or by number of downloads.
Order = Literal["relevance", "keywords", "popularity"]


@dataclass(frozen=True, slots=True)
class Found:
    """A page of results."""

    assets: list[Asset]
    total: int
    by: Order


class PolyHaven:
    """The service, read through a cache, so that a cached catalogue can be searched offline."""

    def __init__(self, cache: Cache, cancelled: Flag | None = None) -> None:
        self._cache = cache
        self._cancelled = cancelled

    def kinds(self) -> list[Kind]:
        """The kinds of assets that the service has now."""
        found = self._document("/types")
        return [kind for kind in KINDS if kind in found] if isinstance(found, list) else []

    def categories(self, kind: Kind) -> list[Category]:
        """The taxonomy of one kind; each parent comes before its children."""
        return list(_walk(_members(self._document(f"/taxonomy/{kind}"), "categories")))

    def category_of(self, asset: Asset) -> Category | None:
        """The deepest category that matches one of the asset's own categories."""
        words = {word.lower() for word in asset.categories}
        named = [one for one in self.categories(asset.kind) if one.path.rpartition("/")[2].lower() in words]
        return max(named, key=lambda one: one.path.count("/"), default=None)

    def assets(self, kind: Kind | None = None, category: str | None = None) -> dict[str, Asset]:
        """The catalogue by id. Raises InvalidParamsError for an unknown category."""
        query: dict[str, str] = {"type": kind} if kind else {}
        if category:
            query["category"] = category
        try:
            found = self._document("/assets" + (f"?{urlencode(query)}" if query else ""))
        except HttpError as error:
            if error.status == 400 and category:
                raise InvalidParamsError(self._no_category(kind, category)) from None
            raise
        records = found if isinstance(found, Mapping) else {}
        parsed = (_asset(slug, record) for slug, record in records.items())
        return {asset.id: asset for asset in parsed if asset is not None}

    def search(
        self,
        query: str,
        kind: Kind | None = None,
        category: str | None = None,
        *,
        limit: int,
        offset: int = 0,
    ) -> Found:
        """Assets that fit all filters; without a query, those with the most downloads come first."""
        known = self.assets(kind, category)
        if query.strip():
            slugs = self._relevant(query, kind)
            if slugs is None:
                return _page(_by_keywords(query, known), "keywords", limit, offset)
            return _page([known[slug] for slug in slugs if slug in known], "relevance", limit, offset)
        return _page(sorted(known.values(), key=lambda asset: -asset.downloads), "popularity", limit, offset)

    def asset(self, asset_id: str) -> Asset:
        """One asset. Raises InvalidParamsError for an unknown id."""
        check_id(asset_id)
        try:
            found = _asset(asset_id, self._document(f"/info/{asset_id}"))
        except HttpError as error:
            if error.status == 404:
                raise self._unknown(asset_id) from None
            raise
        if found is None:
            raise ExternalServiceError(
                f"{SITE.name} answered about {asset_id!r} in a form that MCP Bridge does not know."
            )
        return found

    def files(self, asset_id: str) -> Json:
        """The tree of an asset's files, which `files.py` reads."""
        check_id(asset_id)
        try:
            found = self._document(f"/files/{asset_id}")
        except HttpError as error:
            if error.status == 404:
                raise self._unknown(asset_id) from None
            raise
        if not isinstance(found, Mapping):
            raise ExternalServiceError(f"{SITE.name} lists no files of {asset_id!r}.")
        return found

    def _relevant(self, query: str, kind: Kind | None) -> list[str] | None:
        """Ids in the order of the service's search; None if its search is not available now."""
        parameters = {"q": query} | ({"t": kind} if kind else {})
        try:
            answer = answers.request(SITE, "/search", query=parameters, cancelled=self._cancelled).json()
        except ExternalServiceError:  # by its documentation, 503 means: match keywords instead
            return None
        results = _members(answer, "results")
        return [str(item["slug"]) for item in results if isinstance(item, Mapping) and "slug" in item]

    def _unknown(self, asset_id: str) -> InvalidParamsError:
        try:
            near = did_you_mean(asset_id, self.assets())
        except ExternalServiceError:
            near = ""
        return InvalidParamsError(
            f"{SITE.name} has no asset {asset_id!r}.{near} search_polyhaven_assets finds ids."
        )

    def _no_category(self, kind: Kind | None, category: str) -> str:
        kinds = (kind,) if kind else KINDS
        near = did_you_mean(category, (found.path for one in kinds for found in self.categories(one)))
        return f"{SITE.name} has no category {category!r}.{near} get_polyhaven_categories lists them."

    def _document(self, path: str) -> Any:
        return self._cache.documents.get(SITE, path, cancelled=self._cancelled)


def _page(ordered: list[Asset], by: Order, limit: int, offset: int) -> Found:
    return Found(ordered[offset : offset + limit], len(ordered), by)


def check_id(asset_id: str) -> str:
    """Return the id. Raises InvalidParamsError if it cannot be an asset's id."""
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,50}", asset_id):
        raise InvalidParamsError(
            f"asset_id {asset_id[:60]!r} is not an id of {SITE.name}: 1 to 50 letters, digits, _ and -."
        )
    return asset_id


def _asset(slug: str, record: Any) -> Asset | None:
    """Read a record of the catalogue, in which any member may be missing; None for an unknown kind."""
    if not isinstance(record, Mapping) or record.get("type") not in (0, 1, 2):
        return None
    authors = record.get("authors")
    return Asset(
        id=slug,
        name=str(record.get("name") or slug),
        kind=KINDS[record["type"]],
        description=str(record.get("description") or ""),
        authors=tuple(authors) if isinstance(authors, Mapping) else (),
        categories=_texts(record.get("categories")),
        tags=_texts(record.get("tags")),
        size=tuple(number / 1000 for number in _numbers(record.get("dimensions"))),
        max_resolution=tuple(int(number) for number in _numbers(record.get("max_resolution"))),
        thumbnail_url=str(record.get("thumbnail_url") or ""),
        downloads=int(next(iter(_numbers([record.get("download_count")])), 0)),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _numbers(value: Any) -> tuple[float, ...]:
    items = value if isinstance(value, list) else ()
    return tuple(item for item in items if isinstance(item, int | float) and 0 <= item < 1e12)


def _members(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []


def _walk(nodes: list[Any]) -> Iterator[Category]:
    for node in nodes:
        if isinstance(node, Mapping):
            path = str(node.get("slugPath") or node.get("path") or node.get("slug") or "")
            yield Category(
                path,
                str(node.get("name") or path),
                str(node.get("id") or ""),
                str(node.get("description") or ""),
            )
            yield from _walk(_members(node, "children"))


def _by_keywords(query: str, assets: Mapping[str, Asset]) -> list[Asset]:
    """Assets that contain every word of the query; a match in the name or a tag counts more than one in the text."""
    words = query.lower().split()

    def score(asset: Asset) -> int:
        strong = " ".join((asset.id, asset.name, *asset.tags, *asset.categories)).lower()
        weak = asset.description.lower()
        hits = [2 if word in strong else 1 if word in weak else 0 for word in words]
        return sum(hits) if all(hits) else 0

    scored = [(score(asset), asset) for asset in assets.values()]
    return [
        asset for points, asset in sorted(scored, key=lambda item: (-item[0], -item[1].downloads)) if points
    ]
