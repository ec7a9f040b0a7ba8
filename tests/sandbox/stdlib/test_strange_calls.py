# SPDX-License-Identifier: GPL-3.0-or-later
"""No arguments that a script may give to a function of numpy, mathutils, bmesh or the library do any harm."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, Watchdog
from bl_ext.user_default.mcp_bridge.sandbox.stdlib import array_memory

from support.running import fork
from support.sandboxing.scripts import result
from support.sandboxing.strange_calls import NUMBERS, harm

pytestmark = [pytest.mark.usefixtures("fresh_file"), pytest.mark.timeout(300)]

_ARRAYS = """
import numpy as np
owners = {
    "array": np.ones((2, 2)), "np": np, "linalg": np.linalg, "fft": np.fft,
    "random": np.random, "generator": np.random.default_rng(0), "legacy": np.random.RandomState(0),
}
"""
_BLENDERS = """
import bpy, bmesh, mathutils
from mathutils import Vector, Matrix, Quaternion, Euler, Color, bvhtree, geometry, interpolate, kdtree, noise
tree = kdtree.KDTree(2)
tree.insert((0, 0, 0), 0)
tree.insert((1, 0, 0), 1)
tree.balance()
bm = bmesh.new()
bmesh.ops.create_cube(bm)
layer = bm.verts.layers.float.new("f")
vert, edge, face = [*bm.verts][0], [*bm.edges][0], [*bm.faces][0]
thing = bpy.context.object
mesh = thing.data
owners = {
    "vector": Vector((1, 2, 3)), "flat": Vector((1, 2)), "four": Vector((1, 2, 3, 4)), "matrix": Matrix(),
    "small": Matrix.Identity(3), "quaternion": Quaternion(), "euler": Euler(), "color": Color(), "Vector": Vector,
    "Matrix": Matrix, "Quaternion": Quaternion, "Euler": Euler, "geometry": geometry, "noise": noise,
    "interpolate": interpolate, "kdtree": kdtree, "tree": tree, "unbalanced": kdtree.KDTree(3),
    "bvh": bvhtree.BVHTree.FromPolygons([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]), "BVHTree": bvhtree.BVHTree,
    "bmesh": bmesh, "bm": bm, "verts": bm.verts, "edges": bm.edges, "faces": bm.faces, "loops": bm.loops,
    "vert": vert, "edge": edge, "face": face, "loop": face.loops[0], "layers": bm.verts.layers, "layer": layer,
    "floats": bm.verts.layers.float, "utils": bmesh.utils, "of bmesh": bmesh.geometry,
    "vertices": mesh.vertices, "uvs": mesh.uv_layers, "attributes": mesh.attributes, "objects": bpy.data.objects,
    "weights": mesh.vertices[0].groups, "modifiers": thing.modifiers, "array": mesh.vertices[0].co,
}
"""
_LIBRARY = """
import array, base64, bisect, cmath, collections, datetime, fractions, functools, hashlib, heapq, itertools, json
import math, operator, random, re, statistics, string, struct, textwrap, unicodedata
owners = {
    "list": [1, 2], "dict": {1: 2}, "set": {1}, "tuple": (1, 2), "str": "abc", "bytes": b"abc", "int": 5, "float": 2.5,
    "bytearray": bytearray(b"abc"), "complex": 1j, "range": range(3), "array": array.array("f", [1, 2]),
    "deque": collections.deque([1]), "ordered": collections.OrderedDict(a=1), "counter": collections.Counter("aab"),
    "time": datetime.datetime(2020, 1, 1), "fraction": fractions.Fraction(1, 2), "pattern": re.compile("(a)|b"),
    "match": re.match("a", "a"), "generator": random.Random(1), "hash": hashlib.md5(b"a"),
    "arrays": array, "base64": base64, "bisect": bisect, "cmath": cmath, "collections": collections,
    "datetime": datetime, "fractions": fractions, "functools": functools, "hashlib": hashlib, "heapq": heapq,
    "itertools": itertools, "json": json, "math": math, "operator": operator, "random": random, "re": re,
    "statistics": statistics, "strings": string, "struct": struct, "textwrap": textwrap, "unicodedata": unicodedata,
}
"""


def _no_more(_owner: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    yield (), {}


def _of_arrays(owner: str) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Yield options of numpy's functions and, as the search for a random number depends on them, more numbers."""
    for first in ((np.ones(3),), (3,)):
        for option in ("out", "axis", "dtype", "where", "size", "keepdims"):
            for value in (0, None, "a", {}, np.ones(3), print):
                yield first, {option: value}
    if owner in ("random", "generator", "legacy"):
        yield from ((values, {}) for values in itertools.product(NUMBERS, repeat=2))
        yield from ((values, {}) for values in itertools.product(NUMBERS[1:5], repeat=3))
        for last in itertools.product((0, None, print, np.ones(3)), repeat=2):
            yield (0, None, *last), {}


