# SPDX-License-Identifier: GPL-3.0-or-later
"""None for a parameter that Blender follows without a look: a walk over all functions that a script may call."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import members
from bl_ext.user_default.mcp_bridge.sandbox.blender.functions import calls
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


def _functions() -> Iterator[tuple[type, str]]:
    """Every function that a script may call, with the type that it belongs to."""
    for name in sorted(dir(bpy.types)):
        kind = getattr(bpy.types, name)
        rna = getattr(kind, "bl_rna", None)
        if isinstance(kind, type) and rna is not None and rna.identifier == name:
            yield from (
                (kind, each)
                for each in sorted(policy("blender").callable(name).intersection(rna.functions.keys()))
            )


def test_each_function_with_a_needed_pointer_is_checked() -> None:
    found = [(kind, name) for kind, name in _functions() if calls.needed_pointers(f"{kind.__name__}.{name}")]
    assert len(found) > 15
    for kind, name in found:
        assert not members("blender").access(kind, name).plain_read, (kind, name)


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        ("bpy.context.scene.collection.objects.unlink(None)", "object"),
        ("bpy.context.scene.collection.objects.unlink(object=None)", "object"),
        ("bpy.context.scene.collection.children.unlink(None)", "child"),
        ("bpy.context.object.to_curve(None)", "depsgraph"),
        ("bpy.context.object.calc_matrix_camera(None)", "depsgraph"),
        ("bpy.data.materials['Material'].node_tree.interface.move_to_parent(None, None, 0)", "parent"),
    ],
)
def test_none_is_an_error_of_the_script(call: str, parameter: str) -> None:
    with pytest.raises(HandlerError, match=rf"TypeError: .*\(\): {parameter} may not be None"):
        result(f"import bpy\n{call}")


def test_what_takes_none_still_does() -> None:
    assert result("import bpy\nresult = bpy.data.objects.new('e', None).type") == "EMPTY"
