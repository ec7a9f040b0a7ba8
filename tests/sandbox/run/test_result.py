# SPDX-License-Identifier: GPL-3.0-or-later
"""A script's result as JSON: faithful, bounded, never an error."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import math

import bpy
import mathutils
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.run.result import to_json


class Kind(enum.Enum):
    BOX = "box"


@dataclasses.dataclass
class Part:
    name: str
    at: tuple[float, float]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.5, 0.5),
        ("ok", "ok"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({3, 1, 2}, [1, 2, 3]),
        ({"a", 1}, [1, "a"]),
        ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "null": "b", "(1, 2)": "c"}),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (range(3), [0, 1, 2]),
        (b"ab", {"type": "bytes", "base64": "YWI="}),
        (2 + 3j, {"real": 2.0, "imag": 3.0}),
        (decimal.Decimal("1.10"), "1.10"),
        (datetime.date(2025, 1, 31), "2025-01-31"),
        (datetime.timedelta(minutes=1), 60.0),
        (Kind.BOX, "box"),
        (Part("x", (1.0, 2.0)), {"name": "x", "at": [1.0, 2.0]}),
        (mathutils.Vector((1, 2, 3)), [1.0, 2.0, 3.0]),
        (mathutils.Matrix.Identity(2), [[1.0, 0.0], [0.0, 1.0]]),
        (mathutils.Color((0, 1, 0)), [0.0, 1.0, 0.0]),
    ],
)
def test_values(value: object, shown: object) -> None:
    assert to_json(value) == shown
    json.dumps(to_json(value), allow_nan=False)


def test_blenders_values(empty_scene: None) -> None:
    ob = bpy.data.objects.new("Thing", None)
    ob["numbers"] = [1, 2]
    ob["group"] = {"x": 1.5}
    assert to_json(ob) == {"type": "Object", "name": "Thing"}
    assert to_json([ob.location, ob["numbers"], ob["group"]]) == [[0.0, 0.0, 0.0], [1, 2], {"x": 1.5}]
    assert to_json(bpy.data.objects) == [{"type": "Object", "name": "Thing"}]
    assert to_json(bpy.context.scene.render)["type"] == "RenderSettings"
    assert to_json(bpy.types.Object) == "<Object>"
    bpy.data.objects.remove(ob)
    assert to_json(ob) == "<removed data-block>"


def test_numpy_values() -> None:
    import numpy  # Blender brings it along

    assert to_json(numpy.arange(4).reshape(2, 2)) == [[0, 1], [2, 3]]
    assert to_json(numpy.float32(0.5)) == 0.5
    assert to_json({"n": numpy.int64(7)}) == {"n": 7}


def test_bounded() -> None:
    nested: list[object] = []
    nested.append(nested)
    assert to_json(nested) == ["… (contains itself)"]
    assert to_json(list(range(10)), max_items=3) == [0, 1, 2, "… (more is left out)"]
    assert "characters" in to_json("x" * 2_000_000)
    deep: object = 0
    for _ in range(50):
        deep = [deep]
    assert "nested deeper" in json.dumps(to_json(deep))


def test_what_fails_is_named() -> None:
    class Awkward:
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert to_json(Awkward()) == "<Awkward that cannot be shown: RuntimeError>"


def test_what_would_take_long_to_show_is_named() -> None:
    """By its type; what comes after it is named, too, and plain values are not touched."""
    deep: tuple[object, ...] = (1,)
    for _ in range(40):
        deep = (deep, deep)
    shown = to_json(
        [ValueError("a", 1), ValueError(deep), OSError(1, "a", deep), {dataclasses.field: 2}, (1, "b")]
    )
    assert shown[0] == "('a', 1)"
    assert shown[1:3] == [
        f"<{kind} that is too large to be shown>" for kind in ("ValueError", "PermissionError")
    ]
    assert shown[4] == [1, "b"]
