# SPDX-License-Identifier: GPL-3.0-or-later
"""References to what Blender has freed: none is read, and those that are still good stay good."""

from __future__ import annotations

import gc
import types
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError
from bl_ext.user_default.mcp_bridge.sandbox.blender.properties import readers
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import stale

from support.running import fork
from support.sandboxing.scripts import result

pytestmark = pytest.mark.usefixtures("fresh_file")


_BEVELLED = "o = bpy.context.object\nx = o.modifiers.new('a', 'BEVEL')"
_KEYS = (
    "o = bpy.context.object\nfor i in range(20): o.keyframe_insert('location', index=0, frame=i)\n"
    "a = o.animation_data.action\n"
    "f = (a.fcurves if bpy.app.version < (4, 4) else a.layers[0].strips[0].channelbags[0].fcurves)[0]\n"
)
_LIT = "o = bpy.context.object\nc = bpy.data.collections.new('c')\nc.objects.link(o)\nx = c.collection_objects[0]"


@pytest.mark.parametrize(
    ("take", "free", "use"),
    [
        ("me = bpy.context.object.data\nx = me.vertices[0]", "me.clear_geometry()", "x.co"),
        ("me = bpy.context.object.data\nx = me.vertices[0].co", "me.clear_geometry()", "x.x = 1"),
        ("o = bpy.context.object\nx = o.modifiers.new('a', 'BEVEL')", "o.modifiers.clear()", "x.width = 2"),
        (
            "n = bpy.data.materials['Material'].node_tree.nodes\nx = n['Principled BSDF'].inputs[0]",
            "n.clear()",
            "x.name",
        ),
        (
            "x = bpy.context.object.constraints.new('TRACK_TO')",
            "bpy.context.object.constraints.clear()",
            "x.name",
        ),
        (
            "a = bpy.data.armatures.new('a')\no = bpy.data.objects.new('a', a)\n"
            "bpy.context.collection.objects.link(o)\nbpy.context.view_layer.objects.active = o\n"
            "bpy.ops.object.mode_set(mode='EDIT')\nx = a.edit_bones.new('b')",
            "bpy.ops.mesh.primitive_cube_add()",
            "x.name",
        ),
        (
            "m = bpy.data.meshes.new('m')\nx = m.attributes.new('x', 'FLOAT', 'POINT')",
            "m.attributes.remove(m.attributes.new('y', 'FLOAT', 'POINT'))\nm.attributes.remove(m.attributes['x'])",
            "x.name",
        ),
        (
            "m = bpy.context.object.data\nbpy.ops.object.shade_flat()\nx = m.attributes.get('sharp_face')\n"
            "x = x or m.attributes.new('sharp_face', 'BOOLEAN', 'FACE')",
            "bpy.ops.object.shade_smooth()",
            "x.name",
        ),
        (
            "import bmesh\no = bpy.context.object\nfor _ in range(5): o.data.materials.append(None)\nb = bmesh.new()\n"
            "bmesh.ops.create_cube(b)\nfor i, f in enumerate(b.faces): f.material_index = i\n"
            "b.to_mesh(o.data)\nx = o.material_slots[5]",
            "bpy.ops.mesh.separate(type='MATERIAL')",
            "x.link",
        ),
        (
            _KEYS
            + "bpy.context.scene.tool_settings.use_keyframe_insert_auto = True\nx = f.keyframe_points[3]",
            "bpy.context.scene.frame_set(60)\nbpy.ops.transform.translate(value=(1, 0, 0))",
            "x.co",
        ),
        (
            "w = bpy.context.window_manager.windows[0]\na = next(a for a in w.screen.areas if a.type == 'VIEW_3D')\n"
            "with bpy.context.temp_override(window=w, area=a):\n    bpy.ops.transform.create_orientation(use=True)\n"
            "x = bpy.context.scene.transform_orientation_slots[0].custom_orientation",
            "with bpy.context.temp_override(window=w, area=a): bpy.ops.transform.delete_orientation()",
            "x.name",
        ),
        (
            "t = bpy.data.node_groups.new('g', 'GeometryNodeTree')\nn = t.nodes.new('GeometryNodeSwitch')\n"
            "n.input_type = 'STRING'\nx = n.inputs[1]",
            "n.input_type = 'FLOAT'",
            "x.default_value = 'A'",
        ),
        ("l = bpy.data.lattices.new('l')\nx = l.points[7]", "l.points_u = 9", "x.co_deform"),
        (
            "o = bpy.context.object\no.modifiers.new('p', 'PARTICLE_SYSTEM')\np = o.particle_systems[0].settings\n"
            "p.active_texture = bpy.data.textures.new('t', 'CLOUDS')\nx = p.texture_slots[0]",
            "p.active_texture = None",
            "x.use_map_time",
        ),
        (
            "c = bpy.data.curves.new('f', 'FONT')\nx = c.body_format[0]",
            "c.body = 'longer' * 99",
            "x.material_index",
        ),
        (
            "c = bpy.data.curves.new('c', 'CURVE')\nc.bevel_mode = 'PROFILE'\nc.bevel_profile.initialize(4)\n"
            "x = c.bevel_profile.segments[0]",
            "c.bevel_resolution = 9",
            "x.location",
        ),
        ("t = bpy.data.texts.new('t')\nt.write('a\\nb')\nx = t.lines[1]", "t.clear()", "x.body"),
        ("t = bpy.data.texts.new('t')\nt.write('a\\nb')\nx = t.lines[1]", "t.from_string('c')", "x.body"),
        (f"{_KEYS}x = f.keyframe_points[3]", "f.update()", "x.co"),
        (f"{_KEYS}x = f.keyframe_points[3].co", "f.update()", "x.x = 1"),
        (f"{_KEYS}x = f.keyframe_points[3]", "f.extrapolation = 'LINEAR'", "x.co"),
        (f"{_KEYS}x = f.keyframe_points[3]", "f.auto_smoothing = 'NONE'", "x.co = 1, 1"),
        (
            "m = bpy.context.object.data\nm.calc_loop_triangles()\nc = m.copy()\nx = m.loop_triangles[5]",
            "m.vertices[0].co.x = 5\nm.update()\nm.calc_loop_triangles()\nbpy.data.meshes.remove(c)",
            "x.polygon_index",
        ),
        # parts of data-blocks that are removed, with others sometimes
        (f"{_BEVELLED}", "bpy.data.objects.remove(o)", "x.name"),
        (f"{_BEVELLED}\nm = o.data", "bpy.data.meshes.remove(m)", "x.name"),
        ("o = bpy.context.object\nx = o.cycles", "bpy.data.objects.remove(o)", "x.use_motion_blur"),
        (f"{_BEVELLED}\ndel o", "bpy.ops.object.delete()", "x.name"),
        ("m = bpy.context.object.data\nx = m.vertices[0]", "bpy.data.meshes.remove(m)", "x.co"),
        ("m = bpy.context.object.data\nx = m.vertices[0].co", "bpy.data.meshes.remove(m)", "x.x"),
        (
            "o = bpy.context.object\nx = o.modifiers.new('a', 'PARTICLE_SYSTEM')\np = bpy.data.particles[0]",
            "bpy.data.particles.remove(p)",
            "x.name",
        ),
        (
            "m = bpy.data.materials['Material']\nx = m.node_tree.nodes[0]",
            "bpy.data.materials.remove(m)",
            "x.name",
        ),
        (
            "o = bpy.context.object\no.shape_key_add(name='a')\nx = o.data.shape_keys.key_blocks[0]",
            "o.shape_key_clear()",
            "x.name",
        ),
        ("o = bpy.context.object\nx = o.to_mesh().vertices[0]", "o.to_mesh_clear()", "x.co"),
        (f"{_LIT}", "c.objects.unlink(o)", "x.light_linking"),
        (f"{_LIT}\nx = x.light_linking", "bpy.data.objects.remove(o)", "x.link_state"),
        (f"{_LIT}\nm = o.data", "bpy.data.meshes.remove(m)", "x.light_linking"),
        (
            "s = bpy.context.scene.collection\nc = bpy.data.collections.new('c')\ns.children.link(c)\n"
            "x = s.collection_children[-1]",
            "s.children.unlink(c)",
            "x.light_linking",
        ),
        (
            "c = bpy.data.collections.new('c')\nbpy.context.scene.collection.children.link(c)\n"
            "x = bpy.context.view_layer.layer_collection.children['c']",
            "bpy.context.scene.collection.children.unlink(c)",
            "x.exclude",
        ),
        (
            "o = bpy.context.object\no.keyframe_insert('location', frame=1)\n"
            "a = o.animation_data.action\n"
            "x = (a.fcurves if bpy.app.version < (4, 4) else a.layers[0].strips[0].channelbags[0].fcurves)[0]",
            "bpy.data.actions.remove(a)",
            "x.data_path",
        ),
    ],
)
def test_stale_references_raise(take: str, free: str, use: str) -> None:
    with pytest.raises(HandlerError, match="has been removed") as caught:
        result(f"{take}\n{free}\n{use}")
    assert isinstance(caught.value.original, ReferenceError)


