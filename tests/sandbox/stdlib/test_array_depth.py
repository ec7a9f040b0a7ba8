# SPDX-License-Identifier: GPL-3.0-or-later
"""However deep a script's calls are, numpy never asks for memory by a call of Python that would be too deep.

ctypes would give numpy a random address.
"""

from __future__ import annotations

import sys

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits

from support.running import fork
from support.sandboxing.language import run

_VALUES = (
    *("np.ones(17_000)", "np.arange(6.0)", "np.ones(6, bool)", "np.array(['a', 'bb'])", "np.array(2.0)"),
    *("np.float64(2.5)", "np.bool_(True)", "[1.0, 2.0]", "[np.arange(6.0)]", "Vector((1, 2, 3))", "numbers"),
)
_OTHERS = (
    "np.ones(17_000)",
    "np.float64(2.5)",
    "[1.0, 2.0]",
    "[np.arange(6.0)]",
    "Vector((1, 2, 3))",
    "numbers",
)
_OF_TWO = (
    *(f"x {sign} y" for sign in "+ - * / // % ** @ & << == != < >= in".split()),
    *(
        "divmod(x, y)",
        "[x] == [y]",
        "(x,) < (y,)",
        "[x].index(y)",
        "sum([x, y])",
        "min(x, y)",
        "sorted([x, y])",
    ),
    *(
        "list(itertools.accumulate([x, y]))",
        "functools.reduce(operator.mul, [x, y])",
        "bisect.bisect([x], y)",
    ),
    *("x[y]", "np.where(x, y, 1)", "np.concatenate([x, y])", "np.dot(x, y)"),
)
_OF_ONE = (
    *("-x", "abs(x)", "round(x, 1)", "bool(x)", "list(x)", "sorted(x)", "sum(x)", "f'{x}'", "'%s' % (x,)"),
    *("x[0]", "x[[0, 1]]", "x[True]", "x[x > 0]", "x[None, 1:]", "x.sum()", "x.std()", "x.astype('f4')"),
    *("np.sort(x)", "np.unique(x)", "np.linalg.norm(x)", "np.float32(x)", "np.c_[x, x]", "np.pad(x, 1)"),
    *("statistics.mean(x)", "collections.Counter(x)", "copy.deepcopy(x)", "random.choice(x)", "Vector(x)"),
    *("array.array('d', x)", "setattr(cube, 'location', x)", "cube.data.vertices.foreach_set('co', x)"),
)
_SCRIPT = """
import array, bisect, bpy, collections, copy, functools, itertools, operator, random, statistics
import numpy as np
from mathutils import Vector
bpy.ops.mesh.primitive_cube_add()
cube = bpy.context.object
cube['numbers'] = [1.0, 2.0, 3.0]
numbers = cube['numbers']

def at(depth, case, x, y):
    return at(depth - 1, case, x, y) if depth else case(x, y)

def deepest(depth):
    try:
        return deepest(depth + 1)
    except RecursionError:
        return depth

x, most, reached = VALUE, deepest(0), False
for y in OTHERS:
    for depth in (0, *range(most - LEVELS, most + 4)):
        try:
            at(depth, lambda x, y: CASE, x, y)
            reached = True
        except RecursionError:
            pass
        except Exception:
            reached = True
"""


def _lost(case: str) -> tuple[list[str], bool]:
    """Return what Python says of functions that it could not call, and whether there ever was room for the case."""
    said: list[str] = []
    sys.unraisablehook = lambda lost: said.append(repr(lost.exc_value))
    reached = False
    for value in _VALUES:
        script = (
            _SCRIPT.replace("CASE", case)
            .replace("VALUE", value)
            .replace("LEVELS", "12" if case in _OF_TWO else "70")
        )
        script = script.replace("OTHERS", f"[{', '.join(_OTHERS if case in _OF_TWO else '0')}]")
        try:
            reached |= run(script, level="blender", limits=Limits(time_s=50))["reached"]
        except PolicyError:  # it refuses what it has room to look at
            reached = True
    return said, reached


@pytest.mark.parametrize("case", [*_OF_ONE, *_OF_TWO])
def test_at_the_limit_of_recursion_numpy_gets_memory(case: str) -> None:
    assert fork.run(_lost, case) == ([], True)
