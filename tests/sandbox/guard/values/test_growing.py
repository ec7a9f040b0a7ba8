# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way in which a script can make a container longer is measured: a walk over all types, methods and operators."""

from __future__ import annotations

import array
import collections
import itertools
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError, LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.guard.operators import Operators
from bl_ext.user_default.mcp_bridge.sandbox.guard.values.ordered_dict import OrderedDict
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import ScriptRefused, compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run.namespace import build_guard
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, ScriptStopped, Watchdog

from support.running import fork

MOST = 2_000
"""Items that a sequence may have in these runs."""
_IMPORTS = "import array, collections, functools, itertools, operator\n"
_OWN = "class Own({0}):\n    def __len__(self): return 0\n"
MAKING: dict[str, tuple[type, str]] = {
    "list": (list, "x = [1, 2]"),
    "bytearray": (bytearray, "x = bytearray(b'12')"),
    "deque": (collections.deque, "x = collections.deque([1, 2])"),
    "array": (array.array, "x = array.array('b', [1, 2])"),
    "dict": (dict, "x = {1: 1, 2: 2}"),
    "OrderedDict": (OrderedDict, "x = collections.OrderedDict({1: 1, 2: 2})"),
    "defaultdict": (collections.defaultdict, "x = collections.defaultdict(int, {1: 1, 2: 2})"),
    "Counter": (collections.Counter, "x = collections.Counter([1, 2])"),
    "set": (set, "x = {1, 2}"),
    "frozenset": (frozenset, "x = frozenset({1, 2})"),
    "tuple": (tuple, "x = (1, 2)"),
    "str": (str, "x = 'ab'"),
    "bytes": (bytes, "x = b'ab'"),
    "own list": (list, _OWN.format("list") + "x = Own([1, 2])"),
    "own dict": (dict, _OWN.format("dict") + "x = Own({1: 1, 2: 2})"),
    "own set": (set, _OWN.format("set") + "x = Own({1, 2})"),
    "list behind a setter": (
        list,
        "class Own(list):\n    def __setitem__(self, key, new): super().__setitem__(key, new)\n"
        "    def extend(self, items): super().extend(items)\nx = Own([1, 2])",
    ),
}
ARGUMENTS = ("x", "iter(x)", "[x, x]", "10 ** 9")
OPERATORS = ("+", "*", "|", "^", "%", "<<", "**")
_ERRORS = (
    "(TypeError, ValueError, AttributeError, RuntimeError, IndexError, KeyError, BufferError, OverflowError, "
    "LookupError, StopIteration, ZeroDivisionError, UnboundLocalError)"
)


def statements(kind: type) -> list[str]:
    """Whatever may make `x` longer."""
    found = [f"x {sign}= {each}" for sign in OPERATORS for each in ARGUMENTS]
    found += [f"x = x {sign} {each}" for sign in OPERATORS for each in ARGUMENTS]
    for each in ARGUMENTS:
        found += [
            f"x[{place}] = {each}" for place in ("0:0", "len(x):", ":", "::1", "key", "keys[0]", "make(0)")
        ]
        found += [
            f"x[0:0], y = {each}, 1",
            f"for x[0:0] in [{each}]: pass",
            f"x[key] += {each}",
            f"x[:0] += {each}",
        ]
        found += [
            f"x = [*x, *{each}]",
            f"x = (*x, *{each})",
            f"x = {{**x, **{each}}}",
            f"[x[0:0]] = [{each}]",
        ]
        found += [f"x = f'{{x}}{{{each}}}'", f"x = '%s%s' % (x, {each})", f"x = '{{}}{{}}'.format(x, {each})"]
        found += [f"functools.reduce(operator.{name}, [x, {each}])" for name in ("add", "mul", "or_")]
        found += [f"x = functools.reduce(operator.{name}, [x, {each}])" for name in ("add", "mul", "or_")]
        found += [
            f"x = sum([x, {each}], x)",
            f"x = type(x)(itertools.chain(x, {each}))",
            f"x.__init__({each})",
        ]
    names = [name for name in dir(kind) if not name.startswith("_")]
    kept = "" if kind.__hash__ is None else "x = "  # what cannot be changed is replaced
    for name, given in itertools.product(names, ("", *ARGUMENTS)):
        found += [
            f"{kept}x.{name}({given})",
            f"{kept}x.{name}(0, {given or 1})",
            f"{kept}x.{name}({given or 1}, x)",
        ]
    return found


