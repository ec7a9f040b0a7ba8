# SPDX-License-Identifier: GPL-3.0-or-later
"""What exists in a data-block is looked up by types that Blender still has."""

from __future__ import annotations

import gc
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import existing

from support.running import fork


class _Operator(bpy.types.Operator):
    bl_idname = "object.mcp_bridge_test_gone"
    bl_label = "Gone"
    size: bpy.props.IntProperty()  # type: ignore[valid-type]


def _gone_type() -> Any:
    """Return the type of an operator's properties, whose struct Blender has freed since."""
    gc.disable()  # else the type may go with the struct
    fork.overwrite_freed()
    bpy.utils.register_class(_Operator)
    bpy.ops.object.mcp_bridge_test_gone.get_rna_type()  # makes the type
    made = [
        each
        for each in bpy.types.OperatorProperties.__subclasses__()
        if "mcp_bridge" in each.__name__.lower()
    ]
    bpy.utils.unregister_class(_Operator)
    return made[0]


def _keeps_rna() -> bool:
    return "bl_rna" in vars(_gone_type())


def _has_struct() -> bool:
    return existing._has_struct(_gone_type())


def _look_up_all(monkeypatch: pytest.MonkeyPatch) -> type:
    _gone_type()
    monkeypatch.setattr(existing, "_OF_WINDOWS", frozenset())
    return existing.KindsByPointer()[1]


def test_a_type_without_its_struct_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """In most runs plain Blender crashes when it reads the struct, which is freed memory."""
    assert fork.run(_keeps_rna) or bpy.app.version >= (4, 3)  # newer Blenders take it away themselves
    assert fork.run(_has_struct) is False
    assert fork.run(_look_up_all, monkeypatch) is type(None)


def _named() -> tuple[int, list[str]]:
    kinds = [getattr(bpy.types, name) for name in dir(bpy.types)]
    own = [kind for kind in kinds if isinstance(kind, type) and "bl_rna" in vars(kind)]
    return len(own), [kind.__name__ for kind in own if not existing._has_struct(kind)]


def test_every_type_that_blender_has_may_be_read() -> None:
    count, refused = fork.run(_named)
    assert count > 1000
    assert refused == []