@contextlib.contextmanager
def _memory_that_keeps_its_size() -> Iterator[None]:
    """Fail if numpy asks for more room in memory that it has; the memory stays where it is."""
    usable = ctypes.CDLL(None).malloc_usable_size
    usable.argtypes, usable.restype = (ctypes.c_void_p,), ctypes.c_size_t
    grown = []

    @ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    def realloc(_context: int | None, address: int | None, size: int) -> int | None:
        if size <= usable(address):
            return address
        grown.append(size)
        return None

    table = array_memory._table()
    handler, outer = table._handler, table.set_handler(table.ours)
    before, handler.realloc = handler.realloc, ctypes.cast(realloc, ctypes.c_void_p).value
    yield
    handler.realloc = before
    table.set_handler(outer)
    assert grown == []


def test_no_arguments_harm_a_function_of_numpy() -> None:
    """Nor does one make memory grow: numpy's own function does that without a look at the limit."""
    with np.errstate(all="ignore"):
        assert harm(_ARRAYS, _of_arrays, _memory_that_keeps_its_size) == {}


def test_numpy_makes_memory_grow_by_the_function_that_the_walk_watches() -> None:
    def grow() -> None:
        result("import numpy")
        array = array_memory.ArrayMemory(Watchdog(Limits())).watched(0, np.ones, 10)
        with _memory_that_keeps_its_size():
            array.resize(10_000, refcheck=False)

    with pytest.raises(MemoryError):
        fork.run(grow)


def test_no_arguments_harm_a_function_of_blender() -> None:
    assert harm(_BLENDERS, _no_more) == {}


def test_no_arguments_harm_a_function_of_the_library() -> None:
    assert harm(_LIBRARY, _no_more) == {}


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
        *(
            (call, r"mode is 'raise' or 'clip' for scripts: to wrap, use indices % length")
            for call in (
                "np.take(np.ones(3), [1 << 62], mode='wrap')",
                "np.take(np.ones(3), [1 << 62], None, None, 'wrap')",
                "np.ones(3).take([1 << 62], mode=1)",
                "np.ones(3).take([-1 << 62], None, None, 1)",
                "np.put(np.ones(3), [1 << 62], 5, 'wrap')",
                "np.put(np.ones(3), [1 << 62], 5, mode='WRAP')",
                "np.choose([1 << 62], [[1], [2]], mode='wrap')",
                "np.choose([1 << 62], [[1], [2]], None, np.array(1))",
            )
        ),
        (
            "BVHTree.FromPolygons([(0, 0, 0)] * 3, [(0, 1, 2) * 2_000])",
            r"FromPolygons\(\): a polygon of more than 5,000 corners",
        ),
        (
            "BVHTree.FromPolygons([(0, 0, 0)] * 3, [(0, 1, 2) * 1_000] * 9)",
            "several large ones, take too long to divide into triangles: give triangles",
        ),
        ("mathutils.Vector.Range(0, 9, 0)", r"Vector\.Range\(\): the step is at least 1"),
        ("bpy.data.objects.find('\\ud800')", "surrogates not allowed"),
    ],
)
def test_what_would_do_harm_is_refused_and_says_why(call: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        result(
            "import mathutils\nfrom mathutils.bvhtree import BVHTree\nimport numpy as np\nresult = str("
            + call
            + ")"
        )
