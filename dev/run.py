# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the extension, installs it into a user folder of its own, and serves: `make run`.

Without BLENDER in the environment it starts the `bpy` module, without a window; BLENDER=/path/to/blender starts that
Blender with its window. The environment is passed on, so that BLENDER_PORT and the like have their effect.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

import extension
from blenders import BUILD, ROOT

_SERVE = ROOT / "dev" / "in_blender" / "serve.py"


def main(arguments: list[str]) -> None:
    """Serve until Ctrl-C; `arguments` go to the server."""
    program = os.environ.get("BLENDER")
    package = extension.build()
    command: list[str | Path]
    if program:
        blender = shutil.which(program)
        if blender is None:
            raise SystemExit(f"BLENDER names {program}, which is not a program")
        # A folder for each program: a Blender cannot read what a newer one has saved.
        user = BUILD / "run" / f"window-{hashlib.sha256(blender.encode()).hexdigest()[:8]}"
        extension.install(package, user, blender=[blender, "-b", "--python"])
        command = [blender, "--python", _SERVE, *arguments]
    else:
        user = BUILD / "run" / "module"
        extension.install(package, user)
        command = [sys.executable, _SERVE, *arguments]
    # Blender takes this process's place, so that signals reach it and its exit code is ours.
    os.execve(command[0], command, os.environ | {"BLENDER_USER_RESOURCES": str(user)})


if __name__ == "__main__":
    main(sys.argv[1:])
