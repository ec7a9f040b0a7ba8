# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments that Blender follows without a look: items of other collections, parts of others, indices and NaN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.blender.access import members
from bl_ext.user_default.mcp_bridge.sandbox.blender.functions import finite, items
from bl_ext.user_default.mcp_bridge.sandbox.facts.members import names
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")

_VERSION = bpy.app.version
_HAS_GROUPS = "remove" in bpy.types.Lightgroups.bl_rna.functions

_START = """
import math, numpy as np
D, S, C = bpy.data, bpy.context.scene, bpy.context
cube, nan, LAYER = D.objects['Cube'], float('nan'), bpy.context.view_layer
def two(new): return new('a'), new('b')
def objects(): return two(lambda n: D.objects.new(n, D.meshes.new(n)))
def node_groups(): return two(lambda n: D.node_groups.new(n, 'ShaderNodeTree'))
def drawings(): return two((D.grease_pencils_v3 if hasattr(D, 'grease_pencils_v3') else D.grease_pencils).new)
def channels(name):
    of = D.objects.new(name, None)
    of.keyframe_insert('location')
    action = of.animation_data.action
    if bpy.app.version < (4, 4): return action.fcurves
    return action.layers[0].strips[0].channelbags[0].fcurves
def strips(scene):
    editor = scene.sequence_editor_create()
    return editor.strips if bpy.app.version >= (4, 4) else editor.sequences
def within(meta): return meta.strips if bpy.app.version >= (4, 4) else meta.sequences
"""


def _tried(code: str) -> Any:
    """Run a script in a fork, let Blender work on what it left, and return its result or error as a text."""

    def run() -> Any:
        fork.overwrite_freed()
        try:
            return result(_START + code)
        except (HandlerError, PolicyError) as error:
            return str(error)
        finally:
            bpy.context.view_layer.update()
            bpy.context.scene.frame_set(3)
            bpy.ops.wm.read_homefile(use_factory_startup=True)

    return fork.run(run)


def _if(condition: bool, *cases: Any) -> list[Any]:
    return list(cases) if condition else []


# --- the rules see every function ------------------------------------------------------------------------------


def _functions() -> Iterator[tuple[type, str, str]]:
    """Every function that a script may call, with the type that it belongs to, and its path."""
    for name in sorted(dir(bpy.types)):
        kind = getattr(bpy.types, name)
        rna = getattr(kind, "bl_rna", None)
        if isinstance(kind, type) and rna is not None and rna.identifier == name:
            for each in sorted(policy("blender").callable(name).intersection(rna.functions.keys())):
                yield kind, each, f"{name}.{each}"


def _collections() -> dict[str, set[str]]:
    """The structs of items, with their bases, by the struct of each collection's own functions."""
    found: dict[str, set[str]] = {}
    for name in dir(bpy.types):
        rna = getattr(getattr(bpy.types, name), "bl_rna", None)
        for prop in rna.properties if rna is not None else ():
            item = prop.fixed_type if prop.type == "COLLECTION" and prop.srna else None
            while item is not None:
                found.setdefault(prop.srna.identifier, set()).add(item.identifier)
                item = item.base
    return found


def test_each_function_that_takes_an_item_of_its_collection_is_checked() -> None:
    kinds, seen = _collections(), set()
    left = names("functions that take another's item") | names("functions that search their collection")
    for kind, name, path in _functions():
        for parameter in kind.bl_rna.functions[name].parameters:
            if parameter.is_output or parameter.type != "POINTER" or kind.__name__ not in kinds:
                continue
            fixed = parameter.fixed_type.identifier
            if fixed not in kinds[kind.__name__] or issubclass(getattr(bpy.types, fixed), bpy.types.ID):
                continue
            assert (parameter.identifier in items.own_items(path)) == (path not in left), path
            assert path in left or not members("blender").access(kind, name).plain_read, path
            seen.add(path)
    assert len(seen) > 50
    assert {"KeyingSetPaths.remove", "BoneCollections.remove", "CameraBackgroundImages.remove"} <= seen
    assert {"BoneCollections.new", "NlaTracks.new", "ViewLayers.remove"} <= seen
    assert ("Lightgroups.remove" in seen) == _HAS_GROUPS


