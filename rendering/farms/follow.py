# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows renders on their targets, also after a restart, until each frame is in the user's folder or has failed.

One thread follows all of them. It asks each target once for all of its renders, and asks less often if that takes
long. When the bridge stops, an engine continues; the results are copied after the next start.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...base import jobs
from ...base.errors import BridgeError, ExternalServiceError
from ...base.process import threads
from ...files import allowed_folders
from ...sandbox.confinement import named
from . import bundle, claims, collecting, targets
from .adapters import ADAPTERS
from .collecting import WorkerReport
from .engines import Adapter, Seen, Task
from .order import FILE, MOST_ATTEMPTS, Failure, FarmJob, State, keep, kept, note_taken, read_taken

__all__ = ("begin", "resume", "stop", "video_place")

#: The seconds between two looks; the pause is at least this multiple of the last look's time.
_PAUSE_S, _SHARE = 0.5, 10
#: The seconds before a target that did not answer is asked again.
_UNREACHED_S = 20.0
#: An engine that refuses a job so many times in a row has lost it.
_MOST_REFUSED = 30
_STOP_S = 15.0
_VIDEO = "video.mp4"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Run:
    """A render in progress."""

    home: Path
    job: FarmJob
    state: State
    target: targets.Target
    engine: Adapter
    handle: jobs.JobHandle
    done: set[int]
    #: The workers' last reports on frames that are not done.
    told: dict[int, WorkerReport] = field(default_factory=dict)
    #: The small picture of the last frame.
    picture: bytes | None = None
    #: The target's error in place of an answer.
    trouble: str = ""
    #: Frames that were collected, or had failed, when the round began.
    settled_before: int = 0
    #: How many times in a row the target refused it, and when to submit it again.
    refused: int = 0
    again_at: float = 0.0

    @property
    def folder(self) -> Path:
        """The folder of the render."""
        return self.home / self.job.id

    @property
    def left(self) -> list[int]:
        """The frames that were not collected and have not failed for good."""
        failed = {failure.frame for failure in self.state.failures}
        return [frame for frame in self.job.frames if frame not in self.done and frame not in failed]


class _Follower:
    """The thread that follows renders, while there are any."""

    def __init__(self) -> None:
        self.runs: dict[str, _Run] = {}
        self.wake, self.stopping = threading.Event(), threading.Event()
        self.thread: threads.Worker | None = None
        self.lock = threading.Lock()
        self.unreached: dict[str, float] = {}

    def add(self, run: _Run) -> None:
        """Follow a render; if the bridge stops meanwhile, the next start finds it."""
        with self.lock:
            if self.stopping.is_set():
                claims.let_go(run.folder)
                return
            self.runs[run.job.id] = run
            if self.thread is None:
                self.thread = threads.start(self._serve, name="farms")
        self.wake.set()

    def _serve(self) -> None:
        while not self.stopping.is_set():
            begin = time.monotonic()
            for run, seen in self._look():
                if self.stopping.is_set():
                    return
                self._step(run, seen)
            with self.lock:
                if not self.runs:
                    self.thread = None
                    return
            self.wake.wait(max(_PAUSE_S, _SHARE * (time.monotonic() - begin)))
            self.wake.clear()

    def _look(self) -> Iterator[tuple[_Run, Seen | None]]:
        """Yield each render with its engine's answer; None if the engine did not answer."""
        by_target: dict[str, list[_Run]] = defaultdict(list)
        for run in list(self.runs.values()):
            by_target[run.target.name].append(run)
        for name, runs in by_target.items():
            asked = [run.state.engine_id for run in runs if run.state.engine_id]
            seen: dict[str, Seen] = {}
            trouble = ""
            if asked and self.unreached.get(name, 0.0) < time.monotonic():
                try:
                    seen = dict(runs[0].engine.look(runs[0].target, asked))
                except BridgeError as error:
                    trouble = str(error)
                    self.unreached[name] = time.monotonic() + _UNREACHED_S
            for run in runs:
                run.trouble = trouble or (run.trouble if not seen else "")
                yield run, seen.get(run.state.engine_id)

    def _step(self, run: _Run, seen: Seen | None) -> None:
        """Take a render one step further; at its end, remove its folder, then end its job.

        Results that cannot be collected now, such as on a full disk, stay: the next start tries again.
        """
        failure, kept_for_later = "", False
        try:
            if run.handle.cancelled.is_set():
                _cancel(run)
            elif _go_on(run, seen):
                return
            else:
                failure = _failure(run)
        except BridgeError as error:
            failure, kept_for_later = str(error), True
        except Exception as error:
            _log.exception("a render on %s could not be followed", run.job.where)
            failure, kept_for_later = f"{type(error).__name__}: {error}.", True
        if kept_for_later:
            claims.let_go(run.folder)
            failure += " It goes on when the bridge starts again."
        else:
            with contextlib.suppress(OSError):
                (run.folder / FILE).unlink()  # first, so that no start finds the render again
            claims.let_go(run.folder)
            shutil.rmtree(run.folder, ignore_errors=True)
            shutil.rmtree(run.job.bundle, ignore_errors=True)
        if failure:
            run.handle.fail(f"{failure} {_so_far(run)}", _result(run))
        else:
            run.handle.complete(_result(run))
        self.runs.pop(run.job.id, None)


