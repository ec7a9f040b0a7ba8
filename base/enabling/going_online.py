# SPDX-License-Identifier: GPL-3.0-or-later
"""Give the packages without `bpy` two facts of this Blender: the user agent, and whether it may go online."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import bpy

from .. import settings
from . import online

__all__ = ("register", "unregister")


def register() -> None:
    """Give the packages without `bpy` the two facts, as functions that look anew at each call."""
    online.configure(online.Identity(_user_agent, _barred))


def unregister() -> None:
    """Do nothing: cancelling the jobs ends their transfers."""


@cache
def _user_agent() -> str:
    manifest = Path(__file__).parents[2] / "blender_manifest.toml"
    version = tomllib.loads(manifest.read_text(encoding="utf-8"))["version"]
    return f"MCP-Bridge/{version} (Blender {bpy.app.version_string})"


def _barred(service: str) -> str | None:
    if service == online.THIS_COMPUTER:
        return None
    if service != online.COLLECTOR and service not in settings.current().asset_services:
        return "it is not among the Asset Services that are allowed in the preferences of MCP Bridge."
    if bpy.app.online_access:
        return None
    if bpy.app.online_access_override:
        return "this Blender was started with --offline-mode. Start it without, or with --online-mode."
    return (
        "Blender is not allowed online. Switch on Preferences › System › Network › Allow Online Access, "
        "or start Blender with --online-mode."
    )
