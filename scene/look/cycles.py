# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders quick pictures of the scene with Cycles, and leaves nothing of it in the file."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
from mathutils import Vector

from ...base.errors import ExternalServiceError
from .. import events

__all__ = ("renderer",)

#: Samples a pixel of a quick render, and of one with solid shading, whose light throws no shadows and has little noise.
_SAMPLES, _SOLID_SAMPLES = 4, 2
#: The colours of solid shading, as a 3D viewport shows them: the scene's own view transform, such as AgX, takes as long
#: as half a sample of each pixel.
_SOLID_COLOURS = {
    "view_transform": "Standard",
    "look": "None",
    "exposure": 0.0,
    "gamma": 1.0,
    "use_curve_mapping": False,
}
#: The direction of the view for a scene without a camera: from the front right, a little above.
_DIRECTION = Vector((0.62, -0.7, 0.42)).normalized()


@contextlib.contextmanager
def renderer(
    scene: Any,
    size: tuple[int, int],
    picture_format: str,
    *,
    solid: bool = False,
    quality: int = 100,
    threads: int | None = None,
) -> Iterator[Callable[[], Path]]:
    """Yield a function that renders the scene into a temporary file and returns its path.

    The picture has `size` pixels (width, height) and is seen by the scene's camera, or by one that frames everything
    visible. The next picture replaces the file. Restores all settings and the scene's camera afterwards.

    Args:
        solid: with the colours of solid shading, not those of the scene's view transform, and with fewer samples.
        quality: 1 to 100, of a JPEG.
        threads: the number of render threads, instead of the scene's.

    Raises:
        ExternalServiceError: Cycles is missing or fails.
    """
    if "cycles" not in scene.bl_rna.properties:
        raise ExternalServiceError(
            "A picture without a window needs Cycles, which is switched off: enable the add-on Cycles Render Engine."
        )
    with (
        events.quiet(),
        _nothing_left(scene),
        _camera_kept(scene),
        tempfile.TemporaryDirectory(prefix="mcp_bridge_") as folder,
        _camera(scene),
        _render_settings(scene, size, picture_format, quality, Path(folder) / "picture", solid),
        _threads(scene.render, threads),
        _colours_of_solid(scene.view_settings) if solid else contextlib.nullcontext(),
    ):
        yield lambda: _render(Path(folder))


def _render(folder: Path) -> Path:
    for former in folder.iterdir():
        former.unlink()
    try:
        ended = bpy.ops.render.render(write_still=True)
    except RuntimeError as error:
        raise ExternalServiceError(f"Blender could not render the picture: {error}") from None
    written = next(folder.iterdir(), None)
    if ended != {"FINISHED"} or written is None:
        raise ExternalServiceError("Blender rendered the picture but wrote nothing.")
    return written


@contextlib.contextmanager
def _camera_kept(scene: Any) -> Iterator[None]:
    """Give the scene its camera back: the caller may choose another, and a render takes that of a timeline's marker."""
    before = scene.camera
    try:
        yield
    finally:
        if scene.camera != before:
            scene.camera = before


@contextlib.contextmanager
def _render_settings(
    scene: Any, size: tuple[int, int], picture_format: str, quality: int, path: Path, solid: bool
) -> Iterator[None]:
    settings, output = scene.render, scene.render.image_settings
    values = [
        (settings, "engine", "CYCLES"),
        (settings, "resolution_x", size[0]),
        (settings, "resolution_y", size[1]),
        (settings, "resolution_percentage", 100),
        (settings, "use_border", False),
        (settings, "use_compositing", False),
        (settings, "use_sequencer", False),
        # Keep what Cycles has built for the next picture. Setting it back frees the memory.
        (settings, "use_persistent_data", True),
        (settings, "use_file_extension", True),
        (settings, "filepath", str(path)),
        (scene.cycles, "samples", _SOLID_SAMPLES if solid else _SAMPLES),
        (scene.cycles, "sampling_pattern", "TABULATED_SOBOL"),  # the fastest, and as even as the others
        (scene.cycles, "use_denoising", False),
        (scene.cycles, "use_adaptive_sampling", False),
        (scene.cycles, "device", "CPU"),
        # Blender 5.0 needs the media type before the format.
        *([(output, "media_type", "IMAGE")] if hasattr(output, "media_type") else []),
        (output, "file_format", picture_format.upper()),
        (output, "color_mode", "RGB"),
        (output, "quality", quality),
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
def _colours_of_solid(view: Any) -> Iterator[None]:
    """Render in the colours of solid shading inside the context, if Blender's colour management has them."""
    before = {name: getattr(view, name) for name in _SOLID_COLOURS}
    try:
        with contextlib.suppress(TypeError):  # a studio's own configuration has other view transforms
            for name, value in _SOLID_COLOURS.items():
                setattr(view, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(view, name, value)


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
