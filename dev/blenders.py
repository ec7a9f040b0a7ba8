# SPDX-License-Identifier: GPL-3.0-or-later
"""The Blenders that the extension is tested on, and where this checkout keeps what belongs to each.

Importable by any Python 3.11, before anything is installed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ("BUILD", "CACHE", "DEFAULT", "MATRIX", "ROOT", "Blender", "cache_lock", "read_pins")

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
_REQUIREMENTS = ROOT / "dev" / "requirements-dev.txt"

#: The cache for large things that every checkout can share: virtual environments of other Blenders, the window's root.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcp-bridge"


@contextmanager
def cache_lock(part: str = "") -> Iterator[None]:
    """Keep other checkouts from changing CACHE, or this folder in it, at the same time."""
    (CACHE / part).mkdir(parents=True, exist_ok=True)
    with (CACHE / part / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_pins(requirements: Path) -> list[str]:
    """Return the `name==version` lines of a requirements file."""
    lines = (line.split("#")[0].strip() for line in requirements.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


@dataclass(frozen=True)
class Blender:
    """One version of the `bpy` module, with the pinned packages that it needs.

    Args:
        version: of the `bpy` package, such as "4.2.23".
        python: the only Python it runs on, such as "3.11".
        needs: pins of packages, such as "numpy==1.26.4".
    """

    version: str
    python: str
    needs: tuple[str, ...]

    @property
    def pins(self) -> list[str]:
        """The pins `name==version` of every package in an environment for tests on this Blender."""
        return [f"bpy=={self.version}", *self.needs, *read_pins(_REQUIREMENTS)]


#: The Blender in `.venv`, for `make test`: the oldest one that the extension supports.
DEFAULT = Blender("4.2.23", "3.11", ("numpy==2.4.6",))

#: The Blenders on which `make test-matrix` runs the same tests.
MATRIX = (
    Blender("4.5.15", "3.11", ("numpy==1.26.4",)),
    Blender("5.0.1", "3.11", ("numpy==1.26.4",)),
    # Its environment is in the Debian 13 root, whose Python has no pip of its own for the tests of these tools.
    Blender("5.2.3", "3.13", ("numpy==2.4.6", "cattrs==26.2.1", "pip==26.3")),
)
