# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy's data: default deny, and nothing dangerous in the lists."""

from __future__ import annotations

import re

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.facts.policy import LEVELS, policy

BLENDER = policy("blender")


def test_levels_only_add() -> None:
    imports = [policy(level).imports for level in LEVELS]
    assert imports[0] == frozenset()
    assert imports[0] < imports[1] < imports[2]
    assert [policy(level).has_blender for level in LEVELS] == [False, False, True]


def test_levels_without_blender_allow_nothing_of_it() -> None:
    for level in ("arithmetic", "math"):
        assert policy(level).operators == frozenset()
        assert policy(level).readable("Object") == frozenset()


@pytest.mark.parametrize(
    "module",
    "wm script text preferences extensions console file import_scene export_scene ed render sound cachefile ui".split(),
)
def test_operator_modules_that_reach_out_are_refused(module: str) -> None:
    assert not [o for o in BLENDER.operators if o.startswith(f"{module}.")]
    assert len(BLENDER.why_operator(f"{module}.anything")) > 10


@pytest.mark.parametrize(
    "idname",
    [
        "anim.update_animated_transform_constraints",
        "node.add_node",
        "object.bake",
        "object.volume_import",
        "outliner.orphans_purge",
        "image.open",
        "object.geometry_node_bake_single",
        "anim.keying_set_export",
        "font.open",
        "camera.preset_add",
        "screen.area_split",
        "object.multires_external_save",
        "uv.stitch",
        "anim.slot_channels_move_to_new_action",
        "uv.move_on_axis",
    ],
)
def test_single_operators_are_refused(idname: str) -> None:
    assert idname not in BLENDER.operators
    assert BLENDER.why_operator(idname)


@pytest.mark.parametrize(
    "idname",
    "mesh.primitive_cube_add object.mode_set object.join transform.translate uv.smart_project nla.bake".split(),
)
def test_everyday_operators_are_allowed(idname: str) -> None:
    assert idname in BLENDER.operators


@pytest.mark.parametrize(
    ("struct", "name"),
    [
        ("Text", "use_module"),
        ("Text", "filepath"),
        ("Driver", "use_self"),
        ("Image", "filepath"),
        ("Image", "filepath_raw"),
        ("Sound", "filepath"),
        ("FluidDomainSettings", "cache_directory"),
        ("PointCache", "use_disk_cache"),
        ("CyclesRenderSettings", "shading_system"),
        ("Area", "type"),
        ("ShaderNodeTexIES", "filepath"),
        ("Window", "screen"),
        ("FreestyleSettings", "mode"),
        ("GeometryNodeTree", "is_tool"),
    ],
)
def test_properties_that_are_not_writable(struct: str, name: str) -> None:
    assert name not in BLENDER.writable(struct)


@pytest.mark.parametrize(
    ("struct", "name"),
    [
        ("Context", "preferences"),
        ("WindowManager", "keyconfigs"),
        ("WindowManager", "clipboard"),
        ("ToolSettings", "uv_sculpt"),
        ("Image", "packed_file"),
        ("Preferences", "filepaths"),
        ("ShaderNodeScript", "script"),
        ("AddonPreferences", "bl_idname"),
        ("BlendData", "libraries"),
        ("Object", "selection_sets"),
    ],
)
def test_properties_that_are_not_readable(struct: str, name: str) -> None:
    assert name not in BLENDER.readable(struct)


@pytest.mark.parametrize(
    ("struct", "name"),
    [
        ("Image", "save"),
        ("Image", "reload"),
        ("BlendDataImages", "load"),
        ("BlendDataTexts", "load"),
        ("BlendData", "orphans_purge"),
        ("ID", "user_clear"),
        ("ID", "make_local"),
        ("Scene", "alembic_export"),
        ("Depsgraph", "debug_relations_graphviz"),
        ("VolumeGrids", "save"),
        ("Text", "as_module"),
        ("Sound", "pack"),
        ("SequenceElements", "append"),
        ("StripElements", "append"),
    ],
)
def test_functions_that_are_not_callable(struct: str, name: str) -> None:
    assert name not in BLENDER.callable(struct)
    assert name not in BLENDER.readable(struct)


def test_no_path_is_writable_but_the_checked_one() -> None:
    paths = {
        f"{struct}.{name}"
        for struct, names in BLENDER._write.items()
        for name in names
        if re.search(r"filepath|directory|_path$|base_path", name)
        and not name.startswith(("use_", "show_", "data_path"))
    }
    no_files = {"DriverTarget.data_path", "FCurve.data_path", "KeyingSetPath.data_path"}
    no_files |= {"TextureNodeOutput.filepath"}  # what a texture's output is called
    assert paths - no_files == {"RenderSettings.filepath"}


def test_what_is_writable_is_readable() -> None:
    for struct, names in BLENDER._write.items():
        assert names <= BLENDER.readable(struct), struct


def test_a_zone_is_paired_only_where_its_pair_may_be_read() -> None:
    nodes = "ForeachGeometryElement Repeat Simulation Closure".split()
    structs = {f"GeometryNode{name}Input" for name in nodes} | {"NodeClosureInput"}
    paired = {struct for struct in structs if "pair_with_output" in BLENDER.callable(struct)}
    assert paired == {struct for struct in structs if "paired_output" in BLENDER.readable(struct)}
    assert paired == structs - {"GeometryNodeClosureInput"}  # Blender 4.5 crashes of both
