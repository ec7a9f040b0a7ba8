# SPDX-License-Identifier: GPL-3.0-or-later
# ruff: noqa: E501 (scripts are quoted as they are)
"""numpy for scripts: honest use works, and no array leads to memory, files, modules or endless work."""

from __future__ import annotations

import time

import pytest
from bl_ext.user_default.mcp_bridge.errors import BridgeError, LimitExceeded
from bl_ext.user_default.mcp_bridge.sandbox.compile import compile_script
from bl_ext.user_default.mcp_bridge.sandbox.guarded_bpy import BlenderHost
from bl_ext.user_default.mcp_bridge.sandbox.guards import build_namespace
from bl_ext.user_default.mcp_bridge.sandbox.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.watchdog import Limits, ScriptStopped, Watchdog


def run(source: str) -> str:
    compiled = compile_script("import numpy as np\n" + source)
    meter = Watchdog(Limits())
    rules = policy("blender")
    namespace = build_namespace(compiled, rules, BlenderHost(rules, meter), meter)
    try:
        with meter:
            exec(compiled.code, namespace)
    except ScriptStopped as stop:
        raise stop.error from None
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
    "np.frombuffer(b'12345678')",
    "np.random.default_rng().bit_generator",
    "np.random.mtrand",
    "np.random.get_state",
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
    "np.ones((3000, 3000)) @ np.ones((3000, 3000))",
    "np.dot(np.ones((3000, 3000)), np.ones((3000, 3000)))",
    "np.linalg.inv(np.ones((2000, 2000)))",
    "np.linalg.svd(np.ones((2000, 2000)))",
    "t = (1,)\nfor _ in range(40): t = (t, t)\nnp.float64(t)",
    "t = (1,)\nfor _ in range(40): t = (t, t)\nlist(map(np.int32, [t]))",
    "t = (1,)\nfor _ in range(40): t = (t, t)\ntype(np.bool_(1))(t)",
]


@pytest.mark.parametrize("source", HUGE)
def test_sizes_are_known_before_anything_is_allocated(source: str) -> None:
    begin = time.perf_counter()
    with pytest.raises(LimitExceeded):
        run(source)
    assert time.perf_counter() - begin < 3