_follower = _Follower()


def begin(home: Path, job: FarmJob, target: targets.Target, scene: Path | None = None) -> None:
    """Write the bundle (for a render with its packed `scene`), submit it to its target, and follow it.

    Not for the main thread. Raises BridgeError if the target does not take it.
    """
    follower = _follower
    claims.claim(home / job.id)
    run = _run(home, job, State(), target)
    try:
        try:
            bundle.write(job, scene, Path(job.bundle), run.engine.blender(target, job), run.engine.start(job))
        except OSError as error:
            raise ExternalServiceError(f"The job cannot be written to {job.bundle}: {error}.") from None
        _submit(run)
    except BaseException as error:
        claims.let_go(run.folder)
        run.handle.fail(str(error) or type(error).__name__)
        raise
    follower.add(run)


def resume(home: Path) -> None:
    """Follow the renders that this user's Blenders followed before they ended. For the bridge's start; any thread."""
    for job, state in kept(home):
        if not claims.claim(home / job.id):
            continue
        try:
            target = targets.named(job.where)
        except BridgeError as error:
            handle = jobs.registry.begin(_kind(job), job.title, job.owner, job_id=job.id)
            handle.fail(f"It waits for its target: {error}")
            claims.let_go(home / job.id)
            continue
        _follower.add(_run(home, job, state, target))


def stop() -> None:
    """Release all renders, so that the next start finds them. Waits until nothing is written any more."""
    global _follower
    follower, _follower = _follower, _Follower()
    with follower.lock:
        follower.stopping.set()
        thread = follower.thread
    follower.wake.set()
    if thread is not None:
        thread.join(_STOP_S)
    named.interrupt()  # Blender's end must not wait for a command
    if thread is not None:
        thread.join(_STOP_S)
    for run in list(follower.runs.values()):
        claims.let_go(run.folder)


def _run(home: Path, job: FarmJob, state: State, target: targets.Target) -> _Run:
    handle = jobs.registry.begin(_kind(job), job.title, job.owner, job_id=job.id)
    run = _Run(home, job, state, target, ADAPTERS[target.engine], handle, read_taken(home, job))
    handle.on_cancel(lambda: _follower.wake.set())
    run.settled_before = len(run.done) + len(state.failures)
    _report(run)
    return run


def _kind(job: FarmJob) -> str:
    return "files" if job.files else "render"


# --- one step of one render -----------------------------------------------------------------------------------


def _go_on(run: _Run, seen: Seen | None) -> bool:
    """Take the next step of a render; return whether there is more to do."""
    _collect(run)
    _report(run)
    if run.state.engine_id:
        if seen is None or seen.working:
            return True
        _collect(run)  # results that came between the two looks
        _ended(run, seen)
    if run.state.step == "video" and _collect_video(run):
        return False
    if run.state.step == "frames" and not run.left:
        if not run.job.video or run.state.failures:
            return False
        run.state = replace(run.state, step="video", round=0)
    if time.monotonic() < run.again_at:
        return True
    try:
        _submit(run)
    except ExternalServiceError as error:
        run.refused += 1
        if run.refused >= _MOST_REFUSED:
            raise
        run.trouble, run.again_at = str(error), time.monotonic() + _UNREACHED_S
    else:
        run.refused = 0
    return True


def _ended(run: _Run, seen: Seen) -> None:
    """Handle the end of the engine's job. Raises ExternalServiceError if the video is missing."""
    if run.state.step == "frames":
        _count(run, seen)
    elif not (run.job.results / _VIDEO).is_file():
        raise ExternalServiceError(f"The video could not be made: {seen.why}.")
    run.state = replace(run.state, engine_id="")
    keep(run.home, run.job, run.state)
    _report(run)


def _submit(run: _Run) -> None:
    chunks = _chunks(run) if run.state.step == "frames" else []
    attempt = run.state.round + 1
    run.state = replace(run.state, round=attempt)
    run.settled_before = len(run.done) + len(run.state.failures)
    bundle.write_round(
        run.job, Path(run.job.bundle), chunks or [[]], attempt, run.engine.blender(run.target, run.job)
    )
    engine_id = run.engine.submit(run.target, Task(run.job, run.state.step, chunks, attempt))
    run.state = replace(run.state, engine_id=engine_id)
    keep(run.home, run.job, run.state)


def _chunks(run: _Run) -> list[list[int]]:
    """Return the frames that are left, in chunks; a failed frame is alone, so that no other one fails with it."""
    fresh = [frame for frame in run.left if not run.state.attempts.get(frame)]
    again = [frame for frame in run.left if run.state.attempts.get(frame)]
    chunks = [*(bundle.chunks_of(fresh, run.job.chunk) if fresh else []), *([frame] for frame in again)]
    return chunks[: bundle.MOST_CHUNKS]


