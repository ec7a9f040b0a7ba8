# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: E501 (scripts are quoted as they are)
"""numpy for scripts: honest use works, and no array leads to memory, files, modules or endless work."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError, LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.language.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.run.execute import prepare
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, ScriptStopped, Watchdog

from support.running import fork
from support.sandboxing import language


def run(source: str) -> str:
    compiled = compile_script("import numpy as np\n" + source)
    meter = Watchdog(Limits())
    guard, running = prepare(compiled, policy("blender"), meter)
    try:
        with meter, running:
            exec(compiled.code, guard.namespace)
    except (ScriptStopped, Exception) as stop:
        if (
            meter.error is not None
        ):  # what numpy raises of memory that it did not get is not what ends the run
            raise meter.error from None
        raise stop
    return meter.output()


def test_honest_use() -> None:
    out = run(
        "a = np.linspace(0, 1, 5)\n"
        "b = np.zeros((2, 3)); b[0, 1] += 5; b[:, 2] = 7; b *= 2\n"
        "m = np.array([[1, 2], [3, 4]]) @ np.eye(2)\n"
        "x, y = np.meshgrid(np.arange(3), np.arange(2))\n"
        "print(a[1:3].tolist(), a[a > 0.5].tolist(), b.tolist(), m.tolist(), x.shape, a.mean(), a.T.shape, a.dtype.name)\n"
        "print(np.where(a > .5, 1, 0).tolist(), np.stack([a, a]).shape, float(np.linalg.norm([3, 4])), isinstance(a, np.ndarray))\n"
        "print(np.array([1, 2], dtype=int).sum(), np.array([1, 2], dtype=float).tolist(), a.astype(np.float32).dtype.name)\n"
        "r = np.random.default_rng(1); print(r.random(3).shape, r.integers(0, 5, size=(2, 2)).shape, np.random.rand(2, 2).shape)\n"
        "print(np.mgrid[0:3, 0:2].shape, [float(v) for v in np.array([[1.0, 2.0]]).flat], f'{a[1]:.2f}', np.pi > 3)\n"
    )
    assert out.splitlines() == [
        "[0.25, 0.5] [0.75, 1.0] [[0.0, 10.0, 14.0], [0.0, 0.0, 14.0]] [[1.0, 2.0], [3.0, 4.0]] (2, 3) 0.5 (5,) float64",
        "[0, 0, 0, 1, 1] (2, 5) 5.0 True",
        "3 [1.0, 2.0] float32",
        "(3,) (2, 2) (2, 2)",
        "(2, 3, 2) [1.0, 2.0] 0.25 True",
    ]


def test_types_of_numbers_are_what_they_are_in_numpy() -> None:
    out = run(
        "a = np.zeros(2, dtype=np.float32)\nx = a[0]\n"
        "print(a.dtype == np.float32, np.float32 == a.dtype, a.dtype != np.float64, np.float64 is np.double)\n"
        "print(isinstance(x, np.float32), isinstance(x, (int, np.floating)), type(x) is np.float32, issubclass(np.float64, float))\n"
        "print(np.float64(3), np.float32([1, 2]).tolist(), np.int32('5'), np.bool_(1), np.complex64(1 + 2j), np.float64())\n"
        "print(np.zeros(2, dtype=[('a', np.float32)]).dtype, np.dtype(np.int8).name, a.astype(np.int64).dtype, np.sum(a, dtype=np.float64).dtype)\n"
        "print({np.float32: 1}[type(x)], np.float64.__name__, np.float64(10 ** 30), [float(v) for v in map(np.float32, [1, 2])])\n"
    )
    assert out.splitlines() == [
        "True True True True",
        "True True True True",
        "3.0 [1.0, 2.0] 5 True (1+2j) 0.0",
        "[('a', '<f4')] int8 int64 float64",
        "1 float64 1e+30 [1.0, 2.0]",
    ]


REFUSED = [
    "np.load('x', allow_pickle=True)",
    "np.save('x', [1])",
    "np.fromfile('x')",
    "np.memmap('x')",
    "np.genfromtxt('x')",
    "np.loadtxt('x')",
    "np.savetxt('x', [1])",
    "np.lib",
    "np.ctypeslib",
    "np.core",
    "np.f2py",
    "import numpy.f2py",
    "import numpy.ctypeslib",
    "from numpy.lib import stride_tricks",
    "np.frompyfunc(len, 1, 1)",
    "np.seterrcall(print)",
    "np.frombuffer(bytearray(8))",
    "np.random.default_rng().bit_generator",
    "np.random.mtrand",
    "np.random.get_bit_generator",
    "np.array([1]).tofile('x')",
    "np.array([1]).dump('x')",
    "np.array([1]).ctypes",
    "np.array([1]).data",
    "np.array([1]).base",
    "np.array([1]).view('O')",
    "np.array([1]).setflags(write=True)",
    "np.array([1]).dtype.type",
    "np.array([1]).dtype.newbyteorder",
    "np.array([1]).__array_interface__",
    "getattr(np.array([1]), 'cty' + 'pes')",
    "np.ndarray((1,), dtype=object, buffer=b'12345678')",
    "np.array([print])",
    "np.array([1, 'a', None], dtype=object)",
    "np.array([10 ** 30])",
    "np.array([1]).astype(object)",
    "np.array([1]).astype('O')",
    "np.zeros(3, dtype='O')",
    "np.zeros(3, dtype=[('a', 'O')])",
    "np.dtype(object)",
    "np.dtype('O')",
    "np.full(3, None)",
    "np.where([True], print, print)",
    "np.array([1]).cumsum(dtype=object)",
    "x = 10 ** 30 + np.array([1])\nx[0]",
    "x = 10 ** 30 + np.array([1])\nx * 2",
    "x = 10 ** 30 + np.array([1])\nnp.sum(x)",
    "x = 10 ** 30 + np.array([1])\nx.sum()",
    "np.vectorize(lambda v: print)([1, 2])",
    "np.pad([1], 1, mode=lambda *a: None)",
    "np.pi = 3",
    "np.float64.x = 3",
    "class A(np.ndarray): pass",
    "class A(np.float64): pass",
]


@pytest.mark.parametrize("source", REFUSED)
def test_out_of_reach(source: str) -> None:
    with pytest.raises((BridgeError, AttributeError, TypeError, OverflowError)):
        run(source)


HUGE = [
    "np.zeros(10 ** 10)",
    "np.zeros((10 ** 5, 10 ** 5))",
    "np.zeros(shape=(10 ** 5, 10 ** 5))",
    "np.full((10 ** 5, 10 ** 5), 1)",
    "np.eye(10 ** 5)",
    "np.identity(10 ** 5)",
    "np.arange(10 ** 10)",
    "np.arange(0, 1, 1e-10)",
    "np.linspace(0, 1, 10 ** 10)",
    "np.linspace(0, 1, num=10 ** 10)",
    "np.ones(10 ** 5)[:, None] * np.ones(10 ** 5)[None, :]",
    "np.ones(10 ** 5)[:, None] - np.ones(10 ** 5)",
    "np.ones(10 ** 5)[:, None] < np.ones(10 ** 5)",
    "np.ones((10 ** 5, 1)) @ np.ones((1, 10 ** 5))",
    "np.add(np.ones(10 ** 5)[:, None], np.ones(10 ** 5))",
    "np.outer(np.ones(10 ** 5), np.ones(10 ** 5))",
    "np.kron(np.ones(10 ** 4), np.ones(10 ** 4))",
    "np.tile(np.ones(10 ** 5), 10 ** 5)",
    "np.tile(1, (10 ** 5, 10 ** 5))",
    "np.repeat(1, 10 ** 10)",
    "np.repeat(np.ones(10 ** 5), 10 ** 5)",
    "np.ones(10 ** 5).repeat(10 ** 5)",
    "np.meshgrid(np.ones(10 ** 5), np.ones(10 ** 5))",
    "np.indices((10 ** 5, 10 ** 5))",
    "np.mgrid[0:10 ** 5, 0:10 ** 5]",
    "np.diag(np.ones(10 ** 5))",
    "np.pad(np.ones((10, 10)), 10 ** 5)",
    "np.broadcast_to(1, (10 ** 6, 10 ** 6))",
    "np.concatenate([np.ones(10 ** 6)] * 100)",
    "np.array([[0] * 10 ** 5] * 10 ** 5)",
    "np.ones(10 ** 5)[np.zeros((10 ** 5, 10 ** 5), dtype=int)]",
    "np.ones((100, 10 ** 4))[[0] * 10 ** 6]",
    "np.random.rand(10 ** 5, 10 ** 5)",
    "np.random.normal(0, 1, 10 ** 10)",
    "np.random.normal(size=(10 ** 5, 10 ** 5))",
    "np.random.randint(0, 5, 10 ** 10)",
    "np.random.permutation(10 ** 10)",
    "np.random.default_rng(1).random(10 ** 10)",
    "np.random.default_rng(1).choice(5, 10 ** 10)",
    "np.histogram([1], bins=10 ** 10)",
    "np.convolve(np.ones(10 ** 6), np.ones(10 ** 6))",
    "np.tri(10 ** 5)",
    "np.zeros(10, dtype='V1000000000')",
    "np.array(['a' * 10 ** 6] * 10 ** 3)",
    "np.linspace(np.zeros(10 ** 5), 1, 10 ** 5)",
    "np.bincount([10 ** 10])",
    "np.insert(np.ones((10 ** 4, 1)), [0] * 10 ** 6, 1, axis=1)",
    "np.take(np.ones((10 ** 4, 100)), [0] * 10 ** 6, axis=1)",
    "np.quantile(np.ones((10 ** 5, 2)), np.linspace(0, 1, 10 ** 5), axis=1)",
    "np.broadcast_to(np.ones(1), 10 ** 9).sum()",
    "np.ones((10 ** 5, 1)).sum(where=np.ones((1, 10 ** 5), dtype=bool))",
    "np.zeros(2 * 10 ** 7).tolist()",
    "kept = [np.ones(10 ** 7) for _ in range(100)]",
    "kept = [np.zeros(6 * 10 ** 7) for _ in range(100)]",
    "a = np.zeros(1)\nt = (1,)\nfor _ in range(30): t = (t, t)\na[:] = t",
    "a = np.zeros((2, 2))\nt = (1,)\nfor _ in range(30): t = [t, t]\na[t]",
    "np.ones((3000, 3000)) @ np.ones((3000, 3000))",
    "np.dot(np.ones((3000, 3000)), np.ones((3000, 3000)))",
    "np.linalg.inv(np.ones((2000, 2000)))",
    "np.linalg.svd(np.ones((2000, 2000)))",
    "t = (1,)\nfor _ in range(40): t = (t, t)\nnp.float64(t)",
    "t = (1,)\nfor _ in range(40): t = (t, t)\nlist(map(np.int32, [t]))",
    "t = (1,)\nfor _ in range(40): t = (t, t)\ntype(np.bool_(1))(t)",
]


def _cost_of(source: str) -> tuple[str, float, float]:
    """How a script ended, the seconds that it took and the MiB that the process grew by."""
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    try:
        run(source)
        ended = "success"
    except Exception as error:
        ended = type(error).__name__
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return ended, time.perf_counter() - begin, grown / 1024


@pytest.mark.parametrize("source", HUGE)
def test_memory_and_work_are_limited(source: str) -> None:
    ended, seconds, grown = fork.run(_cost_of, source)
    assert ended == "LimitExceeded"
    assert seconds < 20  # most would take hours
    assert grown < 1500


LONG = [
    "a = np.ones((2000, 2000), dtype=int); a @ a",
    "np.inner(np.ones((3000, 3000)), np.ones((3000, 3000)))",
    "np.tensordot(np.ones((3000, 3000)), np.ones((3000, 3000)), 1)",
    "np.tensordot(np.ones((90, 90, 90)), np.ones((90, 90, 90)), axes=([0], [0]))",
    "np.correlate(np.ones(10 ** 6), np.ones(10 ** 6))",
    "np.linalg.eig(np.ones((2000, 2000)))",
    "np.linalg.norm(np.ones((3000, 3000)), 2)",
    "np.linalg.norm(np.ones((3000, 3000)), ord='nuc')",
    "np.linalg.solve(np.ones((100, 300, 300)), np.ones((100, 300, 1)))",
    "np.linalg.lstsq(np.ones((10 ** 4, 1000)), np.ones(10 ** 4))",
    "np.cov(np.ones((4000, 1000)))",
    "np.polyfit(np.arange(10 ** 6), np.arange(10 ** 6), 100)",
]


@pytest.mark.parametrize("source", LONG)
def test_what_is_more_than_linear_has_a_limit(source: str) -> None:
    with pytest.raises(LimitExceeded, match="multiplications, more than the limit"):
        run(source)


def test_size_decides_and_not_the_name() -> None:
    out = run(
        "p = np.ones((100_000, 3))\n"
        "print(np.linalg.norm(p, axis=1).shape, np.linalg.norm(p), np.linalg.lstsq(p, p[:, 0], rcond=None)[2])\n"
        "print((np.ones((10_000, 4, 4)) @ np.ones((10_000, 4, 1))).shape, np.linalg.inv(np.eye(4)[None].repeat(10_000, 0)).shape)\n"
        "picture = np.zeros((4096, 4096, 4), dtype=np.float32)\nprint(picture.size, np.sort(p[:, 0]).shape)\n"
        "print(np.linalg.svd(p, full_matrices=False)[1].shape, np.cov(p.T).shape, np.linalg.cond(np.ones((50, 50))) > 1)\n"
        "print(np.histogram(p, bins='auto')[0].sum(), np.polyfit([0, 1, 2], [0, 1, 2], 1).round(3).tolist())\n"
    )
    assert out.splitlines()[0].startswith("(100000,) 547.7")
    assert out.splitlines()[1:4] == ["(10000, 4, 1) (10000, 4, 4)", "67108864 (100000,)", "(3,) (3, 3) True"]


@pytest.mark.parametrize(
    "source",
    [
        "np.float64(1) + [[1.0] * 10_000] * 100_000",
        "[[1.0] * 10_000] * 100_000 - np.float64(1)",
        "np.bool_(1) < [[1.0] * 10_000] * 100_000",
        "np.float64(1) in [[[1.0] * 10_000] * 100_000]",
        "np.float64(1) == ['x' * 1_000_000] + ['y'] * 1000",
        "[np.ones((40_000, 1))] == [np.ones((1, 40_000))]",
        "(np.ones((40_000, 1)), 1) < (np.ones((1, 40_000)), 2)",
    ],
)
def test_arrays_that_operators_make_of_other_values_are_limited(source: str) -> None:
    with pytest.raises(
        LimitExceeded, match=r"MiB is over the limit of 512 MiB|unfolds to more than 10,000,000"
    ):
        run(source)


def test_numbers_of_numpy_work_with_other_values() -> None:
    out = run(
        "x, n = np.float64(2.5), np.int64(3)\nL = [1.0, 2.0]\n"
        "print((x + L).tolist(), (L - x).tolist(), L * n, n * 'ab', (x < L).tolist(), x in L, x == None)\n"
        "print(x ** 2, n % 2, divmod(n, 2)[1], -x, abs(-x), round(x), n << 2, {x: 1}[2.5], x + 1j, sum([x, n]))\n"
        "x += 1\nn *= 2\nprint(x, n, x > n, 1 < n < 9)"
    )
    assert out.splitlines() == [
        "[3.5, 4.5] [-1.5, -0.5] [1.0, 2.0, 1.0, 2.0, 1.0, 2.0] ababab [False, False] False False",
        "6.25 1 1 -2.5 2.5 2 12 1 (2.5+1j) 5.5",
        "3.5 6 False True",
    ]


def test_a_script_cannot_go_on_after_a_refused_array() -> None:
    with pytest.raises(LimitExceeded, match=r"a numpy array of [\d,]+ MiB is over the limit of 512 MiB"):
        run("try:\n    np.zeros(10 ** 10)\nexcept MemoryError:\n    pass\nprint('went on')")


def test_fromiter_takes_a_number_of_items() -> None:
    out = run(
        "import itertools\nprint(np.fromiter((i * i for i in range(4)), float).tolist())\n"
        "print(np.fromiter(itertools.count(), int, 3).tolist(), np.fromiter([], 'f4').size)\n"
        "try:\n    np.fromiter([1], int, count=2)\nexcept ValueError as e:\n    print(e)\n"
    )
    assert out.splitlines()[:2] == ["[0.0, 1.0, 4.0, 9.0]", "[0, 1, 2] 0"]
    assert "iterator too short" in out


def test_fromiter_is_limited() -> None:
    with pytest.raises(LimitExceeded, match=r"a numpy array of [\d,]+ MiB is over the limit of 512 MiB"):
        run("np.fromiter([1.0] * 3, 'S999999999')")


def _after_a_run() -> tuple[str, float, list[bool]]:
    """The handler after a run, and what becomes of an array that outlives it."""
    core = getattr(numpy, "_core", None) or numpy.core
    handler: Callable[..., str] = core.multiarray.get_handler_name
    before = handler()
    array = language.run("import numpy as np\na = np.ones(100_000)", level="blender").names.pop("a")
    used = handler(array) == "mcp_bridge"
    total = float(array.sum())
    array.resize(200_000, refcheck=False)
    del array
    return before, total, [used, handler() == before, bool(numpy.ones(10**8).sum())]


def test_the_handler_is_there_for_the_run_alone() -> None:
    before, total, held = fork.run(_after_a_run)
    assert (before, total, held) == ("default_allocator", 100_000.0, [True, True, True])


def test_an_array_decides_what_an_operator_does() -> None:
    out = run(
        "import operator\na = np.arange(1, 4)\n"
        "print(([1, 2, 3] * a).tolist(), (a * [1, 2, 3]).tolist(), ((1, 2, 3) + a).tolist(), (a - {1: 2}.get(1)).tolist())\n"
        "print((a << 2).tolist(), (2 << a).tolist(), divmod(a, 2)[1].tolist(), operator.neg(a).tolist(), abs(-a).tolist())\n"
        "items = [1]; items += a; print(items.tolist(), (a == [1, 0, 3]).tolist(), 2 in a, 'x %s' % a)\n"
        "print((a @ [1, 2, 3]).item(), (np.eye(3) @ a).tolist(), np.array([1, 2 ** 62, None is None]).tolist())\n"
    )
    assert out.splitlines() == [
        "[1, 4, 9] [1, 4, 9] [2, 4, 6] [-1, 0, 1]",
        "[4, 8, 12] [4, 8, 16] [1, 0, 1] [-1, -2, -3] [1, 2, 3]",
        "[2, 3, 4] [True, False, True] True x [1 2 3]",
        "14 [1.0, 2.0, 3.0] [1, 4611686018427387904, 1]",
    ]


def test_hasattr_says_no_of_what_an_array_may_not_be_asked_for() -> None:
    names = "('argpartition', 'tofile', 'sum', 'T')"
    assert run(f"print([hasattr(np.zeros(3), n) for n in {names}])") == "[False, False, True, True]\n"
