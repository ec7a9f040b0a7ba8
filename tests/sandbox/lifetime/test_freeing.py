# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions and properties that free or move what a script holds, though their names do not tell."""

from __future__ import annotations

from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import HandlerError, PolicyError
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import freeing
from bl_ext.user_default.mcp_bridge.sandbox.lifetime.stale import Stale
from bl_ext.user_default.mcp_bridge.sandbox.run import execute

from support.running import fork

pytestmark = pytest.mark.usefixtures("fresh_file")


def _has(struct: str, member: str) -> bool:
    rna = getattr(getattr(bpy.types, struct, None), "bl_rna", None)
    return rna is not None and (member in rna.functions or member in rna.properties)


def _case(path: str, take: str, free: str, use: str, what: str = "") -> Any:
    """Return a case for `Struct.member`, which not every Blender has; `what`: what the script holds, if it has more."""
    lacks = pytest.mark.skipif(not _has(*path.split(".")), reason=f"this Blender has no {path}")
    return pytest.param(take, free, use, id=f"{path} {what}".strip(), marks=lacks)


_SLOT = (
    "l = D.linestyles.new('l')\nt = D.textures.new('t', 'CLOUDS')\n"
    "x = l.texture_slots.add()\nx = l.texture_slots.create(0)\nx.texture = t"
)
_META = (
    "e = S.sequence_editor_create()\ns = e.sequences if hasattr(e, 'sequences') else e.strips\n"
    "x = s.new_meta('m', 1, 1)\nc = x.sequences if hasattr(x, 'sequences') else x.strips\n"
    "c.new_effect('c', 'COLOR', 1, 1, **{'length' if bpy.app.version >= (5, 0) else 'frame_end': 10})"
)
_PROFILE = "c = D.curves.new('c', 'CURVE')\nc.bevel_mode = 'PROFILE'\nx = c.bevel_profile.segments[1]"
_BONES = (
    "a = D.armatures.new('a')\no = D.objects.new('o', a)\nS.collection.objects.link(o)\n"
    "bpy.context.view_layer.objects.active = o\nbpy.ops.object.mode_set(mode='EDIT')\n"
    "a.edit_bones.new('b').tail = 0, 0, 1\nbpy.ops.object.mode_set(mode='OBJECT')\n"
    "x = o.pose.bones['b']"
)
_UPDATE = "\nbpy.context.view_layer.update()"
_CLOTH = (
    "o = D.objects['Cube']\no.modifiers.new('h', 'PARTICLE_SYSTEM')\np = o.particle_systems[0]\n"
    "p.settings.type = 'HAIR'\np.use_hair_dynamics = True\nx = p.cloth"
)
_SHARP = (
    "m = D.objects['Cube'].data\nx = m.attributes.new('x', 'FLOAT', 'POINT').data[2]\n"
    "for e in m.edges: e.use_edge_sharp = True"
)
_CURVES = "c = D.hair_curves.new('c')\nc.add_curves([3, 4])\nc.attributes.new('z', 'FLOAT', 'POINT')"
_REORDER = "c.reorder_curves(new_indices=[1, 0])"
_STROKE = (
    "g = D.grease_pencils.new('g')\nf = g.layers.new('l').frames.new(1)\ns = f.strokes.new()\ns.points.add(5)\n"
    "for i, p in enumerate(s.points): p.co = i, i * i, 0\ns.points.update()"
)
_ITEMS = (
    "n = D.node_groups.new('g', 'GeometryNodeTree').nodes.new('GeometryNodeViewer')\n"
    "n.viewer_items.new('FLOAT', 'b')\nx = n.viewer_items[0]"
)
_EDGES = (
    "m = D.meshes.new('m')\nm.vertices.add(3)\nm.loops.add(3)\nm.polygons.add(1)\n"
    "m.loops.foreach_set('vertex_index', [0, 1, 2])\nm.polygons.foreach_set('loop_start', [0])\n"
    "m.edges.add(1)\nm.edges[0].vertices = 0, 1\nx = m.edges[0]"
)
_GROUP = "o = D.objects['Cube']\nm = o.data\nx = o.vertex_groups.new(name='group')\nn = D.meshes.new('n')"
_CASES = [
    _case(
        "BlendDataMaterials.remove_gpencil_data",
        "m = D.materials.new('m')\nD.materials.create_gpencil_data(m)\nx = m.grease_pencil",
        "D.materials.remove_gpencil_data(m)",
        "x.color[:]",
    ),
    _case("FreestyleLineStyle.active_texture", _SLOT, "l.active_texture = None", "x.offset[:]"),
    _case("MetaSequence.separate", _META, "x.separate()", "x.name"),
    _case("MetaStrip.separate", _META, "x.separate()", "x.name"),
    _case(
        "Image.source",
        "i = D.images.new('i', 8, 8, tiled=True)\nx = i.tiles.new(1002, label='x')",
        "i.source = 'GENERATED'",
        "x.label",
    ),
    _case("Curve.bevel_mode", _PROFILE, "c.bevel_mode = 'ROUND'\nc.bevel_mode = 'PROFILE'", "x.location[:]"),
    _case("Object.data", _BONES, "o.data = D.armatures.new('b')" + _UPDATE, "x.location = 1, 2, 3"),
    _case("Object.data", _BONES, "o.data = D.armatures.new('b')", "x.name", "early"),
    _case("Object.data", _GROUP, "o.data = n\nD.meshes.remove(m)", "x.name", "vertex group"),
    _case("ParticleSystem.settings", _CLOTH, "p.settings = D.particles.new('n')", "x.name"),
    _case(
        "ParticleSystem.settings",
        f"{_CLOTH}.settings.effector_weights",
        "p.settings = D.particles.new('n')",
        "x.gravity",
        "weights",
    ),
    _case("CurveProfile.use_clip", _PROFILE, "c.bevel_profile.use_clip = False", "x.location[:]"),
    _case(
        "CurveProfile.use_sample_even_lengths",
        _PROFILE,
        "c.bevel_profile.use_sample_even_lengths = True",
        "x.location[:]",
    ),
    _case(
        "CurveProfile.use_sample_straight_edges",
        _PROFILE,
        "c.bevel_profile.use_sample_straight_edges = True",
        "x.location[:]",
    ),
    _case(
        "CurveProfilePoint.handle_type_1",
        _PROFILE,
        "c.bevel_profile.points[0].handle_type_1 = 'VECTOR'",
        "x.location[:]",
    ),
    _case(
        "CurveProfilePoint.handle_type_2",
        _PROFILE,
        "c.bevel_profile.points[0].handle_type_2 = 'VECTOR'",
        "x.location[:]",
    ),
    _case(
        "Pose.ik_solver",
        f"{_BONES}\no.pose.ik_solver = 'ITASC'\nx = o.pose.ik_param",
        "o.pose.ik_solver = 'LEGACY'",
        "x.precision",
    ),
    _case("ParticleSettings.type", _CLOTH, "p.settings.type = 'EMITTER'", "x.name"),
    _case("Mesh.split_faces", _SHARP, "m.split_faces()", "x.value"),
    _case("Mesh.update", _EDGES, "m.update(calc_edges=True)", "x.vertices[:]"),
    _case("Curves.reorder_curves", f"{_CURVES}\nx = c.points[2]", _REORDER, "x.position[:]"),
    _case("Curves.reorder_curves", f"{_CURVES}\nx = c.curves[1]", _REORDER, "x.points_length", "curve"),
    _case("Curves.reorder_curves", f"{_CURVES}\nx = c.position_data[1]", _REORDER, "x.vector[:]", "position"),
    _case("Curves.reorder_curves", f"{_CURVES}\nx = c.attributes['z'].data[2]", _REORDER, "x.value", "value"),
    _case(
        "ID.user_remap",
        "c = D.collections.new('c')\nS.collection.children.link(c)\n"
        "x = bpy.context.view_layer.layer_collection.children[c.name]",
        "c.user_remap(D.collections.new('d'))" + _UPDATE,
        "x.exclude",
    ),
    _case(
        "ID.user_remap",
        f"{_BONES}.constraints.new('IK')",
        "a.user_remap(D.armatures.new('b'))" + _UPDATE,
        "x.name",
        "constraint",
    ),
    _case("ID.user_remap", _BONES, "a.user_remap(D.armatures.new('b'))" + _UPDATE, "x.name", "pose bone"),
    _case("ID.user_remap", _GROUP, "m.user_remap(n)\nD.meshes.remove(m)", "x.name", "vertex group"),
    _case(
        "GPencilStrokePoints.update",
        f"{_STROKE}\nx = s.triangles[0]",
        "s.points.add(5)\ns.points.update()",
        "x.v1",
    ),
    _case("GPencilStrokePoints.add", f"{_STROKE}\nx = s.triangles[0]", "s.points.add(50)", "x.v1"),
    _case("NodeGeometryViewerItem.auto_remove", _ITEMS, "x.auto_remove = True" + _UPDATE, "x.name"),
]