@pytest.mark.skipif(bpy.app.version >= (5, 2), reason="Blender 5.2 leaves the evaluated copy where it is")
def test_a_part_of_an_evaluated_copy_goes_with_it_or_is_that_of_the_new_copy() -> None:
    """Now and then Blender makes the new copy where the old one was: then the reference shows the new one."""
    script = (
        "o = bpy.data.objects['Light']\nd = bpy.context.evaluated_depsgraph_get()\n"
        "x = o.evaluated_get(d).data.cycles\n"
        "o.data.cycles.max_bounces = 7\no.data.energy += 1\nd.update()\n"
        "result = [x.max_bounces, x == o.evaluated_get(d).data.cycles]"
    )
    errors = set()
    for _ in range(10):
        try:
            assert result(script) == [7, True]
        except HandlerError as error:
            errors.add(repr(error.original))
    assert errors == {"ReferenceError('StructRNA of type CyclesLightSettings has been removed')"}


@pytest.mark.parametrize("function", ["s.collection.objects.link", "s.collection.children.link"])
def test_functions_of_what_a_removed_scene_has_inside_go_with_it(function: str) -> None:
    with pytest.raises(HandlerError, match="has been removed"):
        result(f"s = bpy.data.scenes.new('s')\nf = {function}\nbpy.data.scenes.remove(s)\nf(None)")


