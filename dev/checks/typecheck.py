# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs mypy over the extension; the settings are in pyproject.toml.

The checkout may have any name, and the extension is a package: a symbolic link under build/ gives it its own name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run mypy; return its exit code."""
    build = ROOT / "build"
    package = build / "types" / "mcp_bridge"
    package.parent.mkdir(parents=True, exist_ok=True)
    if not package.is_symlink():
        package.symlink_to(ROOT, target_is_directory=True)
    # The libraries that come with the extension, as Blender's installer unpacked them.
    libraries = next((build / "user" / "extensions" / ".local" / "lib").glob("python3.*/site-packages"))
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", package.name]
    environment = os.environ | {"MYPYPATH": str(libraries)}
    return subprocess.run(command, cwd=package.parent, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
