# SPDX-License-Identifier: GPL-3.0-or-later
"""Give the importers the facts of this Blender: the user agent, whether it may go online, the folders for files."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

from ..base import folders, settings
from .network import identity

if TYPE_CHECKING:
    from .network.cache import Cache
    from .shelf import Shelf

__all__ = ("asset_cache", "register", "shelf", "thumbnails", "unregister")


def asset_cache() -> Cache:
    """The cache of downloaded assets. Any thread."""
    from .network.cache import Cache  # imported late: HTTP and TLS would slow down Blender's start

    return Cache(_folder, quota=settings.current().cache_quota_mb * 1_000_000)


def shelf() -> Shelf:
    """The user's recent and favourite assets. Any thread."""
    from .shelf import Shelf

    return Shelf(_folder.parent / "shelf.json")


def thumbnails() -> Path:
    """The folder of the panel's thumbnails: inside the cache, so that the cache's quota covers them."""
    return _folder / "files" / "thumbnails"


def register() -> None:
    """Give the packages without `bpy` the facts of this Blender."""
    global _folder
    _folder = folders.user_folder() / "cache"
    identity.configure(identity.Identity(_user_agent, _barred))


def unregister() -> None:
    """Do nothing: cancelling the jobs ends their transfers."""


_folder = Path()


@cache
def _user_agent() -> str:
    manifest = Path(__file__).parent.parent / "blender_manifest.toml"
    version = tomllib.loads(manifest.read_text(encoding="utf-8"))["version"]
    return f"MCP-Bridge/{version} (Blender {bpy.app.version_string})"


def _barred(service: str) -> str | None:
    if service == identity.THIS_COMPUTER:
        return None
    if service != identity.COLLECTOR and service not in settings.current().asset_services:
        return "it is not among the Asset Services that are allowed in the preferences of MCP Bridge."
    if bpy.app.online_access:
        return None
    if bpy.app.online_access_override:
        return "this Blender was started with --offline-mode. Start it without, or with --online-mode."
    return (
        "Blender is not allowed online. Switch on Preferences › System › Network › Allow Online Access, "
        "or start Blender with --online-mode."
    )
