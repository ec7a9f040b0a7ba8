# SPDX-License-Identifier: GPL-3.0-or-later
"""Writers of properties whose new value needs a check."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import bpy

from ....scene import data_paths
from ...facts.members import names, numbers
from ...growth.estimate import DATA_SETTINGS, PARTICLE_SETTINGS, SETTINGS
from ...guard.audit import may_raise
from ...guard.seam import BlenderHost, Writer
from ..added import FEWEST_LOOPS
from ..image_sizes import check_size
from ..layers.matrices import TYPES, check_written
from ..layers.names import NAMED, check_flag, write_name, write_output
from ..plain_values import as_plain, held_items, is_integers

__all__ = (
    "ATTENDED",
    "INDICES",
    "check_indices",
    "fragile_write",
    "integers_writer",
    "keeping_layers",
    "node_writer",
    "write_and_measure",
    "writer",
)

_ENGINES = names("render engines")
_CAPS = numbers("largest values")
_REBUILDS = names("properties that rebuild")
_RESHAPING = names("properties that rebuild and shape")
_FRAMES = names("properties that are frames")


def fragile_write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write a property of an element whose array may have moved."""
    host.stale.read_fragile(aliases=False)
    setattr(value, name, new)


def keeping_layers(path: str) -> Writer:
    """Return the writer of a flag that may lie in a layer which Blender makes now: see `lifetime.layers`."""

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        check_flag(host, value, path)
        if host.stale.layers.block_of_new(value, path) is not None:
            with host.stale.layers.keep(value, path):
                setattr(value, name, new)
        else:
            setattr(value, name, new)

    return written


def writer(path: str, struct: str, name: str) -> Writer | None:
    """Return the checked writer of the property `struct.name`, or None if the native write is safe."""
    if path in _TEXTS:
        return _text(_TEXTS[path])
    if name == "name" and struct in NAMED:
        return write_name
    if path == "NodeTreeInterfaceSocket.default_attribute_name":
        return write_output
    if path in TYPES:
        return _layer_type
    if path in INDICES:
        return _index
    if struct == "Image" and name in _SIZES:
        return _image_size
    if path == "Image.source":
        return _image_source
    if struct in ("Image", "ColorManagedInputColorspaceSettings"):
        return _image
    if path in _CAPS:
        capped = _cap(path, _CAPS[path])
        if struct == "ParticleSettings" and name in PARTICLE_SETTINGS:
            return _then_touch(capped)
        return _then_sweep(capped) if struct == "Lattice" else capped
    if path in _FRAMES:
        return _frame
    if path == "RenderSettings.filepath":
        return _output_path
    if path == "RenderSettings.engine":
        return _engine
    if path == "Object.data":
        return _object_data
    if path in _TOUCHING or (struct == "ParticleSettings" and name in PARTICLE_SETTINGS):
        return _then_touch(_write_and_sweep if path in _REBUILDS else _native)
    if path == "AnimData.action":
        return _write_and_animate
    if path == "NodesModifier.node_group":
        return _modifier_group
    if path in _COMPOSITING:
        return _compositing_group
    if path in _REBUILDS:
        return _write_and_sweep
    if path in ("FCurve.auto_smoothing", "FCurve.extrapolation"):
        return _write_and_follow_keys
    if name == "default_value" and struct.startswith(("NodeSocketInt", "NodeSocketFloat")):
        return _socket_value
    if (struct in _SHAPING and name in DATA_SETTINGS) or (struct.endswith("Modifier") and name in SETTINGS):
        return _then_sweep(write_and_measure) if path in _RESHAPING else write_and_measure
    return None


def integers_writer(prop: Any, write: Writer | None) -> Writer | None:
    """Return the writer of an array of integers or flags, which gives Blender `held_items`; else `write`."""
    if prop is None or not is_integers(prop):
        return write

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        (write or _native)(host, value, name, held_items(new))

    return written


def _native(_host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)


def node_writer(kind: type, struct: str, prop: Any) -> Writer | None:
    """Return the writer of a setting of a node or of its item on which sockets may depend; None for other settings."""
    if struct in _EVERY_NODE or prop is None or prop.type not in _SETTINGS:
        return None
    if issubclass(kind, bpy.types.Node):
        return _node_setting
    return _write_and_sweep if prop.identifier in ("socket_type", "data_type") else None


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
        write_and_measure(host, value, name, new)
    else:  # of a material, light, world or texture: it makes no geometry
        setattr(value, name, new)


def _write_and_touch(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)
    host.geometry.touch(value.id_data)


def _then_touch(write: Writer) -> Writer:
    """Return a writer that calls `write` and notes that the data-block has changed."""

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        write(host, value, name, new)
        host.geometry.touch(value.id_data)

    return written


_TOUCHING = frozenset(
    {"ClothCollisionSettings.use_self_collision", "ParticleSystem.settings", "PointCache.frame_start"}
)


