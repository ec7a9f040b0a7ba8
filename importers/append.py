# SPDX-License-Identifier: GPL-3.0-or-later
"""Append a clean asset to the open scene, as one undo step; after a failure nothing of it remains. Main thread."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bpy
from mathutils import Matrix, Vector

from ..base.errors import ExternalServiceError
from ..sandbox.run.undo import Modes
from . import catalogues
from . import credit as credits_room
from .credit import PROPERTY, Credit
from .opening import scrub
from .opening.foreign import Clean

__all__ = (
    "Imported",
    "append",
    "append_image",
    "block_of",
    "credits_of",
    "mark",
    "mark_model",
    "one_step",
    "stamp",
    "timed",
)


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: names in the file, dimensions of the whole in metres, the credit.

    `collection` has the objects of a model, unless it is a single one.
    """

    credit: Credit
    collection: str | None = None
    objects: tuple[str, ...] = ()
    #: The objects that a texture was put onto.
    onto: tuple[str, ...] = ()
    materials: tuple[str, ...] = ()
    world: str | None = None
    image: str | None = None
    dimensions: tuple[float, ...] = ()
    removed: Mapping[str, int] | None = None
    #: Seconds that the import blocked Blender's main thread.
    held_up: float = 0.0


@contextmanager
def one_step(title: str) -> Iterator[None]:
    """Make the changes inside this context one undo step named `title`, in the user's mode; an error removes them."""
    modes = Modes.leave()
    before = {item.session_uid for item in scrub.all_ids()}
    try:
        yield
    except BaseException:
        bpy.data.batch_remove([item for item in scrub.all_ids() if item.session_uid not in before])
        modes.enter()
        raise
    # Code that a timer runs makes no undo step by itself.
    bpy.ops.ed.undo_push(message=title[:60])
    modes.enter()


def append(clean: Clean, credit: Credit, location: Sequence[float] | None = None) -> Imported:
    """Append the model at `location` or the 3D cursor, select its objects, and store its credit.

    A single object goes into the active collection under the model's name, so that nothing is left when the user
    deletes it; several stay together in a collection of their own.

    Raises ExternalServiceError when the file does not hold what the child said.
    """
    with one_step(f"Import {credit.title}"):
        before = {item.session_uid for item in scrub.all_ids()}
        collection = _append_collection(clean)
        new = [item for item in scrub.all_ids() if item.session_uid not in before]
        # A foreign file may have taken over the child, so check its result again: nothing that runs may come in.
        again = scrub.strip(new)
        _place(collection, clean, location)
        removed = dict(clean.removed) | again
        if removed:
            credit = replace(credit, note="; ".join(filter(None, (credit.note, _left_out(removed)))))
        objects = list(collection.all_objects)
        alone = len(objects) == 1
        if alone:
            _take_out(objects[0], collection)
        else:
            bpy.context.scene.collection.children.link(collection)
        stamp(objects[0] if alone else collection, credit)
        _select(objects)
        materials = {slot.material.name for item in objects for slot in item.material_slots if slot.material}
        return Imported(
            credit=credit,
            collection=None if alone else collection.name,
            objects=tuple(item.name for item in objects),
            materials=tuple(sorted(materials)),
            dimensions=clean.dimensions,
            removed=removed,
        )


def append_image(clean: Clean, credit: Credit) -> Imported:
    """Append the image, packed, and store the credit on it; a fake user keeps it in the file.

    Raises ExternalServiceError when the file does not hold what the child said.
    """
    with one_step(f"Import {credit.title}"):
        libraries: Any = bpy.data.libraries
        with libraries.load(str(clean.blend), link=False) as (there, taken):
            if there.images != [clean.image]:
                raise _something_else()
            taken.images = [clean.image]
        image = taken.images[0]
        removed = dict(clean.removed) | scrub.strip([image])
        if not image.packed_file:
            raise _something_else()
        image.use_fake_user = True
        stamp(image, credit)
        return Imported(credit=credit, image=image.name, dimensions=clean.dimensions, removed=removed)


