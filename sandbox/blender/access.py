# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides what a script may do with a member of one of Blender's types: once per (type, name), then cached.

An `Access` says whether the member may be read natively, through a function, or not at all, and the same for writing.
The default is to refuse: a member that RNA has and the allow-lists do not name is refused. A name that RNA does not
have raises Blender's own AttributeError, which honest scripts catch to support several versions.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import bpy

from ..facts.policy import Level, Policy, policy
from ..facts.reasons import why_property
from ..guard.facade import sealing
from ..guard.seam import BlenderHost, Reader, Writer
from ..lifetime.custom_properties import PARTS
from ..lifetime.freeing import frees
from ..lifetime.layers import WRITTEN, may_make
from ..lifetime.memory import of_removed
from ..lifetime.stale import FRAGILE
from . import blocks, data_paths, overrides, text_sizes
from .blocks import SESSION
from .functions import calls, methods
from .functions.checks import CHECKED, text_line
from .layers.names import write_output
from .operators import instead, preferences
from .properties import custom_properties, readers, writers
from .properties.limits import finite_writer, is_limited, noting_reader

__all__ = ("PLAIN_COLLECTION_METHODS", "SESSION", "Access", "Members", "lineage", "members")


@dataclass(frozen=True, slots=True)
class Access:
    """The decision how a script may read and write one member.

    `read` and `write` are None if the member may not be read or written; `plain_read` and `plain_write` say that the
    native operation is safe, without a check of the value. `limited`: `write` refuses NaN. `many`: apart from NaN,
    `write` checks nothing, so Blender may write many values at once. `attended`: the check in `write` is missing when
    an F-curve writes. `why` completes "… may not be used: ".
    """

    read: Reader | None = None
    write: Writer | None = None
    plain_read: bool = False
    plain_write: bool = False
    limited: bool = False
    many: bool = False
    attended: bool = False
    why: str = ""
    missing: bool = False


def _get(_host: BlenderHost, value: Any, name: str) -> Any:
    return getattr(value, name)


def _set(_host: BlenderHost, value: Any, name: str, new: Any) -> None:
    setattr(value, name, new)


MISSING = Access(missing=True)
PLAIN = Access(read=_get, plain_read=True)

#: The readers of the methods that Blender's C code gives every RNA struct.
_STRUCT_METHODS: dict[str, Reader] = {
    name: sealing(read)
    for name, read in {
        "keyframe_insert": methods.keyframe,
        "keyframe_delete": methods.keyframe,
        "driver_add": methods.driver,
        "driver_remove": methods.driver,
        "path_resolve": methods.path_resolve,
        "property_unset": methods.property_unset,
        **custom_properties.METHODS,
    }.items()
}
#: The readers of methods of one struct, by `Struct.function`.
_METHODS: dict[str, Reader] = {
    "Context.copy": sealing(overrides.copy),
    "Context.preferences": preferences.preferences,
    "Preferences.addons": preferences.addons,
    "Context.temp_override": sealing(overrides.temp_override),
    "BlendData.batch_remove": sealing(instead.batch_remove),
    "BlendData.orphans_purge": sealing(instead.orphans_purge),
    "ID.user_clear": sealing(instead.user_clear),
}
#: Properties whose new value needs a check, besides those of `writers.writer`.
_WRITERS: dict[str, Writer] = {"TextLine.body": text_line, **data_paths.WRITERS}
_PLAIN_STRUCT_METHODS = frozenset(
    "path_from_id is_property_set is_property_hidden is_property_readonly id_data".split()
)
PLAIN_COLLECTION_METHODS = frozenset("keys values items get id_data".split())
_COLLECTION_METHODS = {
    "find": Access(read=sealing(methods.find)),
    "foreach_get": Access(read=sealing(data_paths.foreach_get)),
    "foreach_set": Access(read=sealing(data_paths.foreach_set)),
}
_PLAIN_ARRAY_METHODS = frozenset("foreach_get id_data".split())

#: Members of types that Blender defines in C without RNA, by the name of the type: all of them are plain data.
_C_TYPES: dict[str, frozenset[str]] = {
    "IDPropertyGroup": frozenset("keys values items get pop update to_dict clear name".split()),
    "IDPropertyArray": frozenset("to_list typecode".split()),
    "ContextTempOverride": frozenset(),
    "bpy_func": frozenset(),
    "bpy_prop": frozenset(),
}


def lineage(kind: type) -> Iterator[str]:
    """Yield the names of the RNA struct of a Python type and of its bases, nearest first."""
    rna = getattr(kind, "bl_rna", None)
    while rna is not None:
        yield rna.identifier
        rna = rna.base


