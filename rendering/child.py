# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders one or many pictures of a copy of the scene; this module runs in the separate Blender process.

`image` and `frames` start it with the facts of what to render. It reports its progress in answers, and leaves the
pictures in its folder.
"""

from __future__ import annotations

import os
import re
import time
from array import array
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

__all__ = ("PREVIEW", "main", "open_copy", "render", "set_up")

_SAMPLE = re.compile(r"Sample (\d+)/(\d+)")
#: The preview of a picture that is too large for a result: its file name, and its longer side in pixels.
PREVIEW, _PREVIEW_SIDE = "preview.jpg", 1280
#: The least time between two progress reports, in seconds.
_PAUSE_S = 0.1


def main(facts: dict[str, Any], answer: Callable[[Mapping[str, object]], None]) -> None:
    """Render, and end the process. `answer` sends one answer to the parent process."""

    def say(**fields: Any) -> None:
        answer(fields)

    try:
        open_copy(facts["scene"], facts["pixels"])
        set_up(facts)
        if "frames" in facts:
            _render_frames(facts, say)
        else:
            _watch(say)
            rendered = render(facts["picture"])
            _add_preview(Path(facts["picture"]).with_name(rendered["done"]), facts["most_bytes"])
            say(**rendered)
    except Exception as error:
        say(error=f"{type(error).__name__}: {error}"[:2000])
    os._exit(0)


def open_copy(scene: str, pixels: dict[str, str]) -> None:
    """Open the copy, and restore the unsaved paint on its images from `pixels`."""
    import bpy

    bpy.ops.wm.open_mainfile(filepath=scene, load_ui=False, use_scripts=False)
    for name, file in pixels.items():
        image: Any = bpy.data.images.get(name)
        numbers = array("f")
        numbers.frombytes(Path(file).read_bytes())
        if image is not None and len(image.pixels) == len(numbers):
            image.pixels.foreach_set(numbers)
            image.update()


def set_up(facts: dict[str, Any]) -> None:
    """Apply the facts to the open scene: engine, size, format, camera, samples, frame."""
    import bpy

    scene: Any = bpy.data.scenes[facts["scene_name"]]
    bpy.context.window.scene = scene
    render, output = scene.render, scene.render.image_settings
    render.engine = facts["engine"]
    render.resolution_x, render.resolution_y = facts["resolution"]
    render.resolution_percentage = 100
    render.use_file_extension = True
    render.filepath = facts["picture"]
    if hasattr(output, "media_type"):  # Blender 5.0 needs the media type before the format
        output.media_type = "IMAGE"
    output.file_format = facts.get("format", "png").upper()
    output.color_depth = "8"
    output.quality = 90
    if facts["camera"]:
        scene.camera = bpy.data.objects[facts["camera"]]
    if facts["samples"]:
        scene.cycles.samples = facts["samples"]
    if "frame" in facts:
        scene.frame_set(facts["frame"])


def _render_frames(facts: dict[str, Any], say: Any) -> None:
    """Render the frames, and report each one when its picture, named by its number, is there."""
    import bpy

    scene: Any = bpy.context.scene
    scene.render.use_persistent_data = True  # keeps unchanged data between frames
    for frame in facts["frames"]:
        scene.frame_set(frame)
        scene.render.filepath = f"{facts['picture']}{frame}"
        answer = render(scene.render.filepath)
        say(frame=frame, file=answer["done"], seconds=answer["seconds"], note=answer["note"])
    say(done="")


def _watch(say: Any) -> None:
    """Report each sample, but not more often than `_PAUSE_S`."""
    import bpy

    told = 0.0

    def stats(text: object, *_: object) -> None:
        nonlocal told
        found = _SAMPLE.search(str(text))
        now = time.monotonic()
        if found and (now - told > _PAUSE_S or found[1] == found[2]):
            told = now
            say(progress=int(found[1]), total=int(found[2]))

    bpy.app.handlers.render_stats.append(stats)


def _add_preview(picture: Path, most_bytes: int | None) -> None:
    """Write a preview beside a picture that has more than `most_bytes`."""
    if most_bytes is not None and picture.stat().st_size > most_bytes:
        from ..scene.look.picture import preview

        picture.with_name(PREVIEW).write_bytes(preview(picture, _PREVIEW_SIDE))


def render(picture: str) -> dict[str, Any]:
    """Render to this path; return the file name, the seconds, and a note on any difference from the request."""
    import bpy

    begin, note = time.perf_counter(), ""
    try:
        bpy.ops.render.render(write_still=True)
    except RuntimeError as error:
        if "denoise" not in str(error).lower():
            raise
        # Some builds, such as Debian's, have no denoiser, but every new scene uses one.
        note = "not denoised: this Blender was built without a denoiser"
        scene: Any = bpy.context.scene
        scene.cycles.use_denoising = False
        bpy.ops.render.render(write_still=True)
    written = next((path for path in map(Path(picture).with_suffix, (".png", ".jpg")) if path.exists()), None)
    if written is None:
        raise RuntimeError("Blender wrote no picture")
    return {"done": written.name, "seconds": round(time.perf_counter() - begin, 2), "note": note}