def _object_data(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write the data of an object: its pose gets other bones, and its vertex groups are those of the data."""
    may_free = value.pose is not None or len(value.vertex_groups) > 0
    (_write_and_sweep if may_free else _write_and_touch)(host, value, name, new)


def _write_and_animate(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)
    host.geometry.animate()


def _write_and_follow_keys(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    try:
        setattr(value, name, new)
    finally:
        host.stale.after_key()


def _modifier_group(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write the group of a Geometry Nodes modifier, whose inputs are custom properties before Blender 5.2."""
    try:
        write_and_measure(host, value, name, new)
    finally:
        host.stale.after_inputs()


def _layer_type(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write the type of a layer that nodes make."""
    new = as_plain(new)
    check_written(host, value, new)
    (_node_setting if isinstance(value, bpy.types.Node) else _write_and_sweep)(host, value, name, new)


_COMPOSITING = frozenset({"CompositorStrip.node_group", "SequencerCompositorModifierData.node_group"})


def _compositing_group(_host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write the node group of a strip, of the right kind: Blender accepts any, and crashes with another kind.

    For the node group of a scene, Blender itself raises an error.
    """
    if isinstance(new, bpy.types.NodeTree) and not isinstance(new, bpy.types.CompositorNodeTree):
        raise RuntimeError(f"Error: Node tree {new.name!r} is not a compositing node group.\n")
    setattr(value, name, new)


def _write_and_sweep(host: BlenderHost, value: Any, name: str, new: Any) -> None:
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
        new = as_plain(new)
        if reason := bad(new):
            host.refuse(reason)
        setattr(value, name, new)

    return write


def _output_path(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write where rendered pictures go: Blender would write there whenever the user renders."""
    new = as_plain(new)
    if reason := data_paths.bad_output_path(new):
        host.meter.warn(reason)
    else:
        setattr(value, name, new)


def _engine(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    new = as_plain(new)
    if isinstance(new, str) and new not in _ENGINES and new in _registered_engines():
        host.refuse(f"render engine {new!r} belongs to another add-on: use {', '.join(sorted(_ENGINES))}")
    setattr(value, name, new)


def _registered_engines() -> set[str]:
    return {getattr(kind, "bl_idname", "") for kind in bpy.types.RenderEngine.__subclasses__()}


# --- numbers ------------------------------------------------------------------------------------------------

_SIZES = ("generated_width", "generated_height", "use_generated_float")


def _image_size(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write the width or height of a generated image, or whether its pixels are floats."""
    new = as_plain(new)
    sizes = {each: getattr(value, each) for each in _SIZES} | {name: new}
    check_size(host, *(sizes[each] for each in _SIZES[:2]), floats=sizes["use_generated_float"])
    host.keep_pixels(value)
    setattr(value, name, new)


def _image(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write a property of an image, after which Blender may make or read its pixels anew."""
    host.keep_pixels(value.id_data)
    setattr(value, name, as_plain(new))


def _then_sweep(write: Writer) -> Writer:
    """Return a writer that calls `write`, which may replace items, and then sweeps."""

    def written(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        try:
            write(host, value, name, new)
        finally:
            host.stale.sweep(of=value.id_data)

    return written


_image_source = _then_sweep(_image)  # Blender frees the tiles that another source does not have


#: Properties that hold indices of a mesh, and what they count. Blender does not check them.
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
    new = as_plain(new)
    if name == "loop_start":
        host.refuse('set all at once: polygons.foreach_set("loop_start", …)', code="member")
    check_indices(host, f"{value.rna_type.identifier}.{name}", value.id_data, new)
    setattr(value, name, new)


#: Writers whose check is missing when an F-curve writes.
ATTENDED = frozenset({_index, _image, _image_size, _image_source, _engine, _layer_type})

#: Structs with `DATA_SETTINGS`: after a write the object's result is estimated.
_SHAPING = frozenset("Curve TextCurve SurfaceCurve Spline MetaBall MetaElement".split())


def _cap(path: str, cap: float) -> Writer:
    def write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
        new = as_plain(new)
        if isinstance(new, (int, float)) and not isinstance(new, bool) and new > cap:
            host.exceed(f"{path} = {new:g} is more than the {cap:g} that a script may set", limit="geometry")
        setattr(value, name, new)

    return write


def _frame(_host: BlenderHost, value: Any, name: str, new: Any) -> None:
    new = as_plain(new)
    if isinstance(new, float) and not math.isfinite(new):
        raise ValueError(
            f"{value.rna_type.identifier}.{name}: {new} is not a number of a frame: give a finite one"
        )
    setattr(value, name, new)


def write_and_measure(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write a value that may multiply geometry, estimate the result, and restore the old value if it is too much."""
    old = getattr(value, name)
    new = as_plain(new)
    setattr(value, name, new)
    if isinstance(new, (int, float, str)) and new != old:
        try:
            host.geometry.check(value.id_data)
        except BaseException:
            setattr(value, name, old)  # so that nothing evaluates it before the roll-back
            raise
    elif not isinstance(new, (int, float, str)):
        host.geometry.touch(value.id_data)
        if isinstance(new, bpy.types.ID):  # an input of a node group
            host.geometry.chains.link_somewhere()
