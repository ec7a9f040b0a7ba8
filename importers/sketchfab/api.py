# SPDX-License-Identifier: GPL-3.0-or-later
"""Read Sketchfab's catalogue: search, models with their licences, and download links. No `bpy`.

Source: docs.sketchfab.com/data-api/v3.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from ...base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from ...base.flag import Flag
from ..credit import Credit
from ..network import answers, keys
from ..network.remote_file import RemoteFile
from ..network.transport import HttpError, Site

__all__ = ("SITE", "Filters", "Licence", "Model", "Page", "Sketchfab", "Sort")

#: The addresses of the service. It belongs to KitBash since 2026; if it moves, change them here.
SITE = Site(
    "sketchfab",
    "Sketchfab",
    "BLENDER_MCP_SKETCHFAB_API",
    "https://api.sketchfab.com/v3",
    (".sketchfab.com", "sketchfab-prod-media.s3.amazonaws.com"),
)
_WHERE_KEYS_ARE = "sketchfab.com › Settings › Password & API"

Licence = Literal["by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd", "cc0", "st", "ed"]
#: Licences that allow any use with credit, by slug and by name; all others limit the use.
_FREE = frozenset(
    {
        *("cc0", "cc0 public domain"),
        *("by", "cc attribution", "creative commons attribution"),
        *("by-sa", "cc attribution-sharealike", "creative commons attribution-sharealike"),
    }
)
Sort = Literal["relevance", "likes", "views", "newest"]
_SORTS: Mapping[Sort, str] = {"likes": "-likeCount", "views": "-viewCount", "newest": "-publishedAt"}


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a search; None and empty values are not sent."""

    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    user: str | None = None
    animated: bool | None = None
    rigged: bool | None = None
    staff_picked: bool | None = None
    min_faces: int | None = None
    max_faces: int | None = None
    licence: Licence | None = None
    sort: Sort = "relevance"

    def query(self) -> dict[str, str]:
        """The filters as parameters of the service."""
        named: dict[str, Any] = {
            "categories": ",".join(self.categories),
            "tags": ",".join(self.tags),
            "user": self.user,
            "animated": self.animated,
            "rigged": self.rigged,
            "staffpicked": self.staff_picked,
            "min_face_count": self.min_faces,
            "max_face_count": self.max_faces,
            "license": self.licence,
            "sort_by": _SORTS.get(self.sort),
        }
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in named.items()
            if value not in (None, "")
        }


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `size` is that of its glTF archive in bytes, None while it is unknown."""

    uid: str
    name: str
    url: str
    downloadable: bool
    author: str
    author_url: str
    licence: str
    licence_url: str
    #: True unless the licence is known to allow any use with credit.
    limits_use: bool
    #: The conditions of the licence, in the service's words.
    requirements: str
    faces: int
    vertices: int
    animations: int
    thumbnail_url: str
    size: int | None

    @property
    def credit(self) -> Credit:
        """The author and the licence."""
        return Credit(
            service=SITE.name,
            id=self.uid,
            title=self.name,
            author=self.author,
            licence=self.licence,
            licence_url=self.licence_url,
            url=self.url,
            author_url=self.author_url,
            note=self.requirements,
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Results, and the cursor of the next page."""

    models: list[Model]
    next_cursor: str | None


