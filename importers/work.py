# SPDX-License-Identifier: GPL-3.0-or-later
"""A running import: its cache, its progress, and its cancellation. Worker threads; no `bpy`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ..base import main_thread
from ..base.flag import Flag
from ..sandbox.confinement import Supervisor, current
from .network.transport import Cancelled, megabytes

if TYPE_CHECKING:
    from .network.cache import Cache

__all__ = ("Work",)

T = TypeVar("T")


#: The share of the download in an import's progress, in per cent; the rest is opening and appending.
_DOWNLOADING = 90.0


def _unheard(_percent: float, _message: str) -> None:
    """Ignore the progress."""


@dataclass(frozen=True, slots=True)
class Work:
    """What the caller of an import passes in. Any thread may call `report(percent, message)`."""

    cache: Cache
    cancelled: Flag | None = None
    report: Callable[[float, str], None] = _unheard
    #: Captured at the start: a late import must not start a new supervisor after shutdown.
    supervisor: Supervisor = field(default_factory=current)

    def downloaded(self, before: int = 0, total: int | None = None) -> Callable[[int, int | None], None]:
        """A progress function for one file; `before` is the number of bytes of the files before it."""

        def progress(done: int, size: int | None) -> None:
            whole = total or size
            percent = _DOWNLOADING * (before + done) / whole if whole else 0.0
            of = f" of {megabytes(whole)}" if whole else ""
            self.report(percent, f"Downloading: {megabytes(before + done)}{of}")

        return progress

    def opening(self) -> None:
        """Report that all files are there and that a confined Blender reads them now."""
        self.check()
        self.report(_DOWNLOADING, "Opening the model")

    def check(self) -> None:
        """Raise Cancelled if somebody cancelled."""
        if self.cancelled is not None and self.cancelled.is_set():
            raise Cancelled("Cancelled.")

    def in_blender(self, do: Callable[[], T]) -> T:
        """Call `do`, the last step, on Blender's main thread. Raises the errors of `do`, and Cancelled."""
        self.check()
        self.report(99.0, "Adding it to the scene")
        return main_thread.run(do, cancelled=self.cancelled, label="the import").result()
