# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs assistants' programs that need no account, to check that they read the configurations that we write.

    .venv/bin/python dev/real_clients.py [PYTEST-ARGUMENT …]      make clients-check

Each is installed once, at a pinned version, into the cache that all checkouts share. If one cannot be installed, this
says so, and its checks are skipped with that reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import clients
from blenders import CACHE, ROOT, cache_lock, read_pins

__all__ = ("PROGRAMS", "NotInstalled", "Program", "install", "install_python", "python_1_version")

FOLDER = CACHE / "real-clients"
_LONGEST_S = 900


class NotInstalled(Exception):
    """Tells that the program cannot be installed here; the message says why."""


@dataclass(frozen=True, slots=True)
class Program:
    """The npm package of a client, and the name of its program."""

    package: str
    name: str


#: Programs by the client's id in server/clients/config/table.py; and the one that checks bundles for Claude Desktop.
PROGRAMS = {
    "claude_code": Program("@anthropic-ai/claude-code@2.1.330", "claude"),
    "codex": Program("@openai/codex@0.169.0", "codex"),
    "gemini": Program("@google/gemini-cli@0.61.0", "gemini"),
    "qwen": Program("@qwen-code/qwen-code@0.24.4", "qwen"),
    "opencode": Program("opencode-ai@1.18.33", "opencode"),
    "continue": Program("@continuedev/cli@1.5.47", "cn"),
    "cline_cli": Program("cline@3.0.65", "cline"),
    "mcpb": Program("@anthropic-ai/mcpb@2.1.2", "mcpb"),
}


def path() -> str:
    """Return PATH for these programs, with the Node.js of the tests."""
    return f"{clients.NODE.parent}{os.pathsep}{os.environ['PATH']}"


def install(program: Program) -> Path:
    """Return the program; install it if necessary. Raises NotInstalled."""
    folder = FOLDER / re.sub("[/@]", "_", program.package)
    found = folder / "node_modules" / ".bin" / program.name
    stamp = folder / "installed"
    with cache_lock(FOLDER.name):
        if not stamp.exists():
            _npm(folder, program.package)
            stamp.touch()
    return found


def install_python(pin: str) -> Path:
    """Return a Python with this package and all it needs; install it if necessary. Raises NotInstalled.

    pin: such as "fastmcp==4.1.2".
    """
    folder = FOLDER / re.sub(r"[^\w.-]", "_", pin)
    python, stamp = folder / "bin" / "python", folder / "installed"
    with cache_lock(FOLDER.name):
        if not stamp.exists():
            wheels = [
                "-m",
                "pip",
                "--quiet",
                "--disable-pip-version-check",
                "install",
                "--only-binary",
                ":all:",
            ]
            for command in ([sys.executable, "-m", "venv", folder], [python, *wheels, pin]):
                done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S)
                if done.returncode != 0:
                    raise NotInstalled(f"{pin} cannot be installed: {done.stderr[-500:]}")
            stamp.touch()
    return python


def python_1_version() -> str:
    """Return the version of the Python SDK 1.x that `make clients` installs."""
    pins = dict(pin.split("==") for pin in read_pins(ROOT / "dev" / "requirements-mcp1.txt"))
    return pins["mcp"]


def _npm(folder: Path, package: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    npm = clients.NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [clients.NODE, npm, "install", "--no-audit", "--no-fund", "--loglevel", "error", package]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=os.environ | {"PATH": path()},
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{package} cannot be installed: {error}") from error
    if done.returncode != 0:
        raise NotInstalled(f"{package} cannot be installed: {done.stderr[-500:]}")


if __name__ == "__main__":
    sys.exit(
        subprocess.run(
            [sys.executable, "-m", "pytest", "tests/real_clients", *sys.argv[1:]], cwd=ROOT
        ).returncode
    )
