# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a digest of all settings in the file, also of those whose change does not make Blender evaluate anything.

Blender calls no handler for a change to an object's display settings, the nodes of an unused material, a marker, a
bone's lock or an object of a scene that is not open. The digest leaves out geometry (vertices, points, strokes,
pixels): geometry changes in the open scene, and Blender evaluates that. It also leaves out what changes while a user
only looks around: selection, frame, open and closed panels, and the tools.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Any

import bpy

__all__ = ("data_collections", "thorough_fingerprint")

#: Kinds of data-blocks that belong to the window or the tools and not to the scene; `ID` is the list of all kinds.
_APART = frozenset({"Brush", "ID", "Palette", "Screen", "WindowManager", "WorkSpace"})
#: Prefixes of properties that change while a user only looks around, or that Blender itself updates.
_LOOKING = tuple(
    """
    active frame_current frame_float frame_subframe is_active is_open open_ select show_expanded show_options
    show_preview use_pin
    bl_ ffmpeg_preset id_root is_runtime is_updated is_valid linear_colorspace_settings preview rna_type session_uid tag
    texspace_ use_extra_user
    """.split()
)
#: Structs that hold view state or computed values.
_LEFT_OUT = frozenset(
    "AnimViz Depsgraph ImagePreview ImageUser MotionPath ObjectDisplay PackedFile ToolSettings "
    "TransformOrientationSlot View3DShading".split()
)
#: Kinds whose lists hold geometry or are as large as geometry.
_GEOMETRY = frozenset(
    "Curve Curves GreasePencil GreasePencilv3 Image Lattice Mesh MetaBall MovieTracking ParticleSystem PointCloud "
    "ShapeKey SurfaceCurve Text TextCurve Volume".split()
)
_CODES = {"BOOLEAN": "b", "ENUM": "i", "FLOAT": "f", "INT": "i"}
#: For a longer list inside a data-block, only the length counts, unless its items have only numbers.
_LONGEST = 2000
_DEEPEST = 8
#: Up to this many structs, reading one by one is as fast as `foreach_get`.
_FEW = 8


@dataclass(frozen=True, slots=True)
class _Plan:
    """The names of the properties to read from one kind of struct."""

    #: Numeric properties: name, type code of `array`, length.
    numbers: tuple[tuple[str, str, int], ...]
    #: Lists: name, and the kind of their items.
    lists: tuple[tuple[str, str], ...]
    #: Whether the struct has only numbers.
    flat: bool
    #: Each returns two filler values and then: the numbers; texts, flags and references; owned structs and lists.
    numbers_of: Callable[[Any], tuple[Any, ...]]
    told_of: Callable[[Any], tuple[Any, ...]]
    parts_of: Callable[[Any], tuple[Any, ...]]


def thorough_fingerprint() -> bytes:
    """Return the digest. It takes about 2 ms for Blender's start-up file, and 30 µs for each object. Main thread."""
    walk = _Walk()
    for name, kind in data_collections():
        walk.items(getattr(bpy.data, name), kind, 0)
    return walk.found.digest()


@cache
def data_collections() -> tuple[tuple[str, str], ...]:
    """Return the collections of data-blocks that this Blender has: name, and the kind of the items."""
    properties: Iterable[Any] = bpy.data.bl_rna.properties
    return tuple(
        (found.identifier, found.fixed_type.identifier)
        for found in properties
        if found.type == "COLLECTION" and found.fixed_type.identifier not in _APART
    )


