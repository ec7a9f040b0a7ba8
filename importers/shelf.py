# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's recently imported assets and favourites, shared by all Blenders. No `bpy`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from ..base import atomic
from ..base.errors import ExternalServiceError
from .browse import Entry, Service
from .polyhaven.asset import KINDS

__all__ = ("MOST_RECENT", "Shelf")

#: How many recent assets are kept: two pages of the grid.
MOST_RECENT = 24


class Shelf:
    """A file with both lists, newest first. Invalid entries in the file are skipped."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def recent(self) -> tuple[Entry, ...]:
        """The recently imported assets."""
        return self._read("recent")

    def favourites(self) -> tuple[Entry, ...]:
        """The assets that the user marked as favourites."""
        return self._read("favourites")

    def imported(self, entry: Entry) -> None:
        """Add an asset to the recent ones. Raises ExternalServiceError for an error of the disk."""
        self._change("recent", lambda kept: (entry, *_without(kept, entry))[:MOST_RECENT])

    def toggle(self, entry: Entry) -> None:
        """Add an asset to the favourites, or remove it. Raises ExternalServiceError for an error of the disk."""
        self._change(
            "favourites",
            lambda kept: rest if len(rest := _without(kept, entry)) < len(kept) else (entry, *kept),
        )

    def _read(self, name: str) -> tuple[Entry, ...]:
        found = self._load().get(name)
        entries = (_entry(item) for item in found) if isinstance(found, list) else ()
        return tuple(entry for entry in entries if entry is not None)

    def _load(self) -> Mapping[str, Any]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _change(self, name: str, change: Callable[[tuple[Entry, ...]], tuple[Entry, ...]]) -> None:
        kept = {"recent": self.recent(), "favourites": self.favourites()}
        kept[name] = change(kept[name])
        data = {key: [asdict(entry) for entry in entries] for key, entries in kept.items()}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            atomic.write(self._path, json.dumps(data).encode())
        except OSError as error:
            raise ExternalServiceError(
                f"{self._path} can't be written: {error.strerror or error}."
            ) from error


def _entry(item: Any) -> Entry | None:
    try:
        kind = item.get("kind")  # earlier versions stored none
        known = {"kind": kind if kind in KINDS else "", "extent": tuple(item.get("extent", ()))}
        entry = Entry(**{**item, **known})
    except (AttributeError, TypeError):
        return None
    kinds: dict[str, Any] = {"size": int | None, "extent": tuple}
    sound = all(isinstance(value, kinds.get(name, str)) for name, value in asdict(entry).items())
    metres = all(isinstance(side, float | int) for side in entry.extent)
    return entry if sound and metres and entry.service in get_args(Service) else None


def _without(entries: tuple[Entry, ...], entry: Entry) -> tuple[Entry, ...]:
    return tuple(other for other in entries if (other.service, other.id) != (entry.service, entry.id))
