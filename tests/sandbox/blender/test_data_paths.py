# SPDX-License-Identifier: GPL-3.0-or-later
"""Data paths and whole collections reach what attributes reach, and no more."""

from __future__ import annotations

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import BridgeError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender import host
from bl_ext.user_default.mcp_bridge.sandbox.blender.properties.writers import INDICES
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork

_WARM = host
_ACTION = """
def curves_of(block):
    a = bpy.data.actions.new('a')
    block.animation_data_create().action = a
    if hasattr(a, 'fcurves'):
        return a.fcurves
    slot = a.slots.new(block.id_type, 'a')
    block.animation_data.action_slot = slot
    return a.layers.new('a').strips.new(type='KEYFRAME').channelbag(slot, ensure=True).fcurves
"""


@pytest.fixture(autouse=True)
def _fresh() -> None:
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    execute._rate.clear()


def result(script: str) -> object:
    code = f"import bpy\no = bpy.context.object\nn = len(bpy.data.objects)\n{_ACTION}\n{script}"
    return execute.execute_blender_code({"code": code})["result"]


def _of_an_add_on(script: str) -> tuple[str, list[str]]:
    """What the bridge says to the script, and which functions of an add-on ran."""

    def attempt() -> tuple[str, list[str]]:
        ran: list[str] = []

        def get(_self: object) -> float:
            ran.append("get")
            return 1.0

        kind = bpy.types.Object
        kind.asked = bpy.props.FloatProperty(get=get, set=lambda _self, _new: ran.append("set"))
        kind.told = bpy.props.FloatProperty(update=lambda _self, _context: ran.append("update"))
        bpy.types.ShaderNodeMath.asked = bpy.props.FloatProperty(get=get)
        tree = bpy.context.object.active_material.node_tree
        assert tree.nodes[0].bl_idname != "ShaderNodeMath"
        tree.nodes.new("ShaderNodeMath")
        bpy.context.object["self"] = bpy.context.object
        try:
            return f"{result(script)}", ran
        except PolicyError as error:
            return str(error), ran

    return fork.run(attempt)


_VARIABLE = "v = o.driver_add('location', 0).driver.variables.new()\nv.targets[0].id = o\n"


@pytest.mark.parametrize(
    "script",
    [
        "bpy.data.objects.foreach_get('asked', [0.0] * n)",
        "bpy.data.objects.foreach_set('asked', [0.0] * n)",
        "bpy.context.scene.objects.foreach_get('asked', [0.0] * n)",
        "nodes = o.active_material.node_tree.nodes\nnodes.foreach_get('asked', [0.0] * len(nodes))",
        "bpy.data.objects.foreach_set('[\"told\"]', [0.0] * n)",
        "bpy.data.objects.foreach_get('[\"self\"].asked', [0.0] * n)",
        "o.keyframe_insert('asked')",
        "bpy.context.scene.keyframe_insert('objects[0].asked')",
        "o.driver_add('asked')",
        "o.driver_add('[\"self\"].asked')",
        "o.driver_add('location', 0)\no.animation_data.drivers[0].data_path = 'told'",
        "o.animation_data_create().drivers.new('asked')",
        "curves_of(o).new('asked')",
        "curves_of(o).new('parent.asked')",
        "curves_of(o).new('location').data_path = 'active_material.node_tree.nodes[\"Math\"].asked'",
        "bpy.context.scene.keying_sets.new(name='k').paths.add(o, 'asked')",
        _VARIABLE + "v.targets[0].data_path = 'asked'",
        _VARIABLE + "v.targets[0].data_path = '[\"self\"].told'",
        _VARIABLE + "v.targets[0].data_path = 'parent.asked'",
        _VARIABLE
        + "t = v.targets[0]; t.id_type = 'MESH'; t.id = o.data; t.data_path = 'asked'; t.id_type = 'OBJECT'; t.id = o",
        _VARIABLE + "t = v.targets[0]; t.id = None; t.data_path = 'asked'",
        _VARIABLE + "v.type = 'CONTEXT_PROP'\nv.targets[0].data_path = 'view_layers[0].objects.active.asked'",
    ],
)
def test_no_code_of_an_add_on_runs(script: str) -> None:
    told, ran = _of_an_add_on(script)
    assert "add-on" in told or "not on the list" in told
    assert ran == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "o.modifiers.new('Cloth', 'CLOTH')\no.driver_add('modifiers[\"Cloth\"].point_cache.use_disk_cache')",
            "PointCache.use_disk_cache",
        ),
        ("curves_of(o.data).new('loops[0].vertex_index')", "one by one"),
        ("curves_of(o).new('data.loops[0].vertex_index')", "one by one"),
        ("o.data.keyframe_insert('polygons[0].loop_start')", "one by one"),
        ("curves_of(o.data).new('attributes[\".corner_vert\"].data[0].value')", "one by one"),
        ("o.data.keyframe_insert('attributes[1].data[0].value')", "one by one"),
        ("o.data.attributes['.corner_vert'].driver_add('data[0].value')", "one by one"),
        ("bpy.data.particles.new('p')\nbpy.data.particles.foreach_set('count', [10**7])", "200000"),
        ("bpy.data.images.foreach_set('generated_width', [65536] * len(bpy.data.images))", "value|pixels"),
        (
            "c = bpy.data.curves.new('c', 'CURVE')\nc.splines.new('BEZIER')\nc.splines.foreach_set('type', [0])",
            "item by item",
        ),
    ],
)
def test_what_attributes_do_not_reach_is_refused(script: str, reason: str) -> None:
    if "generated_width" in script:
        bpy.data.images.new("large", 8, 65536)
    with pytest.raises(BridgeError, match=reason):
        result(script)


