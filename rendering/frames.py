# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders many frames in a separate Blender, and continues after a cancel, a crash or a restart.

A folder of the extension keeps a copy of the scene from the time of the order and, after each frame, the list of
finished frames. So later frames fit the earlier ones. The folder is removed when all frames are done.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..base import atomic
from ..base.errors import ExternalServiceError, InvalidParamsError
from ..base.flag import Flag
from ..base.process.other_processes import process_lives
from ..files import allowed_folders
from ..sandbox import confinement
from ..sandbox.confinement.config import Sandbox
from ..sandbox.confinement.process import Spec
from ..sandbox.rehearsal import program, snapshot
from . import image

__all__ = ("Order", "frame_name", "frames_of", "load", "order", "run")

_LONGEST_S = 7 * 24 * 3600
#: The seconds for which an unfinished render can be resumed.
_KEPT_S = 30 * 24 * 3600.0
_MOST_FRAMES = 20_000
_FILE = "render.json"
#: The file with the id of the process that renders.
_CLAIM = "process"
_PNG = b"\x89PNG\r\n\x1a\n"

#: Called with the number of finished frames, the number of all frames, and a text.
Report = Callable[[float, float, str], None]

_running: set[str] = set()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Order:
    """A render: what to render from which copy, the target, and the finished frames. Stored as JSON."""

    id: str
    owner: str
    folder: str
    stem: str
    frames: tuple[int, ...]
    facts: dict[str, Any]
    copy: str
    pixels: dict[str, str]
    #: Files that the copy refers to.
    files: tuple[str, ...]
    #: Whether the user agreed to replace existing frames.
    overwrite: bool
    done: tuple[int, ...] = ()

    def place(self, frame: int) -> Path:
        """Return the path of a frame's picture."""
        return Path(self.folder) / frame_name(self.stem, frame)

    @property
    def left(self) -> tuple[int, ...]:
        """The frames without a picture: not rendered yet, or removed since."""
        done = set(self.done)
        return tuple(frame for frame in self.frames if frame not in done or not self.place(frame).is_file())


def frame_name(stem: str, frame: int) -> str:
    """Return a frame's file name: `turn` and frame 7 give `turn_0007.png`."""
    return f"{stem}{'_' if stem[-1:].isalnum() else ''}{frame:04d}.png"


