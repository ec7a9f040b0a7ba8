# SPDX-License-Identifier: GPL-3.0-or-later
"""Import an asset of Poly Haven: `plan` chooses the files, `prepare` makes the import plan.

Worker threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import bpy

from ...base.errors import ExternalServiceError, InvalidParamsError
from .. import append, catalogues
from ..append import Imported
from ..import_asset import ImportPlan
from ..network.remote_file import RemoteFile
from ..opening import blend_header, foreign
from ..work import Work
from . import files as choices
from . import scene
from .api import SITE, Asset, Kind, PolyHaven
from .files import Map, ModelFiles, ModelFormat

__all__ = ("Plan", "mark", "plan", "prepare", "prepare_texture", "prepare_textures", "run", "texture_object")

#: The default resolution.
_USUAL = "2k"
#: Formats of a model, in the order in which they are tried.
_MODEL_FORMATS: tuple[ModelFormat, ...] = ("blend", "gltf", "fbx")


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to fetch for an asset. For a model, the first usable format in `models`."""

    asset: Asset
    resolution: str
    hdri: RemoteFile | None = None
    maps: tuple[Map, ...] = ()
    models: tuple[ModelFiles, ...] = ()

    @property
    def size(self) -> int:
        """The number of bytes to fetch."""
        if self.models:
            return self.models[0].size
        files = [self.hdri] if self.hdri else [one.file for one in self.maps]
        return sum(file.size or 0 for file in files)


def plan(
    work: Work,
    asset_id: str,
    *,
    kind: Kind | None = None,
    resolution: str | None = None,
    file_format: str | None = None,
    ambient_occlusion: bool = False,
    usual: str = _USUAL,
) -> Plan:
    """Choose the files of an asset. If `resolution` is None, it is `usual`, or the next smaller one that is offered.

    Raises InvalidParamsError, ExternalServiceError, Cancelled.
    """
    service = PolyHaven(work.cache, work.cancelled)
    asset = service.asset(asset_id)
    if kind not in (None, asset.kind):
        raise InvalidParamsError(f"{asset_id!r} is one of the {asset.kind}, not of the {kind}.")
    tree = service.files(asset_id)
    if asset.kind == "hdris":
        chosen = resolution or _nearest(usual, choices.resolutions(tree, "hdri"))
        return Plan(asset, chosen, hdri=choices.hdri(tree, chosen, file_format or "hdr"))
    if asset.kind == "textures":
        offered = sorted({name for key in choices.MAP_ROLES for name in choices.resolutions(tree, key)})
        chosen = resolution or _nearest(usual, offered)
        maps = choices.maps(tree, chosen, ambient_occlusion=ambient_occlusion)
        return Plan(asset, chosen, maps=tuple(maps))
    return _plan_model(asset, tree, resolution, usual, file_format)


def _plan_model(
    asset: Asset, tree: choices.Json, resolution: str | None, usual: str, file_format: str | None
) -> Plan:
    offered = {
        name: found
        for name in _MODEL_FORMATS
        if file_format in (None, name) and (found := choices.resolutions(tree, name))
    }
    if not offered:
        wanted = f"as {file_format}" if file_format else "in a format that Blender reads"
        raise InvalidParamsError(f"{SITE.name} does not offer the model {asset.id!r} {wanted}.")
    every = {name for found in offered.values() for name in found}
    chosen = choices.check_resolution(resolution or _nearest(usual, next(iter(offered.values()))), every)
    models = (choices.model(tree, chosen, name) for name, found in offered.items() if chosen in found)
    return Plan(asset, chosen, models=tuple(found for found in models if found is not None))


def prepare(
    what: Plan, *, lod: int = 0, location: Sequence[float] | None = None, switch: bool = False
) -> ImportPlan:
    """The import plan for these files; see `run`."""
    return ImportPlan(
        what.asset.name,
        what.size,
        run=lambda work: run(work, what, lod=lod, location=location, switch=switch),
        mark=lambda work, imported: mark(work, what, imported),
    )


def prepare_texture(what: Plan | None, asset: Asset, object_name: str, slot: int | None) -> ImportPlan:
    """The import plan for a texture on an object; `what` is None if its material is already in the file."""
    size = 0 if what is None else what.size
    return ImportPlan(asset.name, size, run=lambda work: texture_object(work, what, asset, object_name, slot))


def prepare_textures(what: Plan, object_names: Sequence[str]) -> ImportPlan:
    """The import of a planned texture onto several objects, as one undo step."""

    def run(work: Work) -> Imported:
        add = partial(scene.assign_all, what.asset, object_names, _maps(work, what))
        return work.in_blender(append.timed(add))

    return ImportPlan(what.asset.name, what.size, run, mark=lambda work, imported: mark(work, what, imported))


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


def mark(work: Work, what: Plan, imported: Imported) -> None:
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


def _pictures(work: Work, files: Sequence[RemoteFile]) -> list[Path]:
    return [choices.check_picture(path) for path in work.fetch(SITE, files)]


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
    (main,) = work.fetch(SITE, [model.main])
    if model.format == "blend":
        written = blend_header.version(main)
        if written is not None and written > bpy.app.version[:2]:
            raise ExternalServiceError(
                f"it was written by Blender {written[0]}.{written[1]}, which is newer than this one."
            )
    included = zip(model.include, work.fetch(SITE, list(model.include.values())), strict=True)
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


def _nearest(wanted: str, offered: Sequence[str]) -> str:
    """The wanted resolution, or the next smaller one, or the smallest of all."""
    ordered = sorted(offered, key=choices.number)
    fitting = [name for name in ordered if choices.number(name) <= choices.number(wanted)]
    return fitting[-1] if fitting else ordered[0] if ordered else wanted
