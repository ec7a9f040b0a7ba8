# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the tests on every Blender of tools/blenders.py: `make test-matrix`.

    .venv/bin/python tools/matrix.py [--only VERSION] [PYTEST-ARGUMENT …]

Blenders that run on this Python get a virtual environment each; the others run on the Python of the Debian 13
root. Both are kept in the cache that all checkouts share.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import clients
import debian_root
import environment
import extension
from blenders import BUILD, CACHE, DEFAULT, MATRIX, ROOT, Blender, cache_lock


def _here(blender: Blender) -> list[str | Path]:
    """Return the command of Python in a virtual environment of this machine's Python."""
    return [environment.ensure(CACHE / f"bpy-{blender.version}", blender.pins)]


def _in_root(blender: Blender) -> list[str | Path]:
    """Return the command of Python in a virtual environment in the Debian 13 root.

    This machine's pip fills it, since the root has neither pip nor this machine's certificates and settings.
    """
    root = debian_root.ensure()
    venv = Path("/opt") / f"bpy-{blender.version}"
    folder = root / venv.relative_to("/")
    python = debian_root.command(root, [venv / "bin" / "python"])
    if not (folder / "bin").exists():
        make = ["python3", "-m", "venv", "--without-pip", venv]
        subprocess.run(debian_root.command(root, make), check=True)
    target = folder / "lib" / f"python{blender.python}" / "site-packages"
    lacking = environment.missing(python, blender.pins)
    if lacking:
        environment.pip(lacking, options=environment.into(target, blender.python))
    return python


def test(blender: Blender, package: Path, arguments: Sequence[str]) -> bool:
    """Run the tests on one Blender, show pytest's output, and tell whether they passed."""
    here = blender.python == DEFAULT.python
    try:
        with cache_lock():
            python = _here(blender) if here else _in_root(blender)
        clients.ensure(blender.python)
    except (environment.SetupError, debian_root.RootError) as error:
        print(error)
        return False
    user = BUILD / f"bpy-{blender.version}" / "user"
    extension.install(package, user, blender=python)
    pytest = [*python, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    env = dict(os.environ if here else debian_root.ENVIRONMENT) | {"BLENDER_USER_RESOURCES": str(user)}
    return subprocess.run(pytest, env=env, cwd=ROOT).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests on every Blender; arguments go to pytest.")
    parser.add_argument("--only", choices=[blender.version for blender in MATRIX])
    options, arguments = parser.parse_known_args()
    package = extension.build()
    failed = []
    for blender in MATRIX:
        if options.only not in (None, blender.version):
            continue
        print(f"\n── Blender {blender.version}, Python {blender.python}", flush=True)
        started = time.monotonic()
        if not test(blender, package, arguments):
            failed.append(blender.version)
        print(f"── {time.monotonic() - started:.0f} s", flush=True)
    if failed:
        print(f"failed on Blender {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
