# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of evaluated copies and what is lent in a loop over instances: gone after it, and told so."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError

from support.sandboxing.scripts import result

_COPY = (
    "o = bpy.context.object\no.modifiers.new('a', 'BEVEL')\nbpy.context.view_layer.update()\n"
    "d = bpy.context.evaluated_depsgraph_get()\ne = o.evaluated_get(d)\n"
)
_CHANGE = "o.modifiers[0].segments = 4\no.modifiers.new('b', 'SUBSURF')\no.data.update()\n"
_UPDATE = "bpy.context.view_layer.update()"
_INSTANCES = (
    "c = bpy.data.collections.new('c')\nc.objects.link(bpy.data.objects['Cube'])\n"
    "bpy.ops.object.empty_add()\nn = bpy.context.object\nn.instance_type = 'COLLECTION'\nn.instance_collection = c\n"
    "d = bpy.context.evaluated_depsgraph_get()\n"
)


pytestmark = pytest.mark.usefixtures("fresh_file")


@pytest.mark.parametrize(
    ("take", "evaluate", "use"),
    [
        ("e.data.vertices[0]", _UPDATE, "x.co"),
        ("e.data.vertices[0]", "bpy.context.evaluated_depsgraph_get()", "x.co"),
        ("e.data.vertices[0]", "d.update()", "x.co"),
        ("e.data.vertices[0]", "bpy.context.scene.frame_set(3)", "x.co"),
        ("e.data.vertices[0]", "bpy.ops.mesh.primitive_cube_add()", "x.co"),
        ("e.data.vertices[0]", "bpy.ops.object.select_all(action='DESELECT')", "x.co"),
        ("e.data.vertices[0].co", _UPDATE, "x.x"),
        ("e.modifiers[0]", f"o.modifiers.clear()\n{_UPDATE}", "x.name"),
        ("e.to_mesh().vertices[0]", _UPDATE, "x.co"),
        ("e.modifiers[0]", f"bpy.data.objects.remove(o)\n{_UPDATE}", "x.name"),
        (
            "bpy.data.materials['Material'].evaluated_get(d).node_tree.nodes[0]",
            f"bpy.data.materials['Material'].node_tree.nodes.clear()\n{_UPDATE}",
            "x.name",
        ),
    ],
)
def test_parts_of_evaluated_copies_are_gone_after_another_evaluation(
    take: str, evaluate: str, use: str
) -> None:
    change = "" if "remove" in evaluate or "clear" in evaluate else _CHANGE
    with pytest.raises(HandlerError, match="has been removed"):
        result(f"{_COPY}x = {take}\n{change}{evaluate}\n{use}")


def test_parts_of_evaluated_copies_go_with_their_view_layer() -> None:
    with pytest.raises(HandlerError, match="RenderSettings has been removed"):
        result(
            "s = bpy.context.scene\nv = s.view_layers.new('v')\nv.update()\nx = v.depsgraph.scene_eval.render\n"
            "s.view_layers.remove(v)\nx.fps"
        )


@pytest.mark.parametrize("use", ["len(x)", "list(x)"])
def test_collections_of_an_evaluated_copy_go_with_another_evaluation(use: str) -> None:
    with pytest.raises(HandlerError, match="bpy_prop_collection has been removed"):
        result(f"{_COPY}x = e.data.vertices\n{_CHANGE}{_UPDATE}\n{use}")


@pytest.mark.parametrize("take", ["d", "d.updates", "d.ids"])
def test_a_depsgraph_goes_with_its_scene(take: str) -> None:
    """No data-block owns it that could be asked."""
    with pytest.raises(HandlerError, match="has been removed"):
        result(
            "s = bpy.data.scenes.new('s')\nold = bpy.context.window.scene\nbpy.context.window.scene = s\n"
            f"d = bpy.context.evaluated_depsgraph_get()\nx = {take}\nbpy.context.window.scene = old\n"
            "bpy.data.scenes.remove(s)\nx.mode if x == d else x[:]"
        )


def test_a_depsgraph_stays_when_other_scenes_go() -> None:
    assert (
        result(
            "d = bpy.context.evaluated_depsgraph_get()\nbpy.data.scenes.remove(bpy.data.scenes.new('s'))\n"
            "bpy.ops.object.delete()\nresult = d.mode"
        )
        == "VIEWPORT"
    )


def test_evaluated_copies_stay_with_all_that_is_still_there() -> None:
    """What was not evaluated anew, the copies themselves, and what belongs to the originals."""
    assert result(
        f"{_COPY}m, y, w = e.matrix_world, o.data.vertices[0], e.modifiers[0]\n"
        "light = bpy.data.objects['Light'].evaluated_get(d).data\nx = light.node_tree\n"
        f"{_UPDATE}\nbpy.context.evaluated_depsgraph_get()\nbpy.data.objects['Camera'].location.x = 1\n{_UPDATE}\n"
        "result = [w.name, m[0][0], list(y.co), e.name, light.name]"
    ) == ["a", 1.0, [1.0, 1.0, 1.0], "Cube", "Light"]


def test_frames_are_gone_through_with_evaluated_copies() -> None:
    assert result(
        f"{_COPY}o.keyframe_insert('location', frame=1)\no.location.x = 10\no.keyframe_insert('location', frame=11)\n"
        "seen = []\nfor frame in (1, 6, 11):\n    bpy.context.scene.frame_set(frame)\n"
        "    m = e.to_mesh()\n    seen.append([round(e.matrix_world.translation.x), len([v.co for v in m.vertices])])\n"
        "    e.to_mesh_clear()\nresult = seen"
    ) == [[0, 24], [5, 24], [10, 24]]


# --- instances ----------------------------------------------------------------------------------------------


def test_instances_are_gone_through() -> None:
    assert result(
        f"{_INSTANCES}result = [len(d.object_instances), sorted(i.object.name for i in d.object_instances),\n"
        "    [i.object.data.name for i in d.object_instances if i.is_instance],\n"
        "    [i.instance_object.name for i in d.object_instances if i.is_instance]]"
    ) == [5, ["Camera", "Cube", "Cube", "Empty", "Light"], ["Cube"], ["Cube"]]


@pytest.mark.parametrize(
    ("lent", "use"),
    [
        ("i.object", "x[0].name"),
        ("i.object.matrix_world", "x[0][0][0]"),
        ("i.object.location", "x[0].x"),
        ("i.object.modifiers", "x[0]['a']"),
        ("i.object.display", "x[0].show_shadows"),
    ],
)
def test_the_object_of_an_instance_is_gone_after_the_loop(lent: str, use: str) -> None:
    with pytest.raises(HandlerError, match=r"has been removed|not found"):
        result(f"{_INSTANCES}x = [{lent} for i in d.object_instances if i.is_instance]\n{use}")


def test_the_object_of_an_instance_is_gone_after_a_loop_that_was_left() -> None:
    with pytest.raises(HandlerError, match="has been removed"):
        result(
            f"{_INSTANCES}for i in d.object_instances:\n    if i.is_instance:\n        x = i.object\n        break\n"
            "x.name"
        )


def test_the_object_of_an_instance_is_for_loops_only() -> None:
    with pytest.raises(HandlerError, match="has been removed"):
        result(f"{_INSTANCES}[i.object for i in list(d.object_instances)]")


def test_instances_are_not_gone_through_while_the_scene_is_evaluated() -> None:
    with pytest.raises(HandlerError, match="evaluated in a loop over its object_instances"):
        result(f"{_INSTANCES}for i in d.object_instances:\n    {_UPDATE}")
