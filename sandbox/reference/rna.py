# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what this Blender has: operators, RNA structs and their members, as plain data.

`build()` walks RNA once (about 0.3 s) and is the only function here that touches Blender; everything else works on the
`RnaIndex` that it returns, which pickles and knows nothing of `bpy`. Validation, `inspect_tool` and the comparison of
two Blender versions read the same index.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...base.errors import InvalidParamsError
from ..facts.blender_modules import withheld

if TYPE_CHECKING:
    from ..facts.policy import Policy

__all__ = (
    "Function",
    "Operator",
    "Property",
    "RnaIndex",
    "Struct",
    "build",
    "current",
    "inspect",
    "normalize_operator",
)

#: Structs that only describe the user interface; an index without them is a third of the size.
_INTERFACE = ("_OT_", "_PT_", "_MT_", "_HT_", "_UL_", "_FH_", "_AST_", "_GGT_", "_WGT_")


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a struct, or a parameter of an operator or function. `type` is RNA's (`FLOAT`, `ENUM`, …).

    `subtype` is known for texts alone (`FILE_PATH`), `unit` for numbers (`LENGTH`, `ROTATION` in radians).

    `minimum` and `maximum` are None where RNA has no limit worth the name. `struct` names what a POINTER or
    COLLECTION holds, `collection` the struct with a collection's own functions.
    """

    name: str
    type: str
    subtype: str = "NONE"
    unit: str = "NONE"
    description: str = ""
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    length: int = 0
    items: tuple[str, ...] = ()
    struct: str = ""
    collection: str = ""
    readonly: bool = False
    required: bool = False
    output: bool = False
    runtime: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a struct; `parameters` in the order of the call, outputs last."""

    name: str
    description: str
    parameters: tuple[Property, ...]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator; `idname` in the Python form, `mesh.primitive_cube_add`."""

    idname: str
    label: str
    description: str
    parameters: Mapping[str, Property]


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct with the members that it adds to its base."""

    name: str
    base: str
    description: str
    properties: Mapping[str, Property]
    functions: Mapping[str, Function]
    #: Members that Blender defines in Python on top of RNA (`Object.children`, `Mesh.from_pydata`).
    python: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RnaIndex:
    """All of one Blender's RNA. `version` has the form of `bpy.app.version`."""

    version: tuple[int, ...]
    operators: Mapping[str, Operator]
    structs: Mapping[str, Struct]
    context: frozenset[str] = frozenset()
    #: Names that Blender's modules have and scripts do not get, such as `bpy.app.handlers`.
    withheld: frozenset[str] = frozenset()
    _modules: dict[str, list[str]] = field(default_factory=dict, repr=False, compare=False)
    _below: dict[str, frozenset[str]] = field(default_factory=dict, repr=False, compare=False)

    def lineage(self, struct: str) -> Iterator[Struct]:
        """Iterate over the struct and its bases, nearest first."""
        while struct and (found := self.structs.get(struct)):
            yield found
            struct = found.base

    def property(self, struct: str, name: str) -> Property | None:
        """Return the property `name` of `struct` or of one of its bases."""
        return next((s.properties[name] for s in self.lineage(struct) if name in s.properties), None)

    def function(self, struct: str, name: str) -> Function | None:
        """Return the function `name` of `struct` or of one of its bases."""
        return next((s.functions[name] for s in self.lineage(struct) if name in s.functions), None)

    def has_member(self, struct: str, name: str) -> bool:
        """Return whether `struct` or one of its bases has a property, function or Python member `name`."""
        return any(
            name in s.properties or name in s.functions or name in s.python for s in self.lineage(struct)
        )

    def members(self, struct: str) -> list[str]:
        """Return the names of all members of `struct` and its bases, sorted."""
        return sorted({n for s in self.lineage(struct) for n in (*s.properties, *s.functions, *s.python)})

    def members_below(self, struct: str) -> frozenset[str]:
        """Return the members of a struct, its bases and its derived structs: a reference may hold any of these."""
        if not self._below:
            below: dict[str, set[str]] = {}
            for name, found in self.structs.items():
                own = (*found.properties, *found.functions, *found.python)
                for above in self.lineage(name):
                    below.setdefault(above.name, set()).update(own)
            self._below.update({name: frozenset(names) for name, names in below.items()})
        return self._below.get(struct, frozenset()) | frozenset(self.members(struct))

    def operator_module(self, module: str) -> list[str]:
        """Return the idnames of one operator module; an empty list for an unknown module."""
        if not self._modules:
            for idname in self.operators:
                self._modules.setdefault(idname.partition(".")[0], []).append(idname)
        return self._modules.get(module, [])

    def suggest(self, idname: str, *, limit: int = 5) -> list[str]:
        """Return operators whose idname is similar to `idname`."""
        module, _, name = idname.partition(".")
        known = self.operator_module(module)
        if known:
            near = difflib.get_close_matches(name, [k.partition(".")[2] for k in known], limit, 0.5)
            if near:
                return [f"{module}.{n}" for n in near]
        return difflib.get_close_matches(idname, self.operators, limit, 0.6)


