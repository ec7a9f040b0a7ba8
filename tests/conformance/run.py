# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the official conformance suites against the installed extension in a real Blender, over both transports.

    .venv/bin/python tests/conformance/run.py [--only TRANSPORT/SUITE]

Prints `passed N failed M` for each of the six runs. Exits with 1 unless every check passes, tasks included; a check
that cannot pass because the suite is at fault is named with its reason in expected_failures.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "tools")]
os.environ.setdefault("BLENDER_USER_RESOURCES", str(_ROOT / "build" / "user"))

from clients import CLIENTS, NODE  # noqa: E402 - found by the path above
from support import blender  # noqa: E402

_MODULES = CLIENTS / "node_modules"
_NEW = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_OLD = _MODULES / "conformance-2025" / "dist" / "index.js"
_EXPECTED = Path(__file__).with_name("expected_failures.json")
_TIMEOUT_S = 600

_SUITES: dict[str, list[str | Path]] = {
    "0.1.16": [_OLD],
    "2025-11-25": [_NEW, "--requirements", "2025-11-25"],
    "2026-07-28": [_NEW, "--requirements", "2026-07-28"],
}

#: What the suite puts behind a scenario's name.
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z?$")


@dataclass
class Outcome:
    """What one run of one suite said; what failed or was warned of as `scenario/check` and message."""

    passed: int
    failed: list[tuple[str, str]]
    warnings: list[tuple[str, str]]


def main() -> int:
    """Run all six, or the one asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", metavar="TRANSPORT/SUITE", help="such as websocket/2026-07-28")
    only = parser.parse_args().only
    expected = json.loads(_EXPECTED.read_text(encoding="utf-8"))
    good = True
    for transport in ("http", "websocket"):
        for suite in _SUITES:
            if only in (None, f"{transport}/{suite}"):
                outcome = _run(transport, suite)
                good &= _report(f"{transport}/{suite}", outcome, expected)
    return 0 if good else 1


def _run(transport: str, suite: str) -> Outcome:
    """Start a Blender, run a suite against it, and read what it wrote."""
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder)) as server:
        assert server.stdout
        port = json.loads(server.stdout.readline())[transport]
        script, *options = _SUITES[suite]
        found = _ROOT / "build" / "conformance" / transport / suite
        shutil.rmtree(found, ignore_errors=True)
        done = subprocess.run(
            [NODE, script, "server", "--url", f"http://localhost:{port}/mcp", *options, "-o", found],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            cwd=folder,
        )
        assert server.stdin
        server.stdin.close()
        server.wait(30)
    outcome = _read(found)
    if not outcome.passed:
        print(done.stdout[-4000:], done.stderr[-4000:])
    return outcome


def _serving(folder: Path) -> subprocess.Popen[str]:
    """A Blender that runs server.py with nothing of this user's."""
    code = "import conformance.server; conformance.server.main()"
    environment = blender.environment(
        folder, PYTHONPATH=str(_ROOT / "tests"), BLENDER_MCP_LOG_LEVEL="WARNING"
    )
    return subprocess.Popen(
        blender.command(code), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def _read(folder: Path) -> Outcome:
    """Read the checks that a run left in its folder."""
    passed = 0
    failed: list[tuple[str, str]] = []
    warnings: list[tuple[str, str]] = []
    for path in sorted(folder.rglob("checks.json")):
        scenario = _STAMP.sub("", path.parent.name).removeprefix("server-")
        for check in json.loads(path.read_text(encoding="utf-8")):
            named = (f"{scenario}/{check['id']}", check.get("errorMessage", ""))
            match check["status"]:
                case "SUCCESS":
                    passed += 1
                case "FAILURE":
                    failed.append(named)
                case "WARNING":
                    warnings.append(named)
    return Outcome(passed, failed, warnings)


def _report(run: str, outcome: Outcome, expected: dict[str, dict[str, str]]) -> bool:
    """Print the line of a run and what failed in it; tell whether it is as it should be."""
    print(f"{run}: passed {outcome.passed} failed {len(outcome.failed)}", flush=True)
    good = outcome.passed > 0
    for status, found in (("failed", outcome.failed), ("warned of", outcome.warnings)):
        for name, message in found:
            reason = expected[status].get(name)
            good &= reason is not None
            print(f"  {status} {name}: {f'expected: {reason}' if reason else message}")
    return good


if __name__ == "__main__":
    sys.exit(main())
