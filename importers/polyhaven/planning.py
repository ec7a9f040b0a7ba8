# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the files of an asset of Poly Haven with `plan`, and make the import plan for them with `prepare`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...base.errors import InvalidParamsError
from ..import_plan import ImportPlan
from ..work import Work
from . import files as choices
from . import importing
from .api import PolyHaven
from .asset import SITE, Asset, Kind
from .files import ModelFormat, Plan

__all__ = ("plan", "prepare", "prepare_texture", "prepare_textures")

#: The default resolution.
_USUAL = "2k"
#: Formats of a model, in the order in which they are tried.
_MODEL_FORMATS: tuple[ModelFormat, ...] = ("blend", "gltf", "fbx")


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
    """The import plan for these files; see `importing.run`."""
    run = partial(importing.run, what=what, lod=lod, location=location, switch=switch)
    return ImportPlan(what.asset.name, what.size, run, mark=partial(importing.mark, what=what))


def prepare_texture(what: Plan | None, asset: Asset, object_name: str, slot: int | None) -> ImportPlan:
    """The import plan for a texture on an object; `what` is None if its material is already in the file."""
    size = 0 if what is None else what.size
    run = partial(importing.texture_object, what=what, asset=asset, object_name=object_name, slot=slot)
    return ImportPlan(asset.name, size, run)


def prepare_textures(what: Plan, object_names: Sequence[str]) -> ImportPlan:
    """The import plan for a texture on several objects, as one undo step."""
    run = partial(importing.texture_objects, what=what, object_names=object_names)
    return ImportPlan(what.asset.name, what.size, run, mark=partial(importing.mark, what=what))


def _nearest(wanted: str, offered: Sequence[str]) -> str:
    """The wanted resolution, or the next smaller one, or the smallest of all."""
    ordered = sorted(offered, key=choices.number)
    fitting = [name for name in ordered if choices.number(name) <= choices.number(wanted)]
    return fitting[-1] if fitting else ordered[0] if ordered else wanted
