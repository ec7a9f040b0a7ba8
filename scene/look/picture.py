# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes pictures of the scene: the real viewport with a window, a small Cycles render without one."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import bpy

from ...base.errors import ExternalServiceError, InvalidParamsError
from ...base.similar_names import did_you_mean, quoted
from ..override import Place
from . import bitmap, cycles

__all__ = ("Format", "Picture", "area", "encode", "preview", "render", "viewport", "views")

Format = Literal["png", "jpeg"]
#: JPEG qualities to try, from one with clean edges of lines and letters down to the lowest. A picture with more bytes
#: than `_AIM_BYTES` gets a lower one, since some clients paste it into a prompt as text.
_QUALITIES = (90, 80, 70, 60)
_AIM_BYTES = 96 * 1024
#: Editors that a picture may show: none that shows settings, files, keys or text that somebody types.
_EDITORS = frozenset(
    "VIEW_3D IMAGE_EDITOR NODE_EDITOR SEQUENCE_EDITOR CLIP_EDITOR DOPESHEET_EDITOR GRAPH_EDITOR NLA_EDITOR OUTLINER "
    "SPREADSHEET TEXT_EDITOR".split()
)


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
            "Blender runs without a window, so there are no editors to see: leave `area` out to get a render."
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
            f"No editor {quoted(editor)} is open, or it may not be shown; the open ones are {', '.join(known)}.{near}"
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
    longer = max(scene.render.resolution_x, scene.render.resolution_y)
    width, height = (
        max(4, round(side * max_size / longer))
        for side in (scene.render.resolution_x, scene.render.resolution_y)
    )
    with cycles.renderer(
        scene, (width, height), picture_format, quality=_QUALITIES[0], threads=threads
    ) as render_one:
        written = render_one()
        data = written.read_bytes()
        if picture_format == "jpeg" and len(data) > _AIM_BYTES:
            data = preview(written)
    return Picture(data, f"image/{picture_format}", width, height, "render")


@contextlib.contextmanager
def views(side: int, *, solid: bool = False) -> Iterator[Callable[[Any], Any]]:
    """Yield a function that takes a camera and returns what it sees, as an array of RGBA floats (side, side, 4).

    The rows go from the bottom up. With a window a picture has the shading of the largest 3D viewport; without a window
    Cycles renders it, with the colours of solid shading if `solid`. Raises ExternalServiceError.
    """
    found = None if bpy.app.background else _largest_viewport()
    if found is not None:
        yield lambda camera: _drawn_through(camera, *found, side)
        return
    scene: Any = bpy.context.scene
    with cycles.renderer(scene, (side, side), "bmp", solid=solid) as render_one:

        def rendered_through(camera: Any) -> Any:
            if scene.camera != camera:  # Blender sorts the whole scene anew when it gets another camera
                scene.camera = camera
            return bitmap.decode(render_one().read_bytes())

        yield rendered_through


def _drawn_through(camera: Any, area: Any, region: Any, side: int) -> Any:
    import numpy as np

    depsgraph = bpy.context.evaluated_depsgraph_get()
    projection = camera.calc_matrix_camera(depsgraph, x=side, y=side)
    matrices = camera.matrix_world.inverted(), projection
    with _plain(area.spaces.active.overlay):
        flat = np.array(_draw(area.spaces.active, region, side, side, matrices), dtype=np.float32)
    return flat.reshape(side, side, 4)


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
