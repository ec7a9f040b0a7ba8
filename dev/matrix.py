# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the tests on every Blender of dev/blenders.py, and on the programs of the Debian roots: `make test-matrix`.

    .venv/bin/python dev/matrix.py [--only VERSION-OR-SUITE | --prepare] [PYTEST-ARGUMENT …]

Modules that run on this Python get a virtual environment each; the others run on the Python of the Debian 13 root.
Both are in the cache that all checkouts share. Programs run the tests of tests/program: as on an artist's computer,
they install the extension, serve without a window, and start themselves again for confined work.

Rooms that know nothing of Blender, or reach it only through others, are tested once for each Python; tests of the
checkout itself run once.
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
import window
from blenders import BUILD, CACHE, DEFAULT, MATRIX, ROOT, Blender, cache_lock

_PROGRAM = "tests/program"
#: The whole suite runs in one Blender more than there are processors, as in `make test`.
_WORKERS = ("-n", str(len(os.sched_getaffinity(0)) + 1), "--dist", "worksteal")
#: Rooms that know nothing of Blender: what they do depends on the Python alone, so that `make test` has tested them for
#: each Blender with the same one.
PURE = (
    *("base/process", "base/telemetry", "importers/network", "sandbox/confinement", "sandbox/language"),
    *("server/clients", "server/protocol"),
)
#: Left out, too, for a Blender whose Python has been tested: rooms that reach Blender only by others, which are tested
#: on each (tests/stories calls every tool), the walk that breaks functions of the sandbox, which takes long, what stops
#: plain Python, and what only the operating system holds.
BY_OTHERS = (
    *("rendering/farms", "sandbox/run/test_watchdog.py", "sandbox/test_broken_checks.py"),
    *("sandbox/guard", "sandbox/rehearsal/test_faults.py"),
    *("server/tools", "server/transport", "server/test_*.py"),
)
#: Left out, too, for a Blender whose Python has been tested with the same numpy.
OF_NUMPY = ("sandbox/stdlib/test_array*.py",)
#: Tests of what a checkout holds and what is built of it: `make test` has run them, and no other Blender changes them.
CHECKOUT = (
    *("dev", "test_docs.py", "test_imports.py", "test_readme.py", "test_specification.py"),
    "test_tables.py",
)


def _concerns(arguments: Sequence[str], *, programs: bool) -> bool:
    """Return whether pytest's arguments ask for tests of programs, or of modules; without a path they ask for all."""
    paths = [argument for argument in arguments if argument.startswith("tests/")]
    return not paths or any(path.startswith(_PROGRAM) == programs for path in paths)


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


def interpreter(blender: Blender) -> tuple[list[str | Path], dict[str, str]]:
    """Return the command of one Blender's Python and the environment for it; set it up if necessary.

    Raises:
        environment.SetupError: it could not be set up.
        debian_root.RootError: a Blender that needs the Debian root could not be set up.
    """
    with cache_lock():
        if blender.python == DEFAULT.python:
            return _here(blender), dict(os.environ)
        return _in_root(blender), dict(debian_root.ENVIRONMENT)


def prepare() -> None:
    """Set up all Blenders and programs for the tests. Raises what `interpreter` raises."""
    for blender in MATRIX:
        interpreter(blender)
        clients.ensure(blender.python)
    for suite in debian_root.SUITES:
        with cache_lock():
            debian_root.ensure(suite)


def install(blender: Blender, package: Path) -> tuple[list[str | Path], dict[str, str]]:
    """Install the extension for one Blender; return the command of its Python and the environment for it.

    Raises what `interpreter` raises.
    """
    python, env = interpreter(blender)
    user = BUILD / f"bpy-{blender.version}" / "user"
    extension.install(package, user, blender=python)
    return python, env | {"BLENDER_USER_RESOURCES": str(user)}


def test(blender: Blender, package: Path, arguments: Sequence[str]) -> bool:
    """Run the tests on one Blender, show pytest's output, and return whether they passed."""
    try:
        python, env = install(blender, package)
        clients.ensure(blender.python)
    except (environment.SetupError, debian_root.RootError) as error:
        print(error)
        return False
    before = [DEFAULT, *MATRIX[: MATRIX.index(blender)]]
    left_out = [*CHECKOUT]
    if any(each.python == blender.python for each in before):
        left_out += [*PURE, *BY_OTHERS]
    if any((each.python, each.needs) == (blender.python, blender.needs) for each in before):
        left_out += OF_NUMPY
    whole = [*_WORKERS, *(f"--ignore-glob=tests/{name}" for name in left_out)]
    pytest = [*python, "-m", "pytest", "-p", "no:cacheprovider", *(arguments or whole)]
    return subprocess.run(pytest, env=env, cwd=ROOT).returncode == 0


def main() -> int:
    """Test on each Blender that the arguments name; return 1 if one failed."""
    parser = argparse.ArgumentParser(description="Run the tests on every Blender; arguments go to pytest.")
    parser.add_argument(
        "--only",
        choices=[*(blender.version for blender in MATRIX), *debian_root.SUITES],
        help="the only Blender, or the only Debian root, that runs the tests",
    )
    parser.add_argument(
        "--prepare", action="store_true", help="fetch the Blenders and Debian roots, and run no test"
    )
    options, arguments = parser.parse_known_args()
    if options.prepare:
        try:
            prepare()
        except (environment.SetupError, debian_root.RootError) as error:
            print(error)
            return 1
        return 0
    package = extension.build()
    failed = []
    for blender in MATRIX:
        if options.only not in (None, blender.version) or not _concerns(arguments, programs=False):
            continue
        print(f"\n── Blender {blender.version}, Python {blender.python}", flush=True)
        started = time.monotonic()
        if not test(blender, package, arguments):
            failed.append(blender.version)
        print(f"── {time.monotonic() - started:.0f} s", flush=True)
    suites = [suite for suite in debian_root.SUITES if options.only in (None, suite)]
    if suites and _concerns(arguments, programs=True):
        failed += [f"of Debian {suite}" for suite in window.run_tests(suites, arguments, _PROGRAM)]
    if failed:
        print(f"failed on Blender {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
