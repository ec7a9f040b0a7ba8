# SPDX-License-Identifier: GPL-3.0-or-later
"""Who made an asset and what may be done with it. It travels with the asset as a custom property. No `bpy`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

__all__ = ("PROPERTY", "Credit", "read", "unique")

#: The custom property, a group of texts.
PROPERTY = "asset_credit"


@dataclass(frozen=True, slots=True)
class Credit:
    """Texts throughout; `date` is the day of the import, `note` what the licence limits or an importer left out."""

    service: str
    id: str
    title: str
    author: str
    licence: str
    licence_url: str = ""
    url: str = ""
    author_url: str = ""
    date: str = ""
    note: str = ""

    @property
    def line(self) -> str:
        """The credit as it may stand in a list of credits."""
        by = f" by {self.author}" if self.author else ""
        link = f": {self.url}" if self.url else ""
        return f"“{self.title}”{by}, {self.licence}, from {self.service}{link}"

    def known(self) -> dict[str, str]:
        """The members that say something."""
        return {name: value for name, value in asdict(self).items() if value}

    def as_property(self) -> dict[str, str]:
        """What is stored on a data-block."""
        return {"date": datetime.now(UTC).date().isoformat(), **self.known()}


def read(stored: Any) -> Credit | None:
    """The credit that a data-block carries, or None when that is not one of ours."""
    found = stored.to_dict() if hasattr(stored, "to_dict") else stored
    if not isinstance(found, Mapping):
        return None
    texts = {spec.name: str(found.get(spec.name, "")) for spec in fields(Credit)}
    return Credit(**texts) if texts["service"] and texts["id"] else None


def unique(found: Iterable[Credit]) -> list[Credit]:
    """One credit for each asset, by service and title."""
    by_asset = {(item.service, item.id): item for item in found}
    return sorted(by_asset.values(), key=lambda item: (item.service, item.title.lower()))
