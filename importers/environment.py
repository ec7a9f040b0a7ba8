# SPDX-License-Identifier: GPL-3.0-or-later
"""The importers' folders and files in the extension's data folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..base import folders, settings

if TYPE_CHECKING:
    from .network.cache import Cache
    from .shelf import Shelf

__all__ = ("asset_cache", "shelf", "thumbnails")


def asset_cache() -> Cache:
    """The cache of downloaded assets. Any thread."""
    from .network.cache import Cache  # imported late: HTTP and TLS would slow down Blender's start

    return Cache(_folder(), quota=settings.current().cache_quota_mb * 1_000_000)


def shelf() -> Shelf:
    """The user's recent and favourite assets. Any thread."""
    from .shelf import Shelf

    return Shelf(folders.user_folder_any_thread() / "shelf.json")


def thumbnails() -> Path:
    """The folder of the panel's thumbnails: inside the cache, so that the cache's quota covers them."""
    return _folder() / "files" / "thumbnails"


def _folder() -> Path:
    return folders.user_folder_any_thread() / "cache"