def _something_else() -> ExternalServiceError:
    return ExternalServiceError(
        "The file that was read for the import holds something else: nothing was imported."
    )


def timed(add: Callable[[], Imported]) -> Callable[[], Imported]:
    """Wrap `add` so that its result has the time that it took."""

    def run() -> Imported:
        begin = time.perf_counter()
        found = add()
        return replace(found, held_up=time.perf_counter() - begin)

    return run


def stamp(item: Any, credit: Credit) -> None:
    """Store the credit on a data-block."""
    item[PROPERTY] = credit.as_property()


def mark(item: Any, credit: Credit, tags: Iterable[str] = (), catalogue_id: str = "") -> None:
    """Mark a data-block for the asset browser, with its credit and in a catalogue."""
    item.asset_mark()
    facts = item.asset_data
    facts.author, facts.license, facts.description = credit.author, credit.licence, credit.title
    facts.copyright = credit.line
    for tag in tags:
        facts.tags.new(tag, skip_if_exists=True)
    if catalogue_id:
        facts.catalog_id = catalogue_id


def block_of(imported: Imported) -> Any:
    """The main data-block of an import."""
    if imported.world:
        return bpy.data.worlds[imported.world]
    if imported.collection:
        return bpy.data.collections[imported.collection]
    if imported.objects:
        return bpy.data.objects[imported.objects[0]]
    return bpy.data.materials[imported.materials[0]]


def mark_model(imported: Imported) -> None:
    """Mark what was imported, collection or object, for the Asset Browser, in a catalogue of its service's name.

    The catalogue is written to a file beside the .blend, if that is saved: Blender stores catalogues nowhere else.
    """
    service = imported.credit.service
    catalogue = str(uuid.uuid5(uuid.NAMESPACE_URL, service))
    with one_step(f"Mark {imported.credit.title} as Asset"):
        mark(block_of(imported), imported.credit, (), catalogue)
        if bpy.data.filepath:
            catalogues.add(Path(bpy.data.filepath).parent, catalogue, service)


def credits_of() -> list[Credit]:
    """The credits of all assets in the open file."""
    found = (credits_room.read(item.get(PROPERTY)) for item in scrub.all_ids() if PROPERTY in item)
    return credits_room.unique(item for item in found if item is not None)


def _append_collection(clean: Clean) -> Any:
    libraries: Any = bpy.data.libraries
    with libraries.load(str(clean.blend), link=False) as (there, taken):
        if clean.collection not in there.collections:  # collections that objects instance may also be there
            raise _something_else()
        taken.collections = [clean.collection]
    return taken.collections[0]


def _place(collection: Any, clean: Clean, location: Sequence[float] | None) -> None:
    target = Vector(location) if location is not None else bpy.context.scene.cursor.location
    for item in collection.all_objects:
        if item.parent is None:
            item.matrix_world = Matrix.Translation(target) @ item.matrix_basis


def _take_out(item: Any, collection: Any) -> None:
    """Move the collection's only object into the active one, under the collection's name; remove the collection."""
    active: Any = bpy.context.view_layer.active_layer_collection
    seen = active.is_visible and active.collection.is_editable
    home = active.collection if seen else bpy.context.scene.collection
    home.objects.link(item)
    name = collection.name
    bpy.data.collections.remove(collection)
    item.name = name


def _select(objects: Sequence[Any]) -> None:
    layer = bpy.context.view_layer
    layer.update()  # otherwise it does not know the new objects
    for item in layer.objects:
        item.select_set(False)
    shown = [item for item in objects if item.name in layer.objects]
    for item in shown:
        item.select_set(True)
    layer.objects.active = next((item for item in shown if item.parent is None), None)


def _left_out(removed: Mapping[str, int]) -> str:
    return "left out: " + ", ".join(f"{count} {name}" for name, count in removed.items())
