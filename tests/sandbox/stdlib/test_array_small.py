# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls of numpy whose memory is not looked at need so little that it would not be, whatever their arguments are."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import operator
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import LimitExceeded, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.guard import operators
from bl_ext.user_default.mcp_bridge.sandbox.guard.meter import Limits, Meter
from bl_ext.user_default.mcp_bridge.sandbox.stdlib import (
    array_arguments,
    array_memory,
    array_random,
    array_small,
    arrays,
)
from bl_ext.user_default.mcp_bridge.sandbox.stdlib.array_lists import LISTS

from support.sandboxing import language

_NUMBERS = {float, bool, complex, type(None), *(type(np.dtype(code).type(0)) for code in "bhilqBHILQefdFD")}


def _tried() -> tuple[Any, ...]:
    """What could make arrays large, made anew: some functions write into the last that they are given."""
    numbers = (
        0,
        3,
        -2,
        array_small.MOST,
        10**8,
        10**30,
        2.5,
        1e-8,
        -1e9,
        math.inf,
        math.nan,
        True,
        np.float32(1e6),
        np.uint64(1 << 63),
    )
    small = (np.arange(3), np.eye(3), np.full((2, 2), 10**8), np.zeros(0), np.ones(array_small.MOST, "?"))
    wide = (
        np.ones((128, 1)),
        np.ones((1, 128), "D"),
        np.ones((128, 128)),
        np.broadcast_to(1.0, (10**4, 10**4)),
    )
    others = (np.zeros((1, 0, 10**6)), np.zeros(2, "S900000"), np.array([None]))
    rows = ([np.ones(128), np.ones(128)], (np.eye(3), 0.5), [[0.5, 2.0], (1, 2)], [np.zeros(0)], [[]])
    types = (float, complex, np.float32, np.str_)
    axes = tuple(np.ones((array_small.MOST // 4,) + (1,) * (count - 1)) for count in (8, 32))
    return (
        *numbers,
        None,
        (),
        (3, 4),
        (10**5, 10**5),
        [0.5, 2.0],
        *small,
        *wide,
        *others,
        *rows,
        *types,
        *axes,
    )


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Whatever a script may call of numpy and what is judged by its arguments."""
    generator, legacy = np.random.default_rng(0), np.random.RandomState(0)
    for owner, names in (
        (np, LISTS["functions"].split()),
        (np.linalg, LISTS["linalg"].split()),
        (np.fft, LISTS["fft"].split()),
        (legacy, LISTS["random"].split()),
        (generator, LISTS["generator"].split()),
        (np.ndarray, arrays._METHODS),
    ):
        for name in names:
            function = getattr(owner, name, None)
            if function is not None and array_small.measure(np, function, _NUMBERS) is not None:
                path = f"{getattr(owner, '__name__', type(owner).__name__)}.{name}"
                yield path, array_random.check_out(np, name, function) if owner is generator else function


FUNCTIONS = dict(_functions())
OPERATORS = {
    **{sign: plain for sign, plain, _ in operators._PLAIN},
    **{f"{sign}=": in_place for sign, _, in_place in operators._PLAIN},
    **operators._COMPARE,
    "+": operator.add,
    "+=": operator.iadd,
    "*": operator.mul,
    "*=": operator.imul,
    "**": operator.pow,
    "%": operator.mod,
    "%=": operator.imod,
    "<<": operator.lshift,
    "divmod": divmod,
    "round": round,
}


def _noted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which our handler adds how many bytes numpy asks for at a time."""
    sizes: list[int] = []
    run = SimpleNamespace(admits=lambda size: sizes.append(size) or size <= array_memory.LARGEST)
    monkeypatch.setattr(array_memory._table(), "run", run)
    return sizes


@contextlib.contextmanager
def _sizes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Collect how many bytes numpy asks for at a time."""
    sizes, table = _noted(monkeypatch), array_memory._table()
    before = table.set_handler(table.ours)
    try:
        yield sizes
    finally:
        table.set_handler(before)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_call_that_is_judged_small_needs_little_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = FUNCTIONS[name]
    measure = array_small.measure(np, function, _NUMBERS)
    assert measure is not None
    looked_at, tried = array_memory.LOOKED_AT, _tried()
    calls = 0
    with _sizes(monkeypatch) as sizes, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for arguments in itertools.chain(
            itertools.product(tried, repeat=1),
            itertools.product(tried, repeat=2),
            itertools.product(tried[::2], repeat=3),
        ):
            if not measure(arguments) <= array_small.MOST:  # nor where it is not a number
                continue
            sizes.clear()
            with contextlib.suppress(Exception):
                function(*arguments)
                calls += 1
            assert max(sizes, default=0) <= looked_at, arguments
    assert calls or name == "numpy.isnat"  # of dates, which are none of the types here


#: Options of functions that do not show their own, such as ufuncs.
_OPTIONS = ("axis", "copy", "decimals", "dtype", "initial", "keepdims", "ndmin", "order", "out", "shape")


def _options(function: Callable[..., Any]) -> set[str]:
    """Return the names of a function's arguments after the first, without those that `arrays` looks at itself."""
    try:
        named = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {*_OPTIONS}
    return {*list(named)[1:], *_OPTIONS} - {"where", "kind", *array_arguments._REFUSED_OPTIONS}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_option_of_a_call_that_is_judged_small_needs_little_memory(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = FUNCTIONS[name]
    measure = array_small.measure(np, function, _NUMBERS)
    assert measure is not None
    first, tried = (np.arange(3), [np.eye(3), np.eye(3)], 2.5), [*_tried(), int, (128, 128), [2, 10**6]]
    with _sizes(monkeypatch) as sizes, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for value, option, given in itertools.product(first, _options(function), tried):
            if not measure((value, given)) <= array_small.MOST:
                continue
            sizes.clear()
            with contextlib.suppress(Exception):
                function(value, **{option: given})
            assert max(sizes, default=0) <= array_memory.LOOKED_AT, (value, option, given)


@pytest.mark.parametrize("sign", OPERATORS)
def test_an_operator_of_small_arrays_needs_little_memory(sign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measure, looked_at = array_small.by_sizes(np, _NUMBERS), array_memory.LOOKED_AT
    with _sizes(monkeypatch) as sizes, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for operands in itertools.product(_tried(), repeat=2):
            if np.ndarray in map(type, operands) and measure(operands) <= array_small.MOST:
                sizes.clear()
                with contextlib.suppress(Exception):
                    OPERATORS[sign](*operands)
                assert max(sizes, default=0) <= looked_at, operands


def test_what_is_judged_is_most_of_what_scripts_call() -> None:
    assert {
        "numpy.clip",
        "numpy.sqrt",
        "numpy.zeros",
        "RandomState.uniform",
        "ndarray.sum",
    } <= FUNCTIONS.keys()
    assert {*array_small._BY_SIZES, *array_small._BY_NUMBERS} <= {
        name.rpartition(".")[2] for name in FUNCTIONS
    }


@pytest.mark.parametrize(
    "argument",
    [
        np.array([None]),
        np.zeros(2, "S9"),
        np.zeros(2, [("a", "f8")]),
        1 << 64,
        "O",
        object(),
        [1 << 64],
        ["S900000"],
        [[[0.5]]],
        [0.5, None],
        [[0.5, None]],
        [1, *[0.5] * 100],
        str,
        object,
        np.longdouble,
        np.str_,
        {},
    ],
)
def test_of_what_it_does_not_know_nothing_can_be_told(argument: Any) -> None:
    for function in (np.add, np.zeros):
        measure = array_small.measure(np, function, _NUMBERS)
        assert measure is not None
        assert not measure((argument,)) <= array_small.MOST


def test_memory_of_small_calls_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, sizes = array_memory.ArrayMemory(Meter()), _noted(monkeypatch)
    np.ones(3)
    assert not sizes
    memory.watched(0, np.ones, 3)
    assert sizes


# --- vectors -------------------------------------------------------------------------------------------------------

_WITH_VECTORS = "v | e, v | q | c | v, 0 | a, v | v, a | v, w, v | [v, w] | (v, a) | m, v | i, a".split(" | ")
_SETTING = """
import numpy as np
from mathutils import Vector, Euler, Quaternion, Color
bpy.context.scene["i"], bpy.context.scene["f"] = [1, 2, 0], [1.0, 2.0]
np.sum(bpy.context.scene["f"])
def made():
    v, w, e, c = Vector((1, 2, 3)), Vector((.5, 2, 1)), Euler((1, 2, 3)), Color((.1, .2, .3))
    return v, w, e, c, Quaternion((1, 2, 3, 4)), bpy.context.scene["i"], np.array([1.0, 2.0, 3.0]), np.eye(3)
found = []
"""
_AS_ARRAYS = """
vectors = made
def made():
    return map(np.array, vectors())
"""
_CALL = """
v, w, e, c, q, i, a, m = made()
try:
    found.append(repr({call}))
except Exception:
    found.append("error")
"""


@pytest.mark.filterwarnings("ignore")
def test_functions_give_of_vectors_what_numpy_gives_of_them_or_of_arrays(fresh_file: None) -> None:
    of_numpy = [
        name
        for name in sorted(array_small._BY_SIZES)
        if hasattr(np, name) and name in LISTS["functions"].split()
    ]
    calls = [f"np.{name}({given})" for name in of_numpy for given in _WITH_VECTORS]
    calls += [
        "np.c_[v]",
        "np.r_[v, a]",
        "np.c_[e], np.c_[q]",
        "np.block(v)",
        "np.array(i)",
        "m[i]",
        "a[i]",
        "m[v]",
    ]
    source = "".join(_CALL.format(call=call) for call in calls)
    plain: list[dict[str, Any]] = [{"bpy": bpy}, {"bpy": bpy}]
    for names, setting in zip(plain, ("", _AS_ARRAYS), strict=True):
        exec(_SETTING + setting + source, names)
    run = language.run("import bpy\n" + _SETTING + source, limits=Limits(time_s=60), level="blender")
    compared = zip(calls, run.names["found"], *(names["found"] for names in plain), strict=True)
    assert [each for each in compared if each[1] not in each[2:]] == []


@pytest.mark.parametrize(
    "call", ["sorted([v] * 20_000)", "max([v] * 20_000)", "sorted([1] * 20_000, key=lambda _: v)"]
)
def test_comparisons_of_many_long_vectors_are_weighed(call: str) -> None:
    with pytest.raises(LimitExceeded, match="unfolds to more than"):
        language.run(f"from mathutils import Vector\nv = Vector.Fill(100_000, 1.0)\n{call}", level="blender")


@pytest.mark.parametrize(
    "call",
    [
        "np.power([10**18, None], 10**6)",
        "np.left_shift([True, None], 10**9)",
        "np.power([[10**18], [None]], 2)",
    ],
)
def test_numpy_computes_with_no_integers_of_python(call: str) -> None:
    with pytest.raises(PolicyError, match="arrays of Python objects"):
        language.run(f"import numpy as np\n{call}", level="blender")