def test_each_function_that_takes_a_part_of_its_data_block_is_checked() -> None:
    found = [path for kind, name, path in _functions() if items.given_parts(path)]
    assert {"NodeTreeInterface.move_to_parent", "NodeTreeInterface.remove"} <= set(found)
    kinds = _collections()
    for kind, name, path in _functions():
        assert kind.__name__ in kinds or not items.own_items(path), path
        assert not items.given_parts(path) or not members("blender").access(kind, name).plain_read, path


def test_each_function_that_takes_a_float_is_checked() -> None:
    found = [(kind, name, path) for kind, name, path in _functions() if finite.takes_floats(path)]
    assert {"Scene.frame_set", "FCurve.evaluate"} <= {path for *_rest, path in found}
    for kind, name, path in found:
        assert not members("blender").access(kind, name).plain_read, path


# --- items of other collections --------------------------------------------------------------------------------

_ELSEWHERE = [
    "a, b = two(lambda n: S.keying_sets.new(name=n))\na.paths.remove(b.paths.add(cube, 'scale'))",
    "a, b = two(D.armatures.new)\nb.collections.remove(a.collections.new('c'))",
    "a, b = two(D.armatures.new)\nb.collections.new('d', parent=a.collections.new('c'))",
    "a, b = two(D.cameras.new)\nb.background_images.remove(a.background_images.new())",
    *_if(
        _HAS_GROUPS,
        "w = D.scenes.new('s').view_layers[0]\nw.lightgroups.remove(LAYER.lightgroups.add(name='a'))",
        "w = S.view_layers.new('s')\nw.lightgroups.remove(lightgroup=LAYER.lightgroups.add(name='a'))",
    ),
    "w = S.view_layers.new('s')\nw.aovs.remove(LAYER.aovs.add())",
    "a, b = two(D.scenes.new)\na.view_layers.remove(b.view_layers.new('v'))",
    "a, b = two(D.scenes.new)\na.render.views.remove(b.render.views.new('v'))",
    "a, b = objects()\na.modifiers.remove(b.modifiers.new('x', 'ARRAY'))",
    "a, b = objects()\na.constraints.remove(b.constraints.new('IK'))",
    "a, b = objects()\na.data.attributes.remove(b.data.attributes.new('q', 'FLOAT', 'POINT'))",
    "a, b = objects()\na.data.uv_layers.remove(b.data.uv_layers.new(name='q'))",
    "a, b = two(D.masks.new)\na.layers.remove(b.layers.new(name='x'))",
    "m = D.masks.new('m')\na, b = (m.layers.new(name=n) for n in 'ab')\na.splines.remove(b.splines.new())",
    "a, b = two(D.linestyles.new)\na.color_modifiers.remove(b.color_modifiers.new('x', 'NOISE'))",
    "a, b = (D.objects.new(n, None).animation_data_create().nla_tracks for n in 'ab')\na.remove(b.new())",
    "a, b = (D.objects.new(n, None).animation_data_create().nla_tracks for n in 'ab')\na.new(prev=b.new())",
    "a, b = two(channels)\na[0].modifiers.remove(b[0].modifiers.new('NOISE'))",
    "a, b = two(channels)\na[0].modifiers.remove(a[1].modifiers.new('NOISE'))",
    "a, b = (cube.driver_add('location', i).driver for i in (0, 1))\na.variables.remove(b.variables.new())",
    "a, b = (D.textures.new(n, 'NOISE') for n in 'ab')\nfor t in (a, b): t.use_color_ramp = True\n"
    "a.color_ramp.elements.remove(b.color_ramp.elements.new(.5))",
    "a, b = node_groups()\na = a.nodes.new('ShaderNodeRGBCurve').mapping.curves\n"
    "a[0].points.remove(a[1].points.new(.5, .5))",
    "a, b = strips(S), strips(D.scenes.new('s'))\nm = b.new_scene('m', D.scenes.new('o'), 1, 1)\n"
    "end = {'frame_end': 9} if bpy.app.version < (5, 0) else {'length': 9}\n"
    f"a.new_effect('e', 'SPEED', 2, 1, **end, {'seq1' if _VERSION < (4, 4) else 'input1'}=m)",
    *_if(
        _VERSION >= (4, 4),
        "a, b = two(D.actions.new)\na.slots.remove(b.slots.new(id_type='OBJECT', name='x'))",
        "a, b = two(D.actions.new)\na.layers.remove(b.layers.new('x'))",
        "a, b = two(lambda n: D.actions.new(n).layers.new(n).strips)\na.remove(b.new(type='KEYFRAME'))",
    ),
    *_if(
        _VERSION >= (4, 3),
        *(
            f"g, h = drawings()\na, b, l = g.layer_groups.new('a'), h.layer_groups.new('b'), h.layers.new('l')\n{call}"
            for call in (
                "g.layer_groups.move_to_layer_group(b, a)",
                "g.layer_groups.move_to_layer_group(a, b)",
                "g.layers.move_to_layer_group(l, a)",
                "g.layer_groups.new('z', parent_group=b)",
                "g.layers.remove(l)",
                "g.layers.move(l, 'UP')",
                "g.layers.move_top(l)",
                "g.layers.move_bottom(layer=l)",
                "g.layer_groups.remove(b)",
                "g.layer_groups.move(b, 'UP')",
                "g.layer_groups.move_top(b)",
                "g.layer_groups.move_bottom(b)",
            )
        ),
    ),
]


