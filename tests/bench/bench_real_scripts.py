# SPDX-License-Identifier: GPL-3.0-or-later
"""Real scripts of other people: how many run in the sandbox with the same scene at the end, and what that costs.

`support/sandboxing/real_scripts.py` says where they are. Each is run on the Blender that its list names: those of
the newer ones by a second process. MCP_BRIDGE_REAL_IDS="0012 0345" runs these alone. Writes build/real_scripts.json.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import bpy
from bl_ext.user_default.mcp_bridge.sandbox.blender.host import Running
from bl_ext.user_default.mcp_bridge.sandbox.guard.measured import Measured
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

import extension
from blenders import BUILD, CACHE, MATRIX, ROOT
from support.bench import Row, percentile
from support.running import fork
from support.sandboxing import real_scripts
from support.sandboxing.real_scripts import Compared, Script

_RESULT: Final = BUILD / "real_scripts.json"
_PART: Final = "MCP_BRIDGE_REAL_PART"
"""Environment variable for the second process: where it writes its results."""
_SLOW_S: Final = 0.03
_TIMES: Final = 4


def rows() -> Iterator[Row]:
    chosen = os.environ.get("MCP_BRIDGE_REAL_IDS", "").split()
    listed = [each for each in real_scripts.scripts() if not chosen or each.id in chosen]
    if not listed:
        print(f"  skipped: there are no scripts in {real_scripts.FOLDER}")
        return
    here = [each for each in listed if each.blender == bpy.app.version_string.split()[0]]
    if part := os.environ.get(_PART):
        _write(Path(part), _run(here))
        return
    others = {each.blender for each in listed if each not in here}
    parts = {version: _begin(version, BUILD / f"real_{version}.json") for version in sorted(others)}
    results = _run(here)
    for version, (process, path) in parts.items():
        if process.wait() != 0:
            print(f"  those for Blender {version} could not be run")
            continue
        results += [Compared(**each) for each in json.loads(path.read_text("utf-8"))]
    _write(_RESULT, results)
    _print(results)
    yield from _figures(results)
    same = {each.id for each in results if each.outcome == "same" and each.scope == "inside"}
    yield from _around([each for each in here if each.id in same])


def _begin(version: str, path: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """Run this benchmark on another Blender, at the same time."""
    blender = next(each for each in MATRIX if each.version == version)
    python = CACHE / f"bpy-{blender.version}" / "bin" / "python"
    user = BUILD / f"bpy-{blender.version}" / "user"
    extension.install(extension.build(), user, blender=[python])
    env = os.environ | {_PART: str(path), "BLENDER_USER_RESOURCES": str(user)}
    return subprocess.Popen([python, ROOT / "dev" / "measure" / "bench.py", "real"], env=env), path


def _run(listed: Iterable[Script]) -> list[Compared]:
    real_scripts.warm_up()
    results = []
    for script in listed:
        began = time.monotonic()
        results.append(real_scripts.compare(script))
        found = results[-1]
        print(
            f"  {found.id} {found.scope:<8}{found.outcome:<15}{time.monotonic() - began:6.1f} s  {found.message[:150]}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
    return results


def _write(path: Path, results: list[Compared]) -> None:
    path.write_text(json.dumps([asdict(each) for each in results], indent=1) + "\n", encoding="utf-8")


def _print(results: list[Compared]) -> None:
    counts = Counter((each.outcome, each.scope) for each in results)
    print(f"  {'':<16}{'inside':>8}{'outside':>8}")
    for outcome in sorted({each.outcome for each in results}):
        print(f"  {outcome:<16}{counts[outcome, 'inside']:>8}{counts[outcome, 'outside']:>8}")


def _figures(results: list[Compared]) -> Iterator[Row]:
    measured = [each for each in results if each.outcome != "no plain run"]
    inside = [each for each in measured if each.scope == "inside"]
    for name, among, target in (
        ("inside Blender's data", inside, "≥ 97"),
        ("all", measured, "≥ 75"),
    ):
        if among:
            same = sum(each.outcome == "same" for each in among)
            yield Row(f"{len(among)} real scripts, {name}: run", 100 * same / len(among), "%", target)
    different = sum(each.outcome == "DIFFERENT" for each in measured)
    yield Row("with another scene at the end", different, "scripts", "≤ 0")
    ratios = sorted(
        each.sandbox_s / each.plain_s for each in measured if each.outcome == "same" and each.plain_s >= _SLOW_S
    )  # fmt: skip
    if ratios:
        about = f"{len(ratios)} scripts above {_SLOW_S * 1000:g} ms"
        yield Row(f"cost, {about}, geometric mean", statistics.geometric_mean(ratios), "× exec", "≤ 1.5")
        yield Row(f"cost, {about}, p90", percentile(ratios, 0.9), "× exec", "≤ 2.5")
        yield Row(f"cost, {about}, worst", ratios[-1], "× exec", "≤ 5")


def _around(listed: Collection[Script]) -> Iterator[Row]:
    """What a run costs besides its script: compiling, undo steps, snapshot, clean-up, journal."""
    if not listed:
        return
    found = [fork.run(_besides, each.code, timeout=600.0) for each in listed]
    p50 = percentile([compiling + around for compiling, around, *_ in found], 0.5)
    plain = percentile([bare for *_, bare in found], 0.5)
    baseline = f"{p50 / plain:.1f} × plain compile, two undo steps, one fsync ({1000 * plain:.2f} ms)"
    yield Row(f"a run besides {len(found)} real scripts, p50", 1000 * p50, "ms", "≤ 3", baseline)
    yield Row("of that compiling, p50", 1000 * percentile([each[0] for each in found], 0.5), "ms")


def _besides(code: str) -> tuple[float, float, float]:
    """Return the seconds of processor time for compiling a script, for its run besides the script, and for `_bare`."""
    inside: list[float] = []
    enter, leave = Running.__enter__, Running.__exit__

    def entered(self: Running) -> None:
        enter(self)
        inside.append(-time.process_time())

    def left(self: Running, *failure: Any) -> None:
        inside[-1] += time.process_time()
        leave(self, *failure)

    Running.__enter__, Running.__exit__ = entered, left  # type: ignore[method-assign]
    compiling, around, bare = [], [], []
    for number in range(_TIMES):
        bpy.ops.wm.read_homefile(use_factory_startup=True)
        text = f"{code}\n# {number}"  # the last texts are kept compiled
        began = time.process_time()
        compile_script(text)
        compiled = time.process_time()
        execute.run(text, request_id="real", requester="bench", rehearsed=True, growth=Measured())
        around.append(time.process_time() - compiled - inside.pop())
        compiling.append(compiled - began)
        bpy.ops.wm.read_homefile(use_factory_startup=True)
        bare.append(_bare(text))
    return min(compiling), min(around), min(bare)


def _bare(text: str) -> float:
    """Return the seconds of processor time that plain Python and Blender take for what a run cannot do without."""
    with tempfile.TemporaryFile(dir=BUILD) as file:
        began = time.process_time()
        compile(text, "<script>", "exec")
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.ed.undo_push(message="after")
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
        return time.process_time() - began


def summary(path: Path = _RESULT) -> list[dict[str, Any]]:
    """The results of the last run."""
    return json.loads(path.read_text("utf-8"))
