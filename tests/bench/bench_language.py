# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of the language's guards: each construct under them and in plain `exec`, in one run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run.namespace import build_guard
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, Watchdog

from support.bench import Row

_LOOP = """
def f(a, b, items, table, o):
    s = 0
    for i in range(100_000):
        {}
f(3, 4, [1] * 10, {{'k': 1}}, O())
"""
_CLASS = "class O:\n    n = 0\n    def m(self, x): return x\ndef g(x): return x\n"

CONSTRUCTS = {
    "integer arithmetic": "s = (s + i * a) % b",
    "item augmentation": "table['k'] += a",
    "attribute augmentation": "o.n += a",
    "append": "items.append(i)",
    "call": "g(i)",
    "method call": "o.m(i)",
    "item": "s = items[3]",
    "attribute": "s = o.n",
    "comparison": "s = a < b",
    "f-string": "s = f'{a}_{i:03d}'",
}
WHOLE = {
    "while": "def f():\n    i = 0\n    while i < 100_000: i += 1\nf()\n",
    "comprehension": "def f(items): return [x * 2 for x in items]\nf(list(range(100_000)))\n",
    "generator": "def f(n):\n    for i in range(n): yield i\ns = sum(f(100_000))\n",
    "module level": "s = 0\nfor i in range(100_000): s += i * i % 7\n",
}


def rows() -> Iterator[Row]:
    """Ratios to plain `exec` by construct, their mean, and the cost of compiling."""
    ratios: list[float] = []
    sources = {name: _CLASS + _LOOP.format(code) for name, code in CONSTRUCTS.items()} | WHOLE
    for name, source in sources.items():
        plain, guarded = _plain(source), _guarded(source)
        ratios.append(guarded / plain)
        target = "≤ 5" if name not in ("module level", "generator") else ""
        yield Row(f"language, {name}", guarded / plain, "x", target, f"plain exec {plain * 1e3:.1f} ms")
    yield Row(
        "language, geometric mean of constructs", math.exp(sum(map(math.log, ratios)) / len(ratios)), "x"
    )
    source = "\n".join(
        f"def f{n}(o, k=1):\n    o.x += k * {n}\n    return [v.co.z for v in o.data if v.index > k]"
        for n in range(167)
    )
    taken = _best(lambda: compile_script(source), 5)
    plain = _best(lambda: compile(source, "<plain>", "exec"), 5)
    yield Row("compiling 501 lines", taken * 1e3, "ms", "≤ 50", f"plain compile {plain * 1e3:.1f} ms")


def _best(act: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        act()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def _plain(source: str) -> float:
    code = compile(source, "<plain>", "exec")
    return _best(lambda: exec(code, {"__name__": "__main__"}), 5)


def _guarded(source: str) -> float:
    compiled = compile_script(source)

    def once() -> float:
        meter = Watchdog(Limits(time_s=60))
        namespace = build_guard(compiled, policy("math"), None, meter).namespace
        with meter:
            begin = time.perf_counter()
            exec(compiled.code, namespace)
            return time.perf_counter() - begin

    return min(once() for _ in range(5))
