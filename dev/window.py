# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the window tests with the Blender of each Debian root: `make test-window`.

    .venv/bin/python dev/window.py [--only SUITE] [PYTEST-ARGUMENT …]

Without a path among the arguments, it runs all of tests/window; tests in many sizes and workspaces (`IN_EACH_SIZE`) run
with the last suite alone. It tests the roots at the same time: tests of a screen wait most of the time, and each root
has its own screen, folders and pictures.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import debian_root
from blenders import ROOT, cache_lock

__all__ = ("run_tests",)

#: Tests in many sizes, scales and workspaces, which take almost half of the time: they run with the last suite alone.
IN_EACH_SIZE = ("tests/window/test_assets_looks.py", "tests/window/test_noticed.py")


def run_tests(suites: Sequence[str], arguments: Sequence[str], home: str = "tests/window") -> list[str]:
    """Run tests with the Blender of each suite, all at once, and show pytest's output; return the suites that failed.

    Args:
        suites: of `debian_root.SUITES`.
        arguments: for pytest; without a path among them, all of `home` runs.
    """
    with ThreadPoolExecutor(len(suites)) as pool:
        passed = pool.map(lambda suite: _run(suite, arguments, home), suites)
        return [suite for suite, good in zip(suites, passed, strict=True) if not good]


def _run(suite: str, arguments: Sequence[str], home: str) -> bool:
    """Run tests with one suite's Blender, its name before each line of output; return whether they passed."""
    try:
        with cache_lock():
            root = debian_root.ensure(suite)
    except debian_root.RootError as error:
        print(error)
        return False
    asked = debian_root.command(root, ["blender", "--version"])
    version = subprocess.run(asked, env=debian_root.ENVIRONMENT, capture_output=True, text=True).stdout
    print(f"── Debian {suite}: {version.partition(chr(10))[0]}", flush=True)
    started = time.monotonic()
    paths = [] if any(argument.startswith("tests/") for argument in arguments) else [home]
    if paths and suite != debian_root.SUITES[-1]:
        paths += [f"--ignore={path}" for path in IN_EACH_SIZE]
    pytest = [sys.executable, "-m", "pytest", *paths, *arguments]
    env = os.environ | {"MCP_BRIDGE_SUITE": suite}
    with subprocess.Popen(
        pytest,
        env=env,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as running:
        assert running.stdout
        for line in running.stdout:
            print(f"{suite:6} {line}", end="", flush=True)
    print(f"── Debian {suite}: {time.monotonic() - started:.0f} s", flush=True)
    return running.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run the window tests with the Blender of each Debian root; arguments go to pytest."
    )
    parser.add_argument("--only", choices=debian_root.SUITES, help="the one Debian root that runs the tests")
    options, arguments = parser.parse_known_args()
    suites = debian_root.SUITES if options.only is None else (options.only,)
    if failed := run_tests(suites, arguments):
        print(f"failed with the Blender of Debian {', '.join(failed)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
