# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties whose new value is looked at before it is written."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import bpy

from ...base.per_type import PerType
from ...scene import data_paths
from ..growth.geometry import DATA_SETTINGS, SETTINGS
from ..guard.audit import may_raise
from ..guard.seam import BlenderHost, Reader, Writer
from . import depsgraph, vertex_groups, windows
from .added import FEWEST_LOOPS

__all__ = (
    "ATTENDED",
    "CONTEXT_MEMBERS",
    "INDICES",
    "NATIVE",
    "READERS",
    "all_settled",
    "check_indices",
    "copied",
    "fragile_read",
    "fragile_write",
    "keeping_layers",
    "node_writer",
    "settled",
    "shaping",
    "writer",
)

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

_SETTLED = frozenset({bool, int, float, str, type(None)})


def settled(value: Any) -> Any:
    """What Blender will see: a script's number-like object could be one number when checked, another when used."""
    kind = type(value)
    if kind in _SETTLED:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if kind in (list, tuple):
        plain = _SETTLED.issuperset(map(type, value)) or isinstance(value[0], (list, tuple))
        return value if plain else kind(map(settled, value))
    own = kind.__module__ == "<script>"
    if hasattr(kind, "__index__") and (own or not hasattr(kind, "__len__")):
        return operator.index(value)
    if hasattr(kind, "__float__") and (own or not hasattr(kind, "__len__")):
        return float(value)
    return value


def numbers_to_read(values: Any, function: str) -> Any:
    """Return what `foreach_set` may read: plain numbers in a list, or an array.

    Blender reads the items of a sequence without a look whether reading them failed.

    Raises:
        TypeError: an item is no number, or `values` cannot be gone through.
    """
    if hasattr(values, "typecode") or hasattr(values, "dtype"):
        return values
    plain = values if type(values) in (list, tuple) else list(values)
    for at, value in enumerate(plain) if not _NUMBERS.issuperset(map(type, plain)) else ():
        if isinstance(value, str) or not (
            hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
        ):
            raise TypeError(f"{function}() takes numbers: item {at} is a {type(value).__name__}")
    return plain if _NUMBERS.issuperset(map(type, plain)) else [float(value) for value in plain]


def place_to_write(values: Any, function: str) -> Any:
    """Return what `foreach_get` may write to: a list or an array.

    Raises:
        TypeError: it is anything else.
    """
    if type(values) is not list and not hasattr(values, "typecode") and not hasattr(values, "dtype"):
        raise TypeError(f"{function}() takes a list or an array to write to, not a {type(values).__name__}")
    return values


_NUMBERS = frozenset({int, float, bool})


