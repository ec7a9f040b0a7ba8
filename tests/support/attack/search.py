# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes scripts, has each judged, counts the outcomes by row, and keeps the scripts with findings."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import bpy
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import parts

from support.attack import combine, oracles
from support.attack.oracles import CRASH, HARM, OUTCOMES, WALL, Judge, Verdict

__all__ = ("BAD", "FINDINGS", "Report", "run", "warm_up")

BAD: Final = frozenset({HARM, CRASH})
FINDINGS: Final = frozenset({HARM, CRASH, WALL})
_TIME_LIMIT_S: Final = 1.0
_SIGN_LENGTH: Final = 160
_NAMED_MOST: Final = 4


def warm_up() -> None:
    """Open Blender's own start-up file, set a short time limit, and load everything that a run needs."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    settings.set_preferences({"time_limit_s": _TIME_LIMIT_S})
    parts.prepare()
    imported = ", ".join(combine.MODULES)
    oracles.guarded(f"import {imported}\nx = numpy.arange(3.0)", {})


@dataclass
class Report:
    """Counts of scripts by table, row and outcome, and the findings."""

    cells: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    found: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Names of the scripts with the same finding, by that finding."""
    seconds: float = 0.0

    @property
    def has_harm(self) -> bool:
        return any(self.counts[each] for each in BAD)

    def add(self, script: combine.Script, verdict: Verdict) -> None:
        """Count a script in each of its rows."""
        self.counts[verdict.outcome] += 1
        self.seconds += verdict.seconds
        for table, rows in script.rows.items():
            for row in set(rows):
                self.cells[table][row][verdict.outcome] += 1

    def text(self) -> str:
        """Return the counts by cell as a table, and a line for each finding."""
        lines = []
        for table, rows in self.cells.items():
            lines += ["", f"{table:<44}" + "".join(f"{each:>15}" for each in OUTCOMES)]
            for row, counts in rows.items():
                name = row.split("\n")[0][:42]
                lines.append(f"  {name:<42}" + "".join(f"{counts[each] or '.':>15}" for each in OUTCOMES))
        total = "".join(f"{self.counts[each]:>15}" for each in OUTCOMES)
        lines += ["", f"{sum(self.counts.values())} scripts".ljust(44) + total]
        for sign, names in sorted(self.found.items()):
            lines.append(f"{len(names):>5} × {sign}: {', '.join(names[:_NAMED_MOST])}")
        return "\n".join(lines)


def run(
    judge: Judge,
    *,
    seed: int,
    numbers: Iterable[int],
    goes_on: Callable[[], bool],
    out: Path,
    say: Callable[[int, Counter[str]], None] = lambda _count, _counts: None,
) -> Report:
    """Judge the scripts of these numbers while `goes_on()`; write findings and counts.json into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    report = Report({table: {row: Counter() for row in rows} for table, rows in combine.TABLES.items()})
    for number in numbers:
        if not goes_on():
            break
        script = combine.make(seed, number)
        verdict = judge.verdict(script.code)
        report.add(script, verdict)
        if verdict.outcome in FINDINGS:
            report.found[_sign(verdict)].append(_keep(out, script, verdict))
        say(sum(report.counts.values()), report.counts)
    text = json.dumps({"counts": report.counts, "cells": report.cells}, indent=1)
    (out / "counts.json").write_text(text + "\n", encoding="utf-8")
    return report


def _sign(verdict: Verdict) -> str:
    """Return what a finding has in common with others of its kind, without names and numbers of the script."""
    lines = verdict.seen.splitlines()
    frames = (
        [line for line in lines if line.lstrip().startswith("File ")][:2] if verdict.outcome == CRASH else []
    )
    text = re.sub(r"0x[0-9a-f]+|\d+ (s|MB)\b|line \d+", "…", " ".join([lines[0], *frames]))
    return f"{verdict.outcome}: {text[:_SIGN_LENGTH]}"


def _keep(out: Path, script: combine.Script, verdict: Verdict) -> str:
    """Write a finding as a script that says what it is, and return its name."""
    kind = verdict.outcome.lower().replace(" ", "-")
    version = ".".join(map(str, bpy.app.version))
    path = out / f"{kind}-{version}-{script.seed}-{script.number}.py"
    about = [f"{verdict.outcome} on Blender {version}, seed {script.seed}, script {script.number}"]
    about += [
        f"{table}: {', '.join(map(repr, rows))}" for table, rows in script.rows.items() if table != "grammar"
    ]
    about += verdict.seen.splitlines()
    head = "".join(f"# {line}\n" for line in about)
    path.write_text(head + script.code, encoding="utf-8", errors="backslashreplace")
    return path.name
