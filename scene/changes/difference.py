# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds what a script changed in a file: added, removed and changed data-blocks, with values before and after.

A walk through all properties takes seconds in a large scene, so this works in two steps. Blender writes a copy of the
file before and after the script; comparing the two copies shows which data-blocks may differ. Only the properties of
those are then read: first the state after the script and, when Blender has gone back by one undo step, the state
before it.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeVar

import bpy

from ..fingerprint import saved_file
from .details import detail
from .values import SETTINGS, Values, values

__all__ = ("Change", "Changed", "DataBlock", "Difference", "Mark", "compare", "mark")

T = TypeVar("T")

#: Limits of a report: further data-blocks, and further values of one data-block, are only counted.
_MOST_BLOCKS = 200
_MOST_CHANGES = 60
#: The most names for a list to which data-blocks were added or from which they were removed.
_MOST_NAMES = 20
#: The most characters of a path, a note or a detail: the names inside it may be long.
_LONGEST_TEXT = 500
#: The most data-blocks whose properties are read; for any more, the report says only that they differ.
_MOST_WALKED = 2000

#: Types of the user interface and its tools, which are not part of the scene.
_APART = frozenset(("WINDOWMANAGER", "SCREEN", "WORKSPACE", "BRUSH"))


class DataBlock(TypedDict):
    """An added or removed data-block."""

    kind: str
    name: str
    #: A short description, such as "8 vertices, 6 faces".
    detail: NotRequired[str]


class Change(TypedDict):
    """One changed value. Without `before` it was added, without `after` removed.

    `note` describes a change that values cannot show.
    """

    property: str
    before: NotRequired[Any]
    after: NotRequired[Any]
    note: NotRequired[str]


class Changed(TypedDict):
    """A data-block that exists before and after the script."""

    kind: str
    name: str
    changes: list[Change]


class Difference(TypedDict):
    """The whole report. `totals` has [before, after] of each count that differs; `left_out` counts what did not fit."""

    added: list[DataBlock]
    removed: list[DataBlock]
    changed: list[Changed]
    totals: dict[str, list[int]]
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Known:
    kind: str
    name: str
    #: Its name in a saved file; `name` tells shape keys by what has them.
    name_in_file: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A state of the file: a copy at `path`, every data-block by its session UID, and totals.

    `pixels` has digests of images with unsaved paint: neither the file nor an undo step stores their pixels.
    """

    path: Path
    blocks: dict[int, _Known]
    totals: dict[str, int]
    pixels: dict[int, bytes]


def mark(path: Path) -> Mark:
    """Record the state of the file. `path`: where to save a copy, which `compare` needs."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False, check_existing=False)
    kinds: dict[type, str] = {}
    blocks = {}
    for item in _all():
        kind = kinds.get(type(item)) or kinds.setdefault(type(item), _kind(item))
        blocks[item.session_uid] = _Known(kind, _name(item), item.name)
    painted = {
        image.session_uid: _pixels(image) for image in bpy.data.images if image.is_dirty and image.has_data
    }
    return Mark(path, blocks, _totals(), painted)


def compare(before: Mark, after: Mark, go_back: Callable[[], None]) -> Difference:
    """Return the difference between two states. Blender is in the state `after`; `go_back` undoes to `before`.

    Afterwards an empty scene is open.
    """
    added = [uid for uid in after.blocks if uid not in before.blocks]
    removed = [known for uid, known in before.blocks.items() if uid not in after.blocks]
    differing = saved_file.changed(before.path, after.path)
    suspects = {
        uid
        for uid, known in after.blocks.items()
        if uid in before.blocks and (known.name_in_file in differing or known != before.blocks[uid])
    }
    left_out: dict[str, int] = {}
    fresh = set(added[:_MOST_BLOCKS])
    details = {item.session_uid: detail(item) for item in list(_all()) if item.session_uid in fresh}
    now = _walk(suspects, {})
    # Use the new name of a renamed data-block, so that renaming is one change and not one for each of its users.
    names = {uid: known.name for uid, known in after.blocks.items()}
    then = _read_undone(go_back, lambda: _walk(set(now), names))
    painted = [
        uid
        for uid, digest in after.pixels.items()
        if uid in before.blocks and before.pixels.get(uid) != digest
    ]
    changed = []
    for uid in dict.fromkeys([*now, *painted]):
        changes = list(_changes(then.get(uid, {}), now.get(uid, {})))
        if uid in painted:
            changes.append(Change(property="pixels", note="changed"))
        if changes:
            known = after.blocks[uid]
            changed.append(Changed(kind=known.kind, name=known.name, changes=_bounded(changes, left_out)))
    for name, whole in (("added", added), ("removed", removed), ("changed", changed)):
        if len(whole) > _MOST_BLOCKS:
            left_out[name] = len(whole) - _MOST_BLOCKS
    if len(suspects) > len(now):
        left_out["not compared"] = len(suspects) - len(now)
    return Difference(
        added=[_block(after.blocks[uid], details.get(uid, "")) for uid in added[:_MOST_BLOCKS]],
        removed=[_block(known) for known in removed[:_MOST_BLOCKS]],
        changed=changed[:_MOST_BLOCKS],
        totals={
            name: [before.totals.get(name, 0), count]
            for name, count in after.totals.items()
            if count != before.totals.get(name, 0)
        },
        left_out=left_out,
    )


