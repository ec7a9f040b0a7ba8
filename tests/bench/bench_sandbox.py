# SPDX-License-Identifier: GPL-3.0-or-later
"""What the sandbox costs: guarded against plain `exec`, each script in a fork of this Blender, in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import bpy
from bl_ext.user_default.mcp_bridge import settings
from bl_ext.user_default.mcp_bridge.sandbox import execute, rna, validate
from bl_ext.user_default.mcp_bridge.sandbox.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.guarded_bpy import BlenderHost
from bl_ext.user_default.mcp_bridge.sandbox.guards import build_namespace
from bl_ext.user_default.mcp_bridge.sandbox.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.watchdog import Limits, Watchdog

from support import fork, sandbox_cases
from support.bench import Row, percentile, samples

_GENEROUS = Limits(time_s=120.0)

_CONSTRUCTS = {
    "integer arithmetic": (
        "def f():\n    t = 0\n    for i in range(300000):\n        t = (t + i * 3) % 7919\n    return t\nf()"
    ),
    "item augmentation": "def f():\n    a = [0] * 10\n    for i in range(200000):\n        a[i % 10] += 1\nf()",
    "attribute augmentation": (
        "class C:\n    x = 0\ndef f():\n    c = C()\n    for i in range(200000):\n        c.x += 1\nf()"
    ),
    "append": "def f():\n    a = []\n    for i in range(300000):\n        a.append(i)\nf()",
    "a call": "def g(x):\n    return x\ndef f():\n    for i in range(200000):\n        g(i)\nf()",
    "while": "def f():\n    i = 0\n    while i < 300000:\n        i += 1\nf()",
    "comprehension": "def f():\n    for _ in range(10):\n        [i * 2 for i in range(30000)]\nf()",
    "v.co.z += 1 on vertices": (
        "import bpy\nbpy.ops.mesh.primitive_grid_add(x_subdivisions=150, y_subdivisions=150)\n"
        "for v in bpy.context.object.data.vertices:\n    v.co.z += 1\n"
    ),
    "operators in a loop": (
        "import bpy\nfor i in range(60):\n    bpy.ops.mesh.primitive_cube_add(size=1, location=(i, 0, 0))\n"
    ),
}


def rows() -> Iterator[Row]:
    for name, code in _CONSTRUCTS.items():
        target = "≤ 5" if "bpy" not in code else ""
        guarded, plain = _both(code)
        yield Row(
            name, guarded / plain, "× exec", target, f"{guarded * 1e3:.1f} ms against {plain * 1e3:.1f} ms"
        )
    ratios = [guarded / plain for guarded, plain in map(_both, _honest()) if plain > 0]
    yield Row(
        f"{len(ratios)} honest scripts, geometric mean",
        statistics.geometric_mean(ratios),
        "× exec",
        "≤ 1.5",
        f"from {min(ratios):.2f} to {max(ratios):.2f}",
    )
    yield from _validation()
    yield from _around()


def _honest() -> list[str]:
    """The honest scripts that plain Blender of this version runs and that take long enough to be compared."""
    return [
        case.code for case in sandbox_cases.honest() if sandbox_cases.run_honest(case, sandbox_cases.plain).ok
    ]


def _both(code: str) -> tuple[float, float]:
    """Seconds that the script takes under guard and plain: the best of some, each in a fork of its own."""
    return tuple(
        min(fork.run(_timed, kind, code, timeout=60) for _ in range(5)) for kind in (_guarded, _plain)
    )


def _timed(make: Callable[[str], Callable[[], None]], code: str) -> float:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    run = make(code)
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _plain(code: str) -> Callable[[], None]:
    compiled = compile(code, "<script>", "exec")
    return lambda: exec(compiled, {"__name__": "__main__"})


def _guarded(code: str) -> Callable[[], None]:
    compiled = compile_script(code)
    rules, meter = policy("blender"), Watchdog(_GENEROUS)
    namespace = build_namespace(compiled, rules, BlenderHost(rules, meter), meter)

    def run() -> None:
        with meter:
            exec(compiled.code, namespace)

    return run


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
    taken = samples(lambda: validate.validate(text, index), 100, warm_up=3)
    count = text.count("\n") + 1
    yield Row(f"validation of {count} lines, p50", percentile(taken, 0.5) * 1e3, "ms", "≤ 50")
    yield Row(f"validation of {count} lines, p99", percentile(taken, 0.99) * 1e3, "ms", "≤ 100")


def _around() -> Iterator[Row]:
    """A run of nothing: undo steps, snapshot, clean-up, journal."""
    settings.set_arguments({"rate_limit": 1_000_000})

    def nothing() -> None:
        execute.execute_blender_code({"code": "result = 1"})

    bpy.ops.wm.read_homefile(use_factory_startup=True)
    taken = samples(nothing, 50, warm_up=5)
    yield Row("a run besides the script, default scene, p50", percentile(taken, 0.5) * 1e3, "ms", "≤ 5")
    mesh = bpy.data.meshes.new("Part")
    for number in range(10_000):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"Part {number}", mesh))
    taken = samples(nothing, 3, warm_up=1)
    yield Row("a run besides the script, 10,000 objects, p50", percentile(taken, 0.5) * 1e3, "ms")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    settings.set_arguments({})
