# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the benchmarks of tests/bench against the installed extension, prints a table and writes build/bench.json.

    python dev/measure/bench.py [NAME …]     # only tests/bench/bench_NAME*.py

Each of these files has `rows()`, which returns `support.bench.Row`s. The exit code is 1 if a row misses its target;
other work on the machine may be the reason.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_BENCHES = ROOT / "tests" / "bench"


def main(arguments: list[str]) -> int:
    """Run the named benchmarks, or all of them; return 1 if a row misses its target."""
    chosen = chosen_files(arguments)
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "dev"), str(_BENCHES)]
    load_module(ROOT / "tests" / "conftest.py")  # starts Blender with the extension, as for the tests
    missed = 0
    results: dict[str, object] = {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "load": os.getloadavg()[0]}
    for name, path in chosen.items():
        print(f"\n{name}")
        rows = []
        for row in load_module(path).rows():
            rows.append(asdict(row))
            missed += row.misses
            said = f"{row.target:<14} {row.baseline}{'  MISSED' * row.misses}"
            print(f"  {row.name:<62}{row.value:>12,.3f} {row.unit:<8} {said}", flush=True)
        results[name] = rows
    (ROOT / "build" / "bench.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(missed > 0)


def chosen_files(arguments: list[str]) -> dict[str, Path]:
    """The files of the benchmarks that the arguments name, by name. Exits with a message for a name that fits none."""
    known = {path.stem.removeprefix("bench_"): path for path in sorted(_BENCHES.glob("bench_*.py"))}
    parser = argparse.ArgumentParser(description="Measure the installed extension; write build/bench.json.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"how a name begins: {', '.join(known)}")
    names = parser.parse_args(arguments).names
    for name in names:
        if not any(one.startswith(name) for one in known):
            parser.error(f"no benchmark begins with {name!r}; there are {', '.join(known)}")
    return {one: path for one, path in known.items() if not names or one.startswith(tuple(names))}


def load_module(path: Path) -> Any:
    """Return the module of a file outside any package, such as tests/conftest.py."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