def _run(source: str) -> int:
    """The length of `x` after the script. Raises BridgeError where only time or memory stopped it."""
    rules = policy("math")
    try:
        compiled = compile_script(source)
    except ScriptRefused:
        return 0
    meter = Watchdog(Limits(time_s=1.0, sequence=MOST, memory_bytes=64 << 20))
    namespace = build_guard(compiled, rules, None, meter).namespace
    try:
        with meter:
            exec(compiled.code, namespace)
    except ScriptStopped as stop:
        if isinstance(stop.error, LimitExceeded) and stop.error.limit in ("time", "memory"):
            raise stop.error from None
    except (BridgeError, Exception):
        pass
    grown = namespace.get("x", ())
    for base in (list, dict, set):
        if isinstance(grown, base):
            return base.__len__(grown)
    return len(grown) if hasattr(grown, "__len__") else 0


def _too_long(name: str, tried: list[str] | None = None) -> list[str]:
    """Statements after which `x` is longer than it may be, or that time or memory had to stop."""
    kind, making = MAKING[name]
    found = []
    for statement in tried or statements(kind):
        line = statement.replace("\n", "\n        ")
        source = (
            f"{_IMPORTS}{making}\nkey = slice(0, 0)\nkeys = [slice(0, 0)]\n"
            f"def make(*numbers): return slice(*numbers, 0)\n"
            f"for turn in range(40):\n    try:\n        {line}\n    except {_ERRORS}: break\n"
        )
        try:
            length = _run(source)
        except BridgeError as error:
            found.append(f"{statement}: {error}")
            continue
        if length > 2 * MOST:
            found.append(f"{statement}: {length:,}")
    return found


@pytest.mark.parametrize("name", MAKING)
def test_no_container_grows_without_measure(name: str) -> None:
    assert fork.run(_too_long, name, timeout=300) == []


def test_the_walk_notices_what_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Operators, "length", lambda *_arguments: None)
    grows = ["x[0:0] = x", "x[key] = x", "x.extend(x)", "x += x", "x = [*x, *x]"]
    found = fork.run(_too_long, "list", [*grows, "x.append(x)"])
    assert [each.partition(":  ")[0].rpartition(": ")[0] for each in found] == grows


_BOUND = """
class Bound:
    def __init__(self, left): self.left, self.calls = left, 0
    def __index__(self):
        self.calls += 1
        if self.left and self.calls == {call}: x[{inner}] = full
        return {step}
x[:] = full[:0]
x[{outer}] = full
"""


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("place", ["{}:0", "0:{}", "::{}"])
@pytest.mark.parametrize("name", ["list", "own list", "list behind a setter", "bytearray", "array"])
def test_bounds_that_run_code_are_asked_once(name: str, place: str, call: int) -> None:
    """Each bound of a slice makes the sequence longer when it is asked for its number, thirty deep."""
    source = _IMPORTS + MAKING[name][1] + f"\nfull = x[:0] + x[:1] * {MOST - 10}\n"
    source += _BOUND.format(
        call=call,
        step=int(place.startswith("::")),
        inner=place.format("Bound(self.left - 1)"),
        outer=place.format("Bound(30)"),
    )
    assert _run(source) <= MOST


HONEST = [
    ("class I:\n    def __index__(self): return 1\na = [1, 2, 3]; a[I():] = [7]; a[:I():I()] = [8]", [8, 7]),
    (
        "a = list(range(10)); a[2:4] = [7]; a[:0] = (v for v in [5]); a[::2] = a[::2]",
        [5, 0, 1, 7, 4, 5, 6, 7, 8, 9],
    ),
    ("a = [1, 2, 3]; part = slice(0, 2); a[part] = 'xy'; a[part] += ['z']", ["x", "y", "z", 3]),
    ("a = [1]; a += iter(a); a.extend(iter(a)); a.extend(map(str, a))", [1, 1, 1, 1, "1", "1", "1", "1"]),
    (
        "import array\nb = array.array('i', [1]); b.extend(b); b.fromlist([3]); b += b; a = list(b)",
        [1, 1, 3, 1, 1, 3],
    ),
    ("b = bytearray(b'12'); b[0:1] = b'abc'; b += b'!'; a = list(b)", list(b"abc2!")),
    (
        "d = {}\ndef put(where, key): where[key] = len(where)\nput(d, 'x'); put(d, (1, 2)); a = [0]; put(a, 0)",
        [1],
    ),
    (
        "g = [[0] * 2 for _ in range(2)]\nfor i in range(2): g[i][1 - i] += 1; g[i][i:] = g[i][i:]\na = g",
        [[0, 1], [1, 0]],
    ),
]


@pytest.mark.parametrize(("source", "wanted"), HONEST)
def test_honest_growth(source: str, wanted: Any) -> None:
    meter = Watchdog(Limits())
    compiled = compile_script(source)
    namespace = build_guard(compiled, policy("math"), None, meter).namespace
    with meter:
        exec(compiled.code, namespace)
    assert namespace["a"] == wanted
