# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes pictures of the scene: the real viewport with a window, a small Cycles render without one."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import bpy
from mathutils import Vector

from ...base.errors import ExternalServiceError, InvalidParamsError
from ...base.similar_names import did_you_mean, quoted
from .. import events
from ..override import Place

__all__ = ("Format", "Picture", "area", "encode", "preview", "render", "through", "viewport")

Format = Literal["png", "jpeg"]
#: JPEG qualities to try, from one with clean edges of lines and letters down to the lowest. A picture with more bytes
#: than `_AIM_BYTES` gets a lower one, since some clients paste it into a prompt as text.
_QUALITIES = (90, 80, 70, 60)
_AIM_BYTES = 96 * 1024
_SAMPLES = 4
#: Editors that a picture may show: none that shows settings, files, keys or text that somebody types.
_EDITORS = frozenset(
    "VIEW_3D IMAGE_EDITOR NODE_EDITOR SEQUENCE_EDITOR CLIP_EDITOR DOPESHEET_EDITOR GRAPH_EDITOR NLA_EDITOR OUTLINER "
    "SPREADSHEET TEXT_EDITOR".split()
)
#: The direction of the view for a scene without a camera: from the front right, a little above.
_DIRECTION = Vector((0.62, -0.7, 0.42)).normalized()


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded picture and its size in pixels. `source` says how it was made."""

    data: bytes
    mime_type: str
    width: int
    height: int
    source: Literal["viewport", "render", "screenshot"]


def viewport(*, max_size: int, picture_format: Format) -> Picture:
    """Return a picture of the largest 3D viewport or, without a window, a render through the camera.

    `max_size`: the longer side in pixels. Raises ExternalServiceError when neither is possible.
    """
    found = None if bpy.app.background else _largest_viewport()
    if found is None:
        return render(max_size=max_size, picture_format=picture_format)
    area, region = found
    scale = min(1.0, max_size / max(region.width, region.height))
    width, height = max(1, round(region.width * scale)), max(1, round(region.height * scale))
    pixels = _draw(area.spaces.active, region, width, height)
    return Picture(
        encode(pixels, width, height, picture_format), f"image/{picture_format}", width, height, "viewport"
    )


def area(editor: str, *, max_size: int, picture_format: Format) -> Picture:
    """Return a picture of the largest open editor of a type: `NODE_EDITOR`, or more exactly `ShaderNodeTree`.

    Raises ExternalServiceError without a window, InvalidParamsError for an editor that is not open.
    """
    if bpy.app.background:
        raise ExternalServiceError(
            "Blender runs without a window, so there are no editors to see. Without `area` the scene is rendered."
        )
    shown = [
        (window, one)
        for window in bpy.context.window_manager.windows
        for one in window.screen.areas
        if one.type in _EDITORS
    ]
    wanted = editor.replace(" ", "_").lower()
    found = [(w, one) for w, one in shown if wanted in (one.type.lower(), one.ui_type.lower())]
    if not found:
        known = sorted({name for _, one in shown for name in (one.type, one.ui_type)})
        near = did_you_mean(editor, known)
        raise InvalidParamsError(
            f"No editor {quoted(editor)} is open that may be looked at; open are {', '.join(known)}.{near}"
        )
    window, chosen = max(found, key=lambda pair: pair[1].width * pair[1].height)
    return _screenshot(window, chosen, max_size, picture_format)


def _screenshot(window: Any, chosen: Any, max_size: int, picture_format: Format) -> Picture:
    """Return a picture of an area without its header and side bars: redraw the area, and read it while it is drawn.

    Blender's own screenshots read the screen, which is black on some systems.
    """
    import gpu

    context: Any = bpy.context
    drawn: list[Any] = []

    def read() -> None:
        region = context.region
        if context.area == chosen:
            buffer = gpu.state.active_framebuffer_get().read_color(
                0, 0, region.width, region.height, 4, 0, "FLOAT"
            )
            buffer.dimensions = region.width * region.height * 4
            drawn[:] = [(buffer, region.width, region.height)]

    space = type(chosen.spaces.active)
    handler = space.draw_handler_add(read, (), "WINDOW", "POST_PIXEL")
    try:
        with Place(window=window, area=chosen):
            chosen.tag_redraw()
            bpy.ops.wm.redraw_timer(type="DRAW_WIN", iterations=1)
    finally:
        space.draw_handler_remove(handler, "WINDOW")
    if not drawn:
        raise ExternalServiceError("Blender did not draw that editor: its window may be minimized.")
    pixels, width, height = drawn[0]
    scale = min(1.0, max_size / max(width, height))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    data = encode(pixels, width, height, picture_format, size)
    return Picture(data, f"image/{picture_format}", *size, "screenshot")


def render(*, max_size: int, picture_format: Format | Literal["bmp"], threads: int | None = None) -> Picture:
    """Render a quick picture with Cycles at few samples, by the scene's camera or one that frames everything visible.

    threads: the number of render threads, instead of the scene's. Restores all settings afterwards.

    Raises ExternalServiceError when Cycles is missing or fails.
    """
    scene = bpy.context.scene
    if "cycles" not in scene.bl_rna.properties:
        raise ExternalServiceError(
            "A picture without a window needs Cycles, which is switched off: enable the add-on Cycles Render Engine."
        )
    longer = max(scene.render.resolution_x, scene.render.resolution_y)
    size = [
        max(4, round(side * max_size / longer))
        for side in (scene.render.resolution_x, scene.render.resolution_y)
    ]
    with (
        events.quiet(),
        _nothing_left(scene),
        tempfile.TemporaryDirectory(prefix="mcp_bridge_") as folder,
        _camera(scene),
        _render_settings(scene, size, picture_format, Path(folder) / "picture"),
        _threads(scene.render, threads),
    ):
        try:
            bpy.ops.render.render(write_still=True)
        except RuntimeError as error:
            raise ExternalServiceError(f"Blender could not render the picture: {error}") from None
        written = next(Path(folder).iterdir(), None)
        if written is None:
            raise ExternalServiceError("Blender rendered the picture but wrote nothing.")
        data = written.read_bytes()
        if picture_format == "jpeg" and len(data) > _AIM_BYTES:
            data = preview(written)
        return Picture(data, f"image/{picture_format}", size[0], size[1], "render")


def through(camera: Any, side: int) -> Any:
    """Return a square picture through this camera as an array of RGBA floats (side, side, 4), rows from the bottom up.

    With a window it has the shading of the largest 3D viewport; without a window Cycles renders it. Raises
    ExternalServiceError.
    """
    import numpy as np

    found = None if bpy.app.background else _largest_viewport()
    if found is not None:
        area, region = found
        depsgraph = bpy.context.evaluated_depsgraph_get()
        projection = camera.calc_matrix_camera(depsgraph, x=side, y=side)
        views = camera.matrix_world.inverted(), projection
        with _plain(area.spaces.active.overlay):
            flat = np.array(_draw(area.spaces.active, region, side, side, views), dtype=np.float32)
        return flat.reshape(side, side, 4)
    scene: Any = bpy.context.scene
    before = scene.camera, scene.render.resolution_x, scene.render.resolution_y
    try:
        scene.camera, scene.render.resolution_x, scene.render.resolution_y = camera, side, side
        shot = render(max_size=side, picture_format="png")
    finally:
        scene.camera, scene.render.resolution_x, scene.render.resolution_y = before
    return _decoded(shot.data, side)


@contextlib.contextmanager
def _plain(overlay: Any) -> Iterator[None]:
    """Hide what a viewport draws over the objects: outlines of cameras and lights, the cursor, the selection."""
    names = (
        "show_extras show_cursor show_relationship_lines show_object_origins show_outline_selected".split()
    )
    before = {name: getattr(overlay, name) for name in names}
    try:
        for name in names:
            setattr(overlay, name, False)
        yield
    finally:
        for name, value in before.items():
            setattr(overlay, name, value)


def _decoded(data: bytes, side: int) -> Any:
    """Return the pixels of an encoded picture, read by Blender."""
    import numpy as np

    with tempfile.TemporaryDirectory(prefix="mcp_bridge_") as folder:
        path = Path(folder) / "tile.png"
        path.write_bytes(data)
        image: Any = bpy.data.images.load(str(path))
        try:
            flat = np.empty(side * side * 4, dtype=np.float32)
            image.pixels.foreach_get(flat)
        finally:
            bpy.data.images.remove(image)
    return flat.reshape(side, side, 4)


def _largest_viewport() -> tuple[Any, Any] | None:
    areas = [
        area
        for window in bpy.context.window_manager.windows
        for area in window.screen.areas
        if area.type == "VIEW_3D"
    ]
    if not areas:
        return None
    area = max(areas, key=lambda item: item.width * item.height)
    return area, next(region for region in area.regions if region.type == "WINDOW")


def _draw(space: Any, region: Any, width: int, height: int, views: tuple[Any, Any] | None = None) -> Any:
    """Draw the viewport off screen, with its own view or these matrices, into a flat buffer of RGBA floats."""
    import gpu

    context: Any = bpy.context
    context.view_layer.update()  # a script's last changes may not be evaluated yet
    offscreen = gpu.types.GPUOffScreen(width, height)
    try:
        offscreen.draw_view3d(
            context.scene,
            context.view_layer,
            space,
            region,
            *(views or (space.region_3d.view_matrix, space.region_3d.window_matrix)),
            do_color_management=True,
        )
        with offscreen.bind():
            pixels = gpu.state.active_framebuffer_get().read_color(0, 0, width, height, 4, 0, "FLOAT")
    finally:
        offscreen.free()
    pixels.dimensions = width * height * 4
    return pixels


def encode(
    pixels: Any, width: int, height: int, picture_format: Format, size: tuple[int, int] | None = None
) -> bytes:
    """Encode a flat buffer of RGBA floats as a picture, with Blender's own writer; scaled to `size` if given."""
    image: Any = bpy.data.images.new(".mcp_bridge_picture", width, height, alpha=False)
    try:
        image.pixels.foreach_set(pixels)
        if size not in (None, (width, height)):
            image.scale(*size)
        return _saved(image, picture_format)
    finally:
        bpy.data.images.remove(image)


