# SPDX-License-Identifier: GPL-3.0-or-later
"""Import a model of Sketchfab. Worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from ...base import settings
from ...base.errors import PolicyError
from ..append import Imported, append, timed
from ..import_plan import ImportPlan
from ..network import download
from ..network.transport import HttpError
from ..opening import foreign
from ..work import Work
from .api import SITE, Model, Sketchfab

__all__ = ("check_licence", "prepare", "run")

#: HTTP statuses of the storage service for an expired link.
_EXPIRED = frozenset({400, 403})


def check_licence(model: Model, accepted: str | None) -> None:
    """Raise PolicyError unless the licence allows any use, or `accepted` is its name."""
    if not model.downloadable:
        raise PolicyError(f"The author of “{model.name}” does not offer it for download.", code="not_offered")
    if model.limits_use and accepted != model.licence:
        needs = f" ({model.requirements})" if model.requirements else ""
        raise PolicyError(
            f"“{model.name}” by {model.author} is under “{model.licence}”{needs}, which limits its use. "
            f'Tell the user; if they agree, call again with accept_licence="{model.licence}".',
            code="licence",
        )


def prepare(
    model: Model,
    *,
    accepted_licence: str | None,
    size: float | None = None,
    location: Sequence[float] | None = None,
    password: str | None = None,
) -> ImportPlan:
    """The import plan of a model; see `run`. Raises PolicyError as `check_licence` does."""
    check_licence(model, accepted_licence)
    return ImportPlan(
        model.name,
        model.size,
        run=lambda work: run(work, model, size=size, location=location, password=password),
    )


def run(
    work: Work,
    model: Model,
    *,
    size: float | None,
    location: Sequence[float] | None,
    password: str | None = None,
) -> Imported:
    """Fetch, open and append a model; `size` is its longest side in metres, None keeps the author's size.

    Raises PolicyError without a token, ExternalServiceError, Cancelled.
    """
    with foreign.scratch(work.supervisor) as folder:
        path = folder / "model"
        file_format = _fetch(work, model.uid, path, password)
        file = "model.zip" if file_format == "zip" else "model.glb"
        job: dict[str, Any] = {"format": file_format, "file": file, "title": model.name, "collections": []}
        job |= {"size": size, "ground": True, "unwrap": True}
        work.opening()
        with foreign.opened(work, job, {PurePosixPath(file): path}) as clean:
            return work.in_blender(timed(lambda: append(clean, model.credit, location)))


def _fetch(work: Work, uid: str, path: Path, password: str | None) -> str:
    """Request a link and download at once, since it is valid for minutes. If it has expired, request another one."""
    service = Sketchfab(settings.current().sketchfab_token, work.cancelled, password)
    for attempt in range(2):
        remote, file_format = service.archive(uid)
        try:
            download.fetch(SITE, remote, path, progress=work.downloaded(), cancelled=work.cancelled)
            return file_format
        except HttpError as error:
            if attempt or error.status not in _EXPIRED:
                raise
    raise AssertionError("unreachable")
