# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls every function of some values with arguments that it does not expect, as a script may, each in a fork.

C code often does not check all that it gets: then it crashes, never ends, or goes on with Python's error set.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run.execute import prepare
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, Watchdog
from bl_ext.user_default.mcp_bridge.sandbox.stdlib import array_memory

from support.running import fork
from support.sandboxing.world import quietly

__all__ = ("NUMBERS", "harm")

NUMBERS = (-1, 2.5, 1 << 62, 1e300, 1e-300, math.inf, math.nan)
_OTHERS = ("a", "\ud800", b"a", [0.5], (3,), [(0, 0, 0)], {}, True, print)
_MUST_RETURN = array_memory.__name__

Arguments = Callable[[str], Iterator[tuple[tuple[Any, ...], dict[str, Any]]]]


@functools.cache
def _run(script: str) -> tuple[Any, Watchdog, dict[str, Any]]:
    """Return the guard, the meter and the names of a run of this script, which goes on."""
    compiled = compile_script(script)
    meter = Watchdog(Limits(time_s=600, sequence=10_000))
    meter.__enter__()
    guard, running = prepare(compiled, policy("blender"), meter)
    running.__enter__()
    exec(compiled.code, guard.namespace)
    return guard, meter, guard.namespace


def harm(
    script: str, more: Arguments, watch: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
) -> dict[tuple[str, str], str]:
    """Call all functions of the values in `owners`, a dictionary that the script makes; return those that did harm.

    Args:
        more: gives further arguments for the functions of an owner, by its name.
        watch: watches the calls of one function, and raises an error of what must not be.
    """

    def names() -> list[tuple[str, str]]:
        guard, _meter, namespace = _run(script)
        return [
            (owner, name)
            for owner, value in namespace["owners"].items()
            for name in guard.builtins.dir(value)
        ]

    cases = fork.run(names)
    assert len(cases) > 300
    ends = fork.run_each(functools.partial(_call_each, script, more, watch), cases, timeout=60.0)
    return {case: str(end) for case, end in zip(cases, ends, strict=True) if end != "whole"}


def _call_each(
    script: str, more: Arguments, watch: Callable[[], AbstractContextManager[None]], case: tuple[str, str]
) -> str:
    owner, name = case
    guard, meter, namespace = _run(script)
    function = quietly(guard, meter, lambda: guard.get_named(namespace["owners"][owner], name))
    if not callable(function):
        return "whole"
    signal.signal(signal.SIGVTALRM, _stop)
    with warnings.catch_warnings(), watch():
        warnings.simplefilter("ignore")
        for values, named in itertools.chain(_arguments(namespace["owners"]), more(owner)):
            with contextlib.suppress(TimeoutError):
                signal.setitimer(
                    signal.ITIMER_VIRTUAL, 0.2, 0.05
                )  # again, as a callback swallows what it raises
                quietly(guard, meter, functools.partial(function, *values, **named))
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return "whole"


def _stop(_signal: int, frame: FrameType | None) -> None:
    """Stop what loops in Python, as the time limit of a run does; nothing stops a loop of C code."""
    if frame is None or not frame.f_globals["__name__"].startswith(_MUST_RETURN):
        raise TimeoutError


def _arguments(owners: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield arguments of the wrong type or size, and too many of them, beside some that functions take."""
    few = (0, None, next(iter(owners.values())))
    for values in (
        *itertools.product((*few, *NUMBERS, *_OTHERS)),
        *itertools.product((*few, *NUMBERS), (*few, *_OTHERS, 1 << 62)),
        *itertools.product((*few, -1, 1 << 62), repeat=3),
        *((few[2], *rest) for rest in itertools.product((0, None), repeat=4)),
    ):
        yield values, {}
