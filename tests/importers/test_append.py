# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a model's objects go, and that a single one leaves nothing when the user deletes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.importers import append
from bl_ext.user_default.mcp_bridge.importers.credit import Credit
from bl_ext.user_default.mcp_bridge.importers.opening.foreign import Clean

pytestmark = pytest.mark.usefixtures("empty_scene")

Bring = Callable[..., append.Imported]


@pytest.fixture
def bring(tmp_path: Path) -> Bring:
    """Append a model named Set, whose objects have these names."""

    def do(*names: str) -> append.Imported:
        made = bpy.data.collections.new("Set")
        for name in names:
            made.objects.link(bpy.data.objects.new(name, bpy.data.meshes.new(name)))
        blend = tmp_path / "set.blend"
        bpy.data.libraries.write(str(blend), {made})
        bpy.data.batch_remove([*made.objects, made])
        credit = Credit(service="Warehouse", id="set", title="Set", author="Ada", licence="CC0", url="")
        return append.append(Clean(blend, "Set", names, (1.0, 1.0, 1.0), {}), credit, (1.0, 2.0, 3.0))

    return do


def active() -> bpy.types.Collection:
    """A collection that is the active one."""
    made = bpy.data.collections.new("Mine")
    bpy.context.scene.collection.children.link(made)
    layer = bpy.context.view_layer
    layer.active_layer_collection = layer.layer_collection.children["Mine"]
    return made


def test_a_single_object_has_the_models_name_and_leaves_nothing(bring: Bring) -> None:
    mine = active()
    found = bring("Object_0")
    assert (found.collection, found.objects) == (None, ("Set",))
    assert mine.objects.keys() == ["Set"]
    assert [credit.title for credit in append.credits_of()] == ["Set"]
    bpy.data.objects.remove(mine.objects["Set"])
    assert bpy.data.collections.keys() == ["Mine"]
    assert append.credits_of() == []


@pytest.mark.parametrize("how", ["exclude", "hide_viewport"])
def test_a_single_object_is_seen_where_the_active_collection_is_not(bring: Bring, how: str) -> None:
    mine = active()
    setattr(bpy.context.view_layer.active_layer_collection, how, True)
    bring("Object_0")
    assert (mine.objects.keys(), bpy.context.scene.collection.objects.keys()) == ([], ["Set"])
    assert bpy.data.objects["Set"].visible_get()


def test_several_objects_stay_together(bring: Bring) -> None:
    found = bring("Table", "Vase")
    assert (found.collection, found.objects) == ("Set", ("Table", "Vase"))
    assert bpy.context.scene.collection.children.keys() == ["Set"]
    assert bpy.data.collections["Set"].objects.keys() == ["Table", "Vase"]
    assert [credit.title for credit in append.credits_of()] == ["Set"]


def test_what_is_marked_is_the_object_or_the_collection(bring: Bring) -> None:
    append.mark_model(bring("Object_0"))
    append.mark_model(bring("Table", "Vase"))
    marked = [item.name for item in (*bpy.data.objects, *bpy.data.collections) if item.asset_data]
    assert marked == ["Set", "Set"]
