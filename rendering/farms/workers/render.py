# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on a worker, by Blender: renders a chunk of frames, or makes a video of them.

This file is part of a job's bundle and needs nothing of MCP Bridge:

    blender -b --factory-startup --disable-autoexec --python worker.py -- frames --scene scene.blend …

For each frame it writes a file `frame_7.json` in the folder for results: `state` is begun, done or failed, `worker`
the computer, `attempt` the number of the attempt, `seconds` and `error` the outcome. The picture is `frame_7.png`, a
small one `frame_7.small.jpg`. Scripts in the .blend do not run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

_SMALL = 320


def main(arguments: list[str]) -> int:
    """Render or make a video; return the exit code: 0, or 1 if a frame failed."""
    parser = argparse.ArgumentParser(prog="worker.py")
    kinds = parser.add_subparsers(dest="kind", required=True)
    frames, video = kinds.add_parser("frames"), kinds.add_parser("video")
    for kind in (frames, video):
        kind.add_argument("--scene", required=True, type=Path, help="the .blend")
        kind.add_argument(
            "--results", required=True, type=Path, help="folder for pictures and what became of them"
        )
        kind.add_argument(
            "--version", required=True, help="the Blender that the job was made with, such as 4.2"
        )
    frames.add_argument("--chunks", required=True, type=Path, help="JSON: a list of lists of frames")
    frames.add_argument("--chunk", required=True, type=int, help="which of them, from 0")
    frames.add_argument("--attempt", type=int, default=1)
    video.add_argument("--frames", required=True, type=Path, help="folder of the pictures")
    video.add_argument(
        "--pattern", required=True, help="name of a picture, with # for each digit of its frame"
    )
    given = parser.parse_args(arguments)
    given.results.mkdir(parents=True, exist_ok=True)
    _open(given.scene, given.version)
    return _frames(given) if given.kind == "frames" else _video(given)


def _open(scene: Path, version: str) -> None:
    import bpy

    here = ".".join(map(str, bpy.app.version[:2]))
    if here != version:
        raise SystemExit(f"This worker has Blender {here}, and the job was made for {version}: use that one.")
    bpy.ops.wm.open_mainfile(filepath=str(scene), load_ui=False, use_scripts=False)


def _frames(given: argparse.Namespace) -> int:
    import bpy

    scene: Any = bpy.context.scene
    scene.render.use_persistent_data = True  # keeps unchanged data between frames
    chunk = json.loads(given.chunks.read_text(encoding="utf-8"))[given.chunk]
    failed = 0
    for at, frame in enumerate(chunk, 1):
        if not _is_done(given, frame):
            print(f"openjd_status: frame {frame}", flush=True)
            failed += not _frame(given, scene, frame)
        print(f"openjd_progress: {100 * at / len(chunk):.1f}", flush=True)
    return int(failed > 0)


def _frame(given: argparse.Namespace, scene: Any, frame: int) -> bool:
    begin = time.monotonic()
    _tell(given, frame, state="begun")
    try:
        part = given.results / f"frame_{frame}.part.png"
        scene.frame_set(frame)
        scene.render.filepath = str(part)
        _render(scene)
        _small_picture(part, given.results / f"frame_{frame}.small.jpg")
        os.replace(part, given.results / f"frame_{frame}.png")
    except Exception as error:
        _tell(given, frame, state="failed", error=f"{type(error).__name__}: {error}"[:1000])
        return False
    _tell(given, frame, state="done", seconds=round(time.monotonic() - begin, 2))
    return True


def _is_done(given: argparse.Namespace, frame: int) -> bool:
    """Return whether a frame is done: after losing a worker, an engine may run a task again."""
    try:
        told = json.loads((given.results / f"frame_{frame}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(told["state"] == "done")


def _render(scene: Any) -> None:
    import bpy

    try:
        bpy.ops.render.render(write_still=True)
    except RuntimeError as error:
        if "denoise" not in str(error).lower():
            raise
        scene.cycles.use_denoising = False  # some builds, such as Debian's, have no denoiser
        bpy.ops.render.render(write_still=True)


def _small_picture(source: Path, to: Path) -> None:
    import bpy

    picture = bpy.data.images.load(str(source))
    try:
        width, height = picture.size
        scale = min(1.0, _SMALL / max(width, height))
        picture.scale(max(1, int(width * scale)), max(1, int(height * scale)))
        picture.filepath_raw, picture.file_format = str(to), "JPEG"
        picture.save()
    finally:
        bpy.data.images.remove(picture)


def _tell(given: argparse.Namespace, frame: int, **known: object) -> None:
    """Write the report on a frame: under another name first, so that nobody reads half of it."""
    told = {
        "frame": frame,
        "attempt": given.attempt,
        "worker": os.environ.get("SLURMD_NODENAME") or platform.node(),
        **known,
    }
    waiting = given.results / f"frame_{frame}.json.new"
    waiting.write_text(json.dumps(told), encoding="utf-8")
    os.replace(waiting, given.results / f"frame_{frame}.json")


def _video(given: argparse.Namespace) -> int:
    """Make an H.264 video of all pictures in the order of their frames, at the scene's rate; return the exit code."""
    import bpy

    numbers = {path.name: _number(path, given.pattern) for path in given.frames.iterdir()}
    names = sorted((name for name, number in numbers.items() if number >= 0), key=numbers.__getitem__)
    if not names:
        raise SystemExit(f"There is no picture {given.pattern} in {given.frames}.")
    scene: Any = bpy.context.scene
    editor = scene.sequence_editor_create()
    strips: Any = editor.strips if hasattr(editor, "strips") else editor.sequences
    for strip in list(strips):
        strips.remove(strip)
    whole = strips.new_image("frames", str(given.frames / names[0]), channel=1, frame_start=1)
    for name in names[1:]:
        whole.elements.append(name)
    first = whole.elements[0]
    scene.frame_start, scene.frame_end = 1, len(names)
    render = scene.render
    render.resolution_x, render.resolution_y = (
        max(2, side // 2 * 2) for side in (first.orig_width, first.orig_height)
    )
    render.resolution_percentage, render.use_sequencer, render.use_compositing = 100, True, False
    if hasattr(render.image_settings, "media_type"):
        render.image_settings.media_type = "VIDEO"
    render.image_settings.file_format = "FFMPEG"
    render.ffmpeg.format, render.ffmpeg.codec = "MPEG4", "H264"
    render.use_file_extension = False
    part = given.results / "video.part.mp4"
    render.filepath = str(part)
    bpy.ops.render.render(animation=True)
    os.replace(part, given.results / "video.mp4")
    print("openjd_progress: 100", flush=True)
    return 0


def _number(path: Path, pattern: str) -> int:
    """Return the frame in a picture's name; -1 if the name does not fit the pattern."""
    head, tail = pattern[: pattern.index("#")], pattern[pattern.rindex("#") + 1 :]
    digits = path.name.removeprefix(head).removesuffix(tail)
    return int(digits) if path.name == f"{head}{digits}{tail}" and digits.isdecimal() else -1


if __name__ == "__main__":
    given = sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:]
    try:
        code = main(given)
    except SystemExit as stop:
        print(stop.code, file=sys.stderr)
        code = stop.code if isinstance(stop.code, int) else 2
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
