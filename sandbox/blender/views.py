# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that `import bpy`, `import bmesh` and `from bpy_extras import …` give a script: listed names only."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from operator import index
from types import NoneType
from typing import Any, NoReturn

import bpy
from bpy_extras import mesh_utils

from ..facts.blender_modules import AS_THEY_ARE
from ..facts.reasons import why_blender
from ..guard.builtins import stand_in
from ..guard.modules import Later, View, make_view
from ..guard.seam import BlenderHost
from ..lifetime.bmesh import removals
from . import bmesh, units
from .operators import preferences
from .operators.ops import Operators
from .script_classes import classes, values

__all__ = ("views",)

_PARTS: Mapping[str, tuple[str, ...]] = {
    "addon_utils": (),
    "bmesh": ("bmesh.types", "bmesh.utils", "bmesh.geometry", "bmesh.ops"),
    "bpy_extras": tuple(name for name in AS_THEY_ARE if name.startswith("bpy_extras.")),
    "bpy": ("bpy.types", "bpy.app", "bpy.props", "bpy.utils", "bpy.utils.units", "bpy.path"),
}
"""The modules inside a module."""


def views(host: BlenderHost, wanted: Collection[str]) -> dict[str, object]:
    """Return the views by dotted name for one run, under the roots `wanted`; inner modules are made at first use."""
    made: dict[str, object] = {}
    _load_late()
    for root in _PARTS.keys() & set(wanted):
        for name in _PARTS[root]:
            import_module(name)  # while a script runs, nothing may open a file
            made[name] = Later(functools.partial(_part, host, name))
        parts = {name.partition(".")[2]: made[name] for name in _PARTS[root] if name.count(".") == 1}
        made[root] = make_view(root, parts | _MEMBERS[root](host), _missing(host, root))
    if "bpy" in made:
        for name in ("context", "data", "ops"):
            made[f"bpy.{name}"] = getattr(made["bpy"], name)
    return made


def _part(host: BlenderHost, name: str) -> View:
    """Return the view of a module inside a module."""
    members: dict[str, Any]
    match name:
        case "bmesh.ops":
            return make_view(name, {}, host.bmesh_operator)
        case "bpy.types":
            return make_view(name, {}, _types(host))
        case "bmesh.utils":
            members = {member: removals.removing(host, each) for member, each in _listed(name).items()}
        case "bpy.app":
            # The same in a rehearsal and with a window: else a script could behave differently in the two.
            members = _listed(name) | {"background": False, **_FOLDERS[name]}
        case "bpy.utils.units":
            members = _listed(name) | {"to_value": units.to_value}
        case "bpy.path":
            members = _listed(name) | {"relpath": _of_texts(relpath)}
        case "bpy_extras.mesh_utils":
            members = _listed(name) | {"triangle_random_points": _random_points(host)}
        case "bpy_extras.io_utils":
            members = _listed(name) | {each: stand_in(kind) for each, kind in classes.MIXINS.items()}
        case "bpy.props":
            members = values.functions()
        case "bpy.utils":
            members = _listed(name) | {
                **_FOLDERS[name],
                **host.script_classes.functions(),
                "units": Later(functools.partial(_part, host, "bpy.utils.units")),
            }
        case _:
            members = _listed(name)
    return make_view(name, members, _missing(host, name))


def _random_points(host: BlenderHost) -> Callable[..., Any]:
    """Return the script's `triangle_random_points`: Blender's own makes a list for all points before it begins."""

    def triangle_random_points(num_points: Any, loop_triangles: Any) -> Any:
        count, triangles = index(num_points), list(loop_triangles)
        host.geometry.amount(count * len(triangles), "triangle_random_points()")
        return mesh_utils.triangle_random_points(count, triangles)

    return triangle_random_points


#: Texts in place of Blender's folders, which show nothing of the user's.
_FOLDERS: Mapping[str, Mapping[str, Any]] = {
    "bpy.app": {"binary_path": "", "tempdir": "/tmp/"},  # noqa: S108 - a text, no folder
    "bpy.utils": {
        "resource_path": lambda _kind="USER", **_version: "/",
        "script_path_user": lambda: "/scripts",
        "script_paths": lambda **_options: [],
        "user_resource": lambda kind="", *, path="", **_options: f"/{kind}/{path}".lower().rstrip("/"),
    },
}
#: Modules of Blender's own Python that it loads when a property is first read: nothing may load while a script runs.
_LATE = ("_bpy_internal.grease_pencil.stroke",)


@functools.cache
def _load_late() -> None:
    for name in _LATE:
        with contextlib.suppress(ImportError):  # this Blender does not have it
            import_module(name)


@functools.cache
def _listed(module: str) -> dict[str, Any]:
    """Return the members of a module that scripts get unchanged."""
    source = import_module(module)
    found = {name: getattr(source, name) for name in AS_THEY_ARE[module] if hasattr(source, name)}
    return {name: _of_texts(each) for name, each in found.items()} if module == "bpy.path" else found


_MEMBERS: Mapping[str, Callable[[BlenderHost], dict[str, Any]]] = {
    "addon_utils": preferences.add_ons,
    "bmesh": lambda host: (
        _listed("bmesh") | {"new": bmesh.new_mesh(host), "from_edit_mesh": bmesh.edit_mesh(host)}
    ),
    "bpy_extras": lambda _host: {},
    "bpy": lambda host: {"context": bpy.context, "data": bpy.data, "ops": Operators(host)},
}
"""What a module has besides its inner modules."""


def _of_texts(function: Callable[..., str]) -> Callable[..., str]:
    """Return a function of `bpy.path` that accepts only texts: the original hashes its first argument in one call."""

    @functools.wraps(function)
    def call(*texts: Any, **named: Any) -> str:
        for text in (*texts, *named.values()):
            if not isinstance(text, (str, bytes, bool, NoneType)):
                raise TypeError(f"bpy.path.{function.__name__}() takes texts, not {type(text).__name__}")
        return function(*texts, **named)

    return call


def relpath(path: Any, *, start: Any = None) -> Any:
    """Return `bpy.path.relpath`, without revealing in which folder Blender was started."""
    if path.startswith("//"):
        return path
    folder = os.path.dirname(bpy.data.filepath) if start is None else start
    return "//" + os.path.relpath(os.path.join(os.sep, path), os.path.join(os.sep, folder))


def _missing(host: BlenderHost, module: str) -> Callable[[str], NoReturn]:
    def missing(name: str) -> NoReturn:
        path = f"{module}.{name}"
        if hasattr(import_module(module), name):
            host.refuse(f"{path} may not be used: {why_blender(path)}", code="module")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return missing


def _types(host: BlenderHost) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        found = getattr(bpy.types, name)
        if not isinstance(found, type):
            host.refuse(f"bpy.types.{name} may not be used: it is no type")
        return stand_in(found)

    return find