def preview(path: Path, longer_side: int | None = None) -> bytes:
    """Return a picture file as a small JPEG, scaled down to `longer_side` pixels if given.

    Use it only for a picture that this Blender made itself, since it opens the file in this process.
    """
    image: Any = bpy.data.images.load(str(path))
    try:
        width, height = image.size
        if longer_side is not None and max(width, height) > longer_side:
            scale = longer_side / max(width, height)
            image.scale(max(1, round(width * scale)), max(1, round(height * scale)))
        return _saved(image, "jpeg")
    finally:
        bpy.data.images.remove(image)


def _saved(image: Any, picture_format: Format) -> bytes:
    """Encode an image with Blender's own writer; a JPEG gets the best quality that keeps it small."""
    image.file_format = picture_format.upper()
    with tempfile.TemporaryDirectory(prefix="mcp_bridge_") as folder:
        path = Path(folder) / "picture"
        for quality in _QUALITIES:
            image.save(filepath=str(path), quality=quality)
            if picture_format == "png" or path.stat().st_size <= _AIM_BYTES:
                break
        return path.read_bytes()


@contextlib.contextmanager
def _render_settings(scene: Any, size: list[int], picture_format: str, path: Path) -> Iterator[None]:
    settings, output = scene.render, scene.render.image_settings
    values = [
        (settings, "engine", "CYCLES"),
        (settings, "resolution_x", size[0]),
        (settings, "resolution_y", size[1]),
        (settings, "resolution_percentage", 100),
        (settings, "use_border", False),
        (settings, "use_compositing", False),
        (settings, "use_sequencer", False),
        (settings, "use_file_extension", True),
        (settings, "filepath", str(path)),
        (scene.cycles, "samples", _SAMPLES),
        (scene.cycles, "use_denoising", False),
        (scene.cycles, "use_adaptive_sampling", False),
        (scene.cycles, "device", "CPU"),
        # Blender 5.0 needs the media type before the format.
        *([(output, "media_type", "IMAGE")] if hasattr(output, "media_type") else []),
        (output, "file_format", picture_format.upper()),
        (output, "color_mode", "RGB"),
        (output, "quality", _QUALITIES[0]),
    ]
    before = [(owner, name, getattr(owner, name), owner.is_property_set(name)) for owner, name, _ in values]
    try:
        for owner, name, value in values:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value, was_set in before:
            setattr(owner, name, value)
            if not was_set:
                owner.property_unset(name)