@pytest.mark.parametrize("held", ["{'m': o.modifiers}", "{'m': ((o.modifiers,),)}", "(1, (o.modifiers,))"])
def test_a_collection_is_found_in_what_the_collector_does_not_track(held: str) -> None:
    found = "held['m']" if held.startswith("{") else "held[1]"
    with pytest.raises(HandlerError, match="bpy_prop_collection has been removed"):
        result(
            "def first(value):\n    return first(value[0]) if type(value) is tuple else value\n"
            "o = bpy.data.objects.new('o', bpy.data.meshes.new('m'))\no.modifiers.new('a', 'SUBSURF')\n"
            f"held = {held}\n[[] for _ in range(5000)]\nbpy.data.objects.remove(o)\n"
            f"result = len(first({found}))"
        )


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("x.id_data", "ReferenceError"),
        ("True in x", "ReferenceError"),
        ("x[:]", "ReferenceError"),
        ("bpy.data.meshes.remove(m)", None),
    ],
)
def test_an_array_of_a_removed_object_says_so(use: str, expected: Any) -> None:
    """Blender looks up whose an array is, and what is in it, without looking if it is still there."""

    def run() -> Any:
        fork.overwrite_freed()
        try:
            return result(
                "o = bpy.data.objects.new('o', None)\nm = bpy.data.meshes.new('m')\no.lock_location[0] = True\n"
                f"x = o.lock_location\nbpy.data.objects.remove(o)\nresult = {use}"
            )
        except HandlerError as error:
            return type(error.original).__name__

    assert fork.run(run) == expected


@pytest.mark.parametrize(
    ("kinds", "reader"),
    [
        ({"LayerCollection", "CollectionObject", "CollectionChild", "TextLine"}, readers._read_following),
        ({"Keyframe"}, readers._read_animation),
    ],
)
def test_every_way_to_what_few_calls_free_is_told(kinds: set[str], reader: Any) -> None:
    for name in dir(bpy.types):
        rna = getattr(getattr(bpy.types, name), "bl_rna", None)
        for prop in rna.properties if rna is not None and name not in kinds else ():
            if prop.type in ("POINTER", "COLLECTION") and prop.fixed_type.identifier in kinds:
                assert readers.READERS[f"{name}.{prop.identifier}"] is reader
        for function in rna.functions if rna is not None else ():
            if function.identifier != "insert":  # of keyframes, which whoever has them was given
                assert not any(
                    getattr(each, "fixed_type", None) and each.fixed_type.identifier in kinds
                    for each in function.parameters
                    if each.is_output
                )


