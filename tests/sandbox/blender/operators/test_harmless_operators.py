# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators after which nothing is looked for do free and move nothing that a script may hold."""

from __future__ import annotations

import contextlib
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.sandbox.blender.operators import crashing
from bl_ext.user_default.mcp_bridge.sandbox.blender.properties import readers
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import policy
from bl_ext.user_default.mcp_bridge.sandbox.lifetime import freeing
from bl_ext.user_default.mcp_bridge.sandbox.lifetime.stale import Stale

from support.running import fork
from support.scenes import references

_MODES = {
    "OBJECT": "Cube",
    "EDIT_MESH": "Cube",
    "EDIT_ARMATURE": "Rig",
    "POSE": "Rig",
    "EDIT_CURVE": "Curve",
    "EDIT_SURFACE": "Surface",
    "EDIT_LATTICE": "Lattice",
}
"""Modes that such operators begin in, and the object that has to be active for them."""
_ARGUMENTS = {"mesh.separate": {"type": "MATERIAL"}}
"""With which an operator frees more than without."""


def _make_scene(mode: str) -> None:
    """The cube, a rig, a curve, a text and a lattice, with something of each kind that has parts."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    data, collection = bpy.data, bpy.context.collection.objects
    cube = data.objects["Cube"]
    cube.data.color_attributes.new("c", "BYTE_COLOR", "CORNER")
    for number, face in enumerate(cube.data.polygons):
        cube.data.materials.append(None)
        face.material_index = number
    bpy.ops.object.shade_auto_smooth()  # adds a modifier, in some versions not before the user's assets are read
    cube.vertex_groups.new(name="g").add([0, 1], 1.0, "REPLACE")
    cube.modifiers.new("m", "BEVEL")
    cube.constraints.new("LIMIT_LOCATION")
    cube.keyframe_insert("location")
    cube.driver_add("scale", 0)
    curve = data.curves.new("Curve", "CURVE")
    curve.splines.new("BEZIER").bezier_points.add(2)
    for name, made in (
        ("Curve", curve),
        ("Text", data.curves.new("Text", "FONT")),
        ("Surface", data.curves.new("Surface", "SURFACE")),
        ("Lattice", data.lattices.new("Lattice")),
    ):
        collection.link(data.objects.new(name, made))
    data.objects["Lattice"].shape_key_add()
    rig = data.objects.new("Rig", data.armatures.new("Rig"))
    collection.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(3):
        rig.data.edit_bones.new(f"b{number}").tail = (0.0, 0.0, 1.0 + number)
    bpy.ops.object.mode_set(mode="OBJECT")
    rig.pose.bones[0].constraints.new("COPY_ROTATION")
    active = data.objects[_MODES[mode]]
    for each in data.objects:
        each.select_set(each == active)
    bpy.context.view_layer.objects.active = active
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode=mode.partition("_")[0])


def _lost(mode: str, meshes: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, list[str]], int, int]:
    """What each operator leaves pointing nowhere, how many ran, and how many references were held."""
    all_of_them = {
        idname: freeing.harmless_in(idname, meshes=meshes) for idname in sorted(policy("blender").operators)
    }
    harmless = {idname: ends for idname, (began, ends) in all_of_them.items() if mode in began}
    monkeypatch.setattr(freeing, "harmless_in", lambda _idname, meshes: (frozenset(), frozenset()))
    # whoever reads the weights of a vertex gets an object of ours
    names = {
        struct: tuple(name for name in members if name != "groups")
        for struct, members in references.names().items()
    }
    if not meshes:
        names |= {"Mesh": (), "ShapeKey": ()}
    known: dict[str, Any] = {"NAMES": names}
    lost, ran, count = {}, 0, 0
    for idname, ends in harmless.items():
        _make_scene(mode)
        if idname in crashing.CRASHING and crashing.CRASHING[idname]():
            continue
        variables = dict(known)
        exec(references.GATHER, variables)
        stale, gone = Stale(pytest.fail), []
        monkeypatch.setattr(
            stale, "_cut_off", lambda found, gone=gone: gone.extend(type(each).__name__ for each in found)
        )
        stale.open(variables)
        stale.touched_arrays = True
        held: list[Any] = []
        blocks = [block for name in ("objects", "meshes", "curves", "lattices", "armatures", "scenes", "materials")
                  for block in getattr(bpy.data, name)]  # fmt: skip
        for block in blocks:
            variables["gather"](block, held)
        module, _, name = idname.partition(".")
        stale.before_operator(idname, overridden=False)
        with contextlib.suppress(RuntimeError, AttributeError):  # not for this scene, not in this Blender
            ran += "FINISHED" in getattr(getattr(bpy.ops, module), name)(**_ARGUMENTS.get(idname, {}))
        if bpy.context.mode in ends:
            stale.after_operator(idname, overridden=False)
        stale.close()
        count = max(count, len(held))
        if gone:
            lost[idname] = gone
    return lost, ran, count


@pytest.mark.timeout(300)  # it calls some hundred operators: a busy machine takes more than a minute
@pytest.mark.parametrize(
    ("mode", "meshes"), [*((mode, True) for mode in _MODES), ("OBJECT", False), ("EDIT_MESH", False)]
)
def test_nothing_is_lost_by_an_operator_after_which_nothing_is_looked_for(
    mode: str, meshes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    references.names()
    lost, ran, count = fork.run(_lost, mode, meshes, monkeypatch, timeout=240.0)
    assert not lost
    assert ran >= 3
    assert count > 400


_WORKED_OUT = {"MeshNormalValue", "MeshLoopTriangle"}
"""Their members are looked at at each use."""
_STAYING = {"rna_type", "animation_data", "cycles", "relative_key"}


@pytest.mark.parametrize("struct", ["Mesh", "ShapeKey"])
def test_whoever_comes_to_parts_of_a_mesh_is_known(struct: str) -> None:
    parts = {
        prop.identifier
        for prop in getattr(bpy.types, struct).bl_rna.properties
        if prop.type in ("POINTER", "COLLECTION")
        and prop.identifier in policy("blender").readable(struct)
        and not issubclass(getattr(bpy.types, prop.fixed_type.identifier, object), bpy.types.ID)
        and prop.fixed_type.identifier not in _WORKED_OUT
    }
    unknown = {
        name
        for name in parts
        if readers.READERS.get(f"{struct}.{name}") not in (readers._read_shared, readers._read_layers)
    }
    assert unknown <= _STAYING
    assert parts - unknown
