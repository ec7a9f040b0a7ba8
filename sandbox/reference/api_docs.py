# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the reference of the running Blender's Python as text: from RNA, and from docstrings where RNA has nothing.

`rna` has the data, `api_search` finds names in it; this module formats it for a reader. Functions that need Blender
import it in the call; call them on the main thread.
"""

from __future__ import annotations

import inspect
import pkgutil
import threading
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from ...base.errors import InvalidParamsError
from ...base.similar_names import did_you_mean, quoted
from ..facts.policy import Policy
from . import rna
from .api_search import SearchIndex
from .rna import Function, Property, RnaIndex

__all__ = ("docs", "docstrings", "operators", "search_index")

#: Modules that scripts may import and that have docstrings of their own.
_MODULES = (
    "bmesh bmesh.ops bmesh.types bmesh.utils bmesh.geometry bpy.path bpy.utils.units mathutils mathutils.bvhtree "
    "mathutils.geometry mathutils.interpolate mathutils.kdtree mathutils.noise bpy_extras.object_utils "
    "bpy_extras.mesh_utils bpy_extras.view3d_utils bpy_extras.anim_utils bpy_extras.node_utils "
    "bpy_extras.node_shader_utils bpy_extras.bmesh_utils"
).split()
#: The most lines of a type's members; a reader asks for the rest by prefix or by member.
_MOST_LINES = 400

_lock = threading.Lock()
_last_index: tuple[RnaIndex, SearchIndex] | None = None


def search_index(index: RnaIndex, texts: dict[str, str]) -> SearchIndex:
    """Return the search index for this RNA. The first call takes half a second, so call it in a thread."""
    global _last_index
    with _lock:
        if _last_index is None or _last_index[0] is not index:
            _last_index = (index, SearchIndex(index, texts))
        return _last_index[1]


@cache
def _module(name: str) -> ModuleType | None:
    try:
        return pkgutil.resolve_name(name)  # type: ignore[no-any-return]
    except (ImportError, AttributeError):
        return None  # this Blender does not have it


@cache
def docstrings() -> dict[str, str]:
    """Return the docstrings of the functions and classes of Blender's modules, by dotted name."""
    return {name: text for module in _MODULES for name, text in _public(module)}


def _public(name: str) -> Iterator[tuple[str, str]]:
    module = _module(name)
    for key in dir(module) if module is not None else ():
        value = getattr(module, key)
        if key.startswith("_") or isinstance(value, ModuleType):
            continue
        text = value.__doc__
        if callable(value) and text and _is_own(value, name):
            yield f"{name}.{key}", text
            if isinstance(value, type):
                for member, found in vars(value).items():
                    if not member.startswith("_") and (own := getattr(found, "__doc__", None)):
                        yield f"{name}.{key}.{member}", own


def _is_own(value: Any, module: str) -> bool:
    """Return whether a module defines a value itself; for C code, the value's own module name may be missing."""
    home = getattr(value, "__module__", None)
    return home == module or (not module.startswith("bpy_extras") and home in (None, "builtins"))


def operators(index: RnaIndex, prefix: str, policy: Policy) -> list[dict[str, Any]]:
    """Return the operators whose idname begins with `prefix`, sorted, each with whether a script may call it.

    Raises InvalidParamsError if there are none.
    """
    start = rna.normalize_operator(prefix)
    found = sorted(idname for idname in index.operators if idname.startswith(start))
    if not found:
        modules = sorted({idname.partition(".")[0] for idname in index.operators})
        near = did_you_mean(start, [*modules, *index.operators])
        raise InvalidParamsError(
            f"no operator begins with {quoted(start)}.{near} The modules are {', '.join(modules)}."
        )
    return [
        {
            "name": f"bpy.ops.{idname}",
            "label": index.operators[idname].label,
            "allowed": policy.gives_operator(idname),
        }
        for idname in found
    ]


# --- one name -------------------------------------------------------------------------------------------------


def docs(name: str, index: RnaIndex, policy: Policy) -> str:
    """Return the reference of an operator, a type, a member, or a function or class of a module.

    Raises InvalidParamsError that offers similar names.
    """
    plain = name.strip().split("(")[0].strip()
    for prefix in ("bpy.ops.", "bpy.types."):
        head = plain.removeprefix(prefix)
        if head != plain:
            break
    struct, _, member = head.partition(".")
    if struct in index.structs:
        return _member(struct, member, index, policy) if member else _type(struct, index, policy)
    idname = rna.normalize_operator(plain)
    if idname in index.operators:
        return _operator(idname, index, policy)
    texts = docstrings()
    if plain in texts:
        return _docstring(plain, texts)
    below = sorted(key for key in texts if key.rpartition(".")[0] == plain)
    if below:
        return "\n".join([f"module {plain}", *(f"  {key}" for key in below)])
    known = (
        [f"bpy.ops.{o}" for o in index.operators] + [f"bpy.types.{s}" for s in index.structs] + list(texts)
    )
    near = did_you_mean(plain, known) or did_you_mean(f"bpy.ops.{idname}", known)
    version = ".".join(map(str, index.version))
    raise InvalidParamsError(
        f"Blender {version} has nothing named {quoted(plain)}.{near} search_api_docs finds names by words."
    )