def all_settled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same for all arguments of a call."""
    for value in (*args, *kwargs.values()):
        if not _AS_IT_IS[type(value)]:
            break
    else:
        return args, kwargs
    return tuple(map(settled, args)), {key: settled(value) for key, value in kwargs.items()}


_AS_IT_IS = PerType(
    lambda kind: kind in _SETTLED or issubclass(kind, bpy.types.bpy_struct), bpy.types.bpy_struct
)
"""Whether `settled` gives any value of a type as it is."""


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


def keeping_layers(path: str) -> Writer:
    """The writer of a flag that may lie in a layer which Blender makes now: see `lifetime.layers`."""

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        if host.stale.layered:
            with host.stale.keeping_layers(value, path):
                setattr(value, name, new)
        else:
            setattr(value, name, new)

    return written


def writer(path: str, struct: str, name: str) -> Writer | None:
    """The checked writer of the property `struct.name`, or None where the native write is safe."""
    if path in _TEXTS:
        return _text(_TEXTS[path])
    if path in INDICES:
        return _index
    if path in ("Image.generated_width", "Image.generated_height"):
        return _generated
    if struct in ("Image", "ColorManagedInputColorspaceSettings"):
        return _image
    if path in _CAPS:
        capped = _capped(path, _CAPS[path])
        return _then_swept(capped) if struct == "Lattice" else capped
    if path == "RenderSettings.filepath":
        return _output_path
    if path == "RenderSettings.engine":
        return _engine
    if path == "Object.data":
        return _touching
    if path == "AnimData.action":
        return _acting
    if path == "NodesModifier.node_group":
        return _regrouping
    if path in _COMPOSITING:
        return _compositing
    if path in _REBUILDS:
        return _rebuilding
    if path in ("FCurve.auto_smoothing", "FCurve.extrapolation"):
        return _updating
    if name == "default_value" and struct.startswith(("NodeSocketInt", "NodeSocketFloat")):
        return _socket_value
    if (struct in _SHAPING and name in DATA_SETTINGS) or (struct.endswith("Modifier") and name in SETTINGS):
        return _then_swept(shaping) if path in _RESHAPING else shaping
    return None


#: Properties whose change makes Blender free the items behind them, or make others of them in their place.
_REBUILDS = frozenset(
    "Spline.type NodeSocket.type NodeTreeInterfaceSocket.socket_type FluidModifier.fluid_type Paint.brush "
    "ParticleSettings.active_texture ParticleSettings.instance_collection GreasePencilFrame.drawing "
    "GPencilStroke.uv_translation GPencilStroke.uv_rotation GPencilStroke.uv_scale".split()
)
#: Those that shape geometry as well: the formats of a text's characters, the segments of a bevel's profile.
_RESHAPING = frozenset({"TextCurve.body", "Curve.bevel_resolution"})


def node_writer(kind: type, struct: str, prop: Any) -> Writer | None:
    """The writer of a setting of a node or of an item of one, where sockets may depend on it."""
    if struct in _EVERY_NODE or prop is None or prop.type not in _SETTINGS:
        return None
    if issubclass(kind, bpy.types.Node):
        return _node_setting
    return _rebuilding if prop.identifier in ("socket_type", "data_type") else None


_GEOMETRY_NODES = bpy.types.GeometryNodeTree
_EVERY_NODE = frozenset({"Node", "NodeInternal"})
_SETTINGS = frozenset({"BOOLEAN", "INT", "ENUM", "STRING", "POINTER"})


def _node_setting(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    before = _sockets(value)
    try:
        setattr(value, name, new)
    finally:
        if not before <= _sockets(value):
            host.stale.sweep(of=value.id_data)
    if name == "node_tree":
        host.geometry.touch(value.id_data)


def _sockets(node: Any) -> set[tuple[int, type]]:
    return {(socket.as_pointer(), type(socket)) for side in (node.inputs, node.outputs) for socket in side}


def _socket_value(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    if isinstance(value.id_data, _GEOMETRY_NODES):
        shaping(host, value, name, new)
    else:  # of a material, light, world or texture: it shapes nothing
        setattr(value, name, new)


def _touching(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)
    host.geometry.touch(value.id_data)


def _acting(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)
    host.geometry.animate()


#: Data-blocks that undo leaves alone: writing them is looked at.
SESSION = (bpy.types.WorkSpace, bpy.types.Screen, bpy.types.WindowManager, bpy.types.Brush)


def _updating(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    try:
        setattr(value, name, new)
    finally:
        host.stale.after_key()


def _regrouping(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """The group of a Geometry Nodes modifier, whose inputs are custom properties before Blender 5.2."""
    try:
        shaping(host, value, name, new)
    finally:
        host.stale.after_inputs()


_COMPOSITING = frozenset({"CompositorStrip.node_group", "SequencerCompositorModifierData.node_group"})


def _compositing(_host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """The node group of a strip: Blender takes any, and crashes with one of another kind. Of a scene's it says so."""
    if isinstance(new, bpy.types.NodeTree) and not isinstance(new, bpy.types.CompositorNodeTree):
        raise RuntimeError(f"Error: Node tree {new.name!r} is not a compositing node group.\n")
    setattr(value, name, new)


