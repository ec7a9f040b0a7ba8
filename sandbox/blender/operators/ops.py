# SPDX-License-Identifier: GPL-3.0-or-later
"""`bpy.ops` for scripts: reviewed operators, run at once, with arguments that cannot make them run too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import bmesh
import bpy

from ...facts.members import names, numbers
from ...growth.formulas import Formula, formulas
from ...growth.instances import instances
from ...guard.audit import may_show_errors
from ...guard.facade import Facade, hide
from ...guard.seam import BlenderHost
from .. import image_sizes
from ..bmesh import numbers_in
from ..functions import finite
from ..layers import names as layer_names
from ..plain_values import as_plain, held_items
from ..script_classes import operators
from ..text_sizes import check_text
from . import undo_steps
from .crashing import why_crashing
from .instead import INSTEAD

__all__ = ("ASSETS", "FILES", "Operator", "OperatorModule", "Operators", "steps")

_EXECUTE = frozenset(
    "EXEC_DEFAULT EXEC_REGION_WIN EXEC_REGION_CHANNELS EXEC_REGION_PREVIEW EXEC_AREA EXEC_SCREEN".split()
)
#: Parameters with file names, for any operator.
FILES = frozenset("filepath directory filename files relative_path check_existing url".split())
#: Parameters that name an asset: in another library than this file's, they open files.
ASSETS = frozenset("relative_asset_identifier asset_library_identifier".split())


class Operators(Facade):
    """`bpy.ops` for scripts: any module name, in any case, as Blender allows."""

    __slots__ = ("host",)

    def __init__(self, host: BlenderHost) -> None:
        _set_host(self, host)

    def __getattr__(self, name: str) -> OperatorModule:
        if name.startswith("__"):
            raise AttributeError(name)
        return _host(self).operator_module(name.lower())

    def __dir__(self) -> list[str]:
        return sorted({idname.partition(".")[0] for idname in _host(self).policy.operators})

    def __repr__(self) -> str:
        return "<module 'bpy.ops'>"


_host: Callable[[Operators], BlenderHost]
_host, _set_host = hide(Operators, "host")


class OperatorModule(Facade):
    """One module of operators; `dir()` lists what a script may use and this Blender has."""

    __slots__ = ("module",)

    def __init__(self, host: BlenderHost, name: str) -> None:
        _set_module(self, (host, name))

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("__"):
            raise AttributeError(name)
        host, module = _module(self)
        return host.operator(f"{module}.{name}")

    def __dir__(self) -> list[str]:
        host, module = _module(self)
        existing = dir(getattr(bpy.ops, module))
        return sorted(name for name in existing if host.policy.gives_operator(f"{module}.{name}"))

    def __repr__(self) -> str:
        return f"<module 'bpy.ops.{_module(self)[1]}'>"


_module: Callable[[OperatorModule], tuple[BlenderHost, str]]
_module, _set_module = hide(OperatorModule, "module")


class Operator(Facade):
    """One operator. A call runs it now, without a dialog and without an undo step of its own."""

    __slots__ = ("call",)

    def __init__(self, host: BlenderHost, idname: str) -> None:
        native = (_known if len(idname) <= _LONGEST else _native)(idname)
        _set_call(self, _Call(host, idname, native))

    def __call__(self, *args: Any, **kwargs: Any) -> set[str]:
        """Run the operator if the policy allows it and its arguments."""
        call = _call(self)
        own = call.host.script_classes.operators.get(call.idname)
        return (
            _run(call, args, kwargs)
            if own is None
            else operators.run(call.host, call.idname, own, args, kwargs)
        )

    def poll(self, *args: Any) -> bool:
        """Return whether the operator could run now."""
        call = _call(self)
        own = call.host.script_classes.operators.get(call.idname)
        if own is not None:
            return operators.can_run(own)
        _allow(call)
        context = [a for a in args if isinstance(a, str) and a in _EXECUTE]
        return bool(call.native.poll(*context[:1]))

    def idname(self) -> str:
        """Return the operator's name in RNA, such as `MESH_OT_primitive_cube_add`."""
        return str(_call(self).native.idname())

    def idname_py(self) -> str:
        """Return the operator's name in Python, such as `mesh.primitive_cube_add`."""
        return _call(self).idname

    def get_rna_type(self) -> Any:
        """Return the operator's description in RNA, read-only."""
        call = _call(self)
        _allow(call)
        return call.native.get_rna_type()

    def __repr__(self) -> str:
        return f"<operator bpy.ops.{_call(self).idname}>"