def normalize_operator(name: str) -> str:
    """Convert `bpy.ops.Mesh.primitive_cube_add()` or `MESH_OT_primitive_cube_add` to `mesh.primitive_cube_add`."""
    name = name.strip().split("(")[0].strip()
    name = name.removeprefix("bpy.ops.")
    if "_OT_" in name:
        module, _, rest = name.partition("_OT_")
        return f"{module.lower()}.{rest}"
    module, dot, rest = name.partition(".")
    return f"{module.lower()}{dot}{rest}"


# --- from the running Blender -----------------------------------------------------------------------------


def build() -> RnaIndex:
    """Return the index of the running Blender. Call it on the main thread; raises ImportError without Blender."""
    import bpy

    operators: dict[str, Operator] = {}
    for module in dir(bpy.ops):
        for name in dir(getattr(bpy.ops, module)):
            idname = f"{module}.{name}"
            operators[idname] = _operator(idname, getattr(getattr(bpy.ops, module), name))
    structs: dict[str, Struct] = {}
    for name in dir(bpy.types):
        rna = getattr(getattr(bpy.types, name), "bl_rna", None)
        if rna is not None and not any(mark in name for mark in _INTERFACE):
            structs[name] = _struct(rna, getattr(bpy.types, name))
    _add_groups(structs)
    context = frozenset(n for n in dir(bpy.context) if not n.startswith("_"))
    return RnaIndex(tuple(bpy.app.version), operators, structs, context, withheld())


_built: tuple[int, RnaIndex] | None = None


def current() -> RnaIndex:
    """Return the index of the running Blender; build it at the first call, and again after add-ons have changed.

    Call it on the main thread; raises ImportError without Blender.
    """
    global _built
    import bpy

    count = len(dir(bpy.types))
    if _built is None or _built[0] != count:
        _built = (count, build())
    return _built[1]


def _add_groups(structs: dict[str, Struct]) -> None:
    """Add property groups (Cycles' settings): registered classes that `dir(bpy.types)` does not list."""
    import bpy

    for kind in bpy.types.PropertyGroup.__subclasses__():
        rna = getattr(kind, "bl_rna", None)
        if rna is not None and rna.identifier not in structs and "_OT_" not in rna.identifier:
            structs[rna.identifier] = _struct(rna, kind)


def _operator(idname: str, operator: Any) -> Operator:
    rna = operator.get_rna_type()
    parameters = {p.identifier: _property(p) for p in rna.properties if p.identifier != "rna_type"}
    return Operator(idname, rna.name, rna.description, parameters)


def _struct(rna: Any, cls: type) -> Struct:
    base = rna.base
    inherited = set(base.properties.keys()) if base else set()
    inherited_functions = set(base.functions.keys()) if base else set()
    return Struct(
        rna.identifier,
        base.identifier if base else "",
        rna.description,
        {p.identifier: _property(p) for p in rna.properties if p.identifier not in inherited},
        {f.identifier: _function(f) for f in rna.functions if f.identifier not in inherited_functions},
        frozenset(_python_members(cls)),
    )


def _python_members(cls: type) -> Iterator[str]:
    for kind in cls.__mro__:
        if kind.__module__ in ("bpy_types", "_bpy_types"):
            for name, value in vars(kind).items():
                if not name.startswith("_") and (
                    callable(value) or isinstance(value, (property, classmethod))
                ):
                    yield name


def _function(function: Any) -> Function:
    parameters = sorted(map(_property, function.parameters), key=lambda p: p.output)
    return Function(function.identifier, function.description, tuple(parameters))


def _property(prop: Any) -> Property:
    kind = prop.type
    default: Any = None
    minimum = maximum = None
    length = 0
    items: tuple[str, ...] = ()
    if kind in ("INT", "FLOAT", "BOOLEAN"):
        length = prop.array_length
        default = tuple(prop.default_array) if length else prop.default
        if kind != "BOOLEAN":
            minimum, maximum = _limit(prop.hard_min), _limit(prop.hard_max)
    elif kind == "STRING":
        default = prop.default
    elif kind == "ENUM":
        items = tuple(i.identifier for i in prop.enum_items)
        if items and not prop.is_hidden and not prop.is_enum_flag and prop.enum_items_static:
            default = prop.default
    fixed = getattr(prop, "fixed_type", None)
    collection = getattr(prop, "srna", None) if kind == "COLLECTION" else None
    return Property(
        prop.identifier,
        kind,
        # Blender warns on the console about subtypes that RNA has no name for: read them only where they matter.
        (prop.subtype or "NONE") if kind == "STRING" else "NONE",
        prop.unit if kind == "FLOAT" else "NONE",
        prop.description,
        default,
        minimum,
        maximum,
        length,
        items,
        fixed.identifier if fixed else "",
        collection.identifier if collection else "",
        prop.is_readonly,
        prop.is_required,
        prop.is_output,
        prop.is_runtime,
    )