def _read_undone(undo: Callable[[], None], read: Callable[[], T]) -> T:
    """Return what `read` returns after `undo`, without an evaluation of the scene, which takes long if it is large.

    The operator of `undo` evaluates the open scene when it ends. So `read` runs before that, and opens an empty scene.
    """
    found: list[T] = []

    def undone(*_: Any) -> None:
        found.append(read())
        if bpy.context.window is not None:
            bpy.context.window.scene = bpy.data.scenes.new("Empty")

    bpy.app.handlers.undo_post.append(undone)
    try:
        undo()
    finally:
        bpy.app.handlers.undo_post.remove(undone)
    assert found, "Blender did not undo, or could not read"
    return found[0]


def _all() -> Iterator[Any]:
    """Iterate over every data-block of the scenes, once."""
    seen: set[int] = set()
    for prop in bpy.data.bl_rna.properties:
        if prop.type == "COLLECTION":
            for item in getattr(bpy.data, prop.identifier):
                if item.id_type not in _APART and item.session_uid not in seen:
                    seen.add(item.session_uid)
                    yield item


def _kind(item: Any) -> str:
    """Return the name of the base class, which users know: `Light` rather than `PointLight`."""
    rna = item.rna_type
    while rna.base is not None and rna.base.identifier != "ID":
        rna = rna.base
    return str(rna.name)


def _name(item: Any) -> str:
    if isinstance(item, bpy.types.Key) and item.user is not None:
        return f"of {item.user.name}"
    return str(item.name)


def _pixels(image: Any) -> bytes:
    numbers = array("f", bytes(4 * len(image.pixels)))
    image.pixels.foreach_get(numbers)
    return hashlib.blake2b(numbers.tobytes(), digest_size=16).digest()


def _totals() -> dict[str, int]:
    data = bpy.data
    meshes = [item.data for item in data.objects if item.type == "MESH"]
    return {
        "objects": len(data.objects),
        "meshes": len(data.meshes),
        "vertices": sum(len(mesh.vertices) for mesh in meshes),
        "faces": sum(len(mesh.polygons) for mesh in meshes),
        "materials": len(data.materials),
        "node groups": len(data.node_groups),
        "images": len(data.images),
        "collections": len(data.collections),
        "actions": len(data.actions),
    }


def _walk(wanted: set[int], names: Mapping[int, str]) -> dict[int, Values]:
    found: dict[int, Values] = {}
    for item in _all():
        if item.session_uid in wanted and len(found) < _MOST_WALKED:
            found[item.session_uid] = values(item, names)
    return found


def _changes(before: Values, after: Values) -> Iterator[Change]:
    """Iterate over the changed values, without those inside an item that was itself added or removed."""
    new: list[str] = []
    for path, value in after.items():
        if path.endswith(SETTINGS) or _inside(path, new):
            continue
        if path not in before or (before[path] is None and path + SETTINGS in after):
            new.append(path)
            settings = after.get(path + SETTINGS)
            note = ", ".join(f"{key} {_text(part)}" for key, part in settings.items()) if settings else ""
            yield (
                Change(property=path, after=value, note=note) if note else Change(property=path, after=value)
            )
        elif value != before[path] and not (value is None and path + SETTINGS in before):
            yield _change(path, before[path], value)
    gone: list[str] = []
    for path, value in before.items():
        removed = path not in after or (after[path] is None and path + SETTINGS in before)
        if removed and not path.endswith(SETTINGS) and not _inside(path, gone):
            gone.append(path)
            yield Change(property=path, before=value)


def _inside(path: str, above: list[str]) -> bool:
    return bool(above) and path.startswith((above[-1] + ".", above[-1] + "["))


def _change(path: str, before: Any, after: Any) -> Change:
    if isinstance(after, str) and after.startswith("#") and isinstance(before, str):
        return Change(property=path, note="changed")
    if (
        isinstance(before, list)
        and isinstance(after, list)
        and all(isinstance(part, str) for part in before + after)
    ):
        was, now = set(before), set(after)
        moved = [f"+ {name}" for name in after if name not in was]
        moved += [f"− {name}" for name in before if name not in now]
        note = ", ".join(moved[:_MOST_NAMES]) or "another order"
        if len(moved) > _MOST_NAMES:
            note += f" and {len(moved) - _MOST_NAMES:,} more"
        return Change(property=path, note=note)
    return Change(property=path, before=before, after=after)


def _text(value: Any) -> str:
    return "[" + ", ".join(map(_text, value)) + "]" if isinstance(value, list) else str(value)


def _bounded(changes: list[Change], left_out: dict[str, int]) -> list[Change]:
    if len(changes) > _MOST_CHANGES:
        left_out["values"] = left_out.get("values", 0) + len(changes) - _MOST_CHANGES
    for change in changes[:_MOST_CHANGES]:
        change["property"] = _cut(change["property"])
        if "note" in change:
            change["note"] = _cut(change["note"])
    return changes[:_MOST_CHANGES]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"


def _block(known: _Known, text: str = "") -> DataBlock:
    if text:
        return DataBlock(kind=known.kind, name=known.name, detail=_cut(text))
    return DataBlock(kind=known.kind, name=known.name)
