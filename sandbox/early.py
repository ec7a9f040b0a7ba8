# SPDX-License-Identifier: GPL-3.0-or-later
"""Loads what the first script needs before there is one: otherwise it would take 0.1 s longer than the next ones."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..base import main_thread

__all__ = ("load",)

_log = logging.getLogger(__name__)


def load() -> None:
    """Load it on the main thread, in steps between other work, so that the window draws. Any thread; never waits."""
    if _waiting:
        main_thread.run(_step, changes=False, label="loading for scripts")


def _step() -> None:
    if _waiting:
        try:
            _waiting[0]()
        except Exception:  # such as invalid settings, which the first script reports
            _log.warning("the first script has to load what it needs", exc_info=True)
            return
        del _waiting[0]
        load()


def _growth() -> None:
    from .growth import geometry  # noqa: F401


def _blender() -> None:
    from .blender import host  # noqa: F401
    from .blender.operators import python_operators  # noqa: F401


def _structs() -> None:
    from .lifetime import parts

    parts.prepare()


def _surroundings() -> None:
    from .run import dry, undo, watchdog  # noqa: F401
    from .run.cleanup import Snapshot

    Snapshot()


def _namespace() -> None:
    from .blender.host import BlenderHost
    from .facts.policy import policy
    from .guard.meter import Meter
    from .language.compile import compile_script
    from .run.namespace import build_guard

    rules, meter = policy("blender"), Meter()
    build_guard(compile_script("import bpy"), rules, BlenderHost(rules, meter), meter)


#: The steps that are not done yet, each of which takes less than 50 ms.
_waiting: list[Callable[[], None]] = [_growth, _blender, _structs, _surroundings, _namespace]
