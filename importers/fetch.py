# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetch the files of an import through the cache. Worker threads; no `bpy`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .network.remote_file import RemoteFile
from .network.transport import Site
from .work import Work

__all__ = ("fetch",)


def fetch(work: Work, site: Site, files: Sequence[RemoteFile]) -> list[Path]:
    """Fetch all files, and return their paths. Raises ExternalServiceError, Cancelled.

    Each file needs its MD5, which is its name in the cache: fetch one without an MD5 by `download.fetch`.
    """
    total = sum(file.size or 0 for file in files)
    done = 0
    paths = []
    for file in files:
        progress = work.downloaded(done, total)
        paths.append(work.cache.file(site, file, progress=progress, cancelled=work.cancelled))
        done += file.size or 0
    return paths
