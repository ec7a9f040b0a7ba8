# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetch the planned files of an asset of Poly Haven, and add it to the scene. Worker threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath

import bpy

from ...base.errors import ExternalServiceError, InvalidParamsError
from .. import append, catalogues
from ..append import Imported
from ..fetch import fetch
from ..network.remote_file import RemoteFile
from ..opening import blend_header, foreign
from ..work import Work
from . import files as choices
from . import scene
from .api import PolyHaven
from .asset import SITE, Asset
from .files import Map, ModelFiles, Plan

__all__ = ("mark", "run", "texture_object", "texture_objects")


def run(
    work: Work, what: Plan, *, lod: int = 0, location: Sequence[float] | None = None, switch: bool = False
) -> Imported:
    """Fetch the planned files and add the asset to the scene. Raises ExternalServiceError, Cancelled.

    With `switch` nothing is added: these pictures replace the asset's pictures that are already in the file.
    """
    if switch:
        return _switch(work, what)
    if what.hdri is not None:
        (path,) = _pictures(work, [what.hdri])
        md5 = what.hdri.md5 or ""
        add = partial(scene.add_world, what.asset, what.resolution, path, md5, choices.suffix(what.hdri))
        return work.in_blender(append.timed(add))
    if what.maps:
        return work.in_blender(append.timed(partial(scene.add_material, what.asset, _maps(work, what))))
    return _model(work, what, lod, location)


def mark(work: Work, imported: Imported, what: Plan) -> None:
    """Mark the import for the asset browser, in Poly Haven's category. Raises ExternalServiceError, Cancelled.

    The catalogue is written to a file beside the .blend, if that is saved: Blender stores catalogues nowhere else.
    """
    category = PolyHaven(work.cache, work.cancelled).category_of(what.asset)
    catalogue = category.id.lower() if category and catalogues.is_id(category.id) else ""
    path = f"{SITE.name}/{what.asset.kind}/{category.path}" if category else ""

    def do() -> None:
        with append.one_step(f"Mark {what.asset.name} as Asset"):
            append.mark(append.block_of(imported), what.asset.credit, what.asset.tags, catalogue)
            if catalogue and bpy.data.filepath:
                catalogues.add(Path(bpy.data.filepath).parent, catalogue, path)

    work.in_blender(do)


def texture_object(
    work: Work, what: Plan | None, asset: Asset, object_name: str, slot: int | None
) -> Imported:
    """Put a texture on an object; `what` is None if its material is already in the file."""
    maps = None if what is None else _maps(work, what)
    return work.in_blender(append.timed(partial(scene.assign, asset, object_name, slot, maps)))


def texture_objects(work: Work, what: Plan, object_names: Sequence[str]) -> Imported:
    """Put a texture onto several objects, as one undo step."""
    add = partial(scene.assign_all, what.asset, object_names, _maps(work, what))
    return work.in_blender(append.timed(add))


def _pictures(work: Work, files: Sequence[RemoteFile]) -> list[Path]:
    return [choices.check_picture(path) for path in fetch(work, SITE, files)]


def _maps(work: Work, what: Plan) -> list[tuple[Map, Path]]:
    return list(zip(what.maps, _pictures(work, [one.file for one in what.maps]), strict=True))


def _model(work: Work, what: Plan, lod: int, location: Sequence[float] | None) -> Imported:
    """Import the first usable format. A .blend of a newer Blender is not usable, for example."""
    reasons = []
    for model in what.models:
        try:
            return _open_model(work, what, model, lod, location)
        except ExternalServiceError as error:
            reasons.append(f"as {model.format}: {error}")
    raise ExternalServiceError("\n".join(reasons))


def _open_model(
    work: Work, what: Plan, model: ModelFiles, lod: int, location: Sequence[float] | None
) -> Imported:
    asset = what.asset
    (main,) = fetch(work, SITE, [model.main])
    if model.format == "blend":
        written = blend_header.version(main)
        if written is not None and written > bpy.app.version[:2]:
            raise ExternalServiceError(
                f"it was written by Blender {written[0]}.{written[1]}, which is newer than this one."
            )
    included = zip(model.include, fetch(work, SITE, list(model.include.values())), strict=True)
    file = f"{asset.id}.{model.format}"
    job = {
        "format": model.format,
        "file": file,
        "title": asset.name,
        "collections": [f"{asset.id}_LOD{lod}", asset.id, f"{asset.id}_static", f"{asset.id}_LOD0"],
        "size": None,
        "ground": False,
        "unwrap": model.format != "blend",
    }
    work.opening()
    with foreign.opened(work, job, {PurePosixPath(file): main, **dict(included)}) as clean:

        def add() -> Imported:
            added = append.append(clean, asset.credit, location)
            scene.mark_images(asset, added.objects)
            return added

        return work.in_blender(append.timed(add))


def _switch(work: Work, what: Plan) -> Imported:
    if what.hdri is not None:
        wanted = {"hdri": what.hdri}
    elif what.maps:
        wanted = {one.key: one.file for one in what.maps}
    else:
        wanted = {scene.image_key(str(path)): file for path, file in what.models[0].include.items()}
    paths = _pictures(work, list(wanted.values()))
    ready = {
        key: (path, file.md5 or "", choices.suffix(file))
        for (key, file), path in zip(wanted.items(), paths, strict=True)
    }
    switched = work.in_blender(partial(scene.switch, what.asset, ready, what.resolution))
    if not switched:
        raise InvalidParamsError(f"No pictures of {what.asset.id!r} are in this file: download it first.")
    return Imported(what.asset.credit)
