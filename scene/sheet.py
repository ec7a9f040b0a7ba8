# SPDX-License-Identifier: GPL-3.0-or-later
"""Several views of the scene or of some objects as one picture, named, with a scale bar where it has a scale."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import bpy
import numpy as np
from mathutils import Vector

from ..errors import InvalidParamsError
from . import letters, picture
from .describe import find

__all__ = ("Shading", "Sheet", "View", "difference", "make")

View = Literal["front", "back", "left", "right", "top", "bottom", "perspective", "camera"]
Shading = Literal["solid", "rendered"]
_MOST_TILES = 16
#: Towards the camera, and whether lengths can be measured in the picture.
_FROM: dict[str, tuple[float, float, float]] = {
    "front": (0, -1, 0),
    "back": (0, 1, 0),
    "left": (-1, 0, 0),
    "right": (1, 0, 0),
    "top": (0, 0, 1),
    "bottom": (0, 0, -1),
    "perspective": (0.62, -0.7, 0.42),
}
_NOT_SEEN = frozenset({"CAMERA", "LIGHT", "EMPTY", "SPEAKER", "LIGHT_PROBE"})


@dataclass(frozen=True, slots=True)
class _Tile:
    name: str
    direction: Vector | None
    orthographic: bool
    frame: int | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """RGBA floats (rows from the bottom up), and what stands where."""

    pixels: Any
    note: str

    def encoded(self) -> bytes:
        """The picture as PNG."""
        height, width = self.pixels.shape[:2]
        return picture.encode(self.pixels.astype(np.float32).ravel(), width, height, "png")


def make(
    *,
    objects: Sequence[str] = (),
    views: Sequence[View] = (),
    turntable: int = 0,
    frames: Sequence[int] = (),
    shading: Shading = "solid",
    max_size: int = 640,
) -> Sheet:
    """Views of the named objects (none: all that is visible), `turntable` views from around, or one a frame.

    `max_size`: the longer side of the sheet in pixels. Raises InvalidParamsError for a name that is not there or more
    than 16 views, ExternalServiceError where no picture can be made.
    """
    for name in objects:
        find(bpy.data.objects, name, "object")
    tiles = _tiles(views, turntable, frames)
    if len(tiles) > _MOST_TILES:
        raise InvalidParamsError(
            f"{len(tiles)} views are more than the {_MOST_TILES} of one sheet: ask for fewer"
        )
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = math.ceil(len(tiles) / columns)
    side = max(32, max_size // columns)
    sheet = np.zeros((rows * side, columns * side, 4), dtype=np.float32)
    sheet[..., 3] = 1.0
    notes = []
    now = bpy.context.scene.frame_current
    try:
        for number, tile in enumerate(tiles):
            drawn, note = _draw(tile, objects, shading, side)
            row, column = divmod(number, columns)
            top = sheet.shape[0] - (row + 1) * side
            sheet[top : top + side, column * side : (column + 1) * side] = drawn
            notes.append(note)
    finally:
        if bpy.context.scene.frame_current != now:
            bpy.context.scene.frame_set(now)
    return Sheet(sheet, f"{columns} columns, {rows} rows: " + "; ".join(notes))


def difference(before: Sheet, after: Sheet) -> tuple[Sheet, float]:
    """Before, after and what differs side by side, and the share of pixels that differ."""
    if before.pixels.shape != after.pixels.shape:
        raise InvalidParamsError(
            "the two pictures have not the same size: look again with the same arguments"
        )
    away = np.abs(after.pixels[..., :3] - before.pixels[..., :3]).max(axis=2)
    # A few samples a pixel are noisy: what differs less than this is no change.
    changed = away > 0.15
    third = before.pixels.copy()
    third[..., :3] *= 0.3
    third[changed] = (1.0, 0.25, 0.1, 1.0)
    return Sheet(np.concatenate([before.pixels, after.pixels, third], axis=1), ""), float(changed.mean())


def _tiles(views: Sequence[View], turntable: int, frames: Sequence[int]) -> list[_Tile]:
    if frames:
        return [_Tile(f"frame {f}", Vector(_FROM["perspective"]).normalized(), False, f) for f in frames]
    if turntable:
        turns = [2 * math.pi * n / turntable for n in range(turntable)]
        return [
            _Tile(
                f"{math.degrees(a):.0f} deg",
                Vector((math.sin(a), -math.cos(a), 0.45)).normalized(),
                False,
                None,
            )
            for a in turns
        ]
    chosen = views or ("front", "right", "top", "perspective")
    return [
        _Tile(
            v, Vector(_FROM[v]).normalized() if v in _FROM else None, v not in ("perspective", "camera"), None
        )
        for v in chosen
    ]


def _draw(tile: _Tile, objects: Sequence[str], shading: Shading, side: int) -> tuple[Any, str]:
    scene = bpy.context.scene
    if tile.frame is not None:
        scene.frame_set(tile.frame)
    bpy.context.view_layer.update()
    if tile.direction is None and scene.camera is None:
        raise InvalidParamsError("the scene has no camera: leave the view camera out")
    with _camera(tile, objects) as (camera, width), _lit(shading, camera):
        pixels = picture.through(camera, side)
    size = max(1, side // 120)
    note = tile.name
    pixels[: (letters.HEIGHT + 6) * size, :, :3] *= 0.25
    letters.draw(pixels, tile.name, 2 * size, 2 * size, size)
    if tile.orthographic:
        length, text = _scale(width / 4)
        bar = round(length / width * side)
        pixels[2 * size : 4 * size, side - bar - 2 * size : side - 2 * size] = (1.0, 1.0, 1.0, 1.0)
        letters.draw(pixels, text, side - (2 + 4 * len(text)) * size, 5 * size, size)
        note += f" (the bar is {text})"
    return pixels, note


def _scale(near: float) -> tuple[float, str]:
    """A round length that is not longer than `near`."""
    power = 10.0 ** math.floor(math.log10(near))
    length = next(step * power for step in (5, 2, 1) if step * power <= near * 1.0001)
    return length, f"{length:g}"


@contextlib.contextmanager
def _camera(tile: _Tile, objects: Sequence[str]) -> Iterator[tuple[Any, float]]:
    """A camera that sees it all from there, for as long as it takes, and the width that it sees."""
    if tile.direction is None:
        yield bpy.context.scene.camera, 0.0
        return
    low, high = _bounds(objects)
    center, radius = (low + high) / 2, max((high - low).length / 2, 0.01)
    data = bpy.data.cameras.new(".mcp_bridge_look")
    camera = bpy.data.objects.new(".mcp_bridge_look", data)
    bpy.context.scene.collection.objects.link(camera)
    try:
        if tile.orthographic:
            data.type = "ORTHO"
        width = data.ortho_scale = 2.1 * radius
        distance = 3 * radius if tile.orthographic else 1.15 * radius / math.sin(data.angle / 2)
        data.clip_start, data.clip_end = distance / 1000, distance + 4 * radius
        camera.location = center + tile.direction * distance
        camera.rotation_euler = (-tile.direction).to_track_quat("-Z", "Y").to_euler()
        bpy.context.view_layer.update()
        camera.hide_viewport = not bpy.app.background  # a viewport would draw its outline
        yield camera, width
    finally:
        bpy.data.objects.remove(camera)
        bpy.data.cameras.remove(data)


@contextlib.contextmanager
def _lit(shading: Shading, camera: Any) -> Iterator[None]:
    """For solid shading, a light from over the camera's shoulder: a scene without lights is black."""
    if shading == "rendered" or not bpy.app.background:  # a viewport is shaded as the user has it
        yield
        return
    data: Any = bpy.data.lights.new(".mcp_bridge_look", "SUN")
    light = bpy.data.objects.new(".mcp_bridge_look", data)
    data.energy, data.use_shadow = 2.5, False
    light.rotation_euler = (
        camera.matrix_world.to_quaternion() @ Vector((0.25, 0.35, 1.0)).to_track_quat("Z", "Y")
    ).to_euler()
    bpy.context.scene.collection.objects.link(light)
    try:
        yield
    finally:
        bpy.data.objects.remove(light)
        bpy.data.lights.remove(data)


def _bounds(names: Sequence[str]) -> tuple[Vector, Vector]:
    """The box around the objects with what is below them, or around all that is visible."""
    if names:
        chosen = [bpy.data.objects[name] for name in names]
        chosen += [child for obj in chosen for child in obj.children_recursive]
    else:
        chosen = [obj for obj in bpy.context.view_layer.objects if obj.visible_get()]
    seen = [obj for obj in chosen if obj.type not in _NOT_SEEN]
    corners = [obj.matrix_world @ Vector(corner) for obj in seen for corner in obj.bound_box]
    corners = corners or [obj.matrix_world.translation.copy() for obj in chosen if names]
    if not corners:
        corners = [Vector((-1, -1, -1)), Vector((1, 1, 1))]
    low = Vector([min(corner[axis] for corner in corners) for axis in range(3)])
    high = Vector([max(corner[axis] for corner in corners) for axis in range(3)])
    if (high - low).length < 1e-6:
        low, high = low - Vector((1, 1, 1)), high + Vector((1, 1, 1))
    return low, high
