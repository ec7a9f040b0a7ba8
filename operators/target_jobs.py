# SPDX-License-Identifier: GPL-3.0-or-later
"""Work on render targets as Activity shows it: how far it is, what has failed, and a picture of the last frame."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import jobs

__all__ = ("OnTarget", "gather", "register", "unregister")

#: How many jobs the panel shows, the newest first, and how many failures of each.
_MOST, _MOST_FAILURES = 3, 3

_pictures: Any = None
_folder: tempfile.TemporaryDirectory[str] | None = None
#: Job -> its last picture, and the name of that picture's preview.
_shown: dict[str, tuple[bytes, str]] = {}


@dataclass(frozen=True, slots=True)
class OnTarget:
    """A job on a render target. `picture` is the number of an icon, 0 where there is none."""

    title: str
    state: jobs.State
    #: Its progress, or the place of its results.
    said: str
    failures: tuple[str, ...]
    picture: int


def gather() -> tuple[OnTarget, ...]:
    """The newest jobs on render targets, also those that have ended. Main thread."""
    found = jobs.registry.with_details()[:_MOST]
    kept = {job.id for job in found}
    for gone in [job_id for job_id in _shown if job_id not in kept]:
        _forget(gone)
    return tuple(map(_seen, found))


def _seen(job: jobs.Job) -> OnTarget:
    details = job.details or {}
    failures = [
        f"{one.get('file') or 'Frame ' + str(one.get('frame'))} failed"
        + (f" on {one['worker']}" if one["worker"] else "")
        + f": {one['why']}"
        for one in details.get("failures", ())
    ]
    more = [f"and {len(failures) - _MOST_FAILURES} more"] if len(failures) > _MOST_FAILURES else []
    said = job.message if not job.ended else f"{job.message}, in {details.get('folder', '')}"
    return OnTarget(job.title, job.state, said, (*failures[:_MOST_FAILURES], *more), _icon(job))


def _icon(job: jobs.Job) -> int:
    """The picture as an icon, loaded once."""
    if job.picture is None or _pictures is None or _folder is None:
        return 0
    known, name = _shown.get(job.id, (b"", ""))
    if known != job.picture:
        _forget(job.id)
        name = secrets.token_hex(8)
        path = Path(_folder.name) / f"{name}.jpg"
        path.write_bytes(job.picture)
        _pictures.load(name, str(path), "IMAGE")
        _shown[job.id] = (job.picture, name)
    return int(_pictures[name].icon_id)


def _forget(job_id: str) -> None:
    _, name = _shown.pop(job_id, (b"", ""))
    if name and _pictures is not None:
        with contextlib.suppress(KeyError):
            del _pictures[name]


def register() -> None:
    """Create the collection of the pictures' icons."""
    global _pictures, _folder
    from bpy.utils import previews

    _pictures = previews.new()
    _folder = tempfile.TemporaryDirectory(prefix="mcp_bridge_")


def unregister() -> None:
    """Undo `register`."""
    global _pictures, _folder
    from bpy.utils import previews

    if _pictures is not None:
        previews.remove(_pictures)
    if _folder is not None:
        _folder.cleanup()
    _pictures, _folder = None, None
    _shown.clear()
