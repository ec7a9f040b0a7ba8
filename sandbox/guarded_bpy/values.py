# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties whose new value is looked at before it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import paths

if TYPE_CHECKING:
    from . import BlenderHost

__all__ = ("CONTEXT_MEMBERS", "copied", "fragile_read", "fragile_write", "shaping", "writer")

#: Members of `bpy.context` that are no RNA properties.
CONTEXT_MEMBERS = frozenset(
    """
    object active_object edit_object sculpt_object vertex_paint_object weight_paint_object image_paint_object
    particle_edit_object pose_object selected_objects selected_editable_objects editable_objects visible_objects
    selectable_objects objects_in_mode objects_in_mode_unique_data active_bone active_pose_bone selected_bones
    selected_editable_bones editable_bones visible_bones selected_pose_bones visible_pose_bones
    selected_pose_bones_from_active_object active_action selected_editable_actions selected_visible_actions
    active_nla_track active_nla_strip selected_nla_strips editable_fcurves visible_fcurves
    selected_editable_fcurves selected_visible_fcurves active_editable_fcurve selected_editable_keyframes
    active_node selected_nodes material mesh curve armature camera light world texture lattice meta_ball speaker
    lightprobe material_slot brush cloth collision fluid particle_system soft_body pose_bone bone edit_bone
    active_sequence_strip selected_sequences selected_editable_sequences sequences active_strip strips
    selected_strips grease_pencil annotation_data gpencil_data tool_settings
    """.split()
)

_ENGINES = frozenset("BLENDER_EEVEE BLENDER_EEVEE_NEXT BLENDER_WORKBENCH CYCLES".split())

Writer = Callable[["BlenderHost", Any, str, Any], None]


def copied(_host: BlenderHost, value: Any, name: str) -> Any:
    """An array that may be read and not written: a copy, so that writing its items reaches nothing."""
    array = getattr(value, name)
    return array.copy() if hasattr(array, "copy") else tuple(array)


def fragile_read(host: BlenderHost, value: Any, name: str) -> Any:
    """A property of an element whose array may have moved."""
    host.stale.read_fragile(aliases=False)
    found = getattr(value, name)
    if not isinstance(found, (bool, int, float, str)):
        host.stale.read_fragile(aliases=True)
    return found


def fragile_write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """The same, written."""
    host.stale.read_fragile(aliases=False)
    setattr(value, name, new)


def writer(path: str, struct: str, name: str) -> Writer | None:
    """The checked writer of the property `struct.name`, or None where the native write is safe."""
    if path in _TEXTS:
        return _text(_TEXTS[path])
    if path in _CAPS:
        return _capped(path, _CAPS[path])
    if path == "RenderSettings.engine":
        return _engine
    if path == "Object.data":
        return _touching
    if path in _REBUILDS:
        return _rebuilding
    if name == "default_value" and struct.startswith(("NodeSocketInt", "NodeSocketFloat")):
        return shaping
    if struct in _SHAPING or struct.endswith("Modifier"):
        return shaping
    return None


#: Properties whose change makes Blender free the items behind them.
_REBUILDS = frozenset(
    """
    ShaderNodeGroup.node_tree GeometryNodeGroup.node_tree CompositorNodeGroup.node_tree Spline.type
    """.split()
)


def _touching(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)
    host.geometry.touch(value.id_data)


def _rebuilding(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)
    host.geometry.touch(value.id_data)
    host.stale.sweep()


# --- texts --------------------------------------------------------------------------------------------------


def _bad_name(text: object) -> str:
    return "" if isinstance(text, str) and text.isidentifier() else "a driver variable has a plain name"


_TEXTS: dict[str, Callable[[object], str]] = {
    "Driver.expression": paths.bad_expression,
    "DriverVariable.name": _bad_name,
    "DriverTarget.data_path": paths.bad_data_path,
    "FCurve.data_path": paths.bad_data_path,
    "KeyingSetPath.data_path": paths.bad_data_path,
    "RenderSettings.filepath": paths.bad_output_path,
}


def _text(bad: Callable[[object], str]) -> Writer:
    def write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        if reason := bad(new):
            host.refuse(reason)
        setattr(value, name, new)

    return write


def _engine(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    if isinstance(new, str) and new not in _ENGINES and new in _registered_engines():
        host.refuse(f"render engine {new!r} belongs to another add-on: use {', '.join(sorted(_ENGINES))}")
    setattr(value, name, new)


def _registered_engines() -> set[str]:
    import bpy

    return {getattr(kind, "bl_idname", "") for kind in bpy.types.RenderEngine.__subclasses__()}


# --- numbers ------------------------------------------------------------------------------------------------

#: Largest value by property: what multiplies geometry, memory or time beyond what the estimate below covers.
_CAPS: dict[str, float] = {
    "ParticleSettings.count": 200_000,
    "ParticleSettings.hair_step": 64,
    "ParticleSettings.display_step": 8,
    "ParticleSettings.render_step": 9,
    "ParticleSettings.subframes": 32,
    "ParticleSettings.child_percent": 1000,
    "ParticleSettings.child_nbr": 1000,
    "ParticleSettings.rendered_child_count": 10_000,
    "ParticleSettings.integrator_steps": 10,
    "FluidDomainSettings.resolution_max": 256,
    "FluidDomainSettings.noise_scale": 4,
    "FluidDomainSettings.mesh_scale": 4,
    "FluidDomainSettings.timesteps_max": 20,
    "FluidDomainSettings.sys_particle_maximum": 2_000_000,
    "ClothSettings.quality": 80,
    "ClothCollisionSettings.collision_quality": 20,
    "SoftBodySettings.step_max": 1000,
    "RigidBodyWorld.substeps_per_frame": 1000,
    "RigidBodyWorld.solver_iterations": 1000,
    "DynamicPaintSurface.image_resolution": 4096,
    "DynamicPaintSurface.frame_substeps": 20,
    "Lattice.points_u": 64,
    "Lattice.points_v": 64,
    "Lattice.points_w": 64,
    "Image.generated_width": 16_384,
    "Image.generated_height": 16_384,
    "LightProbeVolume.resolution_x": 256,
    "LightProbeVolume.resolution_y": 256,
    "LightProbeVolume.resolution_z": 256,
    "TextureNodeTexVoronoi.octaves": 30,
    "EditBone.bbone_segments": 32,
    "Bone.bbone_segments": 32,
    "Key.eval_time": 1e9,
}

#: Structs whose numbers shape geometry: after a write the object's result is estimated.
_SHAPING = frozenset("Curve TextCurve SurfaceCurve Spline MetaBall MetaElement".split())


def _capped(path: str, cap: float) -> Writer:
    def write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        if isinstance(new, (int, float)) and not isinstance(new, bool) and new > cap:
            host.exceed(f"{path} = {new:g} is more than the {cap:g} that a script may set", limit="geometry")
        setattr(value, name, new)

    return write


def shaping(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """A value that may multiply geometry: the result is estimated, and the value put back when it is too much."""
    old = getattr(value, name)
    setattr(value, name, new)
    if isinstance(new, (int, float, str)) and not isinstance(new, bool) and new != old:
        try:
            host.geometry.check(value.id_data)
        except BaseException:
            setattr(value, name, old)  # so that nothing evaluates it before the roll-back
            raise
    elif not isinstance(new, (int, float, str)):
        host.geometry.touch(value.id_data)
