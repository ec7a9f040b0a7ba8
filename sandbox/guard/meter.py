# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits of a run, what it has used, and the stop that a script cannot swallow.

Wherever a script can loop, recurse or be resumed, it checks one thing: is `namespace[RUNNING]` still true? The
transformer writes this check into the script, so a tick costs one look-up of a global. Whoever stops a run (the
deadline, a cancel, the memory poll, a refusal) sets the flag to false, and from then on **every** tick raises again: a
script that catches the exception, or returns out of `finally`, only reaches the next tick. The flag stays false when
the run is over, so a function that the script left behind (a handler, a generator's `finally`) raises when called.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, NoReturn, TypeVar

from ...base.errors import BridgeError, LimitExceeded, NeedsRehearsal, PolicyError
from ..language.hooks import RUNNING
from .measured import Measured

__all__ = ("Interrupted", "Limits", "Meter", "Refused", "ScriptStopped", "closed")

F = TypeVar("F", bound=Callable[..., Any])

_MOST_WARNINGS: Final = 20


def closed(question: str, *, on_failure: Callable[[], None] | None = None) -> Callable[[F], F]:
    """Decorate a check whose first argument has `refuse`: if the check fails, the run ends.

    A script that caught the error would go on with an unchecked value. `question` is what nobody can tell then, such as
    "how much a step would make". `on_failure` is called before the run ends, which ends also if that call fails.
    """

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def checked(refusing: Any, *arguments: Any, **named: Any) -> Any:
            try:
                return method(refusing, *arguments, **named)
            except Exception as error:
                try:
                    if on_failure is not None:
                        on_failure()
                finally:
                    refusing.refuse(
                        f"the sandbox cannot tell {question}, so the script was stopped: {type(error).__name__} in "
                        f"{method.__name__}"
                    )

        return checked

    return decorate


class ScriptStopped(BaseException):
    """Ends a script from inside; no script can name or catch it. `error` is what the caller of the run gets."""

    def __init__(self, error: BridgeError) -> None:
        super().__init__(str(error))
        self.error = error


class Refused(ScriptStopped):
    """A guard refused something; `error` is a `PolicyError`."""

    def __init__(self, message: str, *, code: str = "policy") -> None:
        super().__init__(PolicyError(message, code=code))


class Interrupted(ScriptStopped):
    """A limit or a cancel stopped the script; `error` is a `LimitExceeded`, or a `PolicyError` after the run's end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use: sizes of values in items, characters or bits, memory in bytes, output in characters."""

    time_s: float = 5.0
    memory_bytes: int | None = None
    """Growth of the process's resident memory since the run began; polled, so a single huge call can pass the limit."""
    output_chars: int = 1_000_000
    sequence: int = 10_000_000
    """The most items of a sequence, or characters of a text, that one operation may make."""
    integer_bits: int = 65_536
    """The longest integer that one operation may make (about 20,000 digits)."""
    cut_references: bool = True
    """Whether the run may write into memory to cut off references to freed memory; if not, a run that has to stops."""
    growth: Measured = field(default_factory=Measured)
    """How much may be made above the limit of an estimate."""


class Meter:
    """The limits of one run, as its guards see them; `Watchdog` also watches the clock and the memory."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.deadline = monotonic() + self.limits.time_s
        self.error: BridgeError | None = None
        self.warnings: list[str] = []
        """What the result also says: what the script wanted and was not done."""
        self._namespaces: list[MutableMapping[str, object]] = []
        self._printed: list[str] = []
        self._printed_chars = 0
        self._lock = threading.Lock()
        self._over = False
        self._held: list[AbstractContextManager[object]] = []
        self._begun = False

    def hold(self, context: AbstractContextManager[object]) -> None:
        """Keep a context entered until the run ends: from now on, or from the start of the run."""
        self._held.append(context)
        if self._begun:
            context.__enter__()

    def attach(self, namespace: MutableMapping[str, object]) -> None:
        """Make `namespace[RUNNING]` follow this run."""
        self._namespaces.append(namespace)
        namespace[RUNNING] = self.error is None and not self._over

    def trip(self, error: BridgeError) -> None:
        """Stop the run at its next tick; the first reason is kept. Any thread may call it."""
        with self._lock:
            if self.error is None and not self._over:
                self.error = error
        for namespace in self._namespaces:
            namespace[RUNNING] = False

    def tick(self) -> None:
        """Raise `Interrupted` if the run has been stopped, is over, or is past its deadline."""
        if self.error is None and not self._over and monotonic() > self.deadline:
            self.trip(self._too_long())
        if self.error is not None or self._over:
            self.stop()

    def stop(self) -> NoReturn:
        """Raise the reason why this run must not go on; a script's tick calls it when the flag is false."""
        if self.error is not None:
            raise Interrupted(self.error)
        raise Interrupted(
            PolicyError("this script's run is over: its functions cannot be called any more", code="over")
        )

    def refuse(self, message: str, *, code: str = "policy") -> NoReturn:
        """Stop the run because a guard refused something."""
        refused = Refused(message, code=code)
        self.trip(refused.error)
        raise refused

    def exceed(self, message: str, *, limit: str) -> NoReturn:
        """Stop the run because it reached a limit."""
        error = LimitExceeded(message, limit=limit)
        self.trip(error)
        raise Interrupted(error)

    def look_closer(self, subject: str, count: float, message: str) -> None:
        """Stop the run and have it rehearsed, unless it is a rehearsal, or one has measured that much of `subject`."""
        if not self.limits.growth.allows(subject, count):
            error = NeedsRehearsal(message)
            self.trip(error)
            raise Interrupted(error)

    def print(self, text: str) -> None:
        """Keep a text that the script prints; raise `Interrupted` above the limit."""
        room = self.limits.output_chars - self._printed_chars
        self._printed.append(text[:room])
        self._printed_chars += len(text)
        if len(text) > room:
            self.exceed(
                f"the script printed more than {self.limits.output_chars:,} characters", limit="output"
            )

    def warn(self, message: str) -> None:
        """Add a message to the result, once, whether or not the script prints it."""
        if message not in self.warnings and len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(message)

    def output(self) -> str:
        """Return everything that the script printed; lone surrogates, which no encoding accepts, are escaped."""
        return "".join(self._printed).encode("utf-8", "backslashreplace").decode("utf-8")

    def _too_long(self) -> LimitExceeded:
        return LimitExceeded(f"the script ran longer than {self.limits.time_s:g} s", limit="time")
