# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the arguments of Blender's functions, before the call: a check refuses, or returns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import bpy

from ...facts.members import names, rows
from ...growth.estimate import multiplies
from ...growth.zones import ZONES
from ...guard.seam import BlenderHost
from .. import added, data_paths, image_sizes, overrides, windows
from ..layers import matrices
from ..layers import names as layer_names
from ..plain_values import as_plain
from ..text_sizes import check_line

__all__ = (
    *("ADDING_TO_MESHES", "CHECKED", "CRASHING_NODES", "EVALUATING", "EXPERIMENTAL_NODES"),
    *("Arguments", "Check", "check_path", "text_line"),
)

Arguments = Mapping[str, Any]
Check = Callable[["BlenderHost", Any, Arguments], None]


def _count(parameter: str, *, times: int = 1) -> Check:
    def check(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
        value = arguments.get(parameter, 0)
        if isinstance(value, int):
            host.geometry.amount(value // times, parameter, f"={value:,}")

    return check


ADDING_TO_MESHES = frozenset({"MeshEdges.add", "MeshLoops.add", "MeshPolygons.add"})


def _with_room(check: Check, path: str) -> Check:
    def both(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        count = arguments.get("count", 0)
        check(host, owner, arguments)
        if isinstance(count, int):
            added.check_room(owner, f"{path}()", count)

    return both


def _sizes(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    sizes = arguments.get("sizes", ())
    if isinstance(sizes, (list, tuple)):
        host.geometry.amount(sum(s for s in sizes if isinstance(s, int) and s > 0), "sizes")


def _image_size(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    floats = arguments.get("float_buffer") or getattr(owner, "is_float", False)
    image_sizes.check_size(host, arguments.get("width", 1), arguments.get("height", 1), floats=floats)


def _pack(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    if arguments:
        host.refuse("Image.pack(data=…) writes bytes of a file's own making: call pack() without arguments")


def _data_path(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """Check the path of a driver, for its own data-block, or of an action or a keying set, for any data-block."""
    start = owner.id_data if isinstance(owner, bpy.types.AnimDataDrivers) else None
    check_path(host, arguments.get("data_path", ""), start)


def check_path(host: BlenderHost, path: Any, start: Any) -> None:
    """Refuse a bad data path, and note what it may animate. `start`: the owner at which the path begins, or None."""
    data_paths.check_path(host, path, start)
    host.geometry.animate(path if start is None or isinstance(start, bpy.types.ID) else None)


def _copied_driver(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """Check `AnimDataDrivers.from_existing`: the path was another data-block's."""
    source = arguments.get("src_driver")
    if isinstance(source, bpy.types.FCurve):
        data_paths.check_path(host, source.data_path, owner.id_data)
    host.geometry.animate()
    host.geometry.chains.link_somewhere()


def _strip(host: BlenderHost, _owner: Any, _arguments: Arguments) -> None:
    """Note a new strip: an action that did no harm to one object may be too much for another."""
    host.geometry.animate()


_SCRIPT_NODES = "ShaderNodeScript CompositorNodeOutputFile".split()


EXPERIMENTAL_NODES = {
    name
    for row in rows("experimental nodes")
    for name in row["names"]
    if bpy.app.version < tuple(int(part) for until in row["until"] for part in until.split("."))
}
"""Types of nodes that this version of Blender has not finished."""
CRASHING_NODES = names("nodes that crash")
"""Types of nodes that crash Blender with some inputs."""


def _node_type(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    kind = arguments.get("type")
    if kind in _SCRIPT_NODES or (isinstance(kind, str) and kind.startswith("GeometryNodeImport")):
        host.refuse(f"a {kind} node runs code or works on files: build it from the other nodes")
    if kind in EXPERIMENTAL_NODES:
        host.refuse(
            f"a {kind} node is experimental in this Blender, and may crash: build it from the other nodes"
        )
    if kind in CRASHING_NODES:
        host.refuse(f"a {kind} node may crash Blender: build it from the other nodes")
    host.geometry.touch(owner.id_data)


def _zones(host: BlenderHost, _owner: Any, _arguments: Arguments) -> None:
    """Note that the end of a zone may have lost its beginning."""
    host.geometry.zone()


def _strip_modifier(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    _sequencer_scene(host, owner, arguments)
    if arguments.get("type") == "COMPOSITOR" and bpy.app.version < (5, 2):
        host.refuse(
            "this Blender crashes of a strip's compositor modifier: composite the scene that the strip shows"
        )


def _sequencer_scene(host: BlenderHost, _owner: Any, _arguments: Arguments) -> None:
    """Refuse to change modifiers of strips where Blender 5.0 tells a scene that is None of the change."""
    if bpy.app.version[:2] == (5, 0) and bpy.context.sequencer_scene is None:
        host.refuse(
            "this Blender crashes when a strip's modifiers change while the workspace has no sequencer scene: ask the "
            "user to choose the scene in the Sequencer's header first"
        )


def _retiming(host: BlenderHost, owner: Any, _arguments: Arguments) -> None:
    """Refuse the first retiming key of a strip: Blender looks for it among those that the strip has."""
    if not len(owner):
        host.refuse(
            "this Blender crashes when a script adds the first retiming key of a strip: set the strip's frame_start, "
            "frame_final_start and frame_final_end, or ask the user to retime it in the Sequencer"
        )


def _render_slot(host: BlenderHost, _owner: Any, _arguments: Arguments) -> None:
    if bpy.app.version < (5, 0):
        host.refuse(
            "RenderSlot.clear() crashes this Blender, which looks for the scene of the image user: make a new image"
        )


def _vertex_indices(_host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """Refuse indices that no vertex or point has: Blender would read and write memory before or behind them."""
    given = arguments.get("index", ())
    indices = [
        operator.index(each)
        for each in (given if hasattr(type(given), "__len__") else [given])
        if hasattr(type(each), "__index__")
    ]
    if not indices:
        return
    if min(indices) < 0:
        raise IndexError(f"vertex index {min(indices)} is negative: use 0 to the number of vertices - 1")
    data = owner.id_data.data
    points = getattr(data, "vertices", getattr(data, "points", None))
    if points is not None and not data.is_editmode and max(indices) >= len(points):
        raise IndexError(
            f"vertex index {max(indices):,} is not below {len(points):,}, the number of vertices"
        )


def _remap(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """Check the new data-block of `user_remap`: Blender checks neither its type nor whether it would hold itself."""
    new = arguments.get("new_id")
    kind = type(owner).__name__
    if isinstance(new, bpy.types.NodeTree) and type(new) is not type(owner):
        host.refuse(f"user_remap(): a {type(new).__name__} cannot take the place of a {kind}")
    if kind == "Text":
        host.refuse("user_remap() of a text may change what Blender runs: edit the text instead")
    if getattr(owner, "is_editmode", False) or getattr(new, "is_editmode", False):
        host.refuse("user_remap() in edit mode: leave it first, with bpy.ops.object.mode_set(mode='OBJECT')")
    holds = (
        (hasattr(new, "contains_tree") and hasattr(owner, "contains_tree") and new.contains_tree(owner))
        or (hasattr(new, "children_recursive") and owner in new.children_recursive)
        or (hasattr(owner, "children_recursive") and new in owner.children_recursive)
    )
    if holds:
        host.refuse(f"user_remap(): {new.name!r} would hold itself")


def _pydata(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    vertices, edges, faces = (arguments.get(name, ()) for name in ("vertices", "edges", "faces"))
    corners = sum(map(len, faces)) if len(faces) else 0
    host.geometry.amount(max(len(vertices), len(edges) / 2, corners / 4), "from_pydata()")
    for part in (edges, faces):
        last = max(chain.from_iterable(part), default=-1) if len(part) else -1
        if last >= len(vertices):
            raise IndexError(
                f"from_pydata(): index {last} is not below {len(vertices)}, the number of vertices"
            )


def _text(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """Refuse a text that is too long, or that Blender would run by itself, unseen."""
    if owner.use_module:
        host.refuse(f"the text {owner.name!r} runs when the file is opened: write another")
    check_line(
        host, arguments.get("text"), max(len(owner.current_line.body), len(owner.select_end_line.body))
    )
    if owner.session_uid in host.idle_texts:
        return
    find_users: Any = bpy.data.user_map
    for user in find_users(subset=[owner], value_types=_RUNNING).get(owner, ()) if owner.users else ():
        host.refuse(f"the text {owner.name!r} is used by {user.name!r}, which may run it: write another")
    host.idle_texts.add(owner.session_uid)


#: Types of data-blocks that run texts: by script nodes, or as styles of Freestyle.
_RUNNING = {"LIGHT", "LINESTYLE", "MATERIAL", "NODETREE", "SCENE", "TEXTURE", "WORLD"}


def text_line(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """Write `TextLine.body`, checked."""
    new = as_plain(new)
    _text(host, value.id_data, {})
    check_line(host, new)
    setattr(value, name, new)


def _pixels(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    _image_size(host, owner, arguments)
    host.keep_pixels(owner)


def _frames(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    start, end = arguments.get("start", 0), arguments.get("end", 0)
    if isinstance(start, (int, float)) and isinstance(end, (int, float)) and end - start > 1_000_000:
        host.exceed("samples of more than 1,000,000 frames are over the limit", limit="memory")


def _evaluation(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    frame = arguments.get("frame", 0)  # of Scene.frame_set
    host.geometry.check_touched(float(frame) if isinstance(frame, (int, float)) else 0.0)


def _evaluated(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """Note that the script is about to get a depsgraph: it may hold parts of evaluated copies from now on."""
    host.stale.evaluate()
    _evaluation(host, owner, arguments)


#: Checks of functions that may evaluate the scene.
EVALUATING = frozenset({_evaluation, _evaluated})


def _modifier(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    kind = arguments.get("type")
    if not isinstance(kind, str) or multiplies(kind):
        host.geometry.touch(owner.id_data)


def _copied_links(host: BlenderHost, _owner: Any, _arguments: Arguments) -> None:
    """Note that a copy will point to the same data-blocks as the original."""
    host.geometry.chains.link_somewhere()


#: The checks of functions, by `Struct.function`; a check refuses or returns.
CHECKED: dict[str, Check] = {
    **dict.fromkeys(names("functions that add a count"), _count("count")),
    **dict.fromkeys(names("functions that add sizes"), _sizes),
    **dict.fromkeys(names("functions that use any data path"), _data_path),
    **dict.fromkeys(names("functions that evaluate"), _evaluation),
    **dict.fromkeys(names("functions that remove what contexts name"), overrides.check_removal),
    "MeshEdges.add": _with_room(_count("count", times=2), "MeshEdges.add"),
    "MeshLoops.add": _with_room(_count("count", times=4), "MeshLoops.add"),
    "MeshPolygons.add": _with_room(_count("count"), "MeshPolygons.add"),
    "PointCloud.resize": _count("size"),
    **dict.fromkeys(("BlendDataImages.new", "UDIMTiles.new"), _image_size),
    **dict.fromkeys(("Image.scale", "Image.update"), _pixels),
    **dict.fromkeys(("Text.clear", "Text.write", "Text.from_string"), _text),
    "Image.pack": _pack,
    "AnimDataDrivers.from_existing": _copied_driver,
    "NlaStrips.new": _strip,
    **dict.fromkeys(names("functions that copy links"), _copied_links),
    "ID.user_remap": _remap,
    "RegionView3D.update": windows.check_shown,
    "Mesh.from_pydata": _pydata,
    **dict.fromkeys(("FCurve.convert_to_samples", "FCurve.convert_to_keyframes"), _frames),
    "Nodes.new": _node_type,
    **dict.fromkeys(("Nodes.remove", *(f"{zone}Input.pair_with_output" for zone in ZONES)), _zones),
    "StripModifiers.new": _strip_modifier,
    **dict.fromkeys(("StripModifiers.remove", "StripModifiers.clear"), _sequencer_scene),
    "RetimingKeys.add": _retiming,
    "RenderSlot.clear": _render_slot,
    **dict.fromkeys(("VertexGroup.add", "VertexGroup.remove", "VertexGroup.weight"), _vertex_indices),
    "ObjectModifiers.new": _modifier,
    "Context.evaluated_depsgraph_get": _evaluated,
    **{f"{struct}.new": layer_names.check_new for struct in layer_names.NAMING},
    **dict.fromkeys(matrices.ITEM_FUNCTIONS, matrices.check_item),
}