class _Walk:
    """One walk through the whole file; `found` has the values that it read."""

    def __init__(self) -> None:
        self.found = hashlib.blake2b(digest_size=16)
        self._values: list[Any] = []
        self._seen: set[tuple[int, str]] = set()

    def items(self, items: Any, kind: str, depth: int) -> None:
        """Read a list of structs. If all are of exactly this kind, one call reads the numbers of all."""
        count = len(items)
        if not count:
            return
        self._values.append(count)
        kinds = {type(item) for item in items} if count > _FEW else ()
        even = len(kinds) == 1 and items[0] is not None and items[0].rna_type.identifier == kind
        if even:
            plan = self._plan(items[0].rna_type)
            for name, code, length in plan.numbers:
                numbers = array(code, bytes(count * length * array(code).itemsize))
                items.foreach_get(name, numbers)
                self.found.update(numbers)
            if plan.flat:
                return
        if depth and count > _LONGEST:
            return
        for item in items:
            if item is not None:
                self.struct(item, depth, numbers=not even)

    def struct(self, struct: Any, depth: int, *, numbers: bool = True) -> None:
        """Read a struct and what it owns, unless the walk has already read it; `numbers=False` skips its numbers."""
        # Not `bl_rna`: for a class that Python has not used before, it belongs to another struct.
        kind = struct.rna_type
        if kind.identifier == "Image" and struct.source == "VIEWER":
            return  # the last render result
        key = struct.as_pointer(), kind.identifier
        if key in self._seen or depth > _DEEPEST:
            return
        self._seen.add(key)
        plan, said = self._plan(kind), self._values
        if numbers:
            said += map(_plain, plan.numbers_of(struct)[2:])
        said += map(_text, plan.told_of(struct)[2:])
        for part in plan.parts_of(struct)[2:]:
            said.append(part is None)
            if part is not None and (not isinstance(part, bpy.types.ID) or part.is_embedded_data):
                self.struct(part, depth + 1)
        for name, of in plan.lists:
            self.items(getattr(struct, name), of, depth + 1)
        if not depth:
            self.found.update(repr(said).encode("utf-8", "surrogatepass"))
            said.clear()

    def _plan(self, kind: Any) -> _Plan:
        found = _plans.get(kind.identifier)
        if found is None:
            found = _plans[kind.identifier] = _plan(kind)
        return found


_plans: dict[str, _Plan] = {}


def _plan(kind: Any) -> _Plan:
    shown = [p for p in kind.properties if not (p.identifier.startswith(_LOOKING) or _is_apart(p))]
    settable = [p for p in shown if not p.is_readonly]
    pointers = [p for p in shown if p.type == "POINTER" and p.fixed_type.identifier not in _LEFT_OUT]
    numbers = tuple(_numbers(settable))
    told = [p.identifier for p in settable if p.type == "STRING" or _is_flags(p)]
    told += [p.identifier for p in pointers if not p.is_readonly]
    parts = [p.identifier for p in pointers if p.is_readonly or _is_embedded(p)]
    lists = () if kind.identifier in _GEOMETRY else tuple(_lists(shown))
    return _Plan(
        numbers=numbers,
        lists=lists,
        flat=not (told or parts or lists),
        numbers_of=_reader(name for name, _, _ in numbers),
        told_of=_reader(told),
        parts_of=_reader(parts),
    )


def _reader(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a reader of these names, after two filler names: `attrgetter` returns no tuple for a single name."""
    return attrgetter("__class__", "__class__", *names)


def _is_apart(found: Any) -> bool:
    """Return whether to skip a property: hidden and deprecated ones, and those of extensions.

    The quick fingerprint covers extensions. Reading a property group of an extension would create it.
    """
    hidden = found.is_hidden and found.type != "COLLECTION"
    return hidden or found.is_runtime or getattr(found, "is_deprecated", False)


def _numbers(properties: Iterable[Any]) -> Iterator[tuple[str, str, int]]:
    for found in properties:
        if found.type in _CODES and not _is_flags(found) and found.identifier != "pixels":
            yield found.identifier, _CODES[found.type], getattr(found, "array_length", 0) or 1


def _lists(properties: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the lists of structs without lists of data-blocks: the walk reads each data-block from `bpy.data`."""
    for found in properties:
        if found.type == "COLLECTION" and found.fixed_type.identifier not in _LEFT_OUT:
            kind = getattr(bpy.types, found.fixed_type.identifier, None)
            if kind is not None and not issubclass(kind, bpy.types.ID):
                yield found.identifier, found.fixed_type.identifier


def _is_flags(found: Any) -> bool:
    return found.type == "ENUM" and found.is_enum_flag


def _is_embedded(found: Any) -> bool:
    """Return whether this property may hold an embedded data-block, such as a node tree."""
    return found.identifier in {"node_tree", "compositing_node_group"}


def _plain(value: Any) -> Any:
    """Return a number, or the numbers of an array."""
    if hasattr(value, "__len__") and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _text(value: Any) -> Any:
    """Return a text, sorted flags, or the name of a referenced data-block."""
    if value is None or isinstance(value, str):
        return value
    return (
        sorted(value) if isinstance(value, set) else getattr(value, "name_full", getattr(value, "name", ""))
    )
