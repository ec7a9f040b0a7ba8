# SPDX-License-Identifier: GPL-3.0-or-later
"""What `foreach_get` and `foreach_set` are given: Blender reads and writes sequences without a look."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError

from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_START = """
import bpy, numpy as np, array, itertools, collections
from typing import NamedTuple
v = bpy.data.meshes[0].vertices
n = 3 * len(v)
class Pair(NamedTuple):
    a: int
    b: int
    def __getitem__(self, i): raise ValueError("no")
class Rows:
    def __len__(self): return n
    def __getitem__(self, i): return None
class Short(list):
    def __len__(self): return n
"""


@pytest.mark.parametrize(
    "given",
    [
        "Pair(1, 2)",
        "Rows()",
        "'abc'",
        "[None] * n",
        "[Rows()] * n",
        "Short([1])",
        "None",
        "3",
        "{1: 2}",
        "[[1.0]] * n",
    ],
)
def test_what_is_no_list_of_numbers_is_an_error_of_the_script(given: str) -> None:
    with pytest.raises((HandlerError, PolicyError), match=r"Error: |give it plain values, such as list"):
        result(f"{_START}\nv.foreach_set('co', {given})")


@pytest.mark.parametrize(
    "given", ["Pair(1, 2)", "Rows()", "'abc'", "None", "(1.0,) * n", "iter([])", "Short([1])"]
)
def test_what_is_no_place_for_numbers_is_an_error_of_the_script(given: str) -> None:
    with pytest.raises(HandlerError, match=r"foreach_get\(\) takes a list or an array to write to, not a "):
        result(f"{_START}\nv.foreach_get('co', {given})")


@pytest.mark.parametrize(
    "given",
    [
        *("[1.0] * n", "(1,) * n", "np.ones(n, dtype=np.float32)", "array.array('f', [1]) * n", "[True] * n"),
        *(
            "itertools.repeat(1.0, n)",
            "range(1, 2) and [1] * n",
            "(1.0 for _ in range(n))",
            "[np.float32(1)] * n",
        ),
    ],
)
def test_numbers_are_written(given: str) -> None:
    code = f"{_START}\nv.foreach_set('co', {given})\nx = [0.0] * n\nv.foreach_get('co', x)\nresult = set(x)"
    assert result(code) == [1.0]


def test_an_item_that_is_no_number_is_named() -> None:
    with pytest.raises(HandlerError, match=r"foreach_set\(\) takes numbers: item 1 is a NoneType"):
        result(f"{_START}\nv.foreach_set('co', [1.0, None])")


def test_what_blender_works_out_is_left_as_it_is() -> None:
    """Plain Blender takes no notice: scripts for older versions give each face its length."""
    code = (
        "p = bpy.data.meshes[0].polygons\np.foreach_set('loop_total', [3] * len(p))\n"
        "p.foreach_set('normal', np.zeros(3 * len(p)))\nresult = [p[0].loop_total, p[0].normal.length]"
    )
    assert result(f"{_START}\n{code}") == [4, 1.0]
    with pytest.raises(PolicyError):
        result(f"{_START}\nbpy.data.images.new('i', 1, 1)\nbpy.data.images.foreach_set('filepath_raw', [1])")
