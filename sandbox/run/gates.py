# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates before a script: what the settings allow, whatever its text says. They only answer, and start nothing."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...base import settings
from ...base.errors import InvalidParamsError, LimitExceeded, NeedsRehearsal, PolicyError
from ..facts.policy import LEVELS, Level

if TYPE_CHECKING:
    from ...base.settings import Settings

__all__ = ("RateLimit", "check", "text_of")


def check(script: str, level: str | None = None) -> Level:
    """Return the level of a script. Raises, as a run does, if the settings refuse it, whatever its text says."""
    now = settings.current()
    chosen = _choose_level(level, now)
    _check_gates(script, now)
    return chosen


def text_of(name: str, value: object) -> str:
    """Return the script in the parameter `name`. Raises InvalidParamsError if it is missing, empty or not a text."""
    if isinstance(value, str) and value.strip():
        return value
    wrong = "is empty" if isinstance(value, str) else "is missing" if value is None else "is no text"
    raise InvalidParamsError(f"the parameter {name!r} {wrong}: give the Python script as a text")


class RateLimit:
    """A limit of the number of runs in a period of time; runs that the policy stopped do not count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque()
        self._lock = threading.Lock()

    def take(self, count: int, window_s: float) -> None:
        """Count a run. Raises LimitExceeded if `count` runs began within the last `window_s` seconds."""
        with self._lock:
            now = self._clock()
            while self._times and self._times[0] <= now - window_s:
                self._times.popleft()
            if len(self._times) >= count:
                wait = self._times[0] + window_s - now
                raise LimitExceeded(
                    f"{count} scripts ran within {window_s:g} s, which is the limit: try again in {wait:.0f} s",
                    limit="rate",
                )
            self._times.append(now)

    @contextlib.contextmanager
    def refused_not_counted(self) -> Iterator[None]:
        """Inside this context, do not count the last run if the policy stops it or it has to be rehearsed."""
        try:
            yield
        except (PolicyError, NeedsRehearsal):
            with self._lock:
                if self._times:
                    self._times.pop()
            raise

    def clear(self) -> None:
        """Forget all runs."""
        with self._lock:
            self._times.clear()


def _choose_level(asked: str | None, now: Settings) -> Level:
    if asked is None:
        return now.level
    if asked not in LEVELS:
        raise InvalidParamsError(f"level {asked!r} is unknown: use {', '.join(LEVELS)}")
    if LEVELS.index(asked) > LEVELS.index(now.level):
        raise PolicyError(
            f"level {asked!r} is more than the settings allow ({now.level!r}): a request may ask for less",
            code="level",
        )
    return asked


def _check_gates(script: str, now: Settings) -> None:
    if not now.execute_enabled:
        raise PolicyError(
            "running scripts is switched off (the MCP panel, or BLENDER_MCP_EXECUTE=off): ask the user to switch it on",
            code="endpoint_off",
        )
    size = len(script.encode("utf-8", "replace"))
    if size > now.source_limit_kb * 1024:
        raise LimitExceeded(
            f"the script has {size / 1024:,.0f} KiB, more than the {now.source_limit_kb:,} KiB that are allowed: "
            "send it in parts",
            limit="source",
        )
