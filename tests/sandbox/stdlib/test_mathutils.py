# SPDX-License-Identifier: GPL-3.0-or-later
"""mathutils for scripts: no arguments, and no order of calls, make Blender read memory that is not its own."""

from __future__ import annotations

import importlib
import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bmesh
import bpy
import mathutils
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError
from bl_ext.user_default.mcp_bridge.sandbox.run.watchdog import Limits, ScriptStopped
from bl_ext.user_default.mcp_bridge.sandbox.stdlib import mathutils as mathutils_module

from support.running import fork
from support.sandboxing import language

pytestmark = pytest.mark.usefixtures("fresh_file")

NAN, INF = float("nan"), float("inf")
_IMPORTS = (
    "import bpy, bmesh, mathutils\nfrom mathutils import geometry, interpolate, kdtree, bvhtree, noise\n"
)


def run(source: str, **given: Any) -> dict[str, Any]:
    return language.run(_IMPORTS + source, limits=Limits(time_s=20), level="blender", given=given).names


# --- operators ------------------------------------------------------------------------------------------------

_OPERATIONS = [
    f"{left} {sign} {right}"
    for sign in ("+", "-", "*", "/", "//", "%", "**", "@", "==", "!=", "<", "in", "&", "|", "<<")
    for left, right in itertools.product(
        ("v", "m", "q", "e", "c", "2", "0.5", "np.float64(2)", "a"), repeat=2
    )
]


_SETTING = """
import numpy as np
v, m, q = mathutils.Vector((1, 2, 3)), mathutils.Matrix.Rotation(1, 3, "X"), mathutils.Quaternion((1, 2, 3), .5)
e, c, a = mathutils.Euler((1, 2, 3)), mathutils.Color((.1, .2, .3)), np.array([1.0, 2.0, 3.0])
"""
_FOUND = """
try:
    {line}
    found.append(repr(result))
except Exception as error:
    found.append(type(error).__name__)
"""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, of divisions by zero
def test_operators_of_vectors_give_what_they_give_in_plain_python() -> None:
    lines = [f"result = {each}" for each in _OPERATIONS]
    # in place: another name for the same object sees the change where plain Python changes the object
    lines += [
        f"same = {left}; {left} {sign} {right}; result = ({left}, same is {left})"
        for left, right in itertools.product("vmqec", ("v", "m", "q", "c", "2", "np.float64(2)", "a"))
        for sign in ("+=", "-=", "*=", "@=")
    ]
    source = "found = []\n" + "".join(_SETTING + _FOUND.format(line=line) for line in lines)
    plain: dict[str, Any] = {"mathutils": mathutils}
    exec(source, plain)
    assert [*zip(lines, run(source)["found"], strict=True)] == [*zip(lines, plain["found"], strict=True)]


# --- trees ----------------------------------------------------------------------------------------------------

