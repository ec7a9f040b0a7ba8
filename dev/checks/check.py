# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks what changed: format, lint, types and tests: `make check`, in less than a minute.

    .venv/bin/python dev/checks/check.py [--since COMMIT]

Tests mirror the tree, so the tests of a module are found by its name. `make test` runs all.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

__all__ = ("changed", "tests_of")

ROOT = Path(__file__).resolve().parents[2]
#: Tests of rules about the whole tree, which any change may break. They are quick.
_ALWAYS = (
    "tests/dev/test_folders.py",
    "tests/test_imports.py",
    "tests/test_docs.py",
    "tests/test_tables.py",
    "tests/test_specification.py",
)


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.split()


def changed(since: str) -> list[str]:
    """Return the files that differ from the branch's start on `since`, and those that git does not know yet."""
    start = _git("merge-base", "HEAD", since)[0]
    tracked = _git("diff", "--name-only", "--diff-filter=d", start)
    return sorted({*tracked, *_git("ls-files", "--others", "--exclude-standard")})


def tests_of(files: Iterable[str], exists: Callable[[str], bool]) -> list[str]:
    """Return the test files for the changed files: changed tests, and tests that mirror a changed module.

    Args:
        files: paths from the root, with slashes.
        exists: tells whether a file of a path exists.
    """
    found = set()
    for name in files:
        path = PurePosixPath(name)
        if path.suffix != ".py":
            continue
        if path.parts[0] != "tests":
            path = PurePosixPath("tests") / path.with_name(f"test_{path.name}")
        elif not path.name.startswith("test_") or path.parts[1] in (
            "window",
            "program",
            "soak",
            "real_clients",
        ):
            continue
        if exists(str(path)):
            found.add(str(path))
    return sorted(found)


def main() -> int:
    """Run each step, even after a failed one; return 1 if one failed."""
    parser = argparse.ArgumentParser(description="Format, lint, types, and the tests of what changed.")
    parser.add_argument("--since", default="main", metavar="COMMIT", help="what changed since then (main)")
    options = parser.parse_args()
    tests = tests_of(changed(options.since), lambda name: (ROOT / name).exists())
    python = sys.executable
    steps = {
        "lint": [python, "-m", "ruff", "check", "--quiet", "."],
        "format": [python, "-m", "ruff", "format", "--quiet", "--check", "."],
        "types": [python, "dev/checks/typecheck.py"],
        "tests": [python, "-m", "pytest", "-q", *dict.fromkeys((*_ALWAYS, *tests))],
    }
    failed = []
    for name, command in steps.items():
        started = time.monotonic()
        if subprocess.run(command, cwd=ROOT).returncode != 0:
            failed.append(name)
        print(f"── {name}: {time.monotonic() - started:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
