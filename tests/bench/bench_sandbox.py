# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sandbox costs over plain `exec` on honest scripts, and what validation and a run cost besides."""

from __future__ import annotations

import contextlib
import io
import itertools
import statistics
import time
from collections.abc import Callable, Iterator

import bpy
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.process import collector
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.reference import rna
from bl_ext.user_default.mcp_bridge.sandbox.run import execute, validate
from bl_ext.user_default.mcp_bridge.sandbox.run.wall import Armed
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, Watchdog

from support.bench import Row, percentile, samples
from support.running import fork
from support.sandboxing import sandbox_cases

_GENEROUS = Limits(time_s=120.0)


def rows() -> Iterator[Row]:
    timed = [_both(code) for code in _honest()]
    for name, target, ratios in (
        ("geometric mean", "≤ 1.5", [guarded / plain for guarded, plain, _bare in timed]),
        ("plain ones without the run around them", "", [guarded / bare for guarded, _plain, bare in timed]),
    ):
        yield Row(
            f"{len(ratios)} honest scripts, {name}",
            statistics.geometric_mean(ratios),
            "× exec",
            target,
            f"from {min(ratios):.2f} to {max(ratios):.2f}",
        )
    yield from _validation()
    yield from _around()


def _honest() -> list[str]:
    """The honest scripts that plain Blender of this version runs to their end."""
    return [
        case.code for case in sandbox_cases.honest() if sandbox_cases.run_honest(case, sandbox_cases.plain).ok
    ]


def _both(code: str) -> tuple[float, float, float]:
    """Seconds that the script takes under guard, plain within the same run, and plain alone; each in its own fork."""
    return tuple(fork.run(_timed, how, code) for how in (_guarded, _plain, _bare))  # type: ignore[return-value]


Run = Callable[[], None]
Prepare = Callable[[contextlib.ExitStack], Run]


def _timed(compiled: Callable[[str], Prepare], code: str) -> float:
    """The quicker of two runs, after one that fills the caches as the first script of a session does.

    What a run costs besides its script is measured by `_around`; here it is the same for both kinds. The transformer
    and the making of a namespace leave Blender's code and data out of the processor's caches: a guarded script would
    pay for that in Blender, where one that is plain and alone finds them warm. So scripts are compiled before the scene
    is read, and the plain one, too, begins when a namespace was made.
    """
    taken = []
    for _ in range(3):
        prepare = compiled(code)
        bpy.ops.wm.read_homefile(use_factory_startup=True)
        with contextlib.ExitStack() as around:
            run = prepare(around)
            begin = time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()):
                run()
            taken.append(time.perf_counter() - begin)
    return min(taken[1:])


def _guarded(code: str) -> Prepare:
    """As `execute` does it: without the collector; the watch over the limits begins before the namespace is made."""
    compiled = compile_script(code)

    def prepare(around: contextlib.ExitStack) -> Run:
        around.enter_context(collector.off())
        meter = around.enter_context(Watchdog(_GENEROUS))
        guard, running = execute.prepare(compiled, policy("blender"), meter)

        def run() -> None:
            with Armed(meter.trip), running:
                exec(compiled.code, guard.namespace)

        return run

    return prepare


def _plain(code: str) -> Prepare:
    guarded, bare = _guarded(code), _bare(code)

    def prepare(around: contextlib.ExitStack) -> Run:
        guarded(around)
        return bare(around)

    return prepare


def _bare(code: str) -> Prepare:
    compiled = compile(code, "<script>", "exec")
    return lambda _around: lambda: exec(compiled, {"__name__": "__main__"})


def _validation() -> Iterator[Row]:
    index = rna.current()
    parts = [case.code for case in sandbox_cases.honest()]
    lines: list[str] = []
    for part in parts:
        lines += part.splitlines()
    text = "\n".join(lines[:500])
    while True:  # the cut may have left an open block
        try:
            compile(text, "x", "exec")
            break
        except SyntaxError:
            text = text.rpartition("\n")[0]
    numbers = itertools.count()  # the last texts are kept compiled: each sample is another text
    taken = samples(lambda: validate.validate(f"{text}\n# {next(numbers)}", index), 100, warm_up=3)
    count = text.count("\n") + 1
    yield Row(f"validation of {count} lines, p50", percentile(taken, 0.5) * 1e3, "ms", "≤ 50")
    yield Row(f"validation of {count} lines, p99", percentile(taken, 0.99) * 1e3, "ms", "≤ 100")


def _around() -> Iterator[Row]:
    """A run of nothing: undo steps, snapshot, clean-up, journal."""
    settings.set_arguments({"rate_limit": 1_000_000})
    numbers = itertools.count()  # the last texts are kept compiled: each sample is another text

    def nothing() -> None:
        execute.execute_blender_code({"code": f"result = {next(numbers)}"})

    bpy.ops.wm.read_homefile(use_factory_startup=True)
    taken = samples(nothing, 50, warm_up=5)
    yield Row("a run besides the script, default scene, p50", percentile(taken, 0.5) * 1e3, "ms", "≤ 3")
    mesh = bpy.data.meshes.new("Part")
    for number in range(10_000):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"Part {number}", mesh))
    taken = samples(nothing, 3, warm_up=1)
    yield Row("a run besides the script, 10,000 objects, p50", percentile(taken, 0.5) * 1e3, "ms")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    settings.set_arguments({})