def order(
    home: Path,
    to: Path,
    *,
    owner: str,
    frames: tuple[int, ...],
    overwrite: bool,
    **choice: Any,
) -> Order:
    """Check the parameters, copy the scene and store the order in `home`. Main thread.

    `choice` are the parameters of `image.facts`. Raises InvalidParamsError for a camera or an engine that does not
    exist.
    """
    facts = image.facts(**choice)
    _forget_old(home)
    render_id = secrets.token_hex(8)
    folder = home / render_id
    folder.mkdir(parents=True)
    try:
        copy = snapshot.take(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    made = Order(
        id=render_id,
        owner=owner,
        folder=str(to.parent),
        stem=to.stem,
        frames=frames,
        facts=facts,
        copy=copy.path.name,
        pixels={name: path.name for name, path in copy.pixels.items()},
        files=tuple(map(str, copy.files)),
        overwrite=overwrite,
    )
    _keep(home, made)
    return made


def frames_of(start: int, end: int, step: int) -> tuple[int, ...]:
    """Return the frame numbers. Raises InvalidParamsError if there are none or too many."""
    frames = tuple(range(start, end + 1, step))
    if not frames:
        raise InvalidParamsError(
            f"There is no frame from {start} to {end}: give end at least as large as start."
        )
    if len(frames) > _MOST_FRAMES:
        raise InvalidParamsError(
            f"{len(frames):,} frames are more than {_MOST_FRAMES:,}: render them in parts."
        )
    return frames


def load(home: Path, render_id: str, owner: str) -> Order:
    """Return an unfinished render. Raises InvalidParamsError if this client has none with this id."""
    path = home / render_id / _FILE
    if re.fullmatch(r"[0-9a-f]{16}", render_id) and path.is_file():
        found = _read(path)
        if found.owner == owner:
            return found
    unfinished = "; ".join(_unfinished(home, owner)) or "none"
    raise InvalidParamsError(
        f"There is no unfinished render {render_id!r} of yours: order it anew by its path. Unfinished: {unfinished}."
    )


def _unfinished(home: Path, owner: str) -> Iterator[str]:
    """Yield the ids of the renders that this client can resume, newest first. After a restart only folders remain."""
    found = sorted(home.glob(f"*/{_FILE}"), key=lambda path: -path.stat().st_mtime)
    for ordered in (_read(path) for path in found):
        if ordered.owner == owner:
            first = ordered.place(ordered.frames[0])
            yield f"{ordered.id!r}, {first} and on ({len(ordered.done)} of {len(ordered.frames)} frames)"


def _read(path: Path) -> Order:
    values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    values |= {name: tuple(values[name]) for name in ("frames", "files", "done")}
    return Order(**values)


def run(
    home: Path, ordered: Order, blender: program.Program, report: Report, cancelled: Flag
) -> tuple[Order, str]:
    """Render the remaining frames with `blender`. Blocks until they are done; never on the main thread.

    Returns the new state of the order, and a note on any difference from the request.

    Raises Cancelled, or ExternalServiceError with the reason; finished frames stay.
    """
    with _lock:
        if ordered.id in _running:
            raise InvalidParamsError(f"The render {ordered.id!r} is under way already: list_jobs shows it.")
        _running.add(ordered.id)
    try:
        with image.slot(), _claimed(home / ordered.id):
            ordered, note = _run(home, ordered, blender, report, cancelled)
    finally:
        _running.discard(ordered.id)
    shutil.rmtree(home / ordered.id, ignore_errors=True)
    return ordered, note


@contextmanager
def _claimed(kept: Path) -> Iterator[None]:
    """Claim a render, so that no other Blender of this user renders it. The claim of a crashed process is ignored."""
    claim = kept / _CLAIM
    try:
        claimed_by = int(claim.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        claimed_by = os.getpid()
    if claimed_by != os.getpid() and process_lives(claimed_by):
        raise InvalidParamsError(f"The render {kept.name!r} is under way in another Blender.")
    claim.write_text(str(os.getpid()), encoding="utf-8")
    try:
        yield
    finally:
        claim.unlink(missing_ok=True)


def _run(
    home: Path, ordered: Order, blender: program.Program, report: Report, cancelled: Flag
) -> tuple[Order, str]:
    running, note = confinement.current(), ""
    left = ordered.left
    ordered = replace(ordered, done=tuple(frame for frame in ordered.frames if frame not in set(left)))
    if not left:
        return ordered, note
    folder = running.new_folder()
    try:
        handle = running.start(_spec(home, ordered, blender, left, folder, running.config.sandbox))
        try:
            with allowed_folders.staging(Path(ordered.folder), ordered.id) as staging:
                for answer in image.answers(running, handle, cancelled):
                    frame = answer["frame"]
                    if frame not in left:
                        raise ExternalServiceError(
                            "The Blender that renders reported a frame that nobody asked for."
                        )
                    taken = replace(ordered, done=(*ordered.done, frame))
                    if not ordered.overwrite:
                        # Store the order first: if a crash follows, the frame's picture is known as ours. With
                        # `overwrite`, a picture that exists could be an older one.
                        _keep(home, taken)
                    _take(folder / f"frame_{frame}.png", staging, ordered, frame)
                    _keep(home, taken)
                    ordered = taken
                    note = answer["note"] or note
                    report(len(ordered.done), len(ordered.frames), _how_far(ordered))
        finally:
            running.kill(handle)
    finally:
        running.remove_folder(folder)
    return ordered, note


def _how_far(ordered: Order) -> str:
    return f"{len(ordered.done)} of {len(ordered.frames)} frames; should it end early, resume {ordered.id!r} goes on"


def _take(made: Path, staging: Path, ordered: Order, frame: int) -> None:
    """Move a finished picture to its place. The file from the confined Blender must be a picture and no link."""
    data = b"" if made.is_symlink() else made.read_bytes()
    if not data.startswith(_PNG):
        raise ExternalServiceError(f"The Blender that renders left no picture of frame {frame}.")
    made.unlink()
    place = ordered.place(frame)
    waiting = staging / place.name
    waiting.write_bytes(data)
    allowed_folders.move(waiting, place, overwrite=ordered.overwrite)


def _spec(
    home: Path, ordered: Order, blender: program.Program, left: Sequence[int], folder: Path, sandbox: Sandbox
) -> Spec:
    kept = home / ordered.id
    copy = kept / ordered.copy
    facts = {
        **ordered.facts,
        "scene": str(copy),
        "pixels": {name: str(kept / file) for name, file in ordered.pixels.items()},
        "picture": str(folder / "frame_"),
        "frames": list(left),
        "main": image.CHILD,
    }
    return Spec(
        blender.command(**facts),
        folder,
        timeout_sec=_LONGEST_S,
        mem_limit_mb=4 * sandbox.blender_mem_mb + 16 * (copy.stat().st_size >> 20),
        disk_mb=sandbox.disk_mb,
        cpu_sec=_LONGEST_S * (os.cpu_count() or 1),
        net_policy="deny",
        allowed_hosts=(),
        readable=(*blender.readable, kept, *map(Path, ordered.files)),
        env=(("BLENDER_USER_RESOURCES", str(folder / "blender")), ("PYTHONDONTWRITEBYTECODE", "1")),
        answers=True,
    )


def _keep(home: Path, ordered: Order) -> None:
    atomic.write(home / ordered.id / _FILE, json.dumps(asdict(ordered)).encode())


def _forget_old(home: Path) -> None:
    for path in home.glob(f"*/{_FILE}"):
        if path.parent.name not in _running and time.time() - path.stat().st_mtime > _KEPT_S:
            shutil.rmtree(path.parent, ignore_errors=True)
