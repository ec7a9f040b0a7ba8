# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws several views of the scene or of some objects in one picture, with names and scale bars."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ...base.errors import InvalidParamsError
from .. import events
from ..describe.overview import find
from . import labels, letters, picture

__all__ = ("Shading", "Sheet", "View", "difference", "make")

View = Literal["front", "back", "left", "right", "top", "bottom", "perspective", "camera"]
Shading = Literal["solid", "rendered"]
_MOST_TILES = 16
_MOST_NAMED = 12
#: The dark band with a view's name, in letter pixels, and the side of a view that is too small for more (pixels).
_BAND = letters.HEIGHT + 6
_SMALLEST_NAMED = 160
#: The size of a view relative to its objects: the margin leaves room for names.
_ROOM = 1.18
#: View -> the direction towards the camera.
_FROM: dict[str, tuple[float, float, float]] = {
    "front": (0, -1, 0),
    "back": (0, 1, 0),
    "left": (-1, 0, 0),
    "right": (1, 0, 0),
    "top": (0, 0, 1),
    "bottom": (0, 0, -1),
    "perspective": (0.62, -0.7, 0.42),
}
#: The turn of the light of solid shading relative to the camera: from above and a little from the right.
_FROM_CAMERA = Vector((0.25, 0.35, 1.0)).to_track_quat("Z", "Y")
_TEMPORARY = ".mcp_bridge_look"
_NOT_SEEN = frozenset({"CAMERA", "LIGHT", "EMPTY", "SPEAKER", "LIGHT_PROBE"})


@dataclass(frozen=True, slots=True)
class _Tile:
    name: str
    direction: Vector | None
    orthographic: bool
    frame: int | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """RGBA bytes (rows from the bottom up), the same picture without names, and a text that describes the views."""

    pixels: Any
    bare: Any
    note: str

    def encoded(self, picture_format: picture.Format) -> bytes:
        """Return the picture in this format."""
        height, width = self.pixels.shape[:2]
        return picture.encode((self.pixels / np.float32(255)).ravel(), width, height, picture_format)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The box that all views show, with the directions of the perspective views, which share one scale."""

    box: tuple[Vector, Vector]
    directions: tuple[Vector | None, ...]

    @property
    def center(self) -> Vector:
        return (self.box[0] + self.box[1]) / 2

    def corners(self, direction: Vector) -> list[Vector]:
        """Return the corners of the box relative to its centre, in camera axes: right, up, towards the camera."""
        turned = (-direction).to_track_quat("-Z", "Y").inverted()
        half = (self.box[1] - self.box[0]) / 2
        signs = ((x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
        return [turned @ Vector((x * half.x, y * half.y, z * half.z)) for x, y, z in signs]

    def width(self, direction: Vector, band: float) -> float:
        """Return the width that a square view from this direction needs."""
        return max(2 * max(abs(c.x), abs(c.y) / (1 - band)) for c in self.corners(direction))

    def distance(self, angle: float, band: float) -> float:
        """Return the distance at which a camera with this angle sees the whole box from every perspective direction."""
        spread = math.tan(angle / 2)
        return max(
            c.z + max(abs(c.x), abs(c.y) / (1 - band)) / spread
            for direction in self.directions
            if direction is not None
            for c in self.corners(direction)
        )


@dataclass(slots=True)
class _Named:
    """The objects with a label in the picture: `texts` maps an object's name to the text of its label."""

    texts: dict[str, str]
    left_out: int

    def note(self) -> str:
        """Return a note for the reader: the objects whose label is a number, and the count of unlabelled objects."""
        numbered = [
            f"{text} is {name}"
            for name, text in self.texts.items()
            if text == f"({text[1:-1]})" and text != name
        ]
        more = [f"{self.left_out} more objects are not named"] if self.left_out else []
        return "".join(f"; {each}" for each in numbered + more)


