# SPDX-License-Identifier: GPL-3.0-or-later
"""The children of rehearsals: each rehearses one script and ends, while a warm one waits for the next.

The pool starts the first child alone. If the system can copy a Blender, a zygote warms up in the meantime, and the
pool forks it for each further child; else it starts every child alone, and two wait.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...base.errors import BridgeError, Cancelled, ExternalServiceError
from ...base.process import threads
from .. import confinement as supervisors
from ..confinement import Spec, Supervisor, Unconfined
from ..confinement.means import Means, ZygoteMeans
from ..confinement.probe import EVERYTHING
from .process import ChildFailed, Process
from .program import Program
from .protocol import Comparison, Garbled, Opening, Request, check_done, check_ready, check_zygote
from .snapshot import Snapshot

__all__ = (
    "Child",
    "ChildFailed",
    "Needs",
    "Pool",
    "Zygote",
    "current",
    "last_failure",
    "shutdown",
)

_log = logging.getLogger(__name__)

_READY_S, _POLL_S = 30.0, 0.1
#: How many children wait: a forked one is ready soon, one that starts alone is not.
_WAITING_COPIES, _WAITING = 1, 2


@dataclass(frozen=True, slots=True)
class Needs:
    """What a rehearsal needs of its child. Only a start sets these: a running process cannot get more rights."""

    program: Program
    #: Readable files; more of them do no harm.
    readable: frozenset[Path]
    memory_mb: int
    disk_mb: int
    #: Whether the scene is so large that it needs several processors: a copy of a zygote mostly uses one.
    large: bool = False
    #: Folders that the child may read, with everything in them; a child without need gets none.
    folders: frozenset[Path] = frozenset()

    def serves(self, other: Needs) -> bool:
        """Return whether a child with these rights is enough for a rehearsal with the other needs."""
        return (
            self.program == other.program
            and self.readable >= other.readable
            and self.memory_mb >= other.memory_mb
            and self.disk_mb >= other.disk_mb
            and self.large >= other.large
            and self.folders == other.folders
        )


def _spec(
    supervisor: Supervisor, needs: Needs, folder: Path, *, warm_up: bool, one_thread: bool = False
) -> Spec:
    return Spec(
        needs.program.command(one_thread=one_thread, canary=supervisor.canary(), warm_up=warm_up),
        folder,
        timeout_sec=None,
        mem_limit_mb=needs.memory_mb,
        disk_mb=needs.disk_mb,
        cpu_sec=3600,
        net_policy="deny",
        allowed_hosts=(),
        readable=(
            *(*needs.program.readable, supervisor.shared_folder()),
            *sorted(needs.readable | needs.folders),
        ),
        env=(
            ("BLENDER_USER_RESOURCES", str(folder / "blender")),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            (
                "ALSOFT_DRIVERS",
                "null",
            ),  # otherwise OpenAL would look for a sound server, in a thread that stays
        ),
        answers=True,
    )


class Zygote(Process):
    """A Blender that loads everything; then `means` copy it."""

    def __init__(self, supervisor: Supervisor, needs: Needs, means: ZygoteMeans) -> None:
        self.program, self._means, self._ready = needs.program, means, False
        super().__init__(
            supervisor,
            lambda folder: _spec(supervisor, needs, folder, warm_up=True, one_thread=True),
            means,
        )

    def ready(self, cancelled: Callable[[], bool]) -> Means:
        """Wait until the zygote is ready; return the means that copy it. Raises ChildFailed if it cannot be copied."""
        if not self._ready:
            try:
                why = check_zygote(self.receive(_READY_S, cancelled))
            except Garbled as error:
                raise ChildFailed(str(error)) from None
            if why:
                raise ChildFailed(f"the confined Blender cannot be copied: {why}")
            self._ready = True
        return self._means.copies

    def retire(self) -> None:
        """Let the zygote end when its last copy ends."""
        self._means.retire()


_OnDisk = frozenset[tuple[Path, int, int]]


def _as_on_disk(files: Iterable[Path]) -> _OnDisk:
    """Return each file with the time of its last change, in nanoseconds, and its size; 0 and 0 for a missing one."""
    found = []
    for file in files:
        try:
            facts = file.stat()
        except OSError:
            found.append((file, 0, 0))
        else:
            found.append((file, facts.st_mtime_ns, facts.st_size))
    return frozenset(found)


class Child(Process):
    """One confined Blender, started alone or copied from a zygote (`by`)."""

    def __init__(
        self, supervisor: Supervisor, needs: Needs, *, warm_up: bool, by: Means | None = None
    ) -> None:
        self.needs, self.is_copy, self._ready = needs, by is not None, False
        #: A thread holds it while it waits for a message of the child.
        self._exchange = threading.Lock()
        self._lent = False
        #: Whether it is to open a scene before its script.
        self.chosen = False
        #: Whether the child has a scene open before its script; `opening` also if that has failed.
        self.scene: Literal["none", "opening", "open"] = "none"
        self._files: _OnDisk = frozenset()
        super().__init__(supervisor, lambda folder: _spec(supervisor, needs, folder, warm_up=warm_up), by)

    def ready(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Wait until the child is ready for a message. Raises ChildFailed if it does not get ready, Cancelled."""
        with self._alone(cancelled):
            if self._ready:
                return
            try:
                in_force = check_ready(self.receive(_READY_S, cancelled))
            except Garbled as error:
                raise ChildFailed(str(error)) from None
            if set(in_force) != set(EVERYTHING):
                raise ChildFailed(f"the confinement does not hold: only {', '.join(in_force)} is refused")
            self._ready = True

    def open_ahead(self, copy: Snapshot, seconds: float) -> None:
        """Have a child that is ready open a copy of the scene before its script comes, unless it has the script.

        The file moves to the child's folder. If this raises, the child has to be ended: ChildFailed, Garbled, OSError.
        """
        with self._alone():
            if self._lent:
                return
            self.scene, self._files = "opening", _as_on_disk(copy.files)
            own = copy.path.replace(self.folder / copy.path.name)
            if not check_done(self._answer_to(Opening(open=str(own)), seconds)):
                raise ChildFailed("Blender cannot open the copy")
            self.scene = "open"

    def lend(self, copy: Snapshot | None, seconds: float, cancelled: Callable[[], bool]) -> bool:
        """Return whether the child can have a script for this copy: it has no scene open, or the same one.

        None is a copy that the child has to open itself. The child opens nothing any more. Raises Cancelled.
        """
        with self._alone(cancelled):
            self._lent = True
            if self.scene == "none":
                return True
            if (
                self.scene == "opening"
                or copy is None
                or copy.pixels
                or self._files != _as_on_disk(copy.files)
            ):
                return False
            try:
                return check_done(self._answer_to(Comparison(compare=str(copy.path)), seconds, cancelled))
            except (ChildFailed, Garbled) as error:
                _log.info("the scene is opened again: %s", error)
                return False

    def ask(self, request: Request, seconds: float, cancelled: Callable[[], bool]) -> bytes:
        """Send the child its script and return the answer. Raises ChildFailed if there is none, Cancelled."""
        with self._alone(cancelled):
            self._supervisor.limit_time(self.handle, seconds)
            return self._answer_to(request, seconds + 5.0, cancelled)

    @contextmanager
    def _alone(self, cancelled: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Exchange messages with the child while no other thread does. Raises Cancelled."""
        while not self._exchange.acquire(timeout=_POLL_S):
            if cancelled():
                raise Cancelled("The rehearsal was cancelled.")
        try:
            yield
        finally:
            self._exchange.release()

    def _answer_to(
        self,
        message: Opening | Comparison | Request,
        seconds: float,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> bytes:
        try:
            self._supervisor.send(self.handle, json.dumps(message).encode())
        except OSError:
            raise ChildFailed(self.what_became_of_it()) from None
        return self.receive(seconds, cancelled)


class Pool:
    """The waiting children, and a limit of `at_once` rehearsals at a time."""

    def __init__(self, supervisor: Supervisor, *, at_once: int = 2) -> None:
        self.supervisor = supervisor
        #: Why the last rehearsal did not start or finish; empty if it did.
        self.failure = ""
        self._slots = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._waiting: list[Child] = []
        #: Whether it starts no more children.
        self.closed = False
        #: A lock: a thread holds it while a zygote gets ready.
        self._copying = threading.Lock()
        self._zygote: Zygote | None = None
        self._retired: list[Zygote] = []
        #: Blenders that cannot be copied.
        self._uncopied: list[Program] = []

    @contextmanager
    def child(
        self,
        needs: Needs,
        cancelled: Callable[[], bool] = lambda: False,
        copy: Snapshot | None = None,
        seconds: float = 0.0,
    ) -> Iterator[Child]:
        """Lend a child for one rehearsal. After the context another thread ends it and starts the next one.

        The child may have a scene open if `copy` is of the same scene, which it finds out in at most `seconds`.
        """
        self._slots.acquire()
        child = None
        try:
            child = self._take(needs, cancelled)
            while not child.lend(copy, seconds, cancelled):
                child.end()
                child = self._take(needs, cancelled)
            try:
                child.ready(cancelled)
            except ChildFailed as error:
                if not child.is_copy:
                    raise
                _log.warning("A copy of a confined Blender failed, another is started: %s", error)
                child.end()
                self.renew()
                child = Child(self.supervisor, needs, warm_up=False)
                child.ready(cancelled)
            yield child
        finally:
            threads.start(self._after, child, needs, name="rehearsal")

    def _after(self, child: Child | None, needs: Needs) -> None:
        try:
            if child is not None:
                child.end()
        finally:
            self._slots.release()
        try:
            if child is not None:
                self.warm(needs)
        except BridgeError as error:
            _log.info("no child gets warm: %s", error)

    @contextmanager
    def failures_noted(self) -> Iterator[None]:
        """Note an error inside this context as the last failure, which the panel shows.

        If nothing can confine a rehearsal, the panel says so by itself: that is no failure of this one.
        """
        try:
            yield
        except Unconfined:
            raise
        except ExternalServiceError as error:
            self.failure = f"The last rehearsal could not be held: {str(error).rstrip('.')}."
            raise

    def warm(self, needs: Needs) -> None:
        """Start children for the next rehearsals; returns when they start, or when the zygote is ready."""
        if self.closed:
            return
        copies = self._copies(needs, lambda: False)
        with self._lock:
            if self.closed:
                return
            self._drop(lambda child: not (child.alive() and child.needs.serves(needs)))
            while len(self._waiting) < (_WAITING if copies is None else _WAITING_COPIES):
                self._waiting.append(Child(self.supervisor, needs, warm_up=copies is None, by=copies))

    def choose(self, needs: Needs) -> Child | None:
        """Return a child, ready soon, that is to open a scene before its script; None after `close`.

        The child that was chosen before ends, unless a rehearsal has taken it. The new one goes on waiting, so that a
        rehearsal may take it, too. Raises ExternalServiceError.
        """
        with self._lock:
            self._drop(lambda child: child.chosen)
        self.warm(needs)
        with self._lock:
            child = self._waiting[0] if self._waiting else None
            if child is not None:
                child.chosen = True
        return child

    def drop(self, child: Child | None) -> None:
        """End a child, unless a rehearsal has taken it. None is no child."""
        with self._lock:
            self._drop(lambda one: one is child)

    def renew(self) -> None:
        """Discard the zygote and the waiting children, after a script misbehaved."""
        with self._lock:
            self._drop()
        with self._copying:
            self._retire()

    def close(self) -> None:
        """End the waiting children and the zygote."""
        with self._lock:
            self.closed = True
            self._drop()
        with self._copying:
            self._retire()
            for zygote in self._retired:
                zygote.end()
            self._retired.clear()

    def _take(self, needs: Needs, cancelled: Callable[[], bool]) -> Child:
        with self._lock:
            self._drop(lambda child: not (child.alive() and child.needs.serves(needs)))
            if self._waiting:
                return self._waiting.pop(0)
        # The first rehearsal does not wait for a zygote.
        copies = None if self._zygote is None else self._copies(needs, cancelled)
        return Child(self.supervisor, needs, warm_up=False, by=copies)

    def _copies(self, needs: Needs, cancelled: Callable[[], bool]) -> Means | None:
        """Return the means that copy a Blender; None if there are none here, or they should not be used."""
        if needs.large:
            return None
        with self._copying:
            for zygote in [one for one in self._retired if not one.alive()]:
                self._retired.remove(zygote)
                zygote.end()
            if needs.program in self._uncopied:
                return None
            if self._zygote is None or not self._zygote.alive() or self._zygote.program != needs.program:
                self._retire()
                means = self.supervisor.zygote()
                if means is None:
                    self._uncopied.append(needs.program)
                    return None
                self._zygote = Zygote(self.supervisor, needs, means)
            try:
                return self._zygote.ready(lambda: self.closed or cancelled())
            except ChildFailed as error:
                _log.info("every rehearsal starts a Blender of its own: %s", error)
                self._uncopied.append(needs.program)
                self._zygote.end()
                self._zygote = None
                return None

    def _retire(self) -> None:
        if self._zygote is not None:
            self._zygote.retire()
            self._retired.append(self._zygote)
            self._zygote = None

    def _drop(self, which: Callable[[Child], bool] = lambda _: True) -> None:
        for child in [one for one in self._waiting if which(one)]:
            self._waiting.remove(child)
            child.end()


_the_pool: Pool | None = None
_lock = threading.Lock()


def current() -> Pool:
    """Return the pool of this Blender; the first call makes it."""
    global _the_pool
    supervisor = supervisors.current()
    with _lock:
        if _the_pool is None or _the_pool.supervisor is not supervisor:
            _the_pool = Pool(supervisor)
        return _the_pool


def last_failure() -> str:
    """Return a sentence that says why the last rehearsal did not start or finish; "" if it did.

    Never waits, so a panel may call it.
    """
    return "" if _the_pool is None else _the_pool.failure


def shutdown() -> None:
    """End the waiting children, and every other process of the supervisor."""
    global _the_pool
    with _lock:
        pool, _the_pool = _the_pool, None
    if pool is not None:
        pool.close()
    supervisors.shutdown()
