# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares a rehearsal on Blender's main thread: a copy of the open scene, or a file, and what a child needs for it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ...base import settings
from ..confinement.config import Sandbox
from . import snapshot
from .pool import Needs, Pool, current
from .program import find
from .protocol import Save

__all__ = ("Prepared", "prepare", "prepare_file", "prepare_for")

_MB = 1024 * 1024
#: The MB of a copy from which a Blender of its own rehearses it, with all processors.
_LARGE_MB = 32
#: The seconds for work besides the script, and more of them by size of the scene.
_OVERHEAD_S, _OVERHEAD_S_PER_MB = 30.0, 0.1


@dataclass(slots=True, eq=False, weakref_slot=True)
class Prepared:
    """A copy of the scene or a file, what a child needs to work on it, and the pool of children.

    It keeps the pool of the moment when it was prepared: after a shutdown nobody would end a new pool.
    """

    copy: snapshot.Snapshot
    needs: Needs
    pool: Pool
    #: How to save a file that the script changed; None for the open scene, which a rehearsal never saves.
    save: Save | None = None
    #: Removes the copy of the scene, once: after the rehearsal, or when this object is gone (a client hung up). Does
    #: nothing for a file.
    release: Callable[[], object] = bool

    @property
    def seconds_besides_script(self) -> float:
        """The most seconds that a child has to open a copy, or to compare two."""
        return _OVERHEAD_S + _OVERHEAD_S_PER_MB * self.copy.size / _MB


def prepare() -> Prepared:
    """Copy the open scene. Main thread.

    Raises Unconfined if nothing can confine a child, ExternalServiceError if no child can start.
    """
    pool = current()
    with pool.failures_noted():
        return prepare_for(pool)


def prepare_for(pool: Pool) -> Prepared:
    """As `prepare`, for a rehearsal that may never be held: a failure is none of a rehearsal's."""
    pool.supervisor.means()
    copy = snapshot.take(pool.supervisor.shared_folder())
    made = Prepared(copy, _needs(copy, pool.supervisor.config.sandbox), pool)
    made.release = weakref.finalize(made, copy.remove)
    return made


def prepare_file(path: Path, folder: Path, *, compress: bool, relative: bool) -> Prepared:
    """Prepare a .blend on disk; the script does not see the open scene. Main thread.

    The confined Blender may also read `folder`, for files that the .blend links. The result is saved compressed if
    `compress` is true; its paths stay relative if `relative` is true, else they become absolute.

    Raises Unconfined if nothing can confine a child, ExternalServiceError if no child can start; OSError.
    """
    pool = current()
    with pool.failures_noted():
        pool.supervisor.means()
        size = path.stat().st_size
        copy = snapshot.Snapshot(path, (), {}, (), size, 0.0)
        save = Save(name="saved.blend", compress=compress, relative=relative)
        needs = replace(_needs(copy, pool.supervisor.config.sandbox), folders=frozenset({folder}))
        return Prepared(copy, needs, pool, save)


def _needs(copy: snapshot.Snapshot, sandbox: Sandbox) -> Needs:
    size_mb = copy.size // _MB
    return Needs(
        find(settings.current().rehearsal_blender),
        frozenset(copy.files),
        # In steps: if the scene grows a little, the waiting child still has enough memory.
        memory_mb=sandbox.blender_mem_mb * (1 + 8 * size_mb // sandbox.blender_mem_mb),
        # The copies before and after the script, and one that is open before there is a script.
        disk_mb=sandbox.disk_mb * ((2 if size_mb >= _LARGE_MB else 1) + 3 * size_mb // sandbox.disk_mb),
        large=size_mb >= _LARGE_MB,
    )
