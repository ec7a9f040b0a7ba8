# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the services' catalogues for the panel: pages of entries with thumbnails. Worker threads; no `bpy`."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from ..base import atomic
from ..base.errors import BridgeError
from .network import answers
from .network.transport import Site
from .polyhaven import asset as polyhaven
from .polyhaven.api import PolyHaven
from .sketchfab import api as sketchfab
from .work import Work

__all__ = ("PAGE", "Entry", "Page", "Service", "categories", "search", "thumbnail")

Service = Literal["polyhaven", "sketchfab"]

#: Entries a page.
PAGE = 12
_MOST_THUMBNAIL = 2 * 1024 * 1024
_SITES: dict[Service, Site] = {"polyhaven": polyhaven.SITE, "sketchfab": sketchfab.SITE}


@dataclass(frozen=True, slots=True)
class Entry:
    """One asset in the grid."""

    service: Service
    id: str
    title: str
    author: str
    licence: str
    #: The conditions of the licence, if it limits use.
    requirements: str
    thumbnail_url: str
    #: Bytes to fetch, where the service tells it with the page.
    size: int | None = None
    #: Empty where it is not known.
    kind: polyhaven.Kind | Literal[""] = ""
    #: Metres in x, y and z of a model, where the service tells them.
    extent: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the grid, and the cursor of the next page."""

    entries: tuple[Entry, ...] = ()
    next_cursor: str = ""


def search(work: Work, service: Service, query: str, kind: str, category: str, cursor: str) -> Page:
    """A page of a service. `kind` and `category` are Poly Haven's. Raises BridgeError."""
    if service == "sketchfab":
        found = sketchfab.Sketchfab(None, work.cancelled).search(
            query, sketchfab.Filters(), count=PAGE, cursor=cursor or None
        )
        return Page(tuple(map(_of_model, found.models)), found.next_cursor or "")
    offset = int(cursor or 0)
    wanted = next(one for one in polyhaven.KINDS if one == kind)
    page = PolyHaven(work.cache, work.cancelled).search(
        query, wanted, category or None, limit=PAGE, offset=offset
    )
    more = offset + PAGE < page.total
    return Page(tuple(map(_of_asset, page.assets)), str(offset + PAGE) if more else "")


def categories(work: Work, kind: str) -> list[tuple[str, str]]:
    """Poly Haven's categories of a kind: path and name, indented by depth."""
    wanted = next(one for one in polyhaven.KINDS if one == kind)
    found = PolyHaven(work.cache, work.cancelled).categories(wanted)
    return [(one.path, "   " * one.path.count("/") + one.name) for one in found]


def thumbnail(work: Work, entry: Entry, folder: Path) -> Path | None:
    """The path of the entry's picture in `folder`, fetched once; None if it cannot be fetched."""
    if not entry.thumbnail_url:
        return None
    suffix = Path(urlsplit(entry.thumbnail_url).path).suffix or ".png"
    path = folder / f"{hashlib.sha256(entry.thumbnail_url.encode()).hexdigest()[:32]}{suffix}"
    try:
        if path.exists():
            os.utime(path)  # marks it as used: the cache drops the least recently used files
            return path
        answer = answers.request(
            _SITES[entry.service], entry.thumbnail_url, cancelled=work.cancelled, most=_MOST_THUMBNAIL
        )
        folder.mkdir(parents=True, exist_ok=True)
        atomic.write(path, answer.data)
    except (BridgeError, OSError):
        return None  # the grid shows a blank instead
    return path


def _of_asset(asset: polyhaven.Asset) -> Entry:
    credit = asset.credit
    return Entry(
        "polyhaven",
        asset.id,
        asset.name,
        credit.author,
        credit.licence,
        "",
        asset.thumbnail_url,
        kind=asset.kind,
        extent=asset.size,
    )


def _of_model(model: sketchfab.Model) -> Entry:
    asks = model.requirements if model.limits_use else ""
    return Entry(
        "sketchfab",
        model.uid,
        model.name,
        model.author,
        model.licence,
        asks,
        model.thumbnail_url,
        model.size,
        kind="models",
    )
