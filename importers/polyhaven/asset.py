# SPDX-License-Identifier: GPL-3.0-or-later
"""What Poly Haven's catalogue says of an asset. No `bpy`, no network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..credit import Credit
from ..network.transport import Site

__all__ = ("KINDS", "SITE", "Asset", "Category", "Kind", "Resolution")

Kind = Literal["hdris", "textures", "models"]
Resolution = Literal["1k", "2k", "4k", "8k", "16k", "24k"]

KINDS: tuple[Kind, ...] = get_args(Kind)
SITE = Site(
    "polyhaven",
    "Poly Haven",
    "BLENDER_MCP_POLYHAVEN_API",
    "https://api.polyhaven.com",
    (".polyhaven.com", ".polyhaven.org"),
)


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset of the catalogue. `size` in metres: width and depth of a texture; a model has the height, too."""

    id: str
    name: str
    kind: Kind
    description: str = ""
    authors: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    size: tuple[float, ...] = ()
    max_resolution: tuple[int, ...] = ()
    thumbnail_url: str = ""
    downloads: int = 0

    @property
    def url(self) -> str:
        """The asset's page."""
        return f"https://polyhaven.com/a/{self.id}"

    @property
    def credit(self) -> Credit:
        """The credit, with the licence CC0."""
        return Credit(
            service=SITE.name,
            id=self.id,
            title=self.name,
            author=", ".join(self.authors),
            licence="CC0 1.0",
            licence_url="https://creativecommons.org/publicdomain/zero/1.0/",
            url=self.url,
        )


@dataclass(frozen=True, slots=True)
class Category:
    """A node of the taxonomy; `id` is a stable UUID, `path` the value for a search."""

    path: str
    name: str
    id: str
    description: str
