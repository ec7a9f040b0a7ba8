# SPDX-License-Identifier: GPL-3.0-or-later
"""Each check of what a script holds is broken on purpose: the script is stopped, or what it holds says it is gone."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import (
    custom_properties,
    existing,
    held,
    hidden,
    layout,
    memory,
    parts,
    stale,
)

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


#: Methods of these classes that find nothing of what the script holds.
_OTHERS = ("open", "close", "keep", "give", "depth")


def _checks() -> list[tuple[Any, str]]:
    """Every method and function by which it is told what a script holds and what is still there."""
    classes = (held.Held, hidden.Hidden, existing.Now, custom_properties.PropertyParts)
    found: list[tuple[Any, str]] = [
        (owner, name)
        for owner in classes
        for name, value in vars(owner).items()
        if callable(value) and not name.startswith("__") and name not in _OTHERS
    ]
    found += [(parts, "find"), (existing, "_addresses"), (stale, "references"), (memory, "cut_off")]
    return found + [(layout, name) for name in ("pointers", "part_pointers", "address_of_mesh")]


#: What is held, what frees it, and how it is used then.
_CASES = {
    "modifier": ("x = o.modifiers.new('a', 'BEVEL')", "o.modifiers.clear()", "x.width = 2"),
    "collection": ("x = o.modifiers", "bpy.data.objects.remove(o)", "len(x)"),
    "cache": (
        "bpy.ops.rigidbody.world_add()\nx = bpy.context.scene.rigidbody_world.point_cache",
        "bpy.ops.rigidbody.world_remove()",
        "x.frame_end",
    ),
    "group": ("o['g'] = {'a': 1}\nx = o['g']", "del o['g']", "x['a']"),
    "spline": (
        "bpy.ops.curve.primitive_bezier_curve_add()\nx = bpy.context.object.data.splines[0].bezier_points\n"
        "bpy.ops.object.mode_set(mode='EDIT')",
        "bpy.ops.object.mode_set(mode='OBJECT')",
        "len(x)",
    ),
}


@pytest.mark.parametrize("case", _CASES)
@pytest.mark.parametrize(("owner", "name"), _checks(), ids=lambda each: getattr(each, "__name__", each))
def test_a_broken_check_lets_nothing_through(
    owner: Any, name: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, free, use = _CASES[case]
    caught = f"try:\n    {free}\nexcept Exception:\n    pass\n"

    def broken(*_arguments: Any, **_named: Any) -> NoReturn:
        raise ValueError("broken on purpose")

    def run() -> str:
        fork.overwrite_freed()
        monkeypatch.setattr(owner, name, broken)
        try:
            result(f"o = bpy.context.object\n{take}\n{caught}{use}")
        except PolicyError:
            return "stopped"
        except HandlerError as error:
            return type(error.original).__name__
        return "let through"

    assert fork.run(run) in ("stopped", "ReferenceError")
