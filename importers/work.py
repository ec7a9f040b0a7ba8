# SPDX-License-Identifier: GPL-3.0-or-later
"""One import at work: its files, how far it is, and how it is stopped. Worker threads; no `bpy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .cache import Cache
from .download import Cancelled, Flag, RemoteFile, Site, megabytes

__all__ = ("Work",)


def _unheard(_done: float, _total: float | None, _message: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Work:
    """What whoever wants an import gives to it. `report(done, total, message)` may be called from any thread."""

    cache: Cache
    cancelled: Flag | None = None
    report: Callable[[float, float | None, str], None] = _unheard

    def fetch(self, site: Site, files: Sequence[RemoteFile]) -> list[Path]:
        """All of the files, through the cache. Raises ExternalServiceError, Cancelled."""
        total = sum(file.size or 0 for file in files)
        done = 0
        paths = []
        for file in files:
            paths.append(
                self.cache.file(site, file, progress=self.downloaded(done, total), cancelled=self.cancelled)
            )
            done += file.size or 0
        return paths

    def downloaded(self, before: int = 0, total: int | None = None) -> Callable[[int, int | None], None]:
        """A progress function for a file of which others came `before` (bytes)."""

        def progress(done: int, size: int | None) -> None:
            whole = total or size
            of = f" of {megabytes(whole)}" if whole else ""
            self.report(before + done, whole, f"Downloading: {megabytes(before + done)}{of}")

        return progress

    def check(self) -> None:
        """Raise Cancelled when somebody cancelled."""
        if self.cancelled is not None and self.cancelled.is_set():
            raise Cancelled("Cancelled.")