@contextlib.contextmanager
def _threads(settings: Any, count: int | None) -> Iterator[None]:
    """Render with this number of threads inside the context. The file's own number is readable only in fixed mode."""
    if count is None:
        yield
        return
    mode, settings.threads_mode = settings.threads_mode, "FIXED"
    before, settings.threads = settings.threads, count
    try:
        yield
    finally:
        settings.threads, settings.threads_mode = before, mode


@contextlib.contextmanager
def _nothing_left(scene: Any) -> Iterator[None]:
    """Remove the image of Blender's render result, and the Cycles properties that reading them creates in the scene."""
    images: Any = bpy.data.images
    before, own = {image.session_uid for image in images}, set(scene.keys())
    try:
        yield
    finally:
        for image in [image for image in images if image.session_uid not in before]:
            images.remove(image)
        for key in set(scene.keys()) - own:
            del scene[key]


@contextlib.contextmanager
def _camera(scene: Any) -> Iterator[None]:
    """Make sure that the scene has a camera inside this context."""
    if scene.camera is not None:
        yield
        return
    data = bpy.data.cameras.new(".mcp_bridge_camera")
    camera = bpy.data.objects.new(".mcp_bridge_camera", data)
    scene.collection.objects.link(camera)
    try:
        low, high = _visible_bounds()
        center, radius = (low + high) / 2, max((high - low).length / 2, 0.01)
        # `angle` spans the longer side of the picture; the shorter one decides what fits.
        sides = sorted((scene.render.resolution_x, scene.render.resolution_y))
        narrow = math.atan(math.tan(data.angle / 2) * sides[0] / sides[1])
        distance = radius / math.sin(narrow)
        data.clip_end = max(data.clip_end, distance + 2 * radius)
        camera.location = center + _DIRECTION * distance
        camera.rotation_euler = (-_DIRECTION).to_track_quat("-Z", "Y").to_euler()
        scene.camera = camera
        yield
    finally:
        bpy.data.objects.remove(camera)
        bpy.data.cameras.remove(data)


def _visible_bounds() -> tuple[Vector, Vector]:
    corners = [
        obj.matrix_world @ Vector(corner)
        for obj in bpy.context.view_layer.objects
        if obj.visible_get() and obj.type not in {"CAMERA", "LIGHT", "EMPTY"}
        for corner in obj.bound_box
    ] or [Vector((-1, -1, -1)), Vector((1, 1, 1))]
    return (
        Vector([min(corner[axis] for corner in corners) for axis in range(3)]),
        Vector([max(corner[axis] for corner in corners) for axis in range(3)]),
    )