@cache
def members(policy_level: Level) -> Members:
    """Return the decisions of a level's policy: they are the same in every run, so all runs share them."""
    return Members(policy(policy_level))


class Members:
    """The decisions of one policy."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._structs: dict[tuple[type, str], Access] = {}
        #: (name, write) -> types of which scripts used that member natively: a later run needs no new decision.
        self.known: defaultdict[tuple[str, bool], set[type]] = defaultdict(set)
        #: Data paths that may be used in every run: see `data_paths`.
        self.reached: set[tuple[str, frozenset[type], bool]] = set()
        self._collections: dict[tuple[str, str], Access] = {}
        #: Readers and writers of members that scripts never use natively, by (type, name).
        self.readers: dict[tuple[type, str], Reader] = {}
        self.writers: dict[tuple[type, str], Writer] = {}

    def access(self, kind: type, name: str) -> Access:
        """Return the decision about the member `name` of values of the type `kind` (collections: see `collection`)."""
        found = self._structs.get((kind, name))
        if found is None:
            found = self._structs[kind, name] = self._decide(kind, name)
        return found

    def decided(self, kind: type, name: str) -> Access | None:
        """Return an earlier decision of `access` about this member, None if there is none; never for collections."""
        return self._structs.get((kind, name))

    def collection(self, value: Any, name: str) -> Access:
        """Return the decision about a member of a collection: collections share one type, but their structs differ."""
        return self._of_collections(_struct_of(value), name)

    def collection_reader(self, name: str, refuse: Reader) -> Reader:
        """Return the reader of that attribute for any collection; `refuse` is for those that have none to read."""
        if name in _COLLECTION_METHODS:
            return _COLLECTION_METHODS[name].read or refuse
        readers: dict[str, Reader] = {}

        def read(host: BlenderHost, value: Any, name: str) -> Any:
            try:  # like `_struct_of`, whose call would cost time here
                struct = value.rna_type.identifier
            except AttributeError:
                struct = ""
            known = readers.get(struct)
            if known is None:
                known = readers[struct] = self._of_collections(struct, name).read or refuse
            return known(host, value, name)

        return read

    def collection_writer(self, name: str, refuse: Writer) -> Writer:
        """Return the writer of that attribute for any collection; `refuse` is for those that have none to write."""
        writers: dict[str, Writer] = {}

        def write(host: BlenderHost, value: Any, name: str, new: Any) -> None:
            struct = _struct_of(value)
            known = writers.get(struct)
            if known is None:
                known = writers[struct] = self._of_collections(struct, name).write or refuse
            known(host, value, name, new)

        return write

    def _of_collections(self, struct: str, name: str) -> Access:
        if name in PLAIN_COLLECTION_METHODS:
            return PLAIN
        if name in _COLLECTION_METHODS:
            return _COLLECTION_METHODS[name]
        found = self._collections.get((struct, name))
        if found is None:
            kind = getattr(bpy.types, struct, None)
            found = self._decide_struct(kind, name) if kind is not None else MISSING
            self._collections[struct, name] = found
        return found

    def _decide(self, kind: type, name: str) -> Access:
        if of_removed(kind):
            return Access(read=_get, write=_set)  # every use of it raises ReferenceError
        if issubclass(kind, bpy.types.bpy_struct):
            return self._decide_struct(kind, name)
        if issubclass(kind, bpy.types.bpy_prop_array):
            if name == "foreach_set":
                return Access(read=sealing(methods.array_foreach_set))
            return PLAIN if name in _PLAIN_ARRAY_METHODS else _refusal(kind, name)
        allowed = _C_TYPES.get(kind.__name__)
        if allowed is not None and name in allowed and PARTS[kind]:
            return Access(read=sealing(custom_properties.group_member))
        if allowed is not None:
            return PLAIN if name in allowed else _refusal(kind, name)
        return _refusal(kind, name)

    def _decide_struct(self, kind: type, name: str) -> Access:
        if name.startswith("__"):
            return MISSING
        if name in _STRUCT_METHODS:
            return Access(read=_STRUCT_METHODS[name])
        if name in _PLAIN_STRUCT_METHODS:
            return PLAIN
        if name in ("bl_rna", "rna_type"):
            return PLAIN
        structs = list(lineage(kind))
        if _is_generated(structs, name):
            write = write_output if name == "attribute_name" else writers.write_and_measure
            prop = kind.bl_rna.properties.get(name)
            if not is_limited(kind, prop):
                return Access(read=_get, write=write)
            return Access(read=noting_reader(kind, prop, _get), write=finite_writer(write))
        for struct in structs:
            path = f"{struct}.{name}"
            if path in _METHODS:
                return Access(read=_METHODS[path])
            if path in CHECKED:
                return Access(read=calls.checked(path))
            if name in self.policy.callable(struct) and (_needs_check(struct, name)):
                return Access(read=calls.checked(path))
            if name in self.policy.callable(struct):
                return PLAIN
            if name in self.policy.readable(struct):
                if _is_function(kind, name) and (frees(struct, name) or may_make(struct, name)):
                    return Access(read=calls.checked(path))
                return self._property(kind, struct, name)
        if structs and structs[0] == "Context" and name in overrides.CONTEXT_MEMBERS:
            read = readers.READERS.get(f"Context.{name}")
            return PLAIN if read is None else Access(read=read)
        if not hasattr(kind, name) and not _in_rna(kind, name):
            known = structs[0] == "Context" and name in dir(bpy.context)
            return Access(why=why_property(structs, name)) if known else MISSING
        return Access(why=why_property(structs, name))

    def _property(self, kind: type, struct: str, name: str) -> Access:
        path = f"{struct}.{name}"
        prop = kind.bl_rna.properties.get(name)
        writable = name in self.policy.writable(struct) and (prop is None or not prop.is_readonly)
        aliased = getattr(prop, "is_array", False)
        limited = is_limited(kind, prop)
        read: Reader = readers.READERS.get(path) or (_get if writable or not aliased else readers.copied)
        if struct in FRAGILE:
            if not writable:
                return Access(read=readers.fragile_read, why=why_property([struct], name))
            write = writers.writer(path, struct, name) or writers.fragile_write
            many = write is writers.fragile_write
            write = writers.integers_writer(prop, write) or write
            return Access(
                read=noting_reader(kind, prop, readers.fragile_read) if limited else readers.fragile_read,
                write=finite_writer(write) if limited else write,
                limited=limited,
                many=many,
            )
        plain = read is _get
        if not writable:
            return Access(read=read, plain_read=plain, why=why_property([struct], name))
        if limited:
            read = noting_reader(kind, prop, read)
        check = _WRITERS.get(path) or writers.writer(path, struct, name)
        attended = check in writers.ATTENDED  # before others take its place
        check = text_sizes.limited(prop, check or writers.node_writer(kind, struct, prop))
        check = writers.integers_writer(prop, blocks.pointing(prop, check))
        many = plain and check is None and not issubclass(kind, SESSION)
        if check is None and struct in WRITTEN:
            check = writers.keeping_layers(path)
        return Access(
            read=read,
            write=finite_writer(check) if limited else check or _set,
            plain_read=read is _get,
            plain_write=many and not limited,
            limited=limited,
            many=many,
            attended=attended,
        )


_SOCKET = re.compile(r"Socket_\d+")


def _is_generated(structs: list[str], name: str) -> bool:
    """Return whether this is an input of a Geometry Nodes modifier: `modifier.properties.inputs.Socket_2.value`.

    Since Blender 5.2, Blender makes types of these inputs for each node group, so that no list can name them.
    """
    if "NodesModifierProperties" in structs:
        return name in ("inputs", "outputs", "panels")
    if structs[0].startswith("GeometryNodesInterface"):
        return _SOCKET.fullmatch(name) is not None
    return (
        structs[1:] == ["PropertyGroup"]
        and _SOCKET.fullmatch(structs[0]) is not None
        and name in _SOCKET_MEMBERS
    )


_SOCKET_MEMBERS = frozenset({"value", "type", "attribute_name"})


def _is_function(kind: Any, name: str) -> bool:
    """Return whether a member is a function that Blender defines in Python, such as `Mesh.from_pydata`."""
    return kind.bl_rna.properties.get(name) is None and callable(getattr(kind, name, None))


def _needs_check(struct: str, name: str) -> bool:
    """Return whether a call of `struct.name` needs a check: of its arguments, or of what it frees or moves."""
    path = f"{struct}.{name}"
    return bool(frees(struct, name) or may_make(struct, name) or calls.needs_check(path))


def _struct_of(collection: Any) -> str:
    """Return the struct of a collection's own members, "" if it has none."""
    try:
        return collection.rna_type.identifier
    except AttributeError:
        return ""


def _in_rna(kind: Any, name: str) -> bool:
    return kind.bl_rna.properties.get(name) is not None or kind.bl_rna.functions.get(name) is not None


def _refusal(kind: type, name: str) -> Access:
    return Access(why=why_property([kind.__name__], name)) if hasattr(kind, name) else MISSING
