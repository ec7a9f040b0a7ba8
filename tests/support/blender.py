# SPDX-License-Identifier: GPL-3.0-or-later
"""Fresh Blender processes (the `bpy` module) with the installed extension, each with folders of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ("EXTENSION", "environment", "installed_folder", "run", "start")

#: The extension's package, as installed by `make test`.
EXTENSION = "bl_ext.user_default.mcp_bridge"

_PRELUDE = f"""
import bpy, addon_utils
assert addon_utils.enable({EXTENSION!r}, default_set=True) is not None
"""


def installed_folder() -> Path:
    """Return the folder that Blender's installer unpacked the extension into."""
    return Path(os.environ["BLENDER_USER_RESOURCES"]) / "extensions" / "user_default" / "mcp_bridge"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment for a Blender that shares nothing with this one or with the user of this machine.

    Args:
        folder: an empty folder, such as `tmp_path`; HOME, the run-time folder and a copy of Blender's user folder
            with the extension in it are made there.
        more: variables to add, such as BLENDER_PORT. None of this process's BLENDER_… variables is passed on.
    """
    user = folder / "blender"
    if not user.exists():
        shutil.copytree(os.environ["BLENDER_USER_RESOURCES"], user)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BLENDER_", "XDG_"))}
    own = {"HOME": folder / "home", "XDG_RUNTIME_DIR": folder / "run"}
    for path in own.values():
        path.mkdir(mode=0o700, exist_ok=True)
    paths = {name: str(path) for name, path in own.items()}
    return kept | paths | {"BLENDER_USER_RESOURCES": str(user)} | more


def start(code: str, env: dict[str, str], **options: object) -> subprocess.Popen[str]:
    """Start a Blender with the extension enabled that runs the Python text `code`.

    Args:
        env: from `environment`.
        options: of `subprocess.Popen`, such as `stdout`.
    """
    command = [sys.executable, "-c", _PRELUDE + code]
    return subprocess.Popen(command, env=env, text=True, **options)  # type: ignore[call-overload]


def run(code: str, env: dict[str, str], *, timeout: float = 60.0) -> str:
    """Run `code` as `start` does, wait for it to end, and return what it printed.

    Raises:
        AssertionError: it ended with an exit code other than 0; the message is its output.
        subprocess.TimeoutExpired: it took longer than `timeout` seconds; it was killed.
    """
    command = [sys.executable, "-c", _PRELUDE + code]
    done = subprocess.run(command, env=env, text=True, capture_output=True, timeout=timeout)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