def _rebuilding(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    block = value.id_data
    try:
        setattr(value, name, new)
    finally:
        host.stale.sweep(of=block)
    host.geometry.touch(block)


# --- texts --------------------------------------------------------------------------------------------------


def _bad_name(text: object) -> str:
    return "" if isinstance(text, str) and text.isidentifier() else "a driver variable has a plain name"


may_raise("compile")(data_paths.bad_expression)
_TEXTS: dict[str, Callable[[object], str]] = {
    "Driver.expression": data_paths.bad_expression,
    "DriverVariable.name": _bad_name,
    "SceneRenderView.file_suffix": data_paths.bad_suffix,
}


def _text(bad: Callable[[object], str]) -> Writer:
    def write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        new = settled(new)
        if reason := bad(new):
            host.refuse(reason)
        setattr(value, name, new)

    return write


def _output_path(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Where rendered pictures go: Blender would write there whenever the user renders."""
    new = settled(new)
    if reason := data_paths.bad_output_path(new):
        host.meter.warn(reason)
    else:
        setattr(value, name, new)


def _engine(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    new = settled(new)
    if isinstance(new, str) and new not in _ENGINES and new in _registered_engines():
        host.refuse(f"render engine {new!r} belongs to another add-on: use {', '.join(sorted(_ENGINES))}")
    setattr(value, name, new)


def _registered_engines() -> set[str]:
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
    "LightProbeVolume.resolution_x": 256,
    "LightProbeVolume.resolution_y": 256,
    "LightProbeVolume.resolution_z": 256,
    "TextureNodeTexVoronoi.octaves": 30,
    "ParticleSettings.kink_extra_steps": 64,
    "ParticleSettings.trail_count": 1000,
    "ParticleSettings.grid_resolution": 50,
    "SoftBodySettings.step_min": 1000,
    "MeshDeformModifier.precision": 7,
    "UDIMTile.generated_width": 8192,
    "UDIMTile.generated_height": 8192,
    "ShaderNodeTexPointDensity.resolution": 512,
    "EditBone.bbone_segments": 32,
    "Bone.bbone_segments": 32,
    "Key.eval_time": 1e9,
}

_MAX_PIXELS = 8192 * 8192
_MAX_PIXEL_FLOATS = 20_000_000


def _generated(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Width or height of a generated image."""
    new = settled(new)
    other = value.generated_height if name == "generated_width" else value.generated_width
    if isinstance(new, int) and new * other > _MAX_PIXELS // (4 if value.use_generated_float else 1):
        host.exceed(f"an image of {new} x {other} pixels is too large for a script", limit="memory")
    host.keep_pixels(value)
    setattr(value, name, new)


def _image(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """A property of an image: Blender may make or read its pixels anew."""
    host.keep_pixels(value.id_data)
    setattr(value, name, settled(new))


def _pixels(host: BlenderHost, value: Any, name: str) -> Any:
    """`pixels`: Python would make a number of each of its floats."""
    floats = math.prod(value.size) * max(value.channels, 1)
    if floats > _MAX_PIXEL_FLOATS:
        host.exceed(
            f"an image of {value.size[0]} x {value.size[1]} pixels is too large for a script",
            limit="memory",
        )
    host.keep_pixels(value)  # what is read can be written item by item
    return getattr(value, name)


def _layer_data(host: BlenderHost, value: Any, name: str) -> Any:
    """The values of an attribute, except those that say which corner has which vertex."""
    if value.name.startswith("."):
        host.refuse(
            f"attribute {value.name!r} is the mesh's own: make faces by from_pydata() or bmesh", code="member"
        )
    return getattr(value, name)


def _animating(host: BlenderHost, value: Any, name: str) -> Any:
    """What an F-curve's values come from."""
    host.geometry.animate(value.data_path)
    return _keyed(host, value, name)


def _keyed(host: BlenderHost, value: Any, name: str) -> Any:
    """Keyframes, or what has them."""
    host.stale.read_keys()
    return getattr(value, name)


def _worked_out(struct: str, *collections: str) -> Reader:
    """What a mesh works out anew after many a change, and somewhere else: its normals, its triangles."""

    def read(_host: BlenderHost, value: Any, name: str) -> Any:
        mesh, pointer = value.id_data, value.as_pointer()
        for each in collections:
            items = getattr(mesh, each)
            count = len(items)
            if count and items[0].as_pointer() <= pointer <= items[count - 1].as_pointer():
                return _apart(getattr(value, name))
        raise ReferenceError(f"{struct} has been removed: the mesh has others now")

    return read


def _apart(value: Any) -> Any:
    """A vector or array that does not refer to what it was read of."""
    if hasattr(value, "copy"):
        return value.copy()
    return tuple(map(_apart, value)) if hasattr(value, "__len__") else value


def _following(host: BlenderHost, value: Any, name: str) -> Any:
    """What follows the collections, or a text's lines: it may be gone when these change."""
    host.stale.follows = True
    return getattr(value, name)


def _layers(host: BlenderHost, value: Any, name: str) -> Any:
    """Layers, which follow when Blender makes others between them."""
    host.stale.read_layers()
    return _sharing(host, value, name)


def _sharing(host: BlenderHost, value: Any, name: str) -> Any:
    """Parts of meshes, and arrays that copies share: what a script holds of them has to follow."""
    host.stale.share(type(value), name)
    return getattr(value, name)


_SHARED = "vertices edges polygons loops loop_triangle_polygons"
_LAYERS = "attributes color_attributes vertex_colors uv_layers uv_layer_clone uv_layer_stencil skin_vertices"

#: Properties that are read through a check.
READERS: dict[str, Reader] = {
    **dict.fromkeys(("FCurve.driver", "FCurve.keyframe_points", "FCurve.modifiers"), _animating),
    "Context.selected_editable_keyframes": _keyed,
    **dict.fromkeys(
        (
            *("Context.layer_collection", "ViewLayer.layer_collection", "ViewLayer.active_layer_collection"),
            *("Collection.collection_children", "Collection.collection_objects"),
            *("Text.lines", "Text.current_line", "Text.select_end_line"),
        ),
        _following,
    ),
    "Image.pixels": _pixels,
    **dict.fromkeys((f"Mesh.{name}" for name in _SHARED.split()), _sharing),
    **dict.fromkeys(
        (f"Curves.{name}" for name in "curves points position_data curve_offset_data".split()), _sharing
    ),
    **dict.fromkeys(("PointCloud.points", "ShapeKey.data", "ShapeKey.points"), _sharing),
    **dict.fromkeys((f"Mesh.{name}" for name in _LAYERS.split()), _layers),
    **dict.fromkeys(
        (
            f"{struct}.{name}"
            for struct in ("Curves", "PointCloud", "GreasePencilDrawing")
            for name in ("attributes", "color_attributes")
        ),
        _layers,
    ),
    "MeshNormalValue.vector": _worked_out(
        "MeshNormalValue", "vertex_normals", "polygon_normals", "corner_normals"
    ),
    **dict.fromkeys(
        (f"MeshLoopTriangle.{prop.identifier}" for prop in bpy.types.MeshLoopTriangle.bl_rna.properties),
        _worked_out("MeshLoopTriangle", "loop_triangles"),
    ),
    **depsgraph.READERS,
    **vertex_groups.READERS,
    **windows.READERS,
    "IntAttribute.data": _layer_data,
    "Int2Attribute.data": _layer_data,
}

#: Properties that hold indices of a mesh, and what they count. Blender believes them.
INDICES: dict[str, str] = {
    "MeshLoop.vertex_index": "vertices",
    "MeshLoop.edge_index": "edges",
    "MeshEdge.vertices": "vertices",
    "MeshPolygon.vertices": "vertices",
    "MeshPolygon.loop_start": "",
}


def check_indices(host: BlenderHost, path: str, mesh: Any, new: Any) -> None:
    """Refuse indices that point at nothing: Blender would read or write memory that is not the mesh's."""
    counted = INDICES[path]
    indices = [int(i) for i in (new if hasattr(type(new), "__len__") else [new])]
    end = len(getattr(mesh, counted)) if counted else len(mesh.loops) + 1
    if indices and not 0 <= min(indices) <= max(indices) < end:
        raise IndexError(f"{path}: an index is not below {end:,}, the number of {counted or 'loops'}")
    if not counted:
        ends = [*indices[1:], len(mesh.loops)]
        if indices and (indices[0] or any(b - a < FEWEST_LOOPS for a, b in zip(indices, ends, strict=True))):
            raise ValueError(
                f"{path}: the faces' first loops begin at 0 and ascend by at least {FEWEST_LOOPS}: "
                f"{len(indices):,} faces have {len(mesh.loops):,} loops"
            )


def _index(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    new = settled(new)
    if name == "loop_start":
        host.refuse('set all at once: polygons.foreach_set("loop_start", …)', code="member")
    check_indices(host, f"{value.rna_type.identifier}.{name}", value.id_data, new)
    setattr(value, name, new)


#: Writers whose check nothing stands in for when an F-curve writes.
ATTENDED = frozenset({_index, _image, _generated, _engine})
#: Writers that look at no value: Blender may write many at once.
NATIVE = frozenset({fragile_write})

#: Structs with `DATA_SETTINGS`: after a write the object's result is estimated.
_SHAPING = frozenset("Curve TextCurve SurfaceCurve Spline MetaBall MetaElement".split())


def _capped(path: str, cap: float) -> Writer:
    def write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        new = settled(new)
        if isinstance(new, (int, float)) and not isinstance(new, bool) and new > cap:
            host.exceed(f"{path} = {new:g} is more than the {cap:g} that a script may set", limit="geometry")
        setattr(value, name, new)

    return write


def _then_swept(write: Writer) -> Writer:
    """A write that makes other items in the place of those that are there."""

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        try:
            write(host, value, name, new)
        finally:
            host.stale.sweep(of=value.id_data)

    return written


def shaping(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """A value that may multiply geometry: the result is estimated, and the value put back when it is too much."""
    old = getattr(value, name)
    new = settled(new)
    setattr(value, name, new)
    if isinstance(new, (int, float, str)) and new != old:
        try:
            host.geometry.check(value.id_data)
        except BaseException:
            setattr(value, name, old)  # so that nothing evaluates it before the roll-back
            raise
    elif not isinstance(new, (int, float, str)):
        host.geometry.touch(value.id_data)