def _docstring(name: str, texts: dict[str, str]) -> str:
    members = sorted(key for key in texts if key.startswith(name + "."))
    lines = [name, inspect.cleandoc(texts[name])]
    if members:
        lines += ["members:", *(f"  {key}" for key in members)]
    return "\n".join(lines)


def _operator(idname: str, index: RnaIndex, policy: Policy) -> str:
    import bpy

    operator = index.operators[idname]
    module, _, name = idname.partition(".")
    live = getattr(getattr(bpy.ops, module), name).get_rna_type()
    shown = [f"{p.name}={_value(p.default)}" for p in operator.parameters.values()]
    allowed = "" if policy.gives_operator(idname) else f"Not for scripts: {policy.why_operator(idname)}."
    lines = [f"operator bpy.ops.{idname}({', '.join(shown)})", operator.description, allowed]
    for prop in operator.parameters.values():
        lines += _lines(prop, live.properties.get(prop.name))
    return "\n".join(line for line in lines if line)


def _type(name: str, index: RnaIndex, policy: Policy) -> str:
    bases = [s.name for s in index.lineage(name)][1:]
    head = f"type bpy.types.{name}" + (f" ({' > '.join(bases)})" if bases else "")
    lines = [head, index.structs[name].description, "(+ read and write, - read only, x not for scripts)"]
    for struct in index.lineage(name):
        readable, writable = policy.readable(struct.name), policy.writable(struct.name)
        for prop in sorted(struct.properties.values(), key=lambda p: p.name):
            if prop.name != "rna_type":
                mark = "+" if prop.name in writable else "-" if prop.name in readable else "x"
                lines.append(f"{mark} {_signature(prop)}  {prop.description}".rstrip())
        for function in sorted(struct.functions.values(), key=lambda f: f.name):
            mark = "+" if function.name in policy.callable(struct.name) else "x"
            lines.append(f"{mark} {_call(function)}  {function.description}".rstrip())
    below = sorted(s for s, found in index.structs.items() if found.base == name)
    if below:
        lines.append("derived: " + ", ".join(below))
    if len(lines) > _MOST_LINES:
        more = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"… and {more} more: ask for one as bpy.types.{name}.MEMBER"]
    return "\n".join(lines)


def _member(head: str, member: str, index: RnaIndex, policy: Policy) -> str:
    import bpy

    for struct in index.lineage(head):
        if prop := struct.properties.get(member):
            live = getattr(bpy.types, head, None)
            lines = _lines(prop, live.bl_rna.properties.get(member) if live else None)
            allowed = (
                "A script may read and write it."
                if member in policy.writable(struct.name)
                else "A script may read it."
                if member in policy.readable(struct.name)
                else "A script may not use it."
            )
            return "\n".join([f"property bpy.types.{head}.{member}", *lines, allowed])
        if function := struct.functions.get(member):
            lines = [f"function bpy.types.{head}.{_call(function)}", function.description]
            for parameter in function.parameters:
                lines += _lines(parameter, None)
            allowed = "" if member in policy.callable(struct.name) else "A script may not call it."
            return "\n".join(line for line in [*lines, allowed] if line)
    near = did_you_mean(member, index.members(head))
    raise InvalidParamsError(f"bpy.types.{head} has no member {quoted(member)}.{near}")


def _lines(prop: Property, live: Any) -> list[str]:
    """Return the lines of a property with its enum items, each with Blender's description if it has one."""
    lines = [f"  {_signature(prop)}  {prop.description}".rstrip()]
    described = {i.identifier: i.description for i in live.enum_items} if prop.type == "ENUM" and live else {}
    lines += [f"      {item}: {text}" for item in prop.items if (text := described.get(item, ""))]
    return lines


def _signature(prop: Property) -> str:
    kind = prop.struct if prop.type == "POINTER" else prop.type.lower()
    if prop.type == "COLLECTION":
        kind = f"collection of {prop.struct}"
    if prop.length:
        kind += f"[{prop.length}]"
    if prop.type == "ENUM" and prop.items:
        kind = f"enum {'|'.join(prop.items)}"
    parts = [f"{prop.name}: {kind}"]
    if prop.default not in (None, ""):
        parts.append(f"= {_value(prop.default)}")
    if prop.minimum is not None or prop.maximum is not None:
        parts.append(f"[{_limit(prop.minimum)}, {_limit(prop.maximum)}]")
    if prop.unit != "NONE":
        parts.append("radians" if prop.unit == "ROTATION" else prop.unit.lower())
    return " ".join(parts)


def _call(function: Function) -> str:
    given = [
        f"{p.name}{'' if p.required else '=' + _value(p.default)}"
        for p in function.parameters
        if not p.output
    ]
    returned = [p.struct or p.type.lower() for p in function.parameters if p.output]
    return f"{function.name}({', '.join(given)})" + (f" -> {', '.join(returned)}" if returned else "")


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))})"
    return repr(value) if value is not None else "…"


def _limit(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
