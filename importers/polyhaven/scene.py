# SPDX-License-Identifier: GPL-3.0-or-later
"""Add Poly Haven's HDRIs and textures to the open file, as a world and as materials. Main thread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bpy

from ...base.errors import InvalidParamsError
from ...base.similar_names import did_you_mean
from .. import credit as credits_room
from ..append import Imported, one_step, stamp
from ..credit import ASSET_ID, ASSET_MAP, PROPERTY
from .asset import SITE, Asset
from .files import Map
from .nodes import build_material, build_world, set_coordinates
from .surface import Surface, measure

__all__ = (
    "add_material",
    "add_world",
    "assign",
    "assign_all",
    "check_object",
    "has_material",
    "image_key",
    "mark_images",
    "switch",
)

#: The custom property of a picture by which it is found again.
_MD5 = "asset_md5"


def add_world(asset: Asset, resolution: str, path: Path, md5: str, suffix: str) -> Imported:
    """Light the scene with an HDRI in a new world; the old world stays in the file."""
    with one_step(f"Add {asset.name}"):
        image = _image(asset, "hdri", resolution, path, md5, suffix, colour=True)
        world = bpy.data.worlds.new(asset.name)
        build_world(world, image)
        stamp(world, asset.credit)
        scene = bpy.context.scene
        before, scene.world = scene.world, world
        if before is not None and before.users == 0:
            before.use_fake_user = True  # otherwise saving would drop the user's own world
        return Imported(asset.credit, world=world.name)


def add_material(asset: Asset, maps: Sequence[tuple[Map, Path]]) -> Imported:
    """Add a material with every map connected; the texture repeats once for each UV unit."""
    with one_step(f"Add {asset.name}"):
        material = _new_material(asset, maps)
        return Imported(asset.credit, materials=(material.name,), dimensions=asset.size)


def assign(
    asset: Asset, object_name: str, slot: int | None, maps: Sequence[tuple[Map, Path]] | None
) -> Imported:
    """Put the texture on an object at its real size, into one slot; the others stay as they are.

    `maps` is None if the material is already in the file. Raises InvalidParamsError.
    """
    return _assign(asset, (object_name,), slot, maps, f"Texture {object_name}")


def assign_all(asset: Asset, object_names: Sequence[str], maps: Sequence[tuple[Map, Path]]) -> Imported:
    """Put the texture on several objects at its real size, into their active slots. Raises InvalidParamsError."""
    return _assign(asset, object_names, None, maps, f"Texture {len(object_names)} Objects")


def _assign(
    asset: Asset,
    object_names: Sequence[str],
    slot: int | None,
    maps: Sequence[tuple[Map, Path]] | None,
    step: str,
) -> Imported:
    items = [_object(name) for name in object_names]
    with one_step(step):
        surfaces = [measure(item) for item in items]
        material = _find_material(asset.id) if maps is None else _new_material(asset, maps)
        if material is None:
            raise InvalidParamsError(f"The texture {asset.id!r} is no longer in the file.")
        names = []
        for item, surface in zip(items, surfaces, strict=True):
            fitted = _fitted(material, surface, asset)
            _fill_slot(item, slot, fitted)
            names.append(fitted.name)
        return Imported(
            asset.credit,
            onto=tuple(item.name for item in items),
            materials=tuple(dict.fromkeys(names)),
            dimensions=asset.size,
        )


def check_object(name: str) -> None:
    """Raise InvalidParamsError unless this object can have a material."""
    _object(name)


def has_material(asset_id: str) -> bool:
    """Whether the file already has a material of this texture."""
    return _find_material(asset_id) is not None


def _find_material(asset_id: str) -> Any | None:
    """The first material of this asset in the file, found by its custom property: users change names."""
    return next((material for material in bpy.data.materials if _is_of(material, asset_id)), None)


def switch(asset: Asset, files: Mapping[str, tuple[Path, str, str]], resolution: str) -> int:
    """Replace the asset's pictures by another resolution (key -> path, MD5, suffix); returns how many."""
    with one_step(f"Switch {asset.name} to {resolution}"):
        old = [
            image
            for image in bpy.data.images
            if image.get(ASSET_ID) == asset.id and image.get(ASSET_MAP) in files
        ]
        for image in old:
            path, md5, suffix = files[image[ASSET_MAP]]
            space = image.colorspace_settings.name
            new = _image(asset, image[ASSET_MAP], resolution, path, md5, suffix, colour=space != "Non-Color")
            if new != image:
                new.colorspace_settings.name = space
                image.user_remap(new)
                bpy.data.images.remove(image)
        return len(old)


