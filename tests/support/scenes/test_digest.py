# SPDX-License-Identifier: GPL-3.0-or-later
"""The digest of a scene: what a script sets shows in it, and what the clock sets does not."""

from __future__ import annotations

import bpy
import pytest

from support.scenes import digest

pytestmark = pytest.mark.usefixtures("empty_scene")


def test_a_force_field_differs_by_what_is_set_alone() -> None:
    bpy.ops.object.effector_add(type="WIND")
    field = bpy.context.object.field
    field.seed = 3
    before = digest.scene()
    field.seed = 4  # Blender uses the clock's second if a script sets nothing
    assert digest.scene() == before
    field.strength += 1.0
    assert digest.scene() != before


def test_looking_makes_no_layer_and_sees_each_coordinate() -> None:
    bpy.ops.mesh.primitive_cube_add()
    mesh = bpy.context.object.data
    layers = [each.name for each in mesh.attributes]
    before = digest.scene()
    assert digest.scene() == before
    assert [each.name for each in mesh.attributes] == layers
    mesh.uv_layers.active.uv[5].vector.x += 0.25
    assert digest.scene() != before
