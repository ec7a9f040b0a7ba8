# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a virtual environment that holds pinned packages; do nothing where it already does.

    python3.11 tools/environment.py [.venv]

Standard library only: this is the first thing that runs in a fresh checkout.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from blenders import DEFAULT, ROOT

__all__ = ("SetupError", "ensure", "pins")

REQUIREMENTS = ROOT / "tools" / "requirements-dev.txt"

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


class SetupError(Exception):
    """The environment cannot be made; the message says what to do."""


def pins(requirements: str) -> list[str]:
    """Return the `name==version` lines of a requirements file, without comments and hashes."""
    lines = (line.split("#")[0].split("--hash")[0].strip() for line in requirements.splitlines())
    return [line for line in lines if line]


def missing(python: Path, wanted: list[str]) -> list[str]:
    """Return those of the pins `wanted` that the interpreter `python` does not have."""
    done = subprocess.run([python, "-c", _MISSING, *wanted], check=True, capture_output=True, text=True)
    return done.stdout.split()


def ensure(venv: Path, wanted: list[str], *, base: str = sys.executable) -> Path:
    """Make `venv` hold the pins `wanted`, and return its interpreter.

    Args:
        venv: the folder, or a symbolic link to one.
        wanted: pins, as `pins` returns them.
        base: the interpreter to make the environment from, where there is none yet.

    Raises:
        SetupError: `base` cannot make virtual environments, or pip failed.
    """
    python = venv / "bin" / "python"
    if not python.exists():
        print(f"making {venv} …", flush=True)
        if subprocess.run([base, "-m", "venv", venv]).returncode != 0:
            raise SetupError(
                f"{base} -m venv failed: on Debian `apt-get install python3-venv` brings what it needs"
            )
    lacking = missing(python, wanted)
    if lacking:
        print(f"installing {len(lacking)} packages into {venv} …", flush=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
        if subprocess.run([*pip, "--only-binary", ":all:", *wanted]).returncode != 0:
            raise SetupError(f"pip could not install {', '.join(lacking)} into {venv}")
    return python


def main() -> int:
    venv = ROOT / (sys.argv[1] if len(sys.argv) > 1 else ".venv")
    running = f"{sys.version_info.major}.{sys.version_info.minor}"
    if running != DEFAULT.python:
        print(
            f"Blender {DEFAULT.version} needs Python {DEFAULT.python}, and this is {running}: say where it is"
        )
        print("by `make PYTHON=/path/to/python3.11 …`")
        return 1
    try:
        ensure(venv, [DEFAULT.requirement, *pins(REQUIREMENTS.read_text(encoding="utf-8"))])
    except SetupError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
