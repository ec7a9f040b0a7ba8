# SPDX-License-Identifier: GPL-3.0-or-later
"""The Blenders that the extension is tested on, and where this checkout keeps what belongs to each.

Importable by any Python 3.11, before anything is installed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ("BUILD", "CACHE", "DEFAULT", "ROOT", "Blender")

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"

#: Large things that every checkout can share: virtual environments of other Blenders, the window's root.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcp-bridge"


@dataclass(frozen=True)
class Blender:
    """One version of the `bpy` module.

    Args:
        version: of the `bpy` package, such as "4.2.23".
        python: the only Python it runs on, such as "3.11".
    """

    version: str
    python: str

    @property
    def requirement(self) -> str:
        return f"bpy=={self.version}"


#: What `.venv` holds and `make test` runs on: the oldest Blender that the extension supports.
DEFAULT = Blender("4.2.23", "3.11")