def _collect(run: _Run) -> None:
    found = collecting.look(run.job, run.done)
    run.told = found.told
    if not found.pictures:
        return
    stays = run.job.video and run.target.engine != "openjd"
    last = None
    for frame, name in sorted(found.pictures.items()):
        if not run.job.overwrite:
            # First, so that after a crash the picture is known as ours.
            note_taken(run.home, run.job, frame)
        with allowed_folders.staging(run.job.place(frame).parent, run.job.id) as staging:
            is_whole = collecting.collect(run.job, name, frame, staging, keep=stays)
        if is_whole:
            if run.job.overwrite:
                note_taken(run.home, run.job, frame)
            run.done.add(frame)
            last = frame
    if last is not None:
        small = collecting.read_bounded(run.job.results / f"frame_{last}.small.jpg", collecting.MOST_SMALL)
        if small and small.startswith(b"\xff\xd8"):
            run.picture = small


def _collect_video(run: _Run) -> bool:
    """Move the video to its place, if there is one; return whether there is."""
    made = run.job.results / _VIDEO
    if made.is_symlink() or not made.is_file():
        return False
    place = video_place(Path(run.job.folder), run.job.stem)
    with allowed_folders.staging(place.parent, run.job.id) as staging:
        shutil.copyfile(made, staging / place.name, follow_symlinks=False)
        allowed_folders.move(staging / place.name, place, overwrite=run.job.overwrite)
    return True


def video_place(folder: Path, stem: str) -> Path:
    """Return the path of the video: beside the pictures."""
    return folder / f"{stem.rstrip('_-. ') or 'video'}.mp4"


def _count(run: _Run, seen: Seen) -> None:
    """Decide, after the engine has ended, which of the remaining frames have failed, and which of them for good."""
    reasons = {frame: _reason(run.told[frame], seen) for frame in run.left if _is_ours(run, frame)}
    if not reasons and len(run.done) + len(run.state.failures) == run.settled_before:
        # There is no result at all, and no worker says why.
        why = f"it was not begun: {seen.why or 'the engine says nothing'}"
        reasons = dict.fromkeys(run.left, (seen.worker, why))
    attempts = dict(run.state.attempts)
    failures = list(run.state.failures)
    for frame, (worker, why) in reasons.items():
        attempts[frame] = attempts.get(frame, 0) + 1
        if attempts[frame] >= MOST_ATTEMPTS:
            failures.append(Failure(frame, worker, why))
    run.state = replace(run.state, attempts=attempts, failures=tuple(failures))


def _is_ours(run: _Run, frame: int) -> bool:
    told = run.told.get(frame)
    return told is not None and told.attempt == run.state.round


def _reason(told: WorkerReport, seen: Seen) -> tuple[str, str]:
    if told.state == "failed":
        return told.worker, told.error or "it gave no reason"
    if told.state == "done":
        return told.worker, "what it made is not there, or not whole"
    return told.worker, f"the worker ended while it was at it: {seen.why or 'the engine says nothing'}"


def _cancel(run: _Run) -> None:
    if run.state.engine_id:
        with contextlib.suppress(BridgeError):
            run.engine.cancel(run.target, run.state.engine_id)
    _collect(run)


# --- reports --------------------------------------------------------------------------------------------------


def _failure(run: _Run) -> str:
    """Return which frames have failed for good; "" if none has."""
    if not run.state.failures:
        return ""
    first = run.state.failures[0]
    on = f" on {first.worker}" if first.worker else ""
    return (
        f"{len(run.state.failures)} of {len(run.job.frames)} {run.job.noun} failed {MOST_ATTEMPTS} times; "
        f"{run.job.called(first.frame)}{on}: {first.why}."
    )


def _result(run: _Run) -> dict[str, object]:
    result: dict[str, object] = {"status": "success", "folder": run.job.folder, "where": run.job.where}
    result |= {run.job.noun: len(run.job.frames), "done": len(run.done)}
    result["failures"] = [
        {**_which(run.job, one.frame), "worker": one.worker, "why": one.why} for one in run.state.failures
    ]
    if run.state.step == "video":
        result["video"] = str(video_place(Path(run.job.folder), run.job.stem))
    return result


def _which(job: FarmJob, number: int) -> dict[str, object]:
    return {"file": job.files[number - 1][0]} if job.files else {"frame": number}


def _so_far(run: _Run) -> str:
    job = run.job
    return (
        f"{len(run.done)} of {len(job.frames)} {job.noun} are {'saved' if job.files else f'in {job.folder}'}."
    )


def _report(run: _Run) -> None:
    total, done, failed = len(run.job.frames), len(run.done), len(run.state.failures)
    words = [f"{done} of {total} {run.job.noun} from {run.job.where}"]
    if failed:
        words.append(f"{failed} failed")
    again = [frame for frame in run.left if run.state.attempts.get(frame)]
    if again:
        words.append(f"{len(again)} tried again")
    if run.state.step == "video":
        words.append("the video is being made")
    if run.trouble:
        words.append(f"cannot be asked now: {run.trouble}")
    details = _result(run)
    del details["status"]
    run.handle.show(details, run.picture)
    run.handle.report(done, total, ", ".join(words))
