# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts fresh Blender processes (the `bpy` module) with the installed extension, each with its own folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ("EXTENSION", "command", "environment", "installed_folder", "run")

#: The extension's package, as installed by `make test`.
EXTENSION = "bl_ext.user_default.mcp_bridge"

_ENABLE = f"""
import bpy, addon_utils
assert addon_utils.enable({EXTENSION!r}, default_set=True) is not None
"""


def installed_folder() -> Path:
    """Return the folder that Blender's installer unpacked the extension into."""
    return Path(os.environ["BLENDER_USER_RESOURCES"]) / "extensions" / "user_default" / "mcp_bridge"


def environment(folder: Path, *, installed: bool = True, **more: str) -> dict[str, str]:
    """Return an environment for a Blender that shares nothing with this one or with the user of this machine.

    Args:
        folder: an empty folder, such as `tmp_path`; HOME, the run-time folder and Blender's user folder are
            made there.
        installed: whether the user folder is a copy of this Blender's, with the extension in it, or empty.
        more: variables to add, such as BLENDER_PORT. None of this process's BLENDER_… variables is passed on.
    """
    own = {
        "BLENDER_USER_RESOURCES": folder / "blender",
        "HOME": folder / "home",
        "XDG_RUNTIME_DIR": folder / "run",
    }
    for path in own.values():
        path.mkdir(mode=0o700, exist_ok=True)
    if installed:
        shutil.copytree(
            os.environ["BLENDER_USER_RESOURCES"],
            own["BLENDER_USER_RESOURCES"],
            dirs_exist_ok=True,
            copy_function=_copy,
        )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BLENDER_", "XDG_"))}
    chosen = {"BLENDER_MCP_REHEARSE": "asking"}  # else each script would be rehearsed
    return kept | {name: str(path) for name, path in own.items()} | chosen | more


def _copy(source: str, target: str) -> None:
    """Copy a file; link the 1,400 files of code, which are replaced and never written into."""
    if source.endswith((".py", ".pyc")):
        Path(target).unlink(missing_ok=True)  # a file of an earlier Blender in the same folder
        with contextlib.suppress(OSError):  # the folders are on different disks
            os.link(source, target)
            return
    shutil.copy2(source, target)


def command(code: str, *, enabled: bool = True) -> list[str]:
    """Return the command line of a Blender that runs the Python text `code`, with the extension enabled or not."""
    return [sys.executable, "-c", (_ENABLE if enabled else "import bpy, addon_utils\n") + code]


def run(code: str, env: dict[str, str], *, enabled: bool = True, timeout: float = 60.0) -> str:
    """Run `code` in a Blender of its own, wait for it to end, and return what it printed.

    Args:
        code: Python text; `bpy` and `addon_utils` are imported.
        env: from `environment`.
        enabled: whether the extension is enabled first.

    Raises:
        AssertionError: it ended with an exit code other than 0; the message is its output.
        subprocess.TimeoutExpired: it took longer than `timeout` seconds; it was killed.
    """
    done = subprocess.run(
        command(code, enabled=enabled), env=env, text=True, capture_output=True, timeout=timeout
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