@pytest.mark.parametrize(
    ("held", "use"),
    [
        ("y = 1\ndel y\ny = v", "y.co"),
        ("v2 = 0\nfor v2 in [v]: pass", "v2.co"),
        ("def f(): return v2\nv2 = v", "f().co"),
        ("def f():\n    global late\n    late = v\nf()", "late.co"),
        ("class A: pass\nA.kept = v", "A.kept.co"),
        ("kept = {1: [v]}", "kept[1][0].co"),
        ("def g(v):\n    yield\n    yield v.co\nit = g(v)\nnext(it)", "next(it)"),
        ("f = lambda v=v: v.co", "f()"),
    ],
)
def test_what_a_script_holds_is_found_wherever_it_is(held: str, use: str) -> None:
    """The globals that are there before the script are passed over: none of the script's own may be among them."""
    code = f"me = bpy.context.object.data\nv = me.vertices[0]\n{held}\nv = None\nme.clear_geometry()\n"
    with pytest.raises(HandlerError, match="has been removed"):
        result(code + use)


def test_a_functions_variables_are_found_while_it_runs() -> None:
    with pytest.raises(HandlerError, match="has been removed"):
        result(
            "def use(v, me):\n    me.clear_geometry()\n    return v.co\n"
            "me = bpy.context.object.data\nuse(me.vertices[0], me)"
        )


def test_a_reference_stays_invalid_whatever_is_swept_after_it() -> None:
    with pytest.raises(HandlerError, match="has been removed"):
        result(
            "me = bpy.context.object.data\nx = me.vertices[0].co\ny = me.vertices[0]\nme.clear_geometry()\n"
            "bpy.context.object.modifiers.new('a', 'BEVEL')\nbpy.context.object.modifiers.clear()\ny.co"
        )


def test_a_link_that_was_replaced_is_gone_or_the_new_one() -> None:
    """Blender may give the new link the memory of the old one."""
    assert result(
        "t = bpy.data.node_groups.new('g', 'GeometryNodeTree')\n"
        "a, b, c = (t.nodes.new('ShaderNodeMath') for _ in range(3))\n"
        "x = t.links.new(a.outputs[0], c.inputs[0])\ny = t.links.new(b.outputs[0], c.inputs[0])\n"
        "try:\n    result = x.from_node == b and x == y\nexcept ReferenceError:\n    result = True"
    )


@pytest.mark.parametrize("use", ["len(x)", "[i for i in x]"])
def test_collections_of_what_is_gone_say_so(use: str) -> None:
    nodes = "n = bpy.data.materials['Material'].node_tree.nodes\nx = n['Principled BSDF'].inputs\nn.clear()\n"
    with pytest.raises(HandlerError, match="bpy_prop_collection has been removed"):
        result(nodes + use)


@pytest.mark.parametrize(
    "draw",
    [
        "iter(m)",
        "map(lambda each: each, m)",
        "itertools.chain(m, [None])",
        "itertools.chain.from_iterable([m])",
        "itertools.accumulate(m, lambda last, each: each)",
        "(each for each in getattr(o, 'modifiers'))",
        "(each for each in (m if m else ()))",
        "through()",
    ],
)
def test_a_collection_that_is_gone_through_may_be_emptied(draw: str) -> None:
    """Blender's own iterators go on from an item that is gone."""
    take = (
        "import itertools\no = bpy.context.object\nm = o.modifiers\nfor _ in range(9): m.new('a', 'BEVEL')\n"
        "def through():\n    yield from m\n"
    )
    with pytest.raises(HandlerError, match="BevelModifier has been removed"):
        result(f"{take}x = {draw}\nnext(x)\nm.clear()\n[each.name for each in x]")


def test_data_blocks_may_be_removed_while_they_are_gone_through() -> None:
    make = "for _ in range(9): bpy.data.texts.new('t')\n"
    assert (
        result(f"{make}for each in bpy.data.texts: bpy.data.texts.remove(each)\nresult = len(bpy.data.texts)")
        == 0
    )
    remove = "    for each in list(bpy.data.texts): bpy.data.texts.remove(each)\n"
    assert result(f"{make}for each in getattr(bpy.data, 'texts'):\n{remove}result = len(bpy.data.texts)") == 0
    reduced = "import functools\ndef f(last, each):\n" + remove + "    return 7\n"
    assert result(f"{make}{reduced}result = functools.reduce(f, bpy.data.texts)") == 7


