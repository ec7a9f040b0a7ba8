# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what an import could leave behind, to compare before and after."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bl_ext.user_default.mcp_bridge.importers.opening import scrub
from bl_ext.user_default.mcp_bridge.sandbox import confinement

__all__ = ("traces", "work_folders")


def traces() -> dict[str, list[str]]:
    """Return the data-blocks of the open file, and the contents of the temporary folders."""
    return {
        "data": sorted(f"{type(item).__name__} {item.name}" for item in scrub.all_ids()),
        "temporary": sorted(path.name for path in Path(tempfile.gettempdir()).glob("mcp-bridge-*")),
        "work": sorted(path.name for path in work_folders().iterdir()),
    }


def work_folders() -> Path:
    """Return the folder of imports and confined processes, without the supervisor's own files."""
    confinement.current().means()  # the first trial leaves a file behind
    folder = confinement.current().new_folder()
    folder.rmdir()
    return folder.parent