class _Call(NamedTuple):
    """One operator with the host that checks it and Blender's own operator."""

    host: BlenderHost
    idname: str
    native: Any


_call: Callable[[Operator], _Call]
_call, _set_call = hide(Operator, "call")


@may_show_errors
def _run(call: _Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[str]:
    host, idname, native = call
    _allow(call)
    context = _context(call, args) if args else args
    kwargs = _plain(host, idname, kwargs)
    if idname in INSTEAD:
        host.meter.tick()
        return INSTEAD[idname](host, kwargs)
    kwargs = _checked(call, kwargs)
    host.before_operator(idname)
    may_make_steps = undo_steps.may_make(idname)
    if idname.startswith("image.") and (image := getattr(bpy.context, "edit_image", None)) is not None:
        host.keep_pixels(image)
    try:
        with host.overrides.beside_no_thread():
            try:
                result: set[str] = native(*context, **kwargs)
            finally:
                if may_make_steps or undo_steps.may_make():
                    undo_steps.settle(native)
    finally:
        host.after_operator(idname)
    return result


def _plain(host: BlenderHost, idname: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as plain values. Refuses those that name files."""
    for name in arguments:
        if name in FILES or (name in ASSETS and arguments.get("asset_library_type") != "LOCAL"):
            host.refuse(
                f"bpy.ops.{idname}({name}=…): a script may not work on files; use the tools import_file, export_file "
                "and open_file"
            )
    # Operators take bytes for text: the checks get the text that Blender reads.
    return {
        name: held_items(as_plain(v.decode("utf-8", "replace") if type(v) is bytes else v))
        for name, v in arguments.items()
    }


def _checked(call: _Call, arguments: dict[str, Any]) -> dict[str, Any]:
    """Check plain arguments of an operator. Those of a macro's steps are checked as calls of these operators.

    Returns the arguments, with those of the steps as plain values.
    """
    host, idname = call.host, call.idname
    found = steps(idname)
    own = {name: value for name, value in arguments.items() if name not in found} if found else arguments
    finite.check_arguments(f"bpy.ops.{idname}", own)
    check_arguments(host, idname, arguments)
    layer_names.check_operator(host, idname, arguments)
    if reason := why_crashing(idname, arguments):
        host.refuse(f"bpy.ops.{idname}: {reason}", code="operator")
    for name in found:
        step = _Call(host, found[name], _native(found[name]))
        given = arguments.get(name, {})
        if isinstance(given, dict):  # for any other value, Blender raises an error
            if given:  # a listed macro runs any step as it is; a step that gets arguments must be listed, too
                _allow(step)
            # The items of `dict` itself: Blender reads them, not those that a class of the script would give.
            plain = _plain(host, step.idname, {as_plain(key): value for key, value in dict.items(given)})
            plain = _checked(step, plain)
            arguments = {**arguments, name: plain} if given else arguments
    return arguments


@cache
def steps(idname: str) -> Mapping[str, str]:
    """Return the steps of a macro operator: the name of the argument with a step's arguments -> the step's operator."""
    rna = _native(idname).get_rna_type()
    kinds = {p.identifier: p.fixed_type.identifier for p in rna.properties if p.type == "POINTER"}
    return {name: kind.lower().replace("_ot_", ".", 1) for name, kind in kinds.items() if "_OT_" in kind}


def _context(call: _Call, args: tuple[Any, ...]) -> tuple[str, ...]:
    context = tuple(a for a in args if isinstance(a, str))
    if len(context) != len([a for a in args if not isinstance(a, bool)]):
        raise TypeError("an operator takes keyword arguments and, before them, 'EXEC_DEFAULT'")
    if any(c not in _EXECUTE for c in context):
        call.host.meter.warn(
            f"bpy.ops.{call.idname}({context[0][:40]!r}) ran as 'EXEC_DEFAULT': a script does not wait for the user"
        )
        return ("EXEC_DEFAULT",)
    return context[:1]


def _allow(call: _Call) -> None:
    host, idname, native = call
    if host.policy.gives_operator(idname):
        return
    try:
        native.get_rna_type()
    except KeyError:
        raise AttributeError(f'Calling operator "bpy.ops.{idname}" error, could not be found') from None
    host.refuse(f"bpy.ops.{idname} may not be used: {host.policy.why_operator(idname)}", code="operator")


def _native(idname: str) -> Any:
    """Return Blender's own operator, whether or not it exists: Blender keeps nothing but its name here."""
    module, _, name = idname.partition(".")
    return getattr(getattr(bpy.ops, module), name)


_known = lru_cache(maxsize=256)(_native)
_LONGEST = 64
"""The most characters of an operator's name in Blender: longer ones are not worth remembering."""


# --- arguments ----------------------------------------------------------------------------------------------

_CAPS = numbers("largest arguments")


def check_arguments(host: BlenderHost, idname: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that would make Blender compute for minutes or run out of memory."""
    for name in arguments.keys() & _CAPS.keys():
        value, cap = arguments[name], _CAPS[name]
        if isinstance(value, (int, float)) and value > cap:
            host.meter.look_closer(
                f"bpy.ops.{idname}({name})",
                value,
                f"bpy.ops.{idname}({name}={value:,}) is more than the {cap:,} that a script may ask for without a "
                "rehearsal",
            )
    for name, value in arguments.items():
        if isinstance(value, str):
            check_text(host, value, f"bpy.ops.{idname}({name})")
    if idname in image_sizes.OPERATORS:
        image_sizes.check_operator(host, idname, arguments)
    if idname in _PER_FRAME:
        _check_frames(host, idname, arguments)
    formula = _FORMULAS.get(idname)
    if formula is not None:
        host.geometry.amount(_size(formula, arguments), f"bpy.ops.{idname}", numbers_in(arguments))


_PER_FRAME = names("operators over frames")
_MAX_FRAMES = 5000


def _check_frames(host: BlenderHost, idname: str, arguments: Mapping[str, Any]) -> None:
    scene = bpy.context.scene
    first = _number(arguments, "frame_start", _number(arguments, "start_frame", scene.frame_start))
    last = _number(arguments, "frame_end", _number(arguments, "end_frame", scene.frame_end))
    step = max(_number(arguments, "step", 1.0), 1.0)
    if "paths" in idname:  # these use the scene's range, whatever their arguments are
        first, last = min(first, scene.frame_start), max(last, scene.frame_end)
    frames = (last - first) / step
    if frames > _MAX_FRAMES:
        host.meter.look_closer(
            f"bpy.ops.{idname} over frames",
            frames,
            f"bpy.ops.{idname} over {frames:,.0f} frames is more than the {_MAX_FRAMES:,} that a script may compute "
            "without a rehearsal",
        )


def _number(arguments: Mapping[str, Any], name: str, default: float) -> float:
    value = arguments.get(name, default)
    return float(value) if isinstance(value, (int, float)) else default


def _edit_size() -> float:
    """Return the vertices of the meshes in edit mode; Blender keeps their number up to date there."""
    objects = getattr(bpy.context, "objects_in_mode_unique_data", None) or []
    return float(sum(o.data.total_vert_sel for o in objects if o.type == "MESH"))


def _curve_points() -> float:
    edited: Any = bpy.context.edit_object
    splines = edited.data.splines if edited is not None and edited.type in ("CURVE", "SURFACE") else ()
    return float(sum(len(s.points) + len(s.bezier_points) for s in splines))


def _insert_cost(arguments: Mapping[str, Any]) -> float:
    """Return the work of inserting text: Blender makes all letters again for each new one."""
    edited: Any = bpy.context.edit_object
    text = arguments.get("text")
    count = len(text) if isinstance(text, str) else 0
    return float(count) * (count + len(getattr(getattr(edited, "data", None), "body", "")))


def _edit_bones() -> float:
    """Return the bones in edit mode; Blender finds a name for each by comparing it with all others."""
    edited: Any = bpy.context.edit_object
    return float(len(edited.data.edit_bones)) if edited is not None and edited.type == "ARMATURE" else 0.0


def _active_size() -> float:
    active = bpy.context.view_layer.objects.active
    return float(len(active.data.vertices)) if active is not None and active.type == "MESH" else 1.0


def _selected_size() -> float:
    return float(sum(len(o.data.vertices) for o in bpy.context.selected_objects if o.type == "MESH"))


def _islands() -> int:
    """Return the number of connected parts of the meshes in edit mode."""
    parts = 0
    for owner in getattr(bpy.context, "objects_in_mode_unique_data", None) or []:
        if owner.type == "MESH":
            left = set(bmesh.from_edit_mesh(owner.data).verts)
            while left:
                parts += 1
                reached = [left.pop()]
                while reached:
                    near = {
                        edge.other_vert(vert) for vert in [reached.pop()] for edge in vert.link_edges
                    } & left
                    left -= near
                    reached += near
    return parts


def _separate_cost(arguments: Mapping[str, Any]) -> float:
    """Return the work of separating: each loose part becomes an object."""
    return _islands() * 500.0 if arguments.get("type") == "LOOSE" and _edit_size() > 4000 else 0.0


def _instance_cost(_arguments: Mapping[str, Any]) -> float:
    """Return the work of making instances real: each becomes an object."""
    selected = bpy.context.selected_objects
    made = instances(selected) - len(selected)
    return (made + sum(system.settings.count for o in selected for system in o.particle_systems)) * 200.0


def _quadriflow_cost(arguments: Mapping[str, Any]) -> float:
    """Return the work of Quadriflow, which takes as long for a face as other operators for a hundred."""
    active: Any = bpy.context.view_layer.objects.active
    if active is None or active.type != "MESH":
        return 0.0
    faces = _number(arguments, "target_faces", 4000)
    if arguments.get("mode") == "EDGE":
        area = sum(polygon.area for polygon in active.data.polygons)
        faces = area / max(_number(arguments, "target_edge_length", 0.1), 1e-6) ** 2
    elif arguments.get("mode") == "RATIO":
        faces = len(active.data.polygons) * _number(arguments, "target_ratio", 1.0)
    return max(faces, len(active.data.polygons) / 5.0) * 100.0


def _voxels(_arguments: Mapping[str, Any]) -> float:
    active: Any = bpy.context.view_layer.objects.active
    if active is None or active.type != "MESH":
        return 0.0
    return 6.0 * (max(active.dimensions) / max(active.data.remesh_voxel_size, 1e-6)) ** 2


_FORMULAS = formulas("operators")
#: How much an operator works on, by the name in its formula.
_WORKED_ON: Mapping[str, Callable[[], float]] = {
    "edited": _edit_size,
    "active": _active_size,
    "selected": _selected_size,
    "objects": lambda: float(len(bpy.context.selected_objects)),
    "curve_points": _curve_points,
    "edit_bones": _edit_bones,
}
_FUNCTIONS: Mapping[str, Callable[[Mapping[str, Any]], float]] = {
    "separated": _separate_cost,
    "voxels": _voxels,
    "quads": _quadriflow_cost,
    "instances": _instance_cost,
    "inserted": _insert_cost,
}


def _size(formula: Formula, arguments: Mapping[str, Any]) -> float:
    """Return about how many vertices an operator makes."""

    def read(name: str) -> float | None:
        if name in _WORKED_ON:
            return _WORKED_ON[name]()
        value = arguments.get(name)
        return float(value) if isinstance(value, (int, float)) else None

    return formula.value(read, {name: partial(function, arguments) for name, function in _FUNCTIONS.items()})