@pytest.mark.parametrize("code", _ELSEWHERE)
def test_an_item_of_another_collection_is_an_error_of_the_script(code: str) -> None:
    said = _tried(code)
    assert "RuntimeError: " in said
    assert "is not in this collection: call it on the collection that holds it" in said


@pytest.mark.parametrize(
    "code",
    [
        "a, b = node_groups()\na.nodes.remove(b.nodes.new('NodeReroute'))",
        "a, b = node_groups()\nx, y = (b.nodes.new('NodeReroute') for _ in 'xy')\n"
        "a.links.remove(b.links.new(x.inputs[0], y.outputs[0]))",
        "a, b = node_groups()\nb.interface.new_socket('z', parent=a.interface.new_panel('x'))",
        "a, b = two(channels)\na.remove(b[0])",
        "a, b = two(channels)\na[0].keyframe_points.remove(b[0].keyframe_points[0])",
        "a, b = two(channels)\na[0].keyframe_points.remove(a[1].keyframe_points[0])",
        "a, b = objects()\na.animation_data_create().drivers.remove(b.driver_add('location', 0))",
        "a, b = objects()\na.vertex_groups.remove(b.vertex_groups.new(name='x'))",
        "a, b = two(lambda n: D.curves.new(n, 'CURVE'))\na.splines.remove(b.splines.new('POLY'))",
        "a, b = two(D.scenes.new)\na.timeline_markers.remove(b.timeline_markers.new('x'))",
        "a, b = two(D.actions.new)\na.pose_markers.remove(b.pose_markers.new('x'))",
        "a, b = two(D.metaballs.new)\na.elements.remove(b.elements.new())",
        "a, b = two(D.palettes.new)\na.colors.remove(b.colors.new())",
        "a, b = two(D.scenes.new)\nstrips(a).remove(strips(b).new_meta('m', 1, 1))",
        "a = strips(S)\na.remove(within(a.new_meta('m', 1, 1)).new_meta('n', 1, 1))",
        "a = strips(S)\nwithin(a.new_meta('m', 1, 1)).remove(a.new_meta('n', 1, 1))",
        "a, b = two(D.armatures.new)\nfor n in (a, b): S.collection.objects.link(D.objects.new(n.name, n))\n"
        "for n in 'ab': D.objects[n].select_set(True)\nLAYER.objects.active = D.objects['a']\n"
        "cube.select_set(False)\nbpy.ops.object.mode_set(mode='EDIT')\n"
        "a.edit_bones.remove(b.edit_bones.new('x'))",
        *_if(
            _VERSION < (4, 3),
            "l = D.grease_pencils.new('g').layers.new('l')\na, b = l.frames.new(1), l.frames.new(2)\n"
            "a.strokes.remove(b.strokes.new())",
        ),
    ],
)
def test_blender_itself_searches_long_collections(code: str) -> None:
    assert "RuntimeError: " in _tried(code)


