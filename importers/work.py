# SPDX-License-Identifier: GPL-3.0-or-later
"""One import at work: its files, how far it is, and how it is stopped. Worker threads; no `bpy`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..base import main_thread
from ..sandbox.confinement import Supervisor, current
from .network.cache import Cache
from .network.download import Cancelled, Flag, RemoteFile, Site, megabytes

__all__ = ("Work",)

T = TypeVar("T")


#: The part of an import that downloading is, in per cent; the rest is opening and adding.
_DOWNLOADING = 90.0


def _unheard(_percent: float, _message: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Work:
    """What whoever wants an import gives to it. `report(percent, message)` may be called from any thread."""

    cache: Cache
    cancelled: Flag | None = None
    report: Callable[[float, str], None] = _unheard
    #: Captured at the start: a late import must not start a new supervisor after shutdown.
    supervisor: Supervisor = field(default_factory=current)

    def fetch(self, site: Site, files: Sequence[RemoteFile]) -> list[Path]:
        """All of the files, through the cache. Raises ExternalServiceError, Cancelled."""
        total = sum(file.size or 0 for file in files)
        done = 0
        paths = []
        for file in files:
            told = self.downloaded(done, total)
            paths.append(self.cache.file(site, file, progress=told, cancelled=self.cancelled))
            done += file.size or 0
        return paths

    def downloaded(self, before: int = 0, total: int | None = None) -> Callable[[int, int | None], None]:
        """A progress function for a file of which others came `before` (bytes)."""

        def progress(done: int, size: int | None) -> None:
            whole = total or size
            percent = _DOWNLOADING * (before + done) / whole if whole else 0.0
            of = f" of {megabytes(whole)}" if whole else ""
            self.report(percent, f"Downloading: {megabytes(before + done)}{of}")

        return progress

    def opening(self) -> None:
        """All files are there; now a confined Blender reads them."""
        self.check()
        self.report(_DOWNLOADING, "Opening the model")

    def check(self) -> None:
        """Raise Cancelled when somebody cancelled."""
        if self.cancelled is not None and self.cancelled.is_set():
            raise Cancelled("Cancelled.")

    def in_blender(self, do: Callable[[], T]) -> T:
        """Do the last step on Blender's main thread. Raises what it raises, Cancelled."""
        self.check()
        self.report(99.0, "Adding it to the scene")
        return main_thread.run(do, cancelled=self.cancelled, label="the import").result()