def _limit(value: float) -> float | None:
    return value if abs(value) < 1e30 and abs(value) != 2**31 - 1 and value != -(2**31) else None


# --- inspect_tool ---------------------------------------------------------------------------------------


class UnknownName(InvalidParamsError):
    """Tells that this Blender has nothing of that name; `facts` has similar names."""

    def __init__(self, message: str, near: list[str]) -> None:
        super().__init__(message)
        self.facts = {"did_you_mean": near}


def inspect(name: str, index: RnaIndex, policy: Policy | None = None) -> dict[str, Any]:
    """Describe an operator (`mesh.primitive_cube_add`) or an RNA type (`bpy.types.Object`, `Object.location`).

    Returns `{"kind": "operator"|"type"|"member", …}`. With a policy every operator, property and function says
    whether a script may use it (`allowed`). Raises UnknownName, whose facts hold what is called alike.
    """
    plain = name.strip().removeprefix("bpy.types.")
    head, _, member = plain.partition(".")
    if head in index.structs:
        return _inspect_member(head, member, index, policy) if member else _inspect_type(head, index, policy)
    idname = normalize_operator(name)
    if idname in index.operators:
        return _inspect_operator(index.operators[idname], policy)
    near = [f"bpy.ops.{n}" for n in index.suggest(idname)]
    near += [f"bpy.types.{n}" for n in difflib.get_close_matches(head, index.structs, 3, 0.7)]
    version = ".".join(map(str, index.version))
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    raise UnknownName(f"Blender {version} has no operator and no type named {name!r}.{hint}", near)


def _inspect_operator(operator: Operator, policy: Policy | None) -> dict[str, Any]:
    parameters = [_describe(p) for p in operator.parameters.values()]
    shown: dict[str, Any] = {
        "kind": "operator",
        "name": f"bpy.ops.{operator.idname}",
        "label": operator.label,
        "description": operator.description,
        "parameters": parameters,
    }
    if policy is not None:
        shown["allowed"] = policy.gives_operator(operator.idname)
        if not shown["allowed"]:
            shown["reason"] = policy.why_operator(operator.idname)
    return shown


def _inspect_type(name: str, index: RnaIndex, policy: Policy | None) -> dict[str, Any]:
    properties: list[dict[str, Any]] = []
    functions: list[dict[str, Any]] = []
    for struct in index.lineage(name):
        for prop in struct.properties.values():
            properties.append(_describe(prop) | _permission(struct.name, prop, policy))
        for function in struct.functions.values():
            functions.append(_describe_function(struct.name, function, policy))
    return {
        "kind": "type",
        "name": f"bpy.types.{name}",
        "description": index.structs[name].description,
        "bases": [s.name for s in index.lineage(name)][1:],
        "properties": sorted(properties, key=lambda p: p["name"]),
        "functions": sorted(functions, key=lambda f: f["name"]),
    }


def _inspect_member(head: str, member: str, index: RnaIndex, policy: Policy | None) -> dict[str, Any]:
    for struct in index.lineage(head):
        shown: dict[str, Any] | None = None
        if prop := struct.properties.get(member):
            shown = _describe(prop) | _permission(struct.name, prop, policy)
        elif function := struct.functions.get(member):
            shown = _describe_function(struct.name, function, policy)
        if shown:
            return {"kind": "member", **shown, "name": f"bpy.types.{head}.{member}"}
    near = difflib.get_close_matches(member, index.members(head), 5, 0.5)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    version = ".".join(map(str, index.version))
    message = f"bpy.types.{head} has no member {member!r} in Blender {version}.{hint}"
    raise UnknownName(message, [f"bpy.types.{head}.{n}" for n in near])


def _permission(struct: str, prop: Property, policy: Policy | None) -> dict[str, Any]:
    if policy is None:
        return {}
    return {"allowed": prop.name in policy.readable(struct), "writable": prop.name in policy.writable(struct)}


def _describe_function(struct: str, function: Function, policy: Policy | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": function.name,
        "description": function.description,
        "parameters": [_describe(p) for p in function.parameters if not p.output],
        "returns": [_describe(p) for p in function.parameters if p.output],
    }
    if policy is not None:
        shown["allowed"] = function.name in policy.callable(struct)
    return shown


def _describe(prop: Property) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": prop.name, "type": prop.type.lower(), "description": prop.description}
    if prop.subtype != "NONE":
        shown["subtype"] = prop.subtype.lower()
    if prop.unit != "NONE":
        shown["unit"] = "radians" if prop.unit == "ROTATION" else prop.unit.lower()
    for key in ("default", "minimum", "maximum", "items", "length", "struct"):
        value = getattr(prop, key)
        if value not in (None, "", (), 0) or (key == "default" and value is not None):
            shown[key] = list(value) if isinstance(value, tuple) else value
    if prop.required:
        shown["required"] = True
    if prop.readonly:
        shown["readonly"] = True
    return shown