_SQUARE = "v = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]\n"
REFUSED = [
    ("kdtree.KDTree(10).find((0, 0, 0))", "must be balanced before calling find"),
    ("kdtree.KDTree(10).find_n((0, 0, 0), 3)", "must be balanced before calling find"),
    ("kdtree.KDTree(10).find_range((0, 0, 0), 1)", "must be balanced before calling find"),
    (
        "t = kdtree.KDTree(3); t.insert((0, 0, 0), 0); t.find((0, 0, 0))",
        "must be balanced before calling find",
    ),
    ("t = kdtree.KDTree(3); t.balance(); t.insert((0, 0, 0), 0); t.find((0, 0, 0))", "must be balanced"),
    (
        "t = kdtree.KDTree(1); t.insert((0, 0, 0), 0); t.insert((0, 0, 0), 0)",
        "more items than KDTree has room for",
    ),
    ("t = kdtree.KDTree(2); t.insert((0, 0, 0), -1)", "negative"),
    (
        "t = kdtree.KDTree(9); t.insert((0, 0, 0), 0); t.balance()\n"
        "t.find((0, 0, 0), filter=lambda i: t.insert((1, 1, 1), 1))",
        "a filter may not change the tree",
    ),
    (
        "t = kdtree.KDTree(9); t.insert((0, 0, 0), 0); t.balance(); t.find((0, 0, 0), filter=lambda i: t.balance())",
        "a f",
    ),
    (
        _SQUARE + "bvhtree.BVHTree.FromPolygons(v, [(0, 1, 99)])",
        "a corner is not below 4, the number of vertices",
    ),
    (_SQUARE + "bvhtree.BVHTree.FromPolygons(v, [(0, 1, 2), (0, 1, -1)])", "a corner is not below 4"),
    (
        _SQUARE + "bvhtree.BVHTree.FromPolygons(v, [(0, 1, 2 ** 31)], all_triangles=True)",
        "a corner is not below 4",
    ),
    (_SQUARE + "bvhtree.BVHTree.FromPolygons(v, ([0, 1, i] for i in [4]))", "a corner is not below 4"),
    (_SQUARE + "bvhtree.BVHTree.FromPolygons([], [(0, 0, 0)])", "a corner is not below 0"),
    (_SQUARE + "bvhtree.BVHTree.FromPolygons(v, [(0, 1)])", "at least 3 corners"),
    (_SQUARE + "bvhtree.BVHTree.FromPolygons(v, [()])", "at least 3 corners"),
    ("b = bmesh.new(); b.free(); bvhtree.BVHTree.FromBMesh(b)", "removed"),
    ("geometry.normal()", "points"),
    ("geometry.normal([])", "at least 3 points, not 0"),
    ("geometry.normal((0, 0, 0), (1, 0, 0))", "at least 3 points, not 2"),
    ("geometry.points_in_planes([])", "at least 1 points, not 0"),
]


def _error_of(source: str) -> str:
    try:
        run(source)
    except (BridgeError, Exception) as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_states_and_indices_are_checked(source: str, message: str) -> None:
    assert message in fork.run(_error_of, source)


HONEST = [
    (
        "t = kdtree.KDTree(2); t.insert((0, 0, 0), 0); t.insert((5, 0, 0), 1); t.balance()\nx = t.find((4, 0, 0))[1]",
        1,
    ),
    ("t = kdtree.KDTree(2); t.insert((0, 0, 0), 7); t.balance(); x = len(t.find_n((4, 0, 0), 10 ** 6))", 1),
    (
        "t = kdtree.KDTree(1); t.balance(); x = t.find((4, 0, 0)), t.find_n((0, 0, 0), 3)",
        ((None, None, None), []),
    ),
    (
        "t = kdtree.KDTree(3)\nfor i in range(3): t.insert(co=(i, 0, 0), index=i)\n"
        "t.balance(); x = t.find((0, 0, 0), filter=lambda i: i > 0)[1], len(t.find_range((0, 0, 0), 1.5))",
        (1, 2),
    ),
    (
        _SQUARE
        + "t = bvhtree.BVHTree.FromPolygons(v, [[0, 1, 2], (1, 3, 2)])\nx = t.ray_cast((.2, .2, 1), (0, 0, -1))[2]",
        0,
    ),
    (
        "t = bvhtree.BVHTree.FromPolygons([], [])\nx = t.find_nearest((0, 0, 0)), t.ray_cast((0, 0, 0), (0, 0, 1))[0]",
        ((None,) * 4, None),
    ),
    (
        "b = bmesh.new(); t = bvhtree.BVHTree.FromBMesh(b)\nx = t.find_nearest_range((0, 0, 0), 5), t.overlap(t)",
        ([], []),
    ),
    (
        "c = bpy.data.objects['Cube']; d = bpy.context.evaluated_depsgraph_get()\n"
        "t = bvhtree.BVHTree.FromObject(c, d); u = bvhtree.BVHTree.FromObject(c, d, deform=False)\n"
        "x = t.find_nearest((0, 0, 3))[0].z, len(t.overlap(u)) > 0",
        (1.0, True),
    ),
    (
        "import numpy as np\n"
        + _SQUARE
        + "t = bvhtree.BVHTree.FromPolygons(np.array(v), np.array([[0, 1, 2]]))\n"
        "x = t.find_nearest((0, 0, 3))[2]",
        0,
    ),
    (
        "p = (0, 0, 0), (1, 0, 0), (0, 1, 0)\nx = tuple(geometry.normal(*p)), tuple(geometry.normal(list(p)))",
        ((0, 0, 1),) * 2,
    ),
    (
        "planes = [(1, 0, 0, -1), (-1, 0, 0, -1), (0, 1, 0, -1), (0, -1, 0, -1), (0, 0, 1, -1), (0, 0, -1, -1)]\n"
        "x = geometry.points_in_planes(planes)[1] != []",
        True,
    ),
]