@pytest.mark.parametrize(
    "code",
    [
        "a, b = node_groups()\nb.interface.move_to_parent(a.interface.new_panel('x'), b.interface.new_panel('y'), 0)",
        "a, b = node_groups()\nb.interface.remove(a.interface.new_panel('x'))",
        "a, b = strips(S), strips(D.scenes.new('s'))\na.new_meta('m', 1, 1).swap(b.new_meta('m', 1, 1))",
        "a, b = strips(S), strips(D.scenes.new('s'))\nS.sequence_editor.display_stack(b.new_meta('m', 1, 1))",
        *_if(
            _VERSION >= (4, 4),
            "a, b = two(D.actions.new)\ns = b.slots.new(id_type='OBJECT', name='x')\n"
            "a.layers.new('l').strips.new(type='KEYFRAME').channelbag(s, ensure=True)",
        ),
        *_if(
            _VERSION >= (4, 3),
            "g, h = drawings()\ng.layers.new('z', layer_group=h.layer_groups.new('b'))",
            "g, h = drawings()\ng.layers.move_to_layer_group(g.layers.new('l'), h.layer_groups.new('b'))",
        ),
    ],
)
def test_a_part_of_another_data_block_is_an_error_of_the_script(code: str) -> None:
    said = _tried(code)
    assert "RuntimeError: " in said
    assert "give what belongs to '" in said


@pytest.mark.skipif(_VERSION < (4, 3), reason="layers have no groups")
@pytest.mark.parametrize("parent", ["a", "b", "c"])
def test_a_group_does_not_hold_itself(parent: str) -> None:
    said = _tried(
        "g = drawings()[0].layer_groups\na = g.new('a')\nb = g.new('b', parent_group=a)\n"
        f"c = g.new('c', parent_group=b)\ng.move_to_layer_group(a, {parent})"
    )
    assert "'a' would hold itself: choose a group outside of it" in said


@pytest.mark.parametrize(
    ("code", "now"),
    [
        ("a = D.cameras.new('a').background_images\na.remove(a.new())\nresult = len(a)", 0),
        ("a = S.keying_sets.new(name='a').paths\na.remove(a.add(cube, 'scale'))\nresult = len(a)", 0),
        (
            "a = D.armatures.new('a').collections\nc = a.new('c')\na.remove(a.new('d', parent=c))\nresult = len(a)",
            1,
        ),
        *_if(
            _HAS_GROUPS,
            ("l = LAYER.lightgroups\nl.remove(l.add(name='a'))\nresult = len(l)", 0),
        ),
        (
            "a = cube.modifiers\nx, y = a.new('x', 'ARRAY'), a.new('y', 'ARRAY')\na.remove(x)\nresult = len(a)",
            1,
        ),
        (
            "a = cube.data.attributes\na.new('x', 'FLOAT', 'POINT')\na.remove(a['x'])\nresult = 'x' in a",
            False,
        ),
        (
            "a = cube.data.color_attributes\na.new('x', 'BYTE_COLOR', 'CORNER')\na.remove(a.active_color)\nresult = 1",
            1,
        ),
        ("a, b = objects()\na.constraints.copy(b.constraints.new('IK'))\nresult = len(a.constraints)", 1),
        (
            "a, b = objects()\nd = a.animation_data_create().drivers\n"
            "d.from_existing(src_driver=b.driver_add('location', 0))\nresult = len(d)",
            1,
        ),
        (
            "c = cube.constraints\nx, y = c.new('IK'), c.new('IK')\nx.name = ''\nc.remove(x)\nresult = len(c)",
            1,
        ),
        (
            "t = D.textures.new('t', 'NOISE')\nt.use_color_ramp = True\ne = t.color_ramp.elements\n"
            "for _ in range(8): e.remove(e.new(.5))\nresult = len(e)",
            2,
        ),
        (
            "a = node_groups()[0].nodes\nfor _ in range(500): a.new('NodeReroute')\n"
            "for n in list(a): a.remove(n)\nresult = len(a)",
            0,
        ),
        *_if(
            _VERSION >= (4, 3),
            (
                "g = drawings()[0]\na, b, l = g.layer_groups.new('a'), g.layer_groups.new('b'), g.layers.new('l')\n"
                "g.layer_groups.move_to_layer_group(b, a)\ng.layers.move_to_layer_group(l, b)\ng.layers.move_top(l)\n"
                "result = [b.parent_group.name, l.parent_group.name]",
                ["a", "b"],
            ),
        ),
    ],
)
def test_items_of_the_collection_are_taken(code: str, now: Any) -> None:
    assert _tried(code) == now


# --- indices ---------------------------------------------------------------------------------------------------

_GROUP = {
    "mesh": "o = cube\n",
    "lattice": "o = D.objects.new('l', D.lattices.new('l'))\n",
}


