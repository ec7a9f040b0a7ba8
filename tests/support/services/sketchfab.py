# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves Sketchfab locally, and its storage as another server, with the documented shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.services import assets
from support.services.web import Reply, Request, Web

__all__ = ("TOKEN", "UID", "SketchfabServer", "record")

UID = "0123456789abcdef0123456789abcdef"
TOKEN = "c0ffee" * 5


def record(uid: str = UID, **changes: Any) -> dict[str, Any]:
    """Return a model in the service's form."""
    plain = {
        "uid": uid,
        "name": "Old Lamp",
        "viewerUrl": f"https://sketchfab.com/3d-models/{uid}",
        "isDownloadable": True,
        "faceCount": 12,
        "vertexCount": 8,
        "animationCount": 0,
        "user": {"username": "ada", "displayName": "Ada L.", "profileUrl": "https://sketchfab.com/ada"},
        "license": {
            "uid": "x",
            "label": "CC Attribution",
            "slug": "by",
            "url": "http://creativecommons.org/licenses/by/4.0/",
            "requirements": "Author must be credited. Commercial use is allowed.",
        },
        "thumbnails": {
            "images": [
                {"url": "https://media.sketchfab.com/large.jpeg", "width": 1920, "height": 1080},
                {"url": "https://media.sketchfab.com/small.jpeg", "width": 256, "height": 144},
                {"url": "https://media.sketchfab.com/tiny.jpeg", "width": 50, "height": 28},
            ]
        },
        "archives": {"gltf": {"size": 12345, "textureCount": 1}},
    }
    return plain | changes


class SketchfabServer(Web):
    """The API below /v3; `storage` has the archive, to which each call of `/download` gives a new address."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.storage = Web()
        self.archive = assets.archive(folder, assets.gltf(folder, wrapped=True)).read_bytes()
        self.links = 0
        self.routes |= {
            "/v3/me": self._me,
            "/v3/search": Reply({"results": [record()], "next": None, "cursors": {"next": None}}),
            f"/v3/models/{UID}": Reply(record()),
            f"/v3/models/{UID}/download": self._download,
        }

    @property
    def base(self) -> str:
        return self.url + "/v3"

    def __exit__(self, *raised: object) -> None:
        self.storage.__exit__()
        super().__exit__()

    def _me(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Token {TOKEN}":
            return Reply({"detail": "Invalid token."}, 401)
        return Reply({"username": "ada"})

    def _download(self, request: Request) -> Reply:
        if self._me(request).status == 401:
            return self._me(request)
        self.links += 1
        path = f"/archives/{self.links}.zip"
        self.storage.routes.setdefault(path, Reply(self.archive))
        url = f"{self.storage.url}{path}?Signature=secret"
        return Reply({"gltf": {"url": url, "size": len(self.archive), "expires": 300}})
