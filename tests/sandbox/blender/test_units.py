# SPDX-License-Identifier: GPL-3.0-or-later
"""`bpy.utils.units.to_value`, whose text Blender hands to Python's compiler."""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender import units

_QUANTITIES = [
    "1",
    "1.5m",
    "1m 20cm",
    "5' 3\"",
    "2 ft",
    "-3.5e2 mm",
    "3 * 2cm",
    "(1m + 2cm) / 4",
    " .5 km ",
    "1µm",
]
_CODE = [
    *(
        "().__class__",
        "[1][0]",
        "exit()",
        "exit ()",
        "(exit)()",
        "1 .__class__",
        "1m.real",
        "a",
        "pi",
        "sin(1)",
    ),
    *(
        "lambda: 1",
        "1 if 1 else 2",
        "1 == 1",
        "9**9**9",
        "'a'",
        "1_0",
        "x := 1",
        "1;2",
        "1,2",
        "1 m(2)",
        "2(3)",
    ),
    *("\\u0061", "1\n2 m; import os", "#", "", "f'{1}'", "1" * 300, "1 " * 201),
]


@pytest.mark.parametrize("text", _QUANTITIES)
def test_quantities_are_as_in_blender(text: str) -> None:
    assert units.to_value("METRIC", "LENGTH", text) == bpy.utils.units.to_value("METRIC", "LENGTH", text)
    given = units.to_value("NONE", "LENGTH", "3", "mm")
    assert given == bpy.utils.units.to_value("NONE", "LENGTH", "3", str_ref_unit="mm")


@pytest.mark.parametrize("text", _CODE)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"takes a quantity here, such as '1\.5m'"):
        units.to_value("METRIC", "LENGTH", text)


def test_the_other_arguments_are_looked_at_too() -> None:
    with pytest.raises(TypeError, match="takes texts, not int"):
        units.to_value("METRIC", "LENGTH", 3)
    with pytest.raises(ValueError, match="is no unit: use 'm'"):
        units.to_value("METRIC", "LENGTH", "3", "().x")
