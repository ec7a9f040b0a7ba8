# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves Hyper3D's main site and fal.ai as one local server, with the documented shapes."""

from __future__ import annotations

from email import message_from_bytes
from pathlib import Path
from typing import Any

from support.services import assets
from support.services.web import Reply, Request, Web

__all__ = ("KEY", "ORDER", "RodinServer", "form")

KEY = "rodin-secret-0123456789"
ORDER = "b2c7e2aa-0000-4000-8000-000000000001"
_FAL = "/fal-ai/hyper3d/rodin"


def form(request: Request) -> dict[str, list[bytes]]:
    """Return the fields of a multipart request."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    found: dict[str, list[bytes]] = {}
    for part in message_from_bytes(head + request.body).get_payload():
        name = part.get_param("name", header="content-disposition")
        found.setdefault(name, []).append(part.get_payload(decode=True))
    return found


class RodinServer(Web):
    """The two services. `states` are those of the main site's jobs, `fal` is fal.ai's status."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.states = ["Done", "Done"]
        self.fal: dict[str, Any] = {"status": "COMPLETED"}
        self.model = assets.gltf(folder, binary=True).read_bytes()
        accepted = {"uuid": ORDER, "jobs": {"uuids": ["1", "2"], "subscription_key": "sub-key"}}
        files = [
            {"name": "preview.webp", "url": f"{self.url}/files/preview.webp"},
            {"name": "../../base_basic_shaded.glb", "url": f"{self.url}/files/shaded.glb"},
            {"name": "base_basic_pbr.glb", "url": f"{self.url}/files/model.glb?signature=secret"},
        ]
        queued = {
            name: f"{self.url}{_FAL}/requests/{ORDER}/{name[:-4]}" for name in ("status_url", "response_url")
        }
        mesh = {"url": f"{self.url}/files/model.glb", "file_name": "base.glb", "file_size": len(self.model)}
        self.routes |= {
            "/api/v2/rodin": self._keyed("Bearer", Reply({"error": None, **accepted}, 201)),
            "/api/v2/status": self._keyed(
                "Bearer", lambda: Reply({"jobs": [{"uuid": "1", "status": s} for s in self.states]}, 201)
            ),
            "/api/v2/download": self._keyed("Bearer", Reply({"list": files}, 201)),
            "/api/v2/check_balance": self._keyed("Bearer", Reply({"balance": 12.5})),
            "/v1/account/billing": self._keyed(
                "Key", Reply({"username": "ada", "credits": {"current_balance": 24.5, "currency": "USD"}})
            ),
            "/files/model.glb": Reply(self.model),
            **{
                _FAL + version: self._keyed(
                    "Key", Reply({"request_id": ORDER, "status": "IN_QUEUE", **queued})
                )
                for version in ("", "/v2", "/v2.5")
            },
            f"{_FAL}/requests/{ORDER}/status": self._keyed("Key", lambda: Reply(self.fal)),
            f"{_FAL}/requests/{ORDER}/response": self._keyed(
                "Key", Reply({"model_mesh": mesh, "seed": 1, "textures": []})
            ),
        }

    def orders(self) -> list[Request]:
        return [
            seen
            for seen in self.seen
            if seen.path == "/api/v2/rodin" or (seen.path.startswith(_FAL) and seen.method == "POST")
        ]

    def _keyed(self, scheme: str, reply: Any) -> Any:
        def answer(request: Request) -> Reply:
            if request.headers.get("authorization") != f"{scheme} {KEY}":
                return Reply({"error": "UNAUTHORIZED", "message": "bad key"}, 401)
            return reply if isinstance(reply, Reply) else reply()

        return answer
