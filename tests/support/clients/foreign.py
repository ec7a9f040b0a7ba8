# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients that cannot run in this process, each run as a program: the Python SDK 1.x and TypeScript's."""

from __future__ import annotations

import os
import subprocess
import sys

from clients import CLIENTS, NODE

__all__ = ("python_1", "typescript")


def python_1(code: str, *arguments: str, timeout: float = 60.0) -> str:
    """Run Python text with the Python SDK 1.x importable as `mcp`, and return what it printed.

    `arguments` are its `sys.argv[1:]`.

    Raises:
        AssertionError: it ended with an exit code other than 0; the message is its output.
    """
    folder = CLIENTS / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return _run([sys.executable, "-c", code, *arguments], timeout, PYTHONPATH=str(folder))


def typescript(code: str, *, timeout: float = 60.0, **env: str) -> str:
    """Run the text of a JavaScript module under Node.js, and return what it printed.

    `@modelcontextprotocol/sdk/…` is there to import; `env` adds variables to its environment.

    Raises:
        AssertionError: it ended with an exit code other than 0; the message is its output.
    """
    return _run([NODE, "--input-type=module", "--eval", code], timeout, **env)


def _run(command: list[str | os.PathLike[str]], timeout: float, **more: str) -> str:
    # JavaScript modules are looked up from the working folder.
    done = subprocess.run(
        command, cwd=CLIENTS, env=os.environ | more, capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
