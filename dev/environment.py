# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a virtual environment with pinned packages; does nothing if it has them already.

    python3.11 dev/environment.py     the checkout's own, .venv

Standard library only: this is the first thing that runs in a fresh checkout.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from blenders import DEFAULT, ROOT

__all__ = ("SetupError", "ensure", "into", "missing", "pip")

# Runs in the environment: prints each pin that is not installed at its version.
_MISSING = """
import sys
from importlib.metadata import PackageNotFoundError, version
for pin in sys.argv[1:]:
    name, _, wanted = pin.partition("==")
    try:
        found = version(name)
    except PackageNotFoundError:
        found = None
    if found != wanted:
        print(pin)
"""

#: The C libraries whose wheels Debian 12 or 13 loads, newest first.
_PLATFORMS = [f"manylinux_2_{minor}_{platform.machine()}" for minor in range(36, 16, -1)]


class SetupError(Exception):
    """Tells that the environment cannot be made; the message says what to do."""


def missing(python: Sequence[str | Path], wanted: Sequence[str]) -> list[str]:
    """Return those of the pins `wanted` that the interpreter with the command line `python` lacks."""
    done = subprocess.run([*python, "-c", _MISSING, *wanted], check=True, capture_output=True, text=True)
    return done.stdout.split()


def pip(
    wanted: Sequence[str],
    python: Sequence[str | Path] = (sys.executable,),
    options: Sequence[str | Path] = (),
) -> None:
    """Install the pins `wanted` with the pip of the interpreter `python`.

    Args:
        wanted: pins such as "h11==0.16.0", with all that they need: pip adds nothing.
        options: for `pip install`.

    Raises:
        SetupError: pip failed; the message ends with its output.
    """
    print(f"installing {len(wanted)} packages …", flush=True)
    command = [*python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    command += ["--no-deps", "--only-binary", ":all:", *options, *wanted]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SetupError(f"pip could not install {', '.join(wanted)}:\n{done.stdout[-4000:]}")


def into(folder: Path, python_version: str) -> list[str | Path]:
    """Return the options of pip that install into `folder`, for this Python or for another one of Linux.

    The other Python need not be on this machine: the Debian 13 root has it.
    """
    options: list[str | Path] = ["--target", folder, "--upgrade"]
    if python_version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return options
    options += ["--python-version", python_version]
    options += ["--ignore-requires-python"]  # pip would check it for the Python that runs pip
    return [*options, *(f"--platform={name}" for name in _PLATFORMS)]


def ensure(venv: Path, wanted: Sequence[str]) -> Path:
    """Install the missing pins of `wanted` into the virtual environment `venv`; return its interpreter.

    Args:
        venv: the folder, or a symbolic link to one; the current Python makes it if it is missing.

    Raises:
        SetupError: this Python cannot make virtual environments, or pip failed.
    """
    python = venv / "bin" / "python"
    if not python.exists():
        print(f"making {venv} …", flush=True)
        if subprocess.run([sys.executable, "-m", "venv", venv]).returncode != 0:
            raise SetupError("`python -m venv` failed: on Debian `apt-get install python3-venv` brings it")
    lacking = missing([python], wanted)
    if lacking:
        pip(lacking, [python])
    return python


def main() -> int:
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    if running != DEFAULT.python:
        print(f"bpy {DEFAULT.version} needs Python {DEFAULT.python}, and this is {running}.")
        print("Say where the right one is: make PYTHON=/path/to/python3.11 …")
        return 1
    try:
        ensure(ROOT / ".venv", DEFAULT.pins)
    except SetupError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
