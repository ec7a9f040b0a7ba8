# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the bridge keeps its data: the folder that Blender gives this extension."""

from __future__ import annotations

from pathlib import Path

import bpy

from . import journal

__all__ = ("register", "unregister", "user_folder")


def user_folder() -> Path:
    """This extension's own folder, made when it is not there yet; it survives updates of the extension."""
    return Path(bpy.utils.extension_path_user(__package__, create=True))


def register() -> None:
    """Tell the rooms without `bpy` where they keep what they keep."""
    journal.configure(user_folder() / "audit")


def unregister() -> None:
    """Nothing is left behind but the data."""