@pytest.mark.parametrize(("take", "free", "use"), _CASES)
def test_what_is_freed_raises(take: str, free: str, use: str) -> None:
    def run() -> str:
        fork.overwrite_freed()
        _run(f"{take}\n{use}")
        try:
            _run(f"{take}\n{free}\n{use}")
        except HandlerError as error:
            return type(error.original).__name__
        return "nothing"

    assert fork.run(run) == "ReferenceError"


def test_a_slot_that_took_the_place_of_another_is_the_new_one_or_none() -> None:
    """Blender may put the new slot where the old one lay."""

    def run() -> str:
        fork.overwrite_freed()
        try:
            return repr(_run(f"{_SLOT}\nl.texture_slots.create(0)\nresult = x.texture is None"))
        except HandlerError as error:
            return type(error.original).__name__

    assert fork.run(run) in ("ReferenceError", "True")


def _run(code: str) -> Any:
    return execute.execute_blender_code({"code": f"import bpy\nD = bpy.data\nS = bpy.context.scene\n{code}"})[
        "result"
    ]


def test_a_new_armature_leaves_the_bones_that_it_has_too() -> None:
    assert _run(
        f"{_BONES}\no.data = a.copy()\nx.location = 1, 2, 3\nresult = list(o.pose.bones[0].location)"
    ) == [1, 2, 3]