@pytest.mark.parametrize(("source", "wanted"), HONEST)
def test_honest_use(source: str, wanted: Any) -> None:
    assert fork.run(lambda: run(source)["x"]) == wanted


# --- a walk over all functions ----------------------------------------------------------------------------------


def _values() -> list[Any]:
    """Arguments of all kinds, most of them wrong for most functions."""
    mesh = bmesh.new()
    bmesh.ops.create_cube(mesh, size=1)
    freed = bmesh.new()
    freed.free()
    vector = mathutils.Vector
    return [
        *(0, 1, -1, 2, 7, 2**31 - 1, -(2**31), 2**33, 0.0, 0.5, -1.5, NAN, INF, 1e38, True, None, "", "x"),
        *([], (), (0, 0, 0), (0, 0), (NAN, NAN, NAN), (INF, -INF, 0), (1e38, 1e38, 1e38)),
        *(
            [(0, 0, 0), (1, 0, 0), (0, 1, 0)],
            [(0, 0), (1, 0), (0, 1)],
            [(0, 0, 0)] * 5,
            [(NAN, 0, 0), (1, NAN, 0)],
        ),
        *([(INF, 0), (0, INF), (1, 1)], [(0, 1, 2)], [(0, 1, 99)], [(-1, 0, 1)], [(0, 1)], [(0,)], [()]),
        *(
            [[(0, 0, 0), (1, 0, 0), (0, 1, 0)]],
            [[(NAN, 0, 0), (1, 0, 0), (0, 1, 0)], []],
            [[0, 0, 1, 1]],
            [[0, 0]],
        ),
        *(
            vector((0, 0)),
            vector((0, 0, 0)),
            vector((1, 2, 3, 4)),
            vector((NAN, NAN, NAN)),
            vector((0, 0, 1)),
        ),
        *(
            [vector((0, 0)), vector((1, 0)), vector((0, 1))],
            [vector((0, 0, 0)), vector((1, 0, 0)), vector((0, 1, 0))],
        ),
        *(mathutils.Matrix(), mathutils.Quaternion(), mathutils.Euler(), mathutils.Color(), mesh, freed),
        *(
            bpy.data.objects["Cube"],
            bpy.context.evaluated_depsgraph_get(),
            lambda *_: True,
            range(3),
            {1: 2},
            b"ab",
        ),
    ]


def _argument_lists(seed: int) -> Iterator[tuple[Any, ...]]:
    values = _values()
    yield ()
    yield from itertools.product(values, repeat=1)
    yield from itertools.islice(itertools.product(values, repeat=2), seed % 3, None, 3)
    chooser = random.Random(seed)
    for _ in range(1_500):
        yield tuple(chooser.choice(values) for _ in range(chooser.randint(2, 6)))


_TREES = {
    "empty KDTree": "kdtree.KDTree(10)",
    "KDTree of nothing": "kdtree.KDTree(0)",
    "BVHTree": "bvhtree.BVHTree.FromPolygons([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])",
    "BVHTree of nothing": "bvhtree.BVHTree.FromPolygons([], [])",
    "BVHTree of no numbers": (
        "bvhtree.BVHTree.FromPolygons([(x, x, 0) for x in nowhere * 3], [(0, 1, 2), (3, 4, 5)] * 9)"
    ),
}
_METHODS = ("insert", "balance", "find", "find_n", "find_range")
_SEARCHES = (
    "find_nearest",
    "find_nearest_range",
    "ray_cast",
    "overlap",
    "FromPolygons",
    "FromBMesh",
    "FromObject",
)


