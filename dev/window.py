# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the window tests with the Blender of each Debian root: `make test-window`.

    .venv/bin/python dev/window.py [--only SUITE] [PYTEST-ARGUMENT …]

Without a path among the arguments, all of tests/window is run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import debian_root
from blenders import ROOT, cache_lock

__all__ = ("run_tests",)


def run_tests(suite: str, arguments: Sequence[str], home: str = "tests/window") -> bool:
    """Run tests with one suite's Blender, show pytest's output, and tell whether they passed.

    Args:
        suite: one of `debian_root.SUITES`.
        arguments: for pytest; without a path among them, all of `home` is run.
    """
    try:
        with cache_lock():
            root = debian_root.ensure(suite)
    except debian_root.RootError as error:
        print(error)
        return False
    asked = debian_root.command(root, ["blender", "--version"])
    version = subprocess.run(asked, env=debian_root.ENVIRONMENT, capture_output=True, text=True).stdout
    print(f"\n── Debian {suite}: {version.partition(chr(10))[0]}", flush=True)
    started = time.monotonic()
    paths = [] if any(argument.startswith("tests/") for argument in arguments) else [home]
    pytest = [sys.executable, "-m", "pytest", *paths, *arguments]
    done = subprocess.run(pytest, env=os.environ | {"MCP_BRIDGE_SUITE": suite}, cwd=ROOT)
    print(f"── {time.monotonic() - started:.0f} s", flush=True)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run the window tests with the Blender of each Debian root; arguments go to pytest."
    )
    parser.add_argument("--only", choices=debian_root.SUITES)
    options, arguments = parser.parse_known_args()
    suites = debian_root.SUITES if options.only is None else (options.only,)
    failed = [suite for suite in suites if not run_tests(suite, arguments)]
    if failed:
        print(f"failed with the Blender of Debian {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