def test_no_data_block_takes_the_place_of_one_in_edit_mode() -> None:
    enter = "bpy.ops.object.mode_set(mode='EDIT')"
    with pytest.raises(PolicyError, match="in edit mode"):
        _run(f"{_BONES}\n{enter}\na.user_remap(D.armatures.new('b'))")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("SoundEqualizerModifier.clear_soundeqs", True),
        ("BlendDataMaterials.remove_gpencil_data", True),
        ("Object.shape_key_clear", True),
        ("Sequence.split", True),
        ("BlendDataMaterials.create_gpencil_data", False),
        ("BlendDataObjects.new", False),
        ("IDMaterials.clear", False),
        ("Object.convert_space", False),
        ("bpy_struct.keyframe_insert", False),
    ],
)
def test_the_words_of_a_name_tell_what_frees(path: str, expected: bool) -> None:
    assert freeing.frees(*path.split(".")) is expected


@pytest.mark.parametrize(
    ("step", "sweeps"),
    [
        ("m.update()", 0),
        ("m.update(calc_edges=True)", 1),
        ("o.data = n", 0),
        ("o.vertex_groups.new(name='a')\no.data = n", 1),
    ],
)
def test_common_steps_search_only_where_something_is_freed(
    step: str, sweeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(Stale, "_sweep", lambda *_args, **_options: seen.append(1))
    _run(f"o = D.objects['Cube']\nm = o.data\nn = D.meshes.new('n')\n{step}")
    assert len(seen) == sweeps
