# SPDX-License-Identifier: GPL-3.0-or-later
"""Serves Poly Haven locally, with the documented shapes and files that Blender made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.services import assets
from support.services.web import Reply, Request, Web

__all__ = ("BRICK", "CHAIR", "SKY", "PolyHavenServer")

SKY, BRICK, CHAIR = "studio_sky", "brick_wall", "chair"

RECORDS: dict[str, dict[str, Any]] = {
    SKY: {"type": 0, "name": "Studio Sky", "download_count": 5, "whitebalance": 5500, "evs_cap": 12},
    BRICK: {
        "type": 1,
        "name": "Brick Wall",
        "description": "Old red bricks",
        "dimensions": [500, 500],
        "download_count": 9,
        "max_resolution": [8192, 8192],
    },
    "brick_wall_02": {"type": 1, "name": "Brick Wall 02", "dimensions": [1000, 1000], "download_count": 7},
    CHAIR: {"type": 2, "name": "Chair", "dimensions": [2000, 1000, 500], "download_count": 3},
}
COMMON = {
    "date_published": 1600000000,
    "files_hash": "0" * 40,
    "authors": {"Ada": "All"},
    "categories": ["walls"],
    "tags": ["old"],
}
TAXONOMY = [
    {
        "name": "Architecture",
        "slug": "architecture",
        "path": "Architecture",
        "slugPath": "architecture",
        "id": "11111111-1111-4111-8111-111111111111",
        "description": "Built things",
        "children": [
            {
                "name": "Walls",
                "slug": "walls",
                "path": "Architecture/Walls",
                "slugPath": "architecture/walls",
                "id": "22222222-2222-4222-8222-222222222222",
                "children": [],
            }
        ],
    }
]
#: The maps of a texture: key -> colour.
MAPS = {
    "Diffuse": (0.8, 0.2, 0.1),
    "Rough": (0.6, 0.6, 0.6),
    "nor_gl": (0.5, 0.5, 1.0),
    "nor_dx": (0.5, 0.5, 1.0),
    "Displacement": (0.5, 0.5, 0.5),
    "AO": (0.9, 0.9, 0.9),
    "arm": (0.9, 0.6, 0.3),
}


class PolyHavenServer(Web):
    """The service. `files` has the trees that `/files/{id}` returns; tests change it freely."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        thumbnail = {"thumbnail_url": f"{self.url}/thumbs/x.png?width=256&height=256&v=1"}
        self.records = {slug: COMMON | thumbnail | record for slug, record in RECORDS.items()}
        self.files: dict[str, Any] = {}
        self.routes |= {
            "/types": Reply(["hdris", "textures", "models"]),
            "/assets": self._assets,
            "/search": self._search,
            **{
                f"/taxonomy/{kind}": Reply({"type": kind, "categories": TAXONOMY})
                for kind in ("hdris", "textures", "models")
            },
            **{f"/info/{slug}": Reply(record) for slug, record in self.records.items()},
        }
        for slug in self.records:
            self.routes[f"/files/{slug}"] = lambda _request, slug=slug: Reply(self.files.get(slug, {}))
        self._add_sky(folder)
        self._add_brick(folder)
        self._add_chair(folder)

    def downloads(self) -> list[str]:
        """Return the names of the requested asset files."""
        return [path.rpartition("/")[2] for path in self.paths() if path.startswith("/dl/")]

    def _file(self, path: Path, name: str | None = None) -> dict[str, Any]:
        return self.add_file(f"/dl/{name or path.name}", path.read_bytes())

    def _add_sky(self, folder: Path) -> None:
        self.files[SKY] = {"hdri": {}, "tonemapped": {"url": "x"}}
        for resolution, size in (("1k", 8), ("2k", 16)):
            made = {
                kind: self._file(assets.picture(folder, f"sky_{resolution}", (2.0, 0.5, 0.25), name, size))
                for kind, name in (("hdr", "HDR"), ("exr", "OPEN_EXR"))
            }
            self.files[SKY]["hdri"][resolution] = made

    def _add_brick(self, folder: Path) -> None:
        tree = self.files[BRICK] = self.files["brick_wall_02"] = {}
        for key, colour in MAPS.items():
            tree[key] = {}
            for resolution, size in (("1k", 8), ("2k", 16)):
                name = f"brick_{key}_{resolution}"
                tree[key][resolution] = {
                    kind: self._file(assets.picture(folder, name, colour, blender, size))
                    for kind, blender in (("jpg", "JPEG"), ("png", "PNG"))
                }

    def _add_chair(self, folder: Path) -> None:
        blend = assets.blend(folder, CHAIR)
        texture = folder / "textures" / "chair_diff_1k.jpg"
        finer = assets.picture(folder / "textures", "chair_diff_2k", (0.1, 0.8, 0.1))
        scene = assets.gltf(folder)
        include = {
            path.relative_to(scene.parent).as_posix(): self._file(path, f"gltf_{path.name}")
            for path in scene.parent.rglob("*")
            if path.is_file() and path != scene
        }
        main = self._file(blend)
        self.files[CHAIR] = {
            "blend": {
                resolution: {"blend": main | {"include": {f"textures/{path.name}": self._file(path)}}}
                for resolution, path in (("1k", texture), ("2k", finer))
            },
            "gltf": {"1k": {"gltf": self._file(scene) | {"include": include}}},
        }

    def _assets(self, request: Request) -> Reply:
        kinds = ["hdris", "textures", "models"]
        wanted = request.query.get("type")
        category = request.query.get("category")
        if category not in (None, "architecture", "architecture/walls"):
            return Reply(f"Unknown category {category}", 400)
        found = {
            slug: record
            for slug, record in self.records.items()
            if wanted in (None, kinds[record["type"]]) and (category is None or slug == BRICK)
        }
        return Reply(found, headers={"ETag": '"1"'})

    def _search(self, request: Request) -> Reply:
        results = [{"slug": slug, "score": 1.0} for slug in (CHAIR, BRICK, "unknown", "brick_wall_02")]
        return Reply(
            {"query": request.query["q"], "total": 4, "considered": 4, "hybrid": True, "results": results}
        )