def _looks_at(collection: str, name: str) -> bool:
    """Whether the sandbox refuses a driver of this property of a mesh's part because it looks at each value."""
    execute._rate.clear()
    try:
        result(f"o.data.driver_add('{collection}[0].{name}')")
    except BridgeError as error:  # also Blender's own, if it animates no such property
        return "one by one" in str(error)
    return False


def test_no_curve_writes_an_index_of_a_mesh() -> None:
    parts = {"MeshVertex": "vertices", "MeshEdge": "edges", "MeshPolygon": "polygons", "MeshLoop": "loops"}
    written = [(struct, name) for struct in parts for name in policy("blender").writable(struct)]
    refused = {f"{struct}.{name}" for struct, name in written if _looks_at(parts[struct], name)}
    assert refused == INDICES.keys()
    assert len(written) > 2 * len(refused)


@pytest.mark.parametrize(
    "path",
    [
        "location",
        "location[0]",
        "data.name",
        '["own"]',
        '["own"]["deeper"]',
        'modifiers["Array"].count',
        'modifiers["GeometryNodes"]["Socket_2"]',
        'modifiers["GeometryNodes"].properties.inputs.Socket_2.value',
        'constraints["Copy"].influence',
        'pose.bones["Arm"].constraints["IK"].influence',
        'pose.bones["Arm"]["own"]',
        'key_blocks["Smile"].value',
        'nodes["Principled BSDF"].inputs["Roughness"].default_value',
        'node_tree.nodes["Value"].outputs[0].default_value',
        "data.shape_keys.eval_time",
        "scale",
        'modifiers["Cast"].factor',
        'nodes["Mix"].mode',
        "energy",
        "color",
        "dof.focus_distance",
        "cycles.samples",
        "eevee.taa_samples",
        "render.resolution_x",
        'view_layers["ViewLayer"].use',
        "splines[0].bezier_points[0].co",
        "no_such_property",
    ],
)
def test_honest_paths_are_taken(path: str) -> None:
    """As curves of an action that may become any data-block's, and as what a driver reads."""
    quoted = repr(path)
    script = f"curves_of(o).new({quoted})\n{_VARIABLE}v.targets[0].data_path = {quoted}\nresult = 1"
    assert result(script) == 1


def test_a_path_that_was_taken_is_refused_once_an_add_on_has_it() -> None:
    """What a run found lasts where nothing can stand before it, and only there."""

    def attempt() -> list[str]:
        told = []
        for _ in range(2):
            for path in ("location", "asked", "data.asked", '["asked"]'):
                try:
                    told.append(f"{result(f'o.keyframe_delete({path!r})')}")
                except BridgeError as error:
                    told.append(
                        "refused" if "add-on" in str(error) or "not on the list" in str(error) else ""
                    )
            bpy.types.Object.asked = bpy.props.FloatProperty()
            bpy.types.Mesh.asked = bpy.props.FloatProperty()
        return told

    assert fork.run(attempt) == ["", "", "", "", "", "refused", "refused", "refused"]


def test_items_whose_values_are_looked_at_are_set_one_by_one() -> None:
    script = (
        "m = bpy.data.metaballs.new('m')\nfor i in range(3): m.elements.new()\n"
        "m.elements.foreach_set('radius', [1.0, 2.0, 3.0])\n"
        "m.elements.foreach_set('co', [float(i) for i in range(9)])\n"
        "result = [[e.radius, *e.co] for e in m.elements]"
    )
    assert result(script) == [[1.0, 0.0, 1.0, 2.0], [2.0, 3.0, 4.0, 5.0], [3.0, 6.0, 7.0, 8.0]]


def test_what_the_first_item_does_not_have_is_told() -> None:
    with pytest.raises(BridgeError, match="'BevelModifier' object has no attribute 'count'"):
        result("for t in ('BEVEL', 'ARRAY'): o.modifiers.new(t, t)\no.modifiers.foreach_set('count', [2, 2])")


def test_a_sequence_of_another_length_is_told() -> None:
    with pytest.raises(BridgeError, match="2 values for 1 items of 1"):
        result(
            "m = bpy.data.metaballs.new('m')\nm.elements.new()\nm.elements.foreach_set('radius', [1.0, 2.0])"
        )