def make(
    *,
    objects: Sequence[str] = (),
    views: Sequence[View] = (),
    turntable: int = 0,
    frames: Sequence[int] = (),
    shading: Shading = "solid",
    max_size: int = 640,
) -> Sheet:
    """Draw views of the named objects (none: all visible ones), `turntable` views around them, or one view a frame.

    `max_size`: the longer side of the sheet in pixels. Raises InvalidParamsError for an unknown name or more than 16
    views, and ExternalServiceError when no picture can be made.
    """
    for name in objects:
        find(bpy.data.objects, name, "object")
    with events.quiet(), _own_cameras_unbound(bpy.context.scene):
        return _make(objects, _tiles(views, turntable, frames), frames, shading, max_size)


def _make(
    objects: Sequence[str], tiles: Sequence[_Tile], frames: Sequence[int], shading: Shading, max_size: int
) -> Sheet:
    if len(tiles) > _MOST_TILES:
        raise InvalidParamsError(
            f"{len(tiles)} views are more than the {_MOST_TILES} of one sheet: ask for fewer"
        )
    columns = math.ceil(math.sqrt(len(tiles)))
    rows = math.ceil(len(tiles) / columns)
    side = max(32, max_size // columns)
    bare = np.zeros((rows * side, columns * side, 4), dtype=np.uint8)
    bare[..., 3] = 255
    sheet = bare.copy()
    notes, named = [], _named(objects)
    now = bpy.context.scene.frame_current
    try:
        shape = _Shape(_all_bounds(objects, frames), tuple(t.direction for t in tiles if not t.orthographic))
        with _studio(shading) as studio, picture.views(side, solid=studio.light is not None) as take:
            for number, tile in enumerate(tiles):
                drawn, with_names, note = _draw(tile, shape, named, studio, take, side)
                row, column = divmod(number, columns)
                top = sheet.shape[0] - (row + 1) * side
                here = slice(top, top + side), slice(column * side, (column + 1) * side)
                bare[here], sheet[here] = (np.clip(each, 0, 1) * 255 + 0.5 for each in (drawn, with_names))
                notes.append(note)
    finally:
        if bpy.context.scene.frame_current != now:
            bpy.context.scene.frame_set(now)
    return Sheet(sheet, bare, f"{columns} columns, {rows} rows: " + "; ".join(notes) + named.note())


def difference(before: Sheet, after: Sheet) -> tuple[Sheet, float]:
    """Return a sheet with before, after and the difference side by side, and the share of pixels that differ."""
    if before.pixels.shape != after.pixels.shape:
        raise InvalidParamsError(
            "the two pictures do not have the same size: look again with the same arguments"
        )
    away = np.abs(after.bare[..., :3].astype(np.int16) - before.bare[..., :3]).max(axis=2)
    # A few samples a pixel are noisy: a smaller difference is no change.
    changed = away > 38
    third = before.bare.copy()
    third[..., :3] //= 3
    third[changed] = (255, 64, 26, 255)
    both, bare = ([each.pixels for each in (before, after)], [each.bare for each in (before, after)])
    return Sheet(np.concatenate([*both, third], axis=1), np.concatenate([*bare, third], axis=1), ""), float(
        changed.mean()
    )


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


def _draw(
    tile: _Tile, shape: _Shape, named: _Named, studio: _Studio, take: Callable[[Any], Any], side: int
) -> tuple[Any, Any, str]:
    """Return a view without names, the same view with names, and its description."""
    if tile.frame is not None:
        bpy.context.scene.frame_set(tile.frame)
    size = min(3, max(1, side // 120))
    band = _BAND * size
    camera, width = studio.aim(tile, shape, band / side)
    covered = _covered(camera, named, side, band)
    pixels = take(camera)
    note = tile.name
    pixels[:band, :, :3] *= 0.25
    letters.draw(pixels, tile.name, 2 * size, 2 * size, size)
    if tile.orthographic:
        length, text = _scale(width / 4)
        bar = round(length / width * side)
        pixels[2 * size : 4 * size, side - bar - 2 * size : side - 2 * size] = (1.0, 1.0, 1.0, 1.0)
        letters.draw(pixels, text, side - 2 * size - letters.width(text, size), 5 * size, size)
        note += f" (the bar is {text})"
    with_names = pixels.copy()
    if side >= _SMALLEST_NAMED:
        spots = labels.place(covered, labels.Box(1, band + 1, side - 2, side - band - 2), 2)
        for text, spot in spots.items():
            labels.write(with_names, text, spot, covered[text], 2)
    return pixels, with_names, note


def _named(objects: Sequence[str]) -> _Named:
    """Return the objects to name: the largest visible ones."""
    seen = sorted(_with_surface(objects), key=lambda obj: -obj.dimensions.length)
    texts = {
        obj.name: obj.name if letters.can_write(obj.name) else f"({number})"
        for number, obj in enumerate(seen[:_MOST_NAMED], 1)
    }
    return _Named(texts, max(0, len(seen) - _MOST_NAMED))


def _covered(camera: Any, named: _Named, side: int, band: int) -> dict[str, labels.Box]:
    """Return label text -> the box that the object covers in the picture, for each named object in view."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    to_picture = camera.calc_matrix_camera(depsgraph, x=side, y=side) @ camera.matrix_world.inverted()
    found = {}
    for name, text in named.texts.items():
        obj = bpy.data.objects[name].evaluated_get(depsgraph)
        points = [to_picture @ (obj.matrix_world @ Vector(corner)).to_4d() for corner in obj.bound_box]
        if any(point.w <= 0 for point in points):
            continue  # behind the camera
        across = [(point.x / point.w + 1) / 2 * side for point in points]
        up = [(point.y / point.w + 1) / 2 * side for point in points]
        x, y = max(min(across), 0), max(min(up), band)
        width, height = min(max(across), side) - x, min(max(up), side) - y
        if width > 0 and height > 0:
            found[text] = labels.Box(x, y, width, height)
    return found


def _scale(near: float) -> tuple[float, str]:
    """Return a round length up to `near`, and its text."""
    power = 10.0 ** math.floor(math.log10(near))
    length = next(step * power for step in (5, 2, 1) if step * power <= near * 1.0001)
    return length, f"{length:g}"


@dataclass(frozen=True, slots=True)
class _Studio:
    """The temporary camera and light of all views of a sheet. `own` is the scene's camera; no light: the scene's alone.

    They stay from view to view and only move: Blender sorts the whole scene anew for each object that comes or goes,
    which takes 0.1 s with 3,000 objects.
    """

    camera: Any
    own: Any
    light: Any

    def aim(self, tile: _Tile, shape: _Shape, band: float) -> tuple[Any, float]:
        """Return the camera of a view, which sees the whole shape from the tile's direction, and the width it sees.

        `band`: the share of the picture that stays free at the bottom. Raises InvalidParamsError if the view is of the
        scene's camera and there is none.
        """
        width = 0.0
        if tile.direction is None:
            if self.own is None:
                raise InvalidParamsError("the scene has no camera: leave the view camera out")
            camera = self.own
        else:
            camera, width = self.camera, _place(self.camera, tile, shape, band)
        bpy.context.view_layer.update()
        if self.light is not None:
            turned = camera.matrix_world.to_quaternion() @ _FROM_CAMERA
            self.light.rotation_euler = turned.to_euler()
        return camera, width


def _place(camera: Any, tile: _Tile, shape: _Shape, band: float) -> float:
    """Move the temporary camera to a view; returns the width that it sees there."""
    assert tile.direction is not None
    data, radius = camera.data, (shape.box[1] - shape.box[0]).length / 2
    data.type = "ORTHO" if tile.orthographic else "PERSP"
    distance = 3 * radius if tile.orthographic else _ROOM * shape.distance(data.angle, band)
    width = data.ortho_scale = _ROOM * shape.width(tile.direction, band)
    data.shift_y = -band / 2
    data.clip_start, data.clip_end = distance / 1000, distance + 4 * radius
    # Written as a matrix, it is there at once: Blender computes none for an object that the viewport hides.
    turn = (-tile.direction).to_track_quat("-Z", "Y")
    camera.matrix_world = Matrix.LocRotScale(shape.center + tile.direction * distance, turn, None)
    return float(width)


@contextlib.contextmanager
def _own_cameras_unbound(scene: Any) -> Iterator[None]:
    """Inside the context, no marker of the timeline binds a camera: Blender would render that one in every view."""
    camera, bound = (
        scene.camera,
        [(marker, marker.camera) for marker in scene.timeline_markers if marker.camera],
    )
    for marker, _ in bound:
        marker.camera = None
    try:
        yield
    finally:
        for marker, its_camera in bound:
            marker.camera = its_camera
        if scene.camera != camera:
            scene.camera = camera


@contextlib.contextmanager
def _studio(shading: Shading) -> Iterator[_Studio]:
    """Add a temporary camera; for solid shading without a window also a light: a scene without lights is black."""
    scene: Any = bpy.context.scene
    own, window = scene.camera, not bpy.app.background
    lit = shading == "solid" and not window  # a viewport uses the user's shading
    made = [bpy.data.cameras.new(_TEMPORARY)]
    if lit:
        sun: Any = bpy.data.lights.new(_TEMPORARY, "SUN")
        sun.energy, sun.use_shadow = 2.5, False
        made.append(sun)
    objects = [bpy.data.objects.new(_TEMPORARY, data) for data in made]
    try:
        for each in objects:
            scene.collection.objects.link(each)
        objects[0].hide_viewport = window  # a viewport would draw its outline
        if not window:
            scene.camera = objects[0]
        yield _Studio(objects[0], own, objects[1] if lit else None)
    finally:
        bpy.data.batch_remove([*objects, *made])


def _chosen(names: Sequence[str]) -> list[Any]:
    """Return the named objects with their children, or all visible objects."""
    if not names:
        return [obj for obj in bpy.context.view_layer.objects if obj.visible_get()]
    named = [bpy.data.objects[name] for name in names]
    below = [child for obj in named for child in obj.children_recursive]
    return list(dict.fromkeys(named + below))


def _with_surface(names: Sequence[str]) -> list[Any]:
    """Return the chosen objects that have a surface."""
    return [obj for obj in _chosen(names) if obj.type not in _NOT_SEEN]


def _all_bounds(names: Sequence[str], frames: Sequence[int]) -> tuple[Vector, Vector]:
    """Return the box around the objects in all frames, so that movement stays visible."""
    boxes = []
    for frame in frames or (None,):
        if frame is not None:
            bpy.context.scene.frame_set(frame)
        boxes.append(_bounds(names))
    return (
        Vector([min(low[axis] for low, _ in boxes) for axis in range(3)]),
        Vector([max(high[axis] for _, high in boxes) for axis in range(3)]),
    )


def _bounds(names: Sequence[str]) -> tuple[Vector, Vector]:
    """Return the box around the named objects and their children, or around all visible objects."""
    corners = [obj.matrix_world @ Vector(corner) for obj in _with_surface(names) for corner in obj.bound_box]
    corners = corners or [obj.matrix_world.translation.copy() for obj in _chosen(names) if names]
    if not corners:
        corners = [Vector((-1, -1, -1)), Vector((1, 1, 1))]
    low = Vector([min(corner[axis] for corner in corners) for axis in range(3)])
    high = Vector([max(corner[axis] for corner in corners) for axis in range(3)])
    if (high - low).length < 1e-6:
        low, high = low - Vector((1, 1, 1)), high + Vector((1, 1, 1))
    return low, high