class Sketchfab:
    """The service. `token` is the user's API token, which a search does not need; `password` is that of a model."""

    def __init__(self, token: str | None, cancelled: Flag | None = None, password: str | None = None) -> None:
        self._token = token
        self._cancelled = cancelled
        self._password = password

    def account(self) -> str:
        """The name of the token's account. Raises PolicyError if there is no token or the service rejects it."""
        found = self._get("/me", token=self._need_token())
        return str(found.get("username") or found.get("displayName") or "your account")

    def search(self, query: str, filters: Filters, *, count: int = 24, cursor: str | None = None) -> Page:
        """Models that can be downloaded. At most 24 a page."""
        parameters = {"type": "models", "downloadable": "true", "count": str(count), **filters.query()}
        if query.strip():
            parameters["q"] = query.strip()
        if cursor:
            parameters["cursor"] = cursor
        found = self._get("/search", parameters)
        results = found.get("results")
        models = [_model(item) for item in results if _is_model(item)] if isinstance(results, list) else []
        return Page(models, _cursor(found))

    def model(self, uid: str) -> Model:
        """One model with its licence."""
        found = self._get(f"/models/{uid}")
        if not _is_model(found):
            raise ExternalServiceError(
                f"{SITE.name} answered about the model {uid!r} in a form that MCP Bridge does not know."
            )
        return _model(found)

    def archive(self, uid: str) -> tuple[RemoteFile, str]:
        """The download link of a model, valid for some minutes, and its format ("zip" or "gltf")."""
        found = self._get(f"/models/{uid}/download", token=self._need_token())
        for key, file_format in (("gltf", "zip"), ("glb", "gltf")):
            offered = found.get(key)
            if isinstance(offered, Mapping) and isinstance(offered.get("url"), str):
                return RemoteFile(offered["url"], size=_whole(offered.get("size"))), file_format
        raise ExternalServiceError(f"{SITE.name} does not offer the model {uid!r} as glTF.")

    def _need_token(self) -> str:
        if not self._token:
            raise PolicyError(
                f"Downloading from {SITE.name} needs the user's API token ({_WHERE_KEYS_ARE}): in the preferences of "
                "MCP Bridge, or in BLENDER_MCP_SKETCHFAB_TOKEN.",
                code="no_key",
            )
        return keys.check(SITE.name, self._token)

    def _get(
        self, path: str, query: Mapping[str, str] | None = None, token: str | None = None
    ) -> Mapping[str, Any]:
        credentials = {"Authorization": f"Token {token}"} if token else {}
        if self._password and path.startswith("/models/"):
            credentials["x-skfb-model-pwd"] = base64.b64encode(self._password.encode()).decode()
        try:
            answer = answers.request(
                SITE, path, query=query, credentials=credentials, cancelled=self._cancelled
            )
        except HttpError as error:
            raise _explained(error, path) from None
        found = answer.json()
        if not isinstance(found, Mapping):
            raise ExternalServiceError(
                f"{SITE.name} answered {path} in a form that MCP Bridge does not know."
            )
        return found


def _explained(error: HttpError, path: str) -> Exception:
    if error.status == 401:
        return PolicyError(
            f"{SITE.name} does not accept the API token. Copy it again from {_WHERE_KEYS_ARE}.",
            code="bad_key",
        )
    if error.status == 403:
        return ExternalServiceError(
            f"{SITE.name} does not let this account have it: {error} A model that is protected needs its password."
        )
    if error.status == 404 and path.startswith("/models/"):
        return InvalidParamsError(f"{SITE.name} has no model {path.split('/')[2]!r}, or it was taken down.")
    return error


def _cursor(found: Mapping[str, Any]) -> str | None:
    """The cursor of the next page; a full URL is used only if it belongs to the service."""
    cursors = found.get("cursors")
    cursor = cursors.get("next") if isinstance(cursors, Mapping) else None
    address = found.get("next")
    if cursor is None and isinstance(address, str) and address.startswith(SITE.base + "/"):
        cursor = next(iter(parse_qs(urlsplit(address).query).get("cursor", [])), None)
    return cursor if isinstance(cursor, str) and cursor else None


def _is_model(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("uid"), str) and bool(item["uid"])


def _model(item: Mapping[str, Any]) -> Model:
    """Read a record of a model, in which any member may be missing."""
    uid = item["uid"]
    user, licence, archives, thumbnails = (
        found if isinstance(found := item.get(name), Mapping) else {}
        for name in ("user", "license", "archives", "thumbnails")
    )
    gltf = archives.get("gltf")
    names = [str(licence[key]) for key in ("label", "fullName", "slug") if licence.get(key)]
    return Model(
        uid=uid,
        name=str(item.get("name") or uid),
        url=str(item.get("viewerUrl") or f"https://sketchfab.com/3d-models/{uid}"),
        downloadable=item.get("isDownloadable") is not False,
        author=str(user.get("displayName") or user.get("username") or ""),
        author_url=str(user.get("profileUrl") or ""),
        licence=next(iter(names), "unknown licence"),
        licence_url=str(licence.get("url") or ""),
        limits_use=not any(name.lower() in _FREE for name in names),
        requirements=str(licence.get("requirements") or ""),
        faces=_whole(item.get("faceCount")) or 0,
        vertices=_whole(item.get("vertexCount")) or 0,
        animations=_whole(item.get("animationCount")) or 0,
        thumbnail_url=_thumbnail(thumbnails.get("images")),
        size=_whole(gltf.get("size")) if isinstance(gltf, Mapping) else None,
    )


def _thumbnail(images: Any) -> str:
    """The smallest picture that is at least 200 pixels wide."""
    known = [image for image in images if isinstance(image, Mapping)] if isinstance(images, list) else []
    wide = [image for image in known if (_whole(image.get("width")) or 0) >= 200]
    best = min(wide or known, key=lambda image: _whole(image.get("width")) or 0, default={})
    return str(best.get("url") or "")


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None
