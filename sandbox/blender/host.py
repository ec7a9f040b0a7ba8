# SPDX-License-Identifier: GPL-3.0-or-later
"""The guarded view of Blender: what a script of the level `blender` may read, write and call.

Scripts hold Blender's own objects, not wrappers, so that they compare, hash and pass to Blender as always. Each read
and write of a member is guarded by a decision from the policy's allow-lists, made once per (type, name).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NoReturn

import bmesh
import bpy

from ...base import per_type
from ...base.per_type import PerType, is_static
from ..facts.policy import Policy
from ..facts.reasons import why_blender, why_class_member
from ..growth.chains import links
from ..growth.geometry import Geometry
from ..guard.meter import Meter
from ..guard.native import finite
from ..guard.seam import Reader, Writer
from ..lifetime import memory
from ..lifetime.bmesh.removals import ELEMENTS, OF_WHOLE_MESH, SEQUENCES
from ..lifetime.custom_properties import PARTS
from ..lifetime.stale import Stale
from . import blocks, vertex_groups, views
from . import bmesh as bmesh_sizes
from .access import PLAIN_COLLECTION_METHODS, SESSION, Access, members
from .depsgraph import Instances
from .layers.names import UNCHECKED_BY_BLENDER, check_output
from .operators.ops import Operator, OperatorModule, Operators
from .overrides import Overrides
from .properties import custom_properties
from .properties.limits import check_items
from .script_classes.classes import ScriptClasses, menu_functions
from .script_classes.values import Property
from .vertex_groups import VertexGroupElement, VertexGroupElements

__all__ = ("BlenderHost",)

_STRUCTS = (bpy.types.bpy_struct, bpy.types.bpy_prop)
# Blender searches its types each time that code names one
_MODIFIER, _COLLECTION, _ARRAY = (
    bpy.types.Modifier,
    bpy.types.bpy_prop_collection,
    bpy.types.bpy_prop_array,
)
_WEIGHT: type = bpy.types.VertexGroupElement
_OWN_OBJECTS = (
    *(Operators, OperatorModule, Operator, custom_properties.Settings, Instances),
    *(VertexGroupElement, VertexGroupElements),
)
_RNA_META = tuple({type(bpy.types.Object), type(bpy.types.PropertyGroup), type(bpy.types.Operator)} - {type})
_C_TYPES = frozenset("IDPropertyGroup IDPropertyArray ContextTempOverride bpy_func".split())
_BMESH = frozenset(kind for kind in vars(bmesh.types).values() if isinstance(kind, type))


def _is_blenders(kind: type) -> bool:
    """Return whether values of a type are Blender's; a script's class may only have the same name as such a type."""
    return (
        issubclass(kind, (*_STRUCTS, *_OWN_OBJECTS, *_RNA_META))
        or (kind.__name__ in _C_TYPES and is_static(kind))
        or kind in _BMESH
        or memory.of_removed(kind)
    )


_BLENDERS = PerType(_is_blenders, _STRUCTS)
_COLLECTIONS = PerType(lambda kind: issubclass(kind, (_COLLECTION, VertexGroupElements)), _STRUCTS)


class Running:
    """The context in which a script runs; at its end, what the script touched last is estimated."""

    __slots__ = ("_host", "_namespace")

    def __init__(self, host: BlenderHost, namespace: dict[str, Any]) -> None:
        self._host = host
        self._namespace = namespace

    def __enter__(self) -> None:
        self._host.stale.open(self._namespace)

    def __exit__(self, failure: type[BaseException] | None, *_more: object) -> None:
        host = self._host
        try:
            if failure is None:
                host.geometry.check_touched()
                host.geometry.measure()
            else:
                host.geometry.abandon()
        finally:
            if host.overrides.active:
                host.overrides.end()
            host.stale.close()
            if per_type.passing:
                per_type.forget()


class BlenderHost:
    """Guards Blender's values for one run; its interface is `seam.Host`."""

    def __init__(
        self, policy: Policy, meter: Meter, keep_pixels: Callable[[Any], None] = lambda _image: None
    ) -> None:
        self.policy = policy
        self.meter = meter
        self.keep_pixels = keep_pixels
        """Called with an image before anything may change its pixels, which undo does not restore."""
        self.members = members(policy.level)
        self.geometry = Geometry(self, policy.geometry)
        self.stale = Stale(self.refuse, cuts=meter.limits.cut_references)
        self.keep = self.stale.held.keep
        self.overrides = Overrides()
        self.owned = _BLENDERS
        self.readers, self.writers = self.members.readers, self.members.writers
        self.registered: dict[tuple[type, str], bool] = {}
        """Whether an add-on registered this key of a type; nothing is registered while a script runs."""
        self.reached: set[tuple[str, frozenset[type], bool]] = set()
        """Data paths that were checked and may be used, with the types where they begin, and whether to write."""
        self.idle_texts: set[int] = set()
        """Texts that nothing runs, by session_uid: a script cannot assign one to what would run it."""
        self.script_classes = ScriptClasses(self)
        self._operators: dict[str, Operator] = {}
        self._modules: dict[str, OperatorModule] = {}
        self._bmesh_operators: dict[str, Callable[..., Any]] = {}

    def running(self, namespace: dict[str, Any]) -> Running:
        """Return the context in which a script with these globals runs."""
        return Running(self, namespace)

    def end(self) -> None:
        """Let go of everything: the run is over."""
        for part in (self.script_classes, self):  # each refers to itself
            vars(part).clear()

    # --- the seam -------------------------------------------------------------------------------------------

    def modules(self, wanted: Collection[str]) -> dict[str, object]:
        """Return the values of the importable names under the roots `wanted`, by dotted name."""
        return views.views(self, wanted)

    def owns(self, kind: type) -> bool:
        """Return whether values of this type are Blender's."""
        return _BLENDERS[kind]

    def class_base(self, kind: type) -> type | None:
        """Return the base that a script's class gets instead of a class of Blender's; None if it may not be a base."""
        return self.script_classes.base(kind)

    def plain(self, kind: type, name: str, write: bool) -> bool:
        """Return whether a use of the member needs no check; `getattr()` and `setattr()` then need not ask, either."""
        if kind in _OWN_OBJECTS:  # each of these guards itself
            answer = not write or (kind is VertexGroupElement and self.members.access(_WEIGHT, name).many)
        elif issubclass(kind, bpy.types.bpy_struct):
            access = self.members.access(kind, name)
            if write and f"{kind.__name__}.{name}" not in UNCHECKED_BY_BLENDER:
                answer = access.plain_write and self.stale.writes_natively(kind)
            else:
                answer = not write and access.plain_read
            if answer:
                self.writer(kind, name) if write else self.reader(kind, name)
        elif issubclass(kind, bpy.types.bpy_prop_collection):
            answer = name in PLAIN_COLLECTION_METHODS and not write
        else:
            answer = kind in _BMESH and bmesh_sizes.plain(kind, name)
        if answer:
            self.members.known[name, write].add(kind)
        return answer

    def only_limited(self, kind: type, name: str) -> bool:
        """Return whether any number but NaN may be written to the member without a check."""
        if not issubclass(kind, bpy.types.bpy_struct):
            return False
        access = self.members.access(kind, name)
        answer = access.limited and access.many and access.plain_read and self.stale.writes_natively(kind)
        if answer:
            self.members.known[finite(name), True].add(kind)
        return answer

    def known(self, name: str, write: bool) -> set[type]:
        """Return the types for which `plain`, or for the name "[]" `plain_items`, returned True in earlier runs."""
        return self.members.known[name, write]

    def plain_items(self, kind: type, write: bool) -> bool:
        """Return whether items are used natively: collections and arrays are read so, custom properties are not."""
        if kind in ELEMENTS and not write and self.stale.watched.active:
            return False
        natively = issubclass(kind, (bpy.types.bpy_prop, *_OWN_OBJECTS))  # each of ours guards itself
        answer = kind in _BMESH or (natively and not write)
        if answer:
            self.members.known["[]", write].add(kind)
        return answer

    def reader(self, kind: type, name: str) -> Reader:
        """Return the reader of that attribute for values of exactly this type."""
        read: Reader | None = None
        if issubclass(kind, bpy.types.bpy_struct):
            read = self.members.access(kind, name).read
        elif issubclass(kind, bpy.types.bpy_prop_collection):
            read = self.members.collection_reader(name, BlenderHost.getattr)
        elif kind in _BMESH:
            read = bmesh_sizes.READERS.get((kind, name), bmesh_sizes.member)
        self.readers[kind, name] = read = read or BlenderHost.getattr
        return read

    def writer(self, kind: type, name: str) -> Writer:
        """Return the writer of that attribute for values of exactly this type."""
        write: Writer | None = None
        if issubclass(kind, bpy.types.bpy_struct) and not issubclass(kind, SESSION):
            write = self.members.access(kind, name).write
        elif issubclass(kind, bpy.types.bpy_prop_collection):
            write = self.members.collection_writer(name, BlenderHost.setattr)
        elif kind is VertexGroupElement:
            write = vertex_groups.write
        write = BlenderHost.setattr if write is None else blocks.original(write)
        self.writers[kind, name] = write
        return write

    def getattr(self, value: Any, name: str) -> Any:
        """Read `value.name` as the script's policy allows."""
        access = self.members.decided(type(value), name)
        if access is not None and access.read is not None:
            return access.read(self, value, name)
        if isinstance(value, _OWN_OBJECTS):
            if name.startswith("_"):
                raise AttributeError(f"{value!r} has no attribute {name!r}")
            return getattr(value, name)
        if isinstance(value, type):
            return self._class_member(value, name)
        if type(value) in _BMESH:
            return bmesh_sizes.member(self, value, name)
        access = self._access(value, name)
        if access.read is not None:
            return access.read(self, value, name)
        if _is_description(value) and name in self.policy.readable("Struct"):
            return getattr(value, name)
        if access.missing:
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        return self.refuse(f"{_label(value, name)} may not be used by a script: {access.why}", code="member")

    def setattr(self, value: Any, name: str, new: Any) -> None:
        """Set `value.name = new` as the script's policy allows."""
        access = self.members.decided(type(value), name)
        if access is not None and access.write is not None:
            _check_undone(self, value)
            access.write(self, value, name, new)
            return
        if isinstance(value, (type, *_OWN_OBJECTS)):
            why = (
                why_blender("bpy.props")
                if type(new) is Property
                else "a script works on data, not on Blender itself"
            )
            self.refuse(f"{value!r} may not be changed: {why}", code="member")
        if type(value) in _BMESH:
            bmesh_sizes.write(self, value, name, new)
            return
        access = self._access(value, name)
        if access.write is not None:
            _check_undone(self, value)
            access.write(self, value, name, new)
        elif access.missing:
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        elif access.read is not None and _readonly(value, name):
            setattr(value, name, new)  # Blender's own error
        else:
            self.refuse(f"{_label(value, name)} may not be changed by a script: {access.why}", code="member")

    def delattr(self, value: Any, name: str) -> None:
        """Refuse to delete: Blender's members cannot be deleted."""
        self.refuse(f"del {_label(value, name)}: Blender's own members cannot be deleted", code="member")

    def getitem(self, value: Any, key: Any) -> Any:
        """Read `value[key]`: items of collections and arrays, custom properties of structs."""
        if type(value) in ELEMENTS:
            return self.stale.watched.give(value, value[key])
        if isinstance(value, bpy.types.bpy_struct) and custom_properties.is_registered(self, value, key):
            self.refuse(f"[{key!r}] of {value!r} belongs to an add-on: use the attribute .{key}", code="item")
        if isinstance(value, type):
            raise TypeError(f"{value!r} is not subscriptable")
        found = value[key]
        kind = type(found)
        return self.stale.properties.give(value, found) if kind is list or PARTS[kind] else found

    def setitem(self, value: Any, key: Any, new: Any) -> None:
        """Set `value[key] = new`, checked."""
        custom_properties.check_new(self, value, new)
        if isinstance(value, (type, *_OWN_OBJECTS)):
            self.refuse(f"items of {value!r} may not be changed", code="item")
        if isinstance(value, bpy.types.bpy_struct):
            if custom_properties.is_registered(self, value, key):
                self.refuse(
                    f"[{key!r}] of {value!r} belongs to an add-on: use the attribute .{key}", code="item"
                )
            _check_undone(self, value)
            if isinstance(value, _MODIFIER) and isinstance(key, str) and "_attribute_name" in key:
                check_output(self, new)
            custom_properties.replace(self, value, key, new)
            if isinstance(value, _MODIFIER):
                self.geometry.check(value.id_data)
            return
        if isinstance(value, _ARRAY):
            new = check_items(value, new)
        custom_properties.replace(self, value, key, new)

    def delitem(self, value: Any, key: Any) -> None:
        """Delete `value[key]`, checked."""
        if isinstance(value, (type, *_OWN_OBJECTS)) or (
            isinstance(value, bpy.types.bpy_struct) and custom_properties.is_registered(self, value, key)
        ):
            self.refuse(f"[{key!r}] of {value!r} may not be deleted", code="item")
        custom_properties.delete(self, value, key)

    def iterated(self, value: Any) -> Any:
        """Return a collection's items as a list: Blender's iterator reads freed memory after an item is removed."""
        kind = type(value)
        if _COLLECTIONS[kind]:
            return value.values()
        if kind in OF_WHOLE_MESH:
            return self.stale.drawn.draw(value)
        return list(value) if kind in SEQUENCES else value

    # --- for the parts of the host --------------------------------------------------------------------------

    def refuse(self, message: str, *, code: str = "policy") -> NoReturn:
        """Stop the run because policy refuses something."""
        self.meter.refuse(message, code=code)

    def exceed(self, message: str, *, limit: str) -> NoReturn:
        """Stop the run because it reached a limit."""
        self.meter.exceed(message, limit=limit)

    def operator_module(self, name: str) -> OperatorModule:
        """Return the module of operators `name`."""
        if name not in self._modules:
            self._modules[name] = OperatorModule(self, name)
        return self._modules[name]

    def operator(self, idname: str) -> Operator:
        """Return the operator `idname`."""
        if idname not in self._operators:
            self._operators[idname] = Operator(self, idname)
        return self._operators[idname]

    def bmesh_operator(self, name: str) -> Callable[..., Any]:
        """Return the function `bmesh.ops.name`, which checks its counts."""
        if name not in self._bmesh_operators:
            self._bmesh_operators[name] = bmesh_sizes.operator(self, name)
        return self._bmesh_operators[name]

    def before_operator(self, idname: str) -> None:
        """Check an operator, and note what it may free, before it runs; `after_operator` has to follow."""
        self.meter.tick()
        self.geometry.check_touched()
        if idname.startswith("node."):
            self.geometry.zone()
        if links(idname):
            self.geometry.chains.link_somewhere()
        if "modifier" in idname or idname == "object.subdivision_set":
            self.geometry.touch(bpy.context.view_layer.objects.active)
        self.stale.before_operator(idname, overridden=bool(self.overrides.active))

    def after_operator(self, idname: str) -> None:
        """Check what an operator did, whether or not it failed."""
        self.stale.after_operator(idname, overridden=bool(self.overrides.active))
        self.overrides.drop_removed()
        if "modifier" in idname or idname == "object.subdivision_set":
            self.geometry.check_touched()

    # --- inside ---------------------------------------------------------------------------------------------

    def _access(self, value: Any, name: str) -> Access:
        if isinstance(value, bpy.types.bpy_prop) and not isinstance(value, bpy.types.bpy_prop_array):
            return self.members.collection(value, name)
        return self.members.access(type(value), name)

    def _class_member(self, value: type, name: str) -> Any:
        if name in ("bl_rna", "__name__") and hasattr(value, "bl_rna"):
            return getattr(value, name)
        if name in (added := menu_functions(self, value)):
            return added[name]
        if not hasattr(value, name):
            raise AttributeError(f"type object {value.__name__!r} has no attribute {name!r}")
        why = why_class_member(name)
        return self.refuse(f"bpy.types.{value.__name__}.{name} may not be used: {why}", code="member")


def _check_undone(host: BlenderHost, value: Any) -> None:
    """Refuse to write data-blocks of the window: undo does not restore them, so no script could be rolled back."""
    blocks.check_original(host, value)
    if isinstance(value, SESSION):
        host.refuse(
            f"{value!r} belongs to the user's session, not to the scene: leave it as it is", code="member"
        )


def _is_description(value: Any) -> bool:
    """Return whether this is RNA itself (`Object.bl_rna`), which Python shows as an instance of what it describes."""
    return isinstance(value, bpy.types.bpy_struct) and value.rna_type.identifier == "Struct"


def _readonly(value: Any, name: str) -> bool:
    rna = getattr(value, "bl_rna", None)
    prop = rna.properties.get(name) if rna is not None else None
    return prop is None or prop.is_readonly


def _label(value: Any, name: str) -> str:
    rna = getattr(value, "rna_type", None)
    return f"{getattr(rna, 'identifier', type(value).__name__)}.{name}"
