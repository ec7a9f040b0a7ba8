# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches for a way out of the sandbox, for a given time: `make attack`.

    .venv/bin/python dev/measure/attack.py [--minutes M] [--scripts N] [--seed S] [--blender VERSION]

It makes scripts from the tables and the grammar of tests/support/attack, and runs each in a fork of this Blender. It
prints the counts by cell and writes them to build/attack/counts.json; every finding is a script in build/attack. The
exit code is 1 if a script did harm or crashed Blender.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bench import load_module

ROOT = Path(__file__).resolve().parents[2]
_SAID_EVERY_S = 60.0


def main() -> int:
    """Search, or judge the script that `--run` names; return 1 for harm or a crash."""
    parser = argparse.ArgumentParser(description="Search for a way out of the sandbox.")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to search (10)")
    parser.add_argument("--scripts", type=int, default=10**9, help="how many scripts to try at most")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same scripts (1)")
    parser.add_argument("--start", type=int, default=0, help="number of the first script (0)")
    parser.add_argument(
        "--blender", default="", metavar="VERSION", help="one of dev/blenders.py, such as 5.0.1"
    )
    parser.add_argument(
        "--run", type=Path, metavar="FILE", help="judge one script, such as a finding, and nothing else"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "attack", help="folder of the findings")
    parser.add_argument(
        "--plain", action="store_true", help="run scripts by plain exec, to see that harm is found"
    )
    options = parser.parse_args()
    if options.blender:
        return _elsewhere(options.blender)
    return _search(options)


def _elsewhere(version: str) -> int:
    """Run this in another Blender, after installing the extension there."""
    sys.path.insert(0, str(ROOT / "dev"))
    import environment
    import extension
    import matrix

    known = {blender.version: blender for blender in matrix.MATRIX}
    if version not in known:
        print(f"{version} is none of the Blenders of dev/blenders.py: {', '.join(known)}")
        return 2
    try:
        python, env = matrix.install(known[version], extension.build())
    except (environment.SetupError, matrix.debian_root.RootError) as error:
        print(error)
        return 2
    at = sys.argv.index("--blender") if "--blender" in sys.argv else 0
    rest = sys.argv[1:at] + sys.argv[at + 2 :] if at else [a for a in sys.argv[1:] if a[:10] != "--blender="]
    return subprocess.run([*python, __file__, *rest], env=env, cwd=ROOT).returncode


def _search(options: argparse.Namespace) -> int:
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "dev")]
    load_module(ROOT / "tests" / "conftest.py")  # starts Blender with the extension, as for the tests
    from support.attack import oracles, search

    with oracles.Judge(oracles.plain if options.plain else oracles.guarded) as judge:
        search.warm_up()
        if options.run:
            verdict = judge.verdict(options.run.read_text("utf-8"))
            print(f"{verdict.outcome}, {verdict.seconds:.2f} s\n{verdict.seen}")
            return int(verdict.outcome in search.BAD)
        until = time.monotonic() + 60 * options.minutes
        report = search.run(
            judge,
            seed=options.seed,
            numbers=range(options.start, options.start + options.scripts),
            goes_on=lambda: time.monotonic() < until,
            out=options.out,
            say=_sayer(),
        )
    print(report.text())
    return int(report.has_harm)


def _sayer() -> Callable[[int, Counter[str]], None]:
    """Return a function that prints the counts once a minute."""
    last = time.monotonic()

    def say(count: int, counts: Counter[str]) -> None:
        nonlocal last
        if time.monotonic() - last > _SAID_EVERY_S:
            last = time.monotonic()
            print(f"{count} scripts: {dict(counts)}", flush=True)

    return say


if __name__ == "__main__":
    sys.exit(main())