@pytest.mark.parametrize(
    "given", ["[-1]", "[8]", "[0, 2**31 - 1]", "np.array([0, 8])", "(-2**31,)", "range(9)", r"b'\x09'"]
)
@pytest.mark.parametrize("call", ["remove({})", "add({}, 1, 'REPLACE')", "remove(index={})"])
@pytest.mark.parametrize("kind", _GROUP)
def test_an_index_of_no_vertex_is_an_error_of_the_script(kind: str, call: str, given: str) -> None:
    said = _tried(
        f"{_GROUP[kind]}g = o.vertex_groups.new(name='a')\ng.add([1], 1, 'REPLACE')\ng.{call.format(given)}"
    )
    assert "IndexError: vertex index " in said


@pytest.mark.parametrize("index", [-1, 8, 2**31 - 1])
def test_no_vertex_has_a_weight(index: int) -> None:
    said = _tried(f"g = cube.vertex_groups.new(name='a')\ng.add([1], 1, 'REPLACE')\ng.weight({index})")
    assert "IndexError: vertex index " in said


def test_indices_of_vertices_are_taken() -> None:
    assert _tried(
        "g = cube.vertex_groups.new(name='a')\ng.add(range(8), .5, 'REPLACE')\ng.add((0, 1), 1, 'REPLACE')\n"
        "g.remove([3])\ng.remove([])\nresult = [g.weight(0), g.weight(7)]"
    ) == [1.0, 0.5]


# --- numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "S.frame_set(2, subframe=nan)",
        "S.frame_set(2, nan)",
        "S.frame_set(frame=2, subframe=np.float32('nan'))",
        "S.frame_float = nan",
        "S.frame_float = np.float32('nan')",
        "S.frame_float = float('inf')",
        "S.frame_subframe = nan",
        "cube.keyframe_insert('location', frame=nan)",
        "cube.keyframe_insert('location', -1, nan)",
        "channels('a')[0].evaluate(nan)",
        "channels('a')[0].keyframe_points.insert(nan, 1)",
        "channels('a')[0].keyframe_points.insert(1, value=nan)",
        "cube.ray_cast((0, nan, 0), (0, 0, 1))",
        "cube.ray_cast(np.full(3, nan, 'f'), (0, 0, 1))",
        "cube.closest_point_on_mesh(__import__('mathutils').Vector((nan, 0, 0)))",
    ],
)
def test_nan_is_an_error_of_the_script(code: str) -> None:
    if "__import__" in code:
        code = "import mathutils\n" + code.replace("__import__('mathutils')", "mathutils")
    said = _tried(f"cube.modifiers.new('p', 'PARTICLE_SYSTEM')\n{code}")
    assert "ValueError: " in said
    assert " is not a number" in said


def test_numbers_are_taken() -> None:
    assert _tried(
        "S.frame_set(2, subframe=.5)\nx = S.frame_float\nS.frame_float = 4\n"
        "cube.closest_point_on_mesh((0, 0, 0), distance=float('inf'))\n"
        "cube.keyframe_insert('location', frame=3.5, options={'INSERTKEY_NEEDED'})\nresult = [x, S.frame_float]"
    ) == [2.5, 4.0]


# --- single functions ------------------------------------------------------------------------------------------


@pytest.mark.skipif(_VERSION >= (5, 0), reason="Blender looks for no scene")
def test_a_render_slot_is_not_cleared_by_an_image_user_without_scene() -> None:
    code = "i = D.images.new('i', 8, 8)\nb = D.cameras[0].background_images.new()\nb.image = i\n"
    assert "make a new image" in _tried(f"{code}i.render_slots.new().clear(b.image_user)")


@pytest.mark.skipif(_VERSION < (4, 4), reason="scripts cannot retime strips")
def test_the_first_retiming_key_is_not_added_by_a_script() -> None:
    code = "s = strips(S).new_scene('s', D.scenes.new('o'), 3, 1)\n"
    assert "first retiming key" in _tried(f"{code}s.retiming_keys.add(timeline_frame=20)")


@pytest.mark.skipif(_VERSION[:2] != (5, 0), reason="only Blender 5.0 crashes")
@pytest.mark.parametrize("call", ["new('x', 'CURVES')", "new('x', 'MASK')", "clear()"])
def test_modifiers_of_strips_need_a_sequencer_scene(call: str) -> None:
    said = _tried(f"s = strips(S).new_effect('c', 'COLOR', 1, 1, length=20)\ns.modifiers.{call}")
    assert "sequencer scene" in said