def _sources() -> dict[str, str]:
    """What gives the function that is walked, by a name."""
    found = {}
    for module in ("geometry", "noise", "interpolate", "bvhtree", "kdtree"):
        part: Any = importlib.import_module(f"mathutils.{module}")
        found |= {f"{module}.{name}": f"{module}.{name}" for name in dir(part) if not name.startswith("_")}
    for name in _SEARCHES:
        found[f"BVHTree.{name}"] = f"bvhtree.BVHTree.{name}"
    for tree, made in _TREES.items():
        for name in _METHODS if "KDTree" in tree else _SEARCHES:
            found[f"{tree}: {name}"] = f"{made}.{name}"
    for kind in ("Vector", "Matrix", "Quaternion", "Euler", "Color"):
        found[kind] = f"mathutils.{kind}"
        for name in dir(getattr(mathutils, kind)):
            if not name.startswith("_") and not set(name) <= set("xyzwrgb"):
                found[f"{kind}().{name}"] = f"mathutils.{kind}().{name}"
    return found


def _walk(source: str) -> int:
    """Call the function with all argument lists; how many calls raised nothing."""
    try:
        function: Callable[..., Any] = run(f"function = {source}", nowhere=[NAN, INF, 1.0])["function"]
    except (BridgeError, Exception):
        return 0
    if not callable(function):
        return 0
    quiet = 0
    for arguments in _argument_lists(len(source)):
        try:
            function(*arguments)
            quiet += 1
        except (ScriptStopped, Exception):
            continue
    return quiet


def _walk_all(names: list[str], progress: Path) -> dict[str, int]:
    quiet = {}
    for name in names:
        progress.write_text(name)
        quiet[name] = _walk(_sources()[name])
    return quiet


@pytest.mark.parametrize("group", sorted({name.partition(".")[0].partition(":")[0] for name in _sources()}))
def test_no_arguments_crash_a_function(group: str, tmp_path: Path) -> None:
    names = [name for name in _sources() if name.partition(".")[0].partition(":")[0] == group]
    progress = tmp_path / "progress"
    try:
        quiet = fork.run(_walk_all, names, progress, timeout=110)
    except (fork.Died, fork.TimedOut) as error:
        pytest.fail(f"{progress.read_text()}: {error}")
    assert any(quiet.values())  # else nothing was tried but what is refused


# --- values of what Blender has removed -------------------------------------------------------------------------

_REMOVED = """
o = bpy.data.objects.new("x", bpy.data.lights.new("l", "POINT"))
light = o.data
value = {"Vector": o.location, "Quaternion": o.rotation_quaternion, "Euler": o.rotation_euler, "Matrix": o.matrix_world,
         "Color": light.color}[KIND]
bpy.data.objects.remove(o)
bpy.data.lights.remove(light)
some = [(), (0,), (mathutils.Vector((1, 2, 3)),), (mathutils.Matrix(),), (mathutils.Quaternion(),), ((0, 0, 0),)]
for name in NAMES:
    try:
        member = getattr(value, name)
        for arguments in some if callable(member) else ():
            try:
                member(*arguments)
            except (TypeError, ValueError, RuntimeError, ReferenceError, IndexError):
                pass
    except ReferenceError:
        pass
"""


def _use(case: tuple[str, list[str]]) -> str:
    kind, names = case
    run(_REMOVED, KIND=kind, NAMES=names)
    return "whole"


@pytest.mark.parametrize("kind", ["Vector", "Quaternion", "Euler", "Matrix", "Color"])
def test_values_of_removed_items_say_so_and_crash_nothing(kind: str) -> None:
    names = sorted(mathutils_module._public(getattr(mathutils, kind)) - mathutils_module._OVERFLOWING)
    names = [name for name in names if len(name) > 4 or kind != "Vector"]  # "xyzw" and the like are many
    assert len(names) > 10
    ends = fork.run_each(_use, [(kind, [name]) for name in names])
    assert {name: str(end) for name, end in zip(names, ends, strict=True) if end != "whole"} == {}


def test_a_copy_is_made_of_a_value_of_an_item() -> None:
    source = "o = bpy.context.object\no.location = 0, 0, 2\n"
    assert run(source + "x = o.location.normalized(), o.rotation_quaternion.inverted()")["x"] == (
        mathutils.Vector((0, 0, 1)),
        mathutils.Quaternion(),
    )
