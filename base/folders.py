# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the bridge keeps its data: the folder that Blender gives this extension."""

from __future__ import annotations

from pathlib import Path

import bpy

from . import journal, settings

__all__ = ("register", "system_policy", "unregister", "user_folder", "user_folder_any_thread")

_POLICY = "mcp_bridge_policy.toml"
_folder = Path()


def user_folder() -> Path:
    """This extension's own folder, created if it is missing. Updates of the extension keep it."""
    return Path(bpy.utils.extension_path_user((__package__ or "").rpartition(".")[0], create=True))


def user_folder_any_thread() -> Path:
    """The folder that `user_folder` returned when the extension was enabled: only the main thread may ask Blender."""
    return _folder


def system_policy() -> Path:
    """Where a studio's policy file lies: in the `extensions` folder of Blender's installation, or in the one that
    BLENDER_SYSTEM_EXTENSIONS names.
    """
    folder = bpy.utils.system_resource("EXTENSIONS")  # type: ignore[attr-defined] # the stubs lack it
    return Path(folder or Path(bpy.utils.resource_path("SYSTEM")) / "extensions") / _POLICY


def register() -> None:
    """Give the packages without `bpy` the folders that they read from and write to."""
    global _folder
    _folder = user_folder()
    journal.configure(_folder / "audit")
    settings.set_system_policy(system_policy())


def unregister() -> None:
    """Do nothing: only the user's data stays."""
