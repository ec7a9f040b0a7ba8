# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the official conformance suites against the installed extension in a real Blender, over both transports.

    .venv/bin/python tests/conformance/run.py [--only TRANSPORT/SUITE | --only inspector]

The Inspector's strict check of the tools comes first. Then each of the six runs of the suites prints
`passed N failed M`. Exits with 1 unless every check passes, tasks included; a check that cannot pass because the
suite is at fault is named with its reason in expected_failures.json.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "dev")]
os.environ.setdefault("BLENDER_USER_RESOURCES", str(_ROOT / "build" / "user"))

from clients import CLIENTS, NODE  # noqa: E402 - found by the path above
from support.running import blender  # noqa: E402

_MODULES = CLIENTS / "node_modules"
_NEW = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_OLD = _MODULES / "conformance-2025" / "dist" / "index.js"
_INSPECTOR = _MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
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
    parser.add_argument("--only", metavar="RUN", help="such as websocket/2026-07-28, or inspector")
    only = parser.parse_args().only
    expected = json.loads(_EXPECTED.read_text(encoding="utf-8"))
    good = True
    if only in (None, "inspector"):
        good &= _inspect()
    for transport in ("http", "websocket"):
        for suite in _SUITES:
            if only in (None, f"{transport}/{suite}"):
                outcome = _run(transport, suite)
                good &= _report(f"{transport}/{suite}", outcome, expected)
    return 0 if good else 1


def _run(transport: str, suite: str) -> Outcome:
    """Start a Blender, run a suite against it, and read what it wrote."""
    with _serving(fixtures=True) as (ports, folder):
        port = ports[transport]
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
    outcome = _read(found)
    if not outcome.passed:
        print(done.stdout[-4000:], done.stderr[-4000:])
    return outcome


def _inspect() -> bool:
    """Have the Inspector check the tools that a user has; tell whether it finds no error."""
    with _serving(fixtures=False) as (ports, folder):
        url = f"http://127.0.0.1:{ports['http']}/mcp"
        options = ["--cli", url, "--transport", "http", "--method", "tools/list", "--strict"]
        done = subprocess.run(
            [NODE, _INSPECTOR, *options], capture_output=True, text=True, timeout=_TIMEOUT_S, cwd=folder
        )
    print(f"inspector: {(done.stdout + done.stderr).strip().splitlines()[-1]}", flush=True)
    if done.returncode:
        print(done.stdout, done.stderr)
    return done.returncode == 0


@contextlib.contextmanager
def _serving(*, fixtures: bool) -> Iterator[tuple[dict[str, int], Path]]:
    """A Blender that runs server.py with nothing of this user's: its ports, and a folder to work in."""
    code = f"import conformance.server; conformance.server.main(fixtures={fixtures})"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = blender.environment(
            folder, PYTHONPATH=str(_ROOT / "tests"), BLENDER_MCP_LOG_LEVEL="WARNING"
        )
        with subprocess.Popen(
            blender.command(code), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdin
            assert server.stdout
            yield json.loads(server.stdout.readline()), folder
            server.stdin.close()
            server.wait(30)


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
