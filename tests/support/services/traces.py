# SPDX-License-Identifier: GPL-3.0-or-later
"""What an import could leave behind, compared before and after."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bl_ext.user_default.mcp_bridge.importers.opening import scrub
from bl_ext.user_default.mcp_bridge.sandbox import confinement

__all__ = ("traces", "work_folders")


def traces() -> dict[str, list[str]]:
    """The data-blocks of the open file, and what lies in the temporary folders."""
    return {
        "data": sorted(f"{type(item).__name__} {item.name}" for item in scrub.all_ids()),
        "temporary": sorted(path.name for path in Path(tempfile.gettempdir()).glob("mcp-bridge-*")),
        "work": sorted(path.name for path in work_folders().iterdir()),
    }


def work_folders() -> Path:
    """Where imports and the confined processes have their folders, besides what the supervisor keeps for itself."""
    confinement.current().means()  # tried once, which leaves a file behind
    folder = confinement.current().new_folder()
    folder.rmdir()
    return folder.parent