def mark_images(asset: Asset, object_names: Sequence[str]) -> None:
    """Store the asset and the key on a model's pictures, so that `switch` finds them."""
    for name in object_names:
        for slot in bpy.data.objects[name].material_slots:
            tree = slot.material.node_tree if slot.material else None
            for node in tree.nodes if tree else ():
                image = getattr(node, "image", None)
                if image is not None:
                    image[ASSET_ID], image[ASSET_MAP] = asset.id, image_key(image.filepath_raw or image.name)


def image_key(name: str) -> str:
    """A picture's file name without folder, resolution and suffix; it is the same for all resolutions."""
    return re.sub(r"_\d+k$", "", re.split(r"[\\/]", name)[-1].rpartition(".")[0].lower())


def _new_material(asset: Asset, maps: Sequence[tuple[Map, Path]]) -> Any:
    images = [
        (
            one,
            _image(
                asset,
                one.key,
                one.resolution,
                path,
                one.file.md5 or "",
                one.suffix,
                "base_color" in one.roles,
            ),
        )
        for one, path in maps
    ]
    material = bpy.data.materials.new(asset.name)
    build_material(material, images, width=asset.size[0] if asset.size else None)
    stamp(material, asset.credit)
    return material


def _image(asset: Asset, key: str, resolution: str, path: Path, md5: str, suffix: str, colour: bool) -> Any:
    """Load a picture once for each .blend, and pack it, so that the .blend does not depend on the cache."""
    for known in bpy.data.images:
        if known.get(_MD5) == md5:
            return known
    image = bpy.data.images.load(str(path))
    stem = key if key.startswith(asset.id) else f"{asset.id}_{key}"
    image.name = f"{stem}_{resolution}{suffix}"
    if not colour:
        image.colorspace_settings.name = "Non-Color"
    image.pack()
    image.filepath_raw = f"//{image.name}"  # no folder of this computer goes into the .blend
    image[_MD5], image[ASSET_ID], image[ASSET_MAP] = md5, asset.id, key
    return image


def _fitted(material: Any, surface: Surface, asset: Asset) -> Any:
    """The material with coordinates that fit this surface; a copy if another surface uses other coordinates."""
    width = asset.size[0] if asset.size and asset.size[0] > 0 else None
    scale = surface.metres / width if width else 1.0
    if material.users and not set_coordinates(material, surface, scale, try_only=True):
        twin = next(
            (
                other
                for other in bpy.data.materials
                if _is_of(other, asset.id) and set_coordinates(other, surface, scale, try_only=True)
            ),
            None,
        )
        material = twin or material.copy()
    set_coordinates(material, surface, scale)
    return material


def _is_of(item: Any, asset_id: str) -> bool:
    found = credits_room.read(item.get(PROPERTY))
    return found is not None and (found.service, found.id) == (SITE.name, asset_id)


def _object(name: str) -> Any:
    item = bpy.data.objects.get(name)
    if item is None:
        raise InvalidParamsError(f"There is no object {name!r}.{did_you_mean(name, bpy.data.objects.keys())}")
    if not hasattr(item.data, "materials"):
        raise InvalidParamsError(f"{name!r} is of the type {item.type}, which takes no material.")
    if not (item.is_editable and item.data.is_editable):
        raise InvalidParamsError(f"{name!r} is linked from another file; make it local or an override first.")
    return item


def _fill_slot(item: Any, slot: int | None, material: Any) -> None:
    if not item.material_slots:
        item.data.materials.append(None)
    index = item.active_material_index if slot is None else slot
    if not 0 <= index < len(item.material_slots):
        raise InvalidParamsError(
            f"slot {index}: {item.name!r} has {len(item.material_slots)} material slots, counted from 0."
        )
    chosen = item.material_slots[index]
    if item.data.users > 1:
        chosen.link = "OBJECT"  # so that other objects with this mesh keep their look
    chosen.material = material
