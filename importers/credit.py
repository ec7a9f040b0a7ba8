# SPDX-License-Identifier: GPL-3.0-or-later
"""The author and licence of an asset, stored as a custom property on the asset. No `bpy`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

__all__ = ("ASSET_ID", "ASSET_MAP", "PROPERTY", "Credit", "asset_id", "read", "unique")

#: The custom property, a group of texts.
PROPERTY = "asset_credit"
#: The custom properties of a picture with the id of Poly Haven's asset, and with which of its pictures it is: the same
#: for each resolution.
ASSET_ID, ASSET_MAP = "asset_id", "asset_map"


@dataclass(frozen=True, slots=True)
class Credit:
    """The credit of one asset. All members are texts; `date` is the day of the import, `note` names limits of the
    licence or parts that the importer left out.
    """

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
        """The credit as one line for a list of credits."""
        by = f" by {self.author}" if self.author else ""
        link = f": {self.url}" if self.url else ""
        return f"“{self.title}”{by}, {self.licence}, from {self.service}{link}"

    def known(self) -> dict[str, str]:
        """The members that are not empty."""
        return {name: value for name, value in asdict(self).items() if value}

    def as_property(self) -> dict[str, str]:
        """The value of the custom property on a data-block."""
        return {"date": datetime.now(UTC).date().isoformat(), **self.known()}


def read(stored: Any) -> Credit | None:
    """The credit from a data-block's custom property, or None if the property is not a valid credit."""
    found = stored.to_dict() if hasattr(stored, "to_dict") else stored
    if not isinstance(found, Mapping):
        return None
    texts = {spec.name: str(found.get(spec.name, "")) for spec in fields(Credit)}
    return Credit(**texts) if texts["service"] and texts["id"] else None


def asset_id(image: Any) -> str:
    """The id of Poly Haven's asset that a picture belongs to; empty for any other, whatever its properties are."""
    found = image.get(ASSET_ID), image.get(ASSET_MAP)
    return found[0] if all(isinstance(text, str) for text in found) else ""


def unique(found: Iterable[Credit]) -> list[Credit]:
    """One credit for each asset, by service and title."""
    by_asset = {(item.service, item.id): item for item in found}
    return sorted(by_asset.values(), key=lambda item: (item.service, item.title.lower()))
