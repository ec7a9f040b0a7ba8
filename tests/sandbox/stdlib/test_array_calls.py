# SPDX-License-Identifier: GPL-3.0-or-later
"""No arguments that a script may give to a function of numpy crash it: numpy does not check all that it gets."""

from __future__ import annotations

import functools
import itertools
import math
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.language.hooks import GETATTR
from bl_ext.user_default.mcp_bridge.sandbox.run.execute import prepare
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, Watchdog

from support.running import fork
from support.sandboxing.scripts import result
from support.sandboxing.world import quietly

_SCRIPT = """
import numpy as np
owners = [np, np.linalg, np.fft, np.random, np.random.default_rng(0), np.random.RandomState(0), np.ones((2, 2))]
names = [(place, name) for place, owner in enumerate(owners) for name in dir(owner)]
"""


@functools.cache
def _run() -> tuple[Any, Watchdog, dict[str, Any]]:
    """Return the guard, the meter and the names of a script that has numpy."""
    compiled = compile_script(_SCRIPT)
    meter = Watchdog(Limits(time_s=600, sequence=10_000))
    meter.__enter__()
    namespace, running = prepare(compiled, policy("blender"), meter)
    running.__enter__()
    exec(compiled.code, namespace)
    return namespace[GETATTR].__self__, meter, namespace


_FEW = (0, None, np.ones(4))
_NUMBERS = (-1, 2.5, 1 << 62, 1e300, 1e-300, math.inf, math.nan)
_OTHERS = ("a", b"a", [0.5], (3,), {}, True, np.zeros((0, 3)), np.float32(1), print)


def _arguments(*, random: bool) -> Iterator[tuple[Any, ...]]:
    """Arguments of the wrong type or size, and too many of them, beside some that functions take."""
    yield from itertools.product((*_FEW, *_NUMBERS, *_OTHERS))
    yield from itertools.product((*_FEW, *_NUMBERS), (*_FEW, *_OTHERS, 1 << 62))
    yield from itertools.product(_FEW, repeat=3)
    yield from ((_FEW[2], *rest) for rest in itertools.product((0, None), repeat=4))
    if random:  # of the numbers of a distribution depends for how long numpy searches
        yield from itertools.product(_NUMBERS, repeat=2)
        yield from itertools.product(_NUMBERS[1:5], repeat=3)
        yield from itertools.product(
            (0, None), (0, None), (0, None, print, _FEW[2]), (0, None, print, _FEW[2])
        )


def _call(case: tuple[int, str]) -> str:
    place, name = case
    guard, meter, namespace = _run()
    function = quietly(guard, meter, lambda: guard.get_named(namespace["owners"][place], name))
    if not callable(function):
        return "whole"
    calls: list[Callable[[], Any]] = [
        functools.partial(function, *values) for values in _arguments(random=place in (3, 4, 5))
    ]
    options = ("out", "axis", "dtype", "where", "size", "keepdims")
    calls += [
        functools.partial(function, *first, **{option: value})
        for first in ((np.ones(3),), (3,))
        for option in options
        for value in (0, None, "a", {}, np.ones(3), print)
    ]
    signal.signal(signal.SIGVTALRM, _stop)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in calls:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.2)
            quietly(guard, meter, call)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return "whole"


def _stop(*_: object) -> None:
    """Stop what loops in Python, as the time limit of a run does; nothing stops a loop of C code."""
    raise TimeoutError


def test_no_arguments_crash_a_function_of_numpy() -> None:
    cases = fork.run(lambda: list(_run()[2]["names"]))
    assert len(cases) > 500
    ends = fork.run_each(_call, cases, timeout=40.0)
    assert {case: str(end) for case, end in zip(cases, ends, strict=True) if end != "whole"} == {}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("np.random.default_rng().random(3, None, 8 * (7,))", "out is an array, not of type tuple"),
        ("np.random.default_rng().standard_gamma(3, 2, np.float64, 0)", "out is an array, not of type int"),
        ("np.random.default_rng().standard_normal(out=[0.0])", "out is an array, not of type list"),
        ("np.ones((2, 2)).repeat(1 << 62)", r"a numpy array of [\d,]+ items is over the limit"),
        ("np.repeat(np.ones(4), [1 << 62] * 4)", r"a numpy array of [\d,]+ items is over the limit"),
        ("np.ones(1 << 62, {})", r"a numpy array of [\d,]+ items is over the limit"),
        ("np.full((1 << 31, 1 << 31), 0, [])", r"a numpy array of [\d,]+ items is over the limit"),
        ("np.polyder([1.0, 2.0], 1 << 62)", r"polyder\(\): m is at most 10 for scripts"),
        ("np.random.vonmises(0, 1)", r"use random\.vonmisesvariate"),
    ],
)
def test_what_would_crash_or_never_end_is_refused_and_says_why(call: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        result("import numpy as np\nresult = str(" + call + ")")
