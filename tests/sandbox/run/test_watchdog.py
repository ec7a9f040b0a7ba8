# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: E501 (scripts are quoted as they are)
"""Limits hold whatever the script does, and nothing of a run reaches the host afterwards."""

from __future__ import annotations

import threading
import time
import weakref

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.base.process import threads
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run import watchdog
from bl_ext.user_default.mcp_bridge.sandbox.run.namespace import build_guard
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import (
    Interrupted,
    Limits,
    ScriptStopped,
    Watchdog,
    resident_bytes,
)

from support.running import fork
from support.sandboxing.language import refusal, run

SHORT = Limits(time_s=0.3)

ENDLESS = {
    "while": "while True: pass",
    "for": "import itertools\nfor i in itertools.count(): pass",
    "comprehension": "[0 for a in range(10 ** 6) for b in range(10 ** 6) if False]",
    "generator expression": "sum(0 for a in range(10 ** 6) for b in range(10 ** 6))",
    "recursion": "f = lambda n: f(n - 1) + f(n - 2) if n > 1 else n\nf(60)",
    "functions": "def f(n):\n    if n: f(n - 1); f(n - 1)\nf(60)",
    "swallowing": "while True:\n    try:\n        while True: pass\n    except Exception: pass",
    "bare except": "while True:\n    try:\n        while True: pass\n    except: pass",
    "finally return": "def f():\n    while True:\n        try:\n            while True: pass\n        finally:\n            continue\nf()",
    "exit that swallows": "class C:\n    def __enter__(self): pass\n    def __exit__(self, *a): return True\n"
    "while True:\n    with C():\n        while True: pass",
    "suppress": "import contextlib\nwhile True:\n    with contextlib.suppress(Exception):\n        while True: pass",
    "generator that swallows": "import contextlib\n@contextlib.contextmanager\ndef c():\n    try: yield\n    finally: pass\n"
    "while True:\n    with c():\n        while True: pass",
    "maximum of endless": "import itertools\nmax(itertools.repeat(1))",
    "sum of endless": "import itertools\nsum(itertools.cycle([1]))",
    "zip of endless": "import itertools\nfor x in zip(itertools.count(), itertools.repeat(1)): pass",
    "filter that finds nothing": "import itertools\nlist(filter(None, itertools.repeat(0)))",
    "dropwhile that never ends": "import itertools\nnext(itertools.dropwhile(bool, itertools.repeat(1)))",
    "in an endless iterator": "import itertools\n0 in itertools.count(1)",
    "any of endless": "import itertools\nany(itertools.repeat(0))",
    "all of a map": "import itertools\nall(map(bool, itertools.repeat(1)))",
    "islice far away": "import itertools\nlist(itertools.islice(itertools.count(), 10 ** 12, None))",
    "chain of lists": "import itertools\nL = [0] * 10 ** 6\nsum(itertools.chain.from_iterable([L] * 10 ** 6))",
    "iter with sentinel": "list(iter(int, 1))",
    "reduce": "import functools, itertools\nfunctools.reduce(max, itertools.repeat(1))",
    "callbacks from C": "L = list(range(5000))\nsorted(L * 100, key=L.count)",
    "a map of methods": "L = list(range(5000))\nlist(map(L.count, L * 100))",
    "deque of endless": "import collections, itertools\ncollections.deque(itertools.repeat(1), maxlen=1)",
    "dict of endless": "import itertools\ndict(zip(itertools.count(), itertools.repeat(1)))",
    "starred": "import itertools\nx = [*itertools.repeat(1)]",
    "star-arguments": "import itertools\nprint(*itertools.repeat(1))",
    "unpacking": "import itertools\na, *b = itertools.repeat(1)",
    "slice assignment": "import itertools\nL = []\nL[:] = itertools.repeat(1)",
    "join": "import itertools\n''.join(itertools.repeat(''))",
    "counter elements": "import collections\nsum(collections.Counter({1: 10 ** 12}).elements())",
    "product": "import itertools\nfor p in itertools.product(range(100), repeat=50): pass",
    "permutations": "import itertools\nmax(itertools.permutations(range(50)))",
    "groupby": "import itertools\nfor k, g in itertools.groupby(itertools.repeat(1)): list(g)",
    "yield from": "import itertools\ndef f(): yield from itertools.repeat(1)\nfor x in f(): pass",
    "equality by the script": "class A:\n    def __eq__(self, o): return False\n[A()] * 10 ** 6 == [A()] * 10 ** 6\nwhile A() not in [A()]: pass",
    "a library's own loop": "import statistics\nstatistics.median(sorted([1.5] * 10 ** 6)) \nwhile True: statistics.pstdev([1.5] * 10 ** 6)",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_would_never_end_is_stopped(name: str) -> None:
    begin = time.perf_counter()
    error = refusal(ENDLESS[name], limits=SHORT)
    assert isinstance(error, LimitExceeded), error
    assert time.perf_counter() - begin < 30  # on a busy machine


HUGE = [
    "x = 2\nfor i in range(100): x = x * x",
    "x = 2\nfor i in range(100): x *= x",
    "x = 3\nfor i in range(100): x = x ** 2",
    "x = 3\nfor i in range(100): x **= 3",
    "7 ** 10 ** 8",
    "n = 10 ** 8\n7 ** n",
    "1 << 10 ** 9",
    "x = 1\nfor i in range(99): x <<= 10 ** 6",
    "import math\nmath.factorial(10 ** 6)",
    "import math\nmath.comb(10 ** 7, 5 * 10 ** 6)",
    "import math\nmath.prod([10 ** 1000] * 10 ** 6)",
    "pow(3, 10 ** 8)",
    "pow(3, 10 ** 19000, 10 ** 19000)",
    "import operator, functools\nfunctools.reduce(operator.mul, range(1, 10 ** 5))",
    "import operator\noperator.pow(3, 10 ** 9)",
    "int('f' * 10 ** 6, 16)",
    "f = int\nf('f' * 10 ** 6, 16)",
    "int.from_bytes(bytes(10 ** 6), 'big')",
    "round(5, -10 ** 9)",
    "from fractions import Fraction\nx = Fraction(3, 7)\nfor i in range(60): x = x * x",
    "from fractions import Fraction\nFraction(3, 7) ** 10 ** 9",
    "x = [0]\nfor i in range(60): x = x + x",
    "x = [0]\nfor i in range(60): x += x",
    "x = [0]\nfor i in range(60): x.extend(x)",
    "x = 'ab'\nfor i in range(60): x = x + x",
    "x = 'ab'\nfor i in range(60): x = f'{x}{x}' + x",
    "x = 'ab'\nfor i in range(60): x = '{0}{0}'.format(x)",
    "x = 'ab'\nfor i in range(60): x = '%s%s' % (x, x)",
    "x = 'ab'\nfor i in range(60): x = ''.join([x, x])",
    "[0] * 10 ** 12",
    "10 ** 12 * [0]",
    "'a' * 10 ** 12",
    "x = 'a'\nx *= 10 ** 12",
    "class I:\n    def __index__(self): return 10 ** 12\n[0] * I()",
    "class L(list):\n    def __len__(self): return 0\nL([1, 2]) * 10 ** 10",
    "class I:\n    n = 0\n    def __index__(self):\n        I.n += 1\n        return 1 if I.n < 2 else 10 ** 12\nI.n = 1\nx = [0] * I()",
    "range(10 ** 9)",
    "list(range(10 ** 9))",
    "1.5 in range(10 ** 12)",
    "bytes(10 ** 12)",
    "bytearray(10 ** 12)",
    "(1).to_bytes(10 ** 12, 'big')",
    "import itertools\nitertools.product(range(10), repeat=10 ** 9)",
    "import itertools\nitertools.tee([], 10 ** 9)",
    "import json\njson.dumps([[1] * 10] * 10, indent=2 * 10 ** 8)",
    "import random\nrandom.getrandbits(10 ** 10)",
    "import random\nrandom.choices([1], k=10 ** 10)",
    "import random\nrandom.Random(1).choices([1], k=10 ** 10)",
    "import textwrap\ntextwrap.indent('a\\n' * 1000, 'x' * 10 ** 5)",
    "import collections\ncollections.deque([0]) * 10 ** 12",
    "import array\narray.array('f', [0]) * 10 ** 12",
]


@pytest.mark.parametrize("source", HUGE)
def test_huge_values_are_refused_before_they_are_made(source: str) -> None:
    begin = time.perf_counter()
    error = refusal(source)
    assert isinstance(error, LimitExceeded), error
    assert time.perf_counter() - begin < 3


NESTED = [
    "a = []\nfor i in range(60): a = [a, a]\nb = []\nfor i in range(60): b = [b, b]\na == b",
    "a = ()\nfor i in range(60): a = (a, a)\nhash(a)",
    "a = ()\nfor i in range(60): a = (a, a)\nd = {}\nd[a] = 1",
    "a = ()\nfor i in range(60): a = (a, a)\ns = {a}",
    "a = ()\nfor i in range(60): a = (a, a)\ns = set()\ns.add(a)",
    "a = ()\nfor i in range(60): a = (a, a)\nd = {}\nd.get(a)",
    "a = ()\nfor i in range(60): a = (a, a)\nd = {x: 1 for x in [a]}",
    "a = ()\nfor i in range(60): a = (a, a)\nset([a])",
    "a = ()\nfor i in range(60): a = (a, a)\ndict([(a, 1)])",
    "a = []\nfor i in range(60): a = [a, a]\nstr(a)",
    "a = []\nfor i in range(60): a = [a, a]\nf'{a}'",
    "a = []\nfor i in range(60): a = [a, a]\nprint(a)",
    "a = []\nfor i in range(60): a = [a, a]\n'%s' % (a,)",
    "a = []\nfor i in range(60): a = [a, a]\n'{}'.format(a)",
    "a = []\nfor i in range(60): a = [a, a]\nlist(map(str, [a]))",
    "a = []\nfor i in range(60): a = [a, a]\nstr(ValueError(a))",
    "a = []\nfor i in range(60): a = [a, a]\nimport json\njson.dumps(a)",
    "a = []\nfor i in range(60): a = [a, a]\nb = []\nfor i in range(60): b = [b, b]\nsorted([a, b])",
    "a = []\nfor i in range(60): a = [a, a]\nb = []\nfor i in range(60): b = [b, b]\nmax(a, b)",
    "a = []\nfor i in range(60): a = [a, a]\nb = []\nfor i in range(60): b = [b, b]\na in [b]",
    "a = []\nfor i in range(60): a = [a, a]\nb = []\nfor i in range(60): b = [b, b]\n[b].index(a)",
    "a = ()\nfor i in range(10 ** 5): a = (a,)\nhash(a)",
    "a = ()\nfor i in range(10 ** 5): a = (a,)\n{a: 1}",
    "a = ()\nfor i in range(10 ** 5): a = (a,)\nd = {}\nd[a] = 1",
]


@pytest.mark.parametrize("source", NESTED)
def test_a_few_lists_in_lists_cannot_stand_for_endless_work(source: str) -> None:
    """In a process of its own, which ends at its time limit: nothing else stops C code."""
    limits = Limits(sequence=500_000)  # less to count before it is too much
    assert fork.run(lambda: type(refusal(source, limits=limits)).__name__, timeout=60) == "LimitExceeded"


def test_the_usual_limit_ends_such_work_in_seconds() -> None:
    assert fork.run(lambda: type(refusal(NESTED[0])).__name__, timeout=60) == "LimitExceeded"


PATTERNS = [
    r"(a+)+b",
    r"(a*)*b",
    r"(a|a)*b",
    r"(a|aa)+$",
    r"(\w+\s?)*$",
    r"(.*)*x",
    r"(?:(?:a{1,50}){1,50}){1,50}b",
    r"(a?){50}a{50}",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_that_run_away_are_refused(pattern: str) -> None:
    error = refusal(f"import re\nre.search({pattern!r}, 'a' * 5000)")
    assert isinstance(error, LimitExceeded)
    assert "pattern" in str(error)


def test_long_texts_are_refused_for_ambiguous_patterns() -> None:
    assert "could take too long" in str(refusal("import re\nre.search('a*a*a*b', 'a' * 5000)"))
    assert run("import re\nx = re.search(r'(.*)_(.*)\\.(\\d+)$', 'Wheel_front.001').groups()")["x"] == (
        "Wheel",
        "front",
        "001",
    )


def test_output_is_limited() -> None:
    ran = run("while True: print('x' * 50)", limits=Limits(output_chars=1000), stopped=True)
    assert len(ran.output) == 1000
    assert "printed more than 1,000 characters" in str(ran.error)


def test_memory_is_polled() -> None:
    limits = Limits(memory_bytes=150 << 20, time_s=20)
    error = refusal("kept = []\nwhile True: kept.append([0] * 10 ** 6)", limits=limits)
    assert isinstance(error, LimitExceeded)
    assert error.limit == "memory"


def test_a_cancel_stops_the_run() -> None:
    cancel = threading.Event()
    compiled = compile_script("while True: pass")
    meter = Watchdog(Limits(time_s=20), cancel.is_set)
    namespace = build_guard(compiled, policy("math"), None, meter).namespace
    threading.Timer(0.1, cancel.set).start()
    begin = time.perf_counter()
    with pytest.raises(Interrupted, match="cancelled"), meter:
        exec(compiled.code, namespace)
    assert time.perf_counter() - begin < 2


def test_once_stopped_every_tick_raises() -> None:
    meter = Watchdog(Limits())
    meter.trip(LimitExceeded("first", limit="time"))
    meter.trip(LimitExceeded("second", limit="time"))
    for _ in range(3):
        with pytest.raises(Interrupted, match="first"):
            meter.tick()


def test_a_tick_looks_at_the_clock_without_the_thread() -> None:
    meter = Watchdog(Limits(time_s=0.0))
    time.sleep(0.01)
    with pytest.raises(Interrupted, match="longer than 0 s"):
        meter.tick()


def test_when_over_it_says_so() -> None:
    meter = Watchdog(Limits())
    with meter:
        meter.tick()
    with pytest.raises(ScriptStopped, match="run is over") as stop:
        meter.tick()
    assert isinstance(stop.value.error, PolicyError)


def test_one_thread_serves_all_runs_and_leaves_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    def watching() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "mcp_bridge watchdog"]

    run("x = 1")
    (thread,) = watching()
    for _ in range(5):
        run("x = 1")
    assert watching() == [thread]
    monkeypatch.setattr(watchdog, "_IDLE_S", 0.05)
    run("x = 1")  # from here on it stays for a short time
    thread.join(10)
    assert not watching()
    assert isinstance(refusal("while True: pass", limits=SHORT), LimitExceeded)  # by a new one


def test_a_look_that_fails_stops_the_run_and_the_next_one_is_looked_at() -> None:
    def broken() -> bool:
        raise RuntimeError("no answer")

    with Watchdog(Limits(), broken) as meter:
        until = time.monotonic() + 10
        while meter.error is None and time.monotonic() < until:
            time.sleep(0.005)
    assert str(meter.error) == (
        "it cannot be told how much time and memory the script uses, so it was stopped: RuntimeError"
    )
    assert isinstance(refusal("while True: pass", limits=SHORT), LimitExceeded)


def _break(what: str) -> None:
    """Have one thing that the watching thread uses raise an error, in this process."""

    def broken(*_arguments: object) -> None:
        raise MemoryError(what)

    owner, name = {
        "an order": (watchdog._watcher, "_orders"),
        "monotonic": (watchdog, "monotonic"),
        "resident_bytes": (watchdog, "resident_bytes"),
    }.get(what) or (watchdog._watcher, what)
    if what == "an order":
        watchdog._watcher._call_soon(broken)
    elif name == "_wake":  # the main thread does not use it
        watchdog._watcher._wake = None  # type: ignore[assignment]
    else:
        setattr(owner, name, broken)


#: What the watching thread uses: its own methods and attributes, by the names in its code, and what these call.
_WATCHING = (
    {name for name in watchdog._Watcher._watch.__code__.co_names if hasattr(watchdog._watcher, name)}
    - {"_lock", "_thread", "_pausable", "_call_soon", "_orders", "runs"}
) | {"an order", "monotonic", "resident_bytes"}  # the others end a thread, or are `an order`


@pytest.mark.parametrize("what", sorted(_WATCHING))
def test_a_watching_thread_that_fails_ends_its_runs(what: str) -> None:
    """With each thing broken that the thread uses: no run goes on unwatched, and the next one has another thread."""

    def attempt() -> tuple[str, str]:
        limits = Limits(time_s=50, memory_bytes=1 << 40)
        with Watchdog(limits) as meter:
            other = Watchdog(limits)
            with other:
                _break(what)
                until = time.perf_counter() + 20
                while not (meter.error and other.error) and time.perf_counter() < until:
                    time.sleep(0.005)
        return str(meter.error), str(other.error)

    for error in fork.run(attempt, timeout=60):
        assert error.startswith("it cannot be told how much time and memory the script uses"), error


def test_after_a_failure_the_next_run_has_another_thread() -> None:
    def attempt() -> tuple[bool, str]:
        with Watchdog(Limits()) as meter:
            first = watchdog._watcher._thread
            _break("an order")
            assert first is not None
            first.join(20)
        ended = meter.error is not None
        return ended, type(refusal("while True: pass", limits=SHORT)).__name__

    assert fork.run(attempt, timeout=60) == (True, "LimitExceeded")


def test_a_run_without_a_thread_does_not_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_thread(_self: object) -> None:
        raise RuntimeError("can't start new thread")

    watchdog.rest()
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    with pytest.raises(RuntimeError, match="new thread"), Watchdog(SHORT):
        pass
    assert not watchdog._watcher.runs
    monkeypatch.undo()
    assert isinstance(refusal("while True: pass", limits=SHORT), LimitExceeded)


def test_a_run_does_not_begin_before_its_thread_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog.rest()
    monkeypatch.setattr(watchdog._Watcher, "_watch", lambda _self: None)
    monkeypatch.setattr(watchdog, "_START_S", 0.1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no thread that watches scripts has started"), Watchdog(SHORT):
            pass
    assert not watchdog._watcher.runs
    monkeypatch.undo()
    assert isinstance(refusal("while True: pass", limits=SHORT), LimitExceeded)


def test_the_watching_thread_rests_when_told_and_the_next_run_has_another() -> None:
    with Watchdog(SHORT):
        first = watchdog._watcher._thread
    watchdog.rest()
    assert first is not None
    assert not first.is_alive()
    watchdog.rest()  # there is none
    assert isinstance(refusal("while True: pass", limits=SHORT), LimitExceeded)


def test_nothing_holds_on_to_a_run_that_is_over() -> None:
    """What a script's globals hold of Blender has to go when the run ends, not when the watching thread does."""
    meter = Watchdog(SHORT)
    with meter:
        time.sleep(0.1)  # it is being looked at
    gone = weakref.ref(meter)
    del meter
    until = time.monotonic() + 10
    while gone() is not None and time.monotonic() < until:
        time.sleep(0.01)
    assert gone() is None


def test_a_fork_in_the_middle_of_a_run_has_a_watch_of_its_own() -> None:
    def endless() -> str:
        return type(refusal("while True: pass", limits=SHORT)).__name__

    with Watchdog(Limits()):
        assert fork.run(endless) == "LimitExceeded"


def test_resident_memory_is_plausible() -> None:
    assert 10 << 20 < resident_bytes() < 1 << 40


NEST = [
    "property(o)",
    "staticmethod(o)",
    "collections.deque([o])",
    "enumerate(o or [])",
    "zip(o or [])",
    "map(str, o or [])",
    "reversed([o])",
    "functools.partial(print, o)",
    "functools.cmp_to_key(lambda a, b: 0)(o)",
    "iter([o])",
    "types.SimpleNamespace(a=o)",
    "(lambda: (yield o))()",
    "property().setter(o)",
]


def test_nobody_looks_during_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_LONGEST_STEP_S", 30.0)
    looks: list[float] = []

    def cancelled() -> bool:
        looks.append(time.monotonic())
        return False

    def looks_again() -> bool:
        before, until = len(looks), time.monotonic() + 30
        while len(looks) == before and time.monotonic() < until:
            time.sleep(0.01)
        return len(looks) > before

    with Watchdog(Limits(time_s=120), cancelled):
        assert looks_again()
        with threads.paused():
            before = len(looks)
            time.sleep(watchdog.POLL_S * 10)
            assert len(looks) == before
        assert looks_again()


@pytest.mark.parametrize("make", NEST)
def test_what_is_nested_deeply_can_be_freed(make: str) -> None:
    """In a process of its own: a crash would be a crash."""
    source = (
        f"import collections, functools, types\no = None\nfor _ in range(100000): o = {make}\ndel o\nx = 1"
    )

    def attempt() -> str:
        try:
            run(source, limits=Limits(time_s=20))
        except Exception as error:
            return type(error).__name__
        return "ran"

    assert fork.run(attempt, timeout=60) in ("ran", "LimitExceeded", "TypeError", "ScriptRefused")