def test_a_normal_is_looked_up_before_it_is_read() -> None:
    """The mesh works its normals out anew, somewhere else or in the same place."""
    normal = "n = bpy.context.object.data.corner_normals[5]\n"
    assert result(f"{normal}result = [len(n.vector), n.vector.length]") == [3, 1.0]
    read = readers.READERS["MeshNormalValue.vector"]
    held = types.SimpleNamespace(id_data=bpy.data.meshes["Cube"], as_pointer=lambda: 8, vector=None)
    with pytest.raises(ReferenceError, match="MeshNormalValue has been removed"):
        read(None, held, "vector")  # type: ignore[arg-type]


def test_triangles_and_their_vectors_are_the_scripts_own() -> None:
    assert result(
        "m = bpy.context.object.data\nm.calc_loop_triangles()\nt = m.loop_triangles[0]\nn = t.normal\nv = t.vertices\n"
        "m.clear_geometry()\nresult = [len(v), v[0], round(n.length), len(n)]"
    ) == [3, 0, 1, 3]


def test_what_frees_nothing_is_not_swept_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or building a tree would take the square of its nodes."""
    sweeps: list[None] = []
    monkeypatch.setattr(stale.Stale, "_sweep", lambda *_arguments: sweeps.append(None))
    build = (
        "g = bpy.data.node_groups.new('inner', 'ShaderNodeTree')\n"
        "g.interface.new_socket('A', in_out='INPUT', socket_type='NodeSocketFloat')\n"
        "t = bpy.data.node_groups.new('outer', 'ShaderNodeTree')\nlast = None\n"
        "for _ in range(20):\n"
        "    n = t.nodes.new('ShaderNodeGroup')\n    n.node_tree = g\n"
        "    m = t.nodes.new('ShaderNodeMath')\n    m.operation = 'MULTIPLY'\n"
        "    t.links.new(m.outputs[0], n.inputs[0])\n"
    )
    assert result(build + "result = len(t.links)") == 20
    assert not sweeps
    result(build + "g.interface.new_socket('B', in_out='INPUT')")  # the group has nodes by now
    assert len(sweeps) == 1
    result(build + "t.links.clear()")
    assert len(sweeps) == 2
    blank = "m = bpy.data.meshes.new('m')\n"
    result(blank + "m.from_pydata([(0, 0, 0)], [], [])")
    result(blank + "import bmesh\nb = bmesh.new()\nb.verts.new()\nb.to_mesh(m)")
    result("bpy.ops.object.light_add()\nbpy.context.view_layer.aovs.add()")
    result("o = bpy.data.objects['Cube']\no.shape_key_add(name='a')\no.shape_key_add(name='b')")
    enter = "bpy.context.view_layer.objects.active = bpy.data.objects['Cube']\nbpy.ops.object.mode_set(mode='EDIT')\n"
    result(enter + "bpy.ops.mesh.subdivide()\nbpy.ops.object.mode_set(mode='OBJECT')")
    assert len(sweeps) == 2
    result(enter + "v = bpy.context.object.data.vertices[0]\nbpy.ops.object.mode_set(mode='OBJECT')")
    assert len(sweeps) == 3
    result(blank + "m.from_pydata([(0, 0, 0)], [], [])\nm.vertices.add(1)")
    assert len(sweeps) == 4


def test_references_that_are_still_good_stay_good() -> None:
    assert result(
        "o = bpy.context.object\na = o.modifiers.new('a', 'BEVEL')\nb = o.modifiers.new('b', 'BEVEL')\n"
        "v = o.data.vertices[3].co\nn = bpy.data.materials['Material'].node_tree.nodes['Principled BSDF']\n"
        "o.modifiers.remove(b)\nbpy.ops.object.mode_set(mode='EDIT')\nbpy.ops.object.mode_set(mode='OBJECT')\n"
        "a.width = 0.5\nn.location.x = 5\nresult = a.width, n.location.x"
    ) == [0.5, 5.0]


_THROWN_AWAY = """
m = bpy.data.meshes.new('m')
m.vertices.add(100000)
def throw_away():
    held = []
    def generator():
        try:
            yield held
        finally:
            m.clear_geometry()
    held.append(generator())
    next(held[0])
throw_away()
found = m.vertices.values()
result = [sum(v.co.x for v in found), len(m.vertices)]
"""


def test_the_garbage_collector_runs_nothing_in_the_midst_of_blenders_work() -> None:
    def run() -> Any:
        fork.overwrite_freed()
        return result(_THROWN_AWAY)

    assert fork.run(run) == [0, 100000]
    assert gc.isenabled()
