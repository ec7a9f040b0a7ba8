# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of Blender whose arguments are looked at before they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain
from types import MethodType
from typing import Any

import bpy

from ...scene import data_paths
from ..growth import geometry
from ..guard.facade import sealing
from ..guard.seam import BlenderHost, Reader
from ..lifetime import freeing, stale
from ..lifetime.layers import may_make
from . import added, blocks, overrides, windows
from . import data_paths as reach
from .text_sizes import check_line, cut, name_limit
from .writers import all_settled, numbers_to_read, settled

__all__ = (
    "CHECKED",
    "array_foreach_set",
    "checked",
    "driver",
    "keyframe",
    "needed_pointers",
    "path_resolve",
    "property_unset",
    "text_line",
)

Arguments = Mapping[str, Any]
Check = Callable[["BlenderHost", Any, Arguments], None]


class _Bound(tuple[Any, Any]):
    """The run and the owner that a function is called for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(self[1])


def checked(path: str) -> Reader:
    """The reader of a function: gives one that checks its arguments, calls, and looks for what it freed."""
    if path in _LOOKED_AT:
        return sealing(_LOOKED_AT[path])
    check = CHECKED.get(path)
    struct, function = path.split(".")
    may_free, followed = freeing.frees(struct, function), freeing.is_followed(struct, function)
    removes, roots = freeing.removes_blocks(struct, function), freeing.freed_alone(struct, function)
    grows, makes_layers = freeing.grows(struct, function), may_make(struct, function)
    evaluates, writes_back = check in _EVALUATING, path == "Object.update_from_editmode"
    limit = name_limit(path)
    check = _with_blocks(path, _with_pointers(path, check))
    parameters: dict[type, list[str]] = {}

    # one function for all runs, bound to a pair: a closure for each use is more for the collector to look through
    def call(bound: _Bound, /, *args: Any, **kwargs: Any) -> Any:
        host, owner = bound
        if check is not None:
            names = parameters.get(type(owner))
            if names is None:
                names = _parameter_names(owner, function) or _PYTHON_PARAMETERS.get(path, [])
                parameters[type(owner)] = names
            args, kwargs = all_settled(args, kwargs)
            given = {**dict(zip(names, args, strict=False)), **kwargs} if args else kwargs
        references = host.stale
        if references.evaluates:
            blocks.check_original(host, owner, function)
        # asked before the check: of what a first evaluation makes, the script holds nothing yet
        removing = removes or (evaluates and references.evaluates)
        if check is not None:
            check(host, owner, given)
        if limit is not None:
            args, kwargs = cut(limit, args, kwargs)
        block = owner.id_data
        moves = references.follows if followed else may_free and not stale.is_blank(block)
        if evaluates:
            references.before_sharing()
        if removing:
            references.before_removal(evaluates=evaluates)
        result = None
        # looked up only now: what holds a function is looked through for what it belongs to
        try:
            if makes_layers:
                with references.keeping_layers(owner) as new:
                    result = getattr(owner, function)(*args, **kwargs)
                    new.append(result)
            else:
                result = getattr(owner, function)(*args, **kwargs)
            if path in _ADDING_TO_MESHES:
                added.fill(owner, int(given.get("count", 0)))
        finally:  # it may have freed something before it failed
            if evaluates:
                references.after_sharing()
            if removing:
                references.after_removal()
            if moves and grows:
                references.after_growth(block)
            elif moves:
                references.sweep((result, owner), roots, of=owner.data if writes_back else block)
            if may_free:
                host.overrides.drop_removed()
        return result

    call.__name__ = call.__qualname__ = function

    def read(host: BlenderHost, owner: Any, _name: str) -> Any:
        getattr(owner, function)  # Blender's own AttributeError, where this version has no such function
        return MethodType(call, _Bound((host, owner)))

    return read


#: Functions that take None for something that they need: an object without data, a slot without a material.
_TAKING_NONE = frozenset({"BlendDataObjects.new", "IDMaterials.append", "SequenceEditor.display_stack"})


@cache
def needed_pointers(path: str) -> frozenset[str]:
    """Return the parameters of `Struct.function` that Blender follows without a look whether they are None."""
    struct, function = path.split(".")
    rna = getattr(getattr(bpy.types, struct, None), "bl_rna", None)
    found = rna.functions.get(function) if rna is not None else None
    if found is None or path in _TAKING_NONE:
        return frozenset()
    return frozenset(
        p.identifier
        for p in found.parameters
        if p.type == "POINTER" and p.is_required and not p.is_output and not p.is_never_none
    )


def _with_pointers(path: str, check: Check | None) -> Check | None:
    """Return a check that refuses None for `needed_pointers`, and then does what `check` does."""
    needed = needed_pointers(path)
    if not needed:
        return check

    def both(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        for name in needed & arguments.keys():
            if arguments[name] is None:
                raise TypeError(f"{path}(): {name} may not be None")
        if check is not None:
            check(host, owner, arguments)

    return both


def _with_blocks(path: str, check: Check | None) -> Check | None:
    """Return a check that refuses what is no data-block of the file's own for `blocks.given_blocks`."""
    given = blocks.given_blocks(path)
    if not given:
        return check

    def both(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
        for name in given & arguments.keys():
            blocks.check_given(arguments[name], f"{path}()", whole=name != "target_id")
        if check is not None:
            check(host, owner, arguments)

    return both


_OF_WINDOWS = (bpy.types.Screen, bpy.types.WindowManager, bpy.types.WorkSpace)
_DRIVERS, _ID, _REROUTE = bpy.types.AnimDataDrivers, bpy.types.ID, bpy.types.NodeReroute


def _new_link(host: BlenderHost, links: Any, _name: str) -> Any:
    """`NodeLinks.new`: an input that has one link loses it to the new one, and a reroute takes the other's type."""

    def new(*args: Any, **kwargs: Any) -> Any:
        before, moves = len(links), True
        try:
            link = links.new(*args, **kwargs)
            # by their classes: for `type` Blender lists all types of nodes
            moves = len(links) <= before or _REROUTE in (type(link.from_node), type(link.to_node))
            return link
        finally:
            if moves:
                host.stale.sweep(of=links.id_data)

    return new


def _new_socket(host: BlenderHost, interface: Any, _name: str) -> Any:
    """`NodeTreeInterface.new_socket`: the group's nodes get others; mostly there are none yet, in it or of it."""

    def new_socket(*args: Any, **kwargs: Any) -> Any:
        tree, socket = interface.id_data, None
        try:
            socket = interface.new_socket(*args, **kwargs)
            return socket
        finally:
            if tree.users or tree.nodes:
                host.stale.sweep((socket, interface), of=tree)

    return new_socket


def _curve_update(host: BlenderHost, owner: Any, _name: str) -> Any:
    """`FCurve.update`: keyframes in one place become one, and all move to another array."""
    native = owner.update

    def update(*args: Any, **kwargs: Any) -> None:
        try:
            native(*args, **kwargs)
        finally:
            host.stale.after_key()

    return update


def _copy(host: BlenderHost, owner: Any, _name: str) -> Any:
    """`ID.copy`: a copy shares what it can with what it is of."""
    native = owner.copy
    if isinstance(owner, _OF_WINDOWS):
        host.refuse(
            f"{owner!r} belongs to the user's session, not to the scene: leave it as it is", code="member"
        )

    def copy(*args: Any, **kwargs: Any) -> Any:
        host.stale.before_sharing()
        try:
            return native(*args, **kwargs)
        finally:
            host.stale.after_sharing()

    return copy


#: Functions that free something only where they say so themselves.
_LOOKED_AT: dict[str, Reader] = {
    "ID.copy": _copy,
    "FCurve.update": _curve_update,
    "NodeLinks.new": _new_link,
    "NodeTreeInterface.new_socket": _new_socket,
}
#: Parameters of functions that Blender defines in Python.
_PYTHON_PARAMETERS = {"Mesh.from_pydata": ["vertices", "edges", "faces"]}


def _parameter_names(owner: Any, name: str) -> list[str]:
    rna = getattr(owner, "bl_rna", None)
    function = rna.functions.get(name) if rna is not None and hasattr(rna, "functions") else None
    if function is None:
        return []
    return [p.identifier for p in function.parameters if not p.is_output]


# --- by function --------------------------------------------------------------------------------------------


def _count(parameter: str, *, times: int = 1) -> Check:
    def check(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
        value = arguments.get(parameter, 0)
        if isinstance(value, int):
            host.geometry.amount(value // times, parameter, f"={value:,}")

    return check


_ADDING_TO_MESHES = frozenset({"MeshEdges.add", "MeshLoops.add", "MeshPolygons.add"})


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


def _image_size(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    width, height = arguments.get("width", 1), arguments.get("height", 1)
    if isinstance(width, int) and isinstance(height, int):
        limit = 4096 * 4096 if arguments.get("float_buffer") else 8192 * 8192
        if width * height > limit:
            host.exceed(f"an image of {width} x {height} pixels is too large for a script", limit="memory")


def _pack(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    if arguments:
        host.refuse("Image.pack(data=…) writes bytes of a file's own making: call pack() without arguments")


def _data_path(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """A driver is for its own data-block; an action or a keying set may be used for any."""
    start = owner.id_data if isinstance(owner, _DRIVERS) else None
    _check_path(host, arguments.get("data_path", ""), start)


def _check_path(host: BlenderHost, path: Any, start: Any) -> None:
    """Refuse a data path with a reason, and note what may be animated at it. `start`: what it begins at, or None."""
    reach.check_path(host, path, start)
    host.geometry.animate(path if start is None or isinstance(start, _ID) else None)


def _copied_driver(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """`AnimDataDrivers.from_existing`: the path was another data-block's."""
    source = arguments.get("src_driver")
    if isinstance(source, bpy.types.FCurve):
        reach.check_path(host, source.data_path, owner.id_data)
    host.geometry.animate()


def _strip(host: BlenderHost, _owner: Any, _arguments: Arguments) -> None:
    """An action that did no harm to one object may be too much for another."""
    host.geometry.animate()


_SCRIPT_NODES = "ShaderNodeScript CompositorNodeOutputFile".split()


def _node_type(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    kind = arguments.get("type")
    if kind in _SCRIPT_NODES or (isinstance(kind, str) and kind.startswith("GeometryNodeImport")):
        host.refuse(f"a {kind} node runs code or works on files: build it from the other nodes")
    host.geometry.touch(_owner.id_data)


def _strip_modifier(host: BlenderHost, _owner: Any, arguments: Arguments) -> None:
    if arguments.get("type") == "COMPOSITOR" and bpy.app.version < (5, 2):
        host.refuse(
            "this Blender crashes of a strip's compositor modifier: composite the scene that the strip shows"
        )


def _remap(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    """Blender looks neither whether what takes the place of a part holds that part, nor whether it is of its kind."""
    new = arguments.get("new_id")
    kind = type(owner).__name__
    if isinstance(new, bpy.types.NodeTree) and type(new) is not type(owner):
        host.refuse(f"user_remap(): a {type(new).__name__} cannot take the place of a {kind}")
    if kind == "Text":
        host.refuse("user_remap() of a text may change what Blender runs: edit the text instead")
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
    """What is written into a text is short enough, and no code that Blender would run by itself, unseen."""
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


#: Kinds of data-blocks that run texts: by script nodes, or as styles of Freestyle's.
_RUNNING = {"LIGHT", "LINESTYLE", "MATERIAL", "NODETREE", "SCENE", "TEXTURE", "WORLD"}


def text_line(host: BlenderHost, value: Any, name: str, new: Any) -> None:
    """`TextLine.body`."""
    new = settled(new)
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
    """The script is about to be given a depsgraph: it may hold parts of evaluated copies from now on."""
    host.stale.evaluate()
    _evaluation(host, owner, arguments)


#: Checks of functions that may evaluate the scene anew.
_EVALUATING = frozenset({_evaluation, _evaluated})


def _modifier(host: BlenderHost, owner: Any, arguments: Arguments) -> None:
    kind = arguments.get("type")
    if not isinstance(kind, str) or geometry.multiplies(kind):
        host.geometry.touch(owner.id_data)


#: Checked functions by `Struct.function`; the check refuses or returns.
CHECKED: dict[str, Check] = {
    "MeshVertices.add": _count("count"),
    "MeshEdges.add": _with_room(_count("count", times=2), "MeshEdges.add"),
    "MeshLoops.add": _with_room(_count("count", times=4), "MeshLoops.add"),
    "MeshPolygons.add": _with_room(_count("count"), "MeshPolygons.add"),
    "SplinePoints.add": _count("count"),
    "SplineBezierPoints.add": _count("count"),
    "FCurveKeyframePoints.add": _count("count"),
    "GPencilStrokePoints.add": _count("count"),
    "AnnotationStrokePoints.add": _count("count"),
    "MaskSplinePoints.add": _count("count"),
    "PointCloud.resize": _count("size"),
    "Curves.add_curves": _sizes,
    "Curves.resize_curves": _sizes,
    "GreasePencilDrawing.add_strokes": _sizes,
    "GreasePencilDrawing.resize_strokes": _sizes,
    "BlendDataImages.new": _image_size,
    "UDIMTiles.new": _image_size,
    "Image.scale": _pixels,
    "Image.update": _pixels,
    "Text.clear": _text,
    "Text.write": _text,
    "Text.from_string": _text,
    "Image.pack": _pack,
    "ActionFCurves.new": _data_path,
    "ActionChannelbagFCurves.new": _data_path,
    "ActionChannelbagFCurves.ensure": _data_path,
    "Action.fcurve_ensure_for_datablock": _data_path,
    "ActionKeyframeStrip.key_insert": _data_path,
    "AnimDataDrivers.new": _data_path,
    "KeyingSetPaths.add": _data_path,
    "AnimDataDrivers.from_existing": _copied_driver,
    "NlaStrips.new": _strip,
    "ID.user_remap": _remap,
    "RegionView3D.update": windows.check_shown,
    "BlendDataObjects.remove": overrides.check_removal,
    "BlendDataScenes.remove": overrides.check_removal,
    "BlendDataCollections.remove": overrides.check_removal,
    "BlendDataMeshes.remove": overrides.check_removal,
    "BlendDataMaterials.remove": overrides.check_removal,
    "BlendDataArmatures.remove": overrides.check_removal,
    "ViewLayers.remove": overrides.check_removal,
    "Mesh.from_pydata": _pydata,
    "FCurve.convert_to_samples": _frames,
    "FCurve.convert_to_keyframes": _frames,
    "Nodes.new": _node_type,
    "StripModifiers.new": _strip_modifier,
    "ObjectModifiers.new": _modifier,
    "Context.evaluated_depsgraph_get": _evaluated,
    "ViewLayer.update": _evaluation,
    "Depsgraph.update": _evaluation,
    "Scene.frame_set": _evaluation,
    "Object.to_mesh": _evaluation,
    "Object.to_curve": _evaluation,
    "BlendDataMeshes.new_from_object": _evaluation,
}


# --- methods of every struct --------------------------------------------------------------------------------


def keyframe(host: BlenderHost, owner: Any, name: str) -> Any:
    """`keyframe_insert` and `keyframe_delete`."""
    function = getattr(owner, name)

    def call(data_path: str, *args: Any, **kwargs: Any) -> Any:
        data_path = settled(data_path)
        _check_path(host, data_path, owner)
        try:
            return function(data_path, *args, **kwargs)
        finally:
            if name == "keyframe_insert":
                host.stale.after_key()
            else:
                host.stale.sweep(of=owner.id_data)  # a curve goes with its last keyframe

    return call


def driver(host: BlenderHost, owner: Any, name: str) -> Any:
    """`driver_add` and `driver_remove`: the path is checked here, the expression when it is set."""
    function = getattr(owner, name)

    def call(path: str, index: int = -1) -> Any:
        path = settled(path)
        _check_path(host, path, owner)
        try:
            return function(path, index)
        finally:
            if name == "driver_remove":
                host.stale.sweep(of=owner.id_data)

    return call


def path_resolve(host: BlenderHost, owner: Any, _name: str) -> Any:
    """`path_resolve`: walks the path with the guard, so that it reaches what attributes reach and no more."""

    def call(path: str, coerce: bool = True) -> Any:
        try:
            steps = data_paths.split_data_path(path)
        except ValueError as error:
            host.refuse(str(error))
        value = owner
        for step in steps:
            if isinstance(step, str):
                value = host.getattr(value, step) if host.owns(type(value)) else getattr(value, step)
            else:
                key = step[0] if isinstance(step, tuple) else step
                value = host.getitem(value, key) if host.owns(type(value)) else value[key]
        return value

    return call


def property_unset(host: BlenderHost, owner: Any, _name: str) -> Any:
    """`property_unset`: a write like any other."""

    def call(property: str) -> None:  # noqa: A002 - Blender's own name of the parameter
        if type(property) is not str:
            raise TypeError(f"property_unset() takes a str, not {type(property).__name__}")
        access = host.members.access(type(owner), property)
        blocks.check_original(host, owner)
        if access.write is None:
            host.refuse(f"{type(owner).__name__}.{property} may not be reset by a script: {access.why}")
        try:
            with host.stale.keeping_layers(owner):
                owner.property_unset(property)
        finally:
            if not access.plain_write:  # who writes it natively frees nothing
                host.stale.sweep(of=owner.id_data)

    return call


def array_foreach_set(_host: BlenderHost, owner: Any, _name: str) -> Any:
    """`foreach_set` of an array that may be written: arrays that may not are handed out as copies."""
    return lambda seq: owner.foreach_set(numbers_to_read(seq, "foreach_set"))
