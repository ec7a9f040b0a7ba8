# SPDX-License-Identifier: GPL-3.0-or-later
"""Record each attempt to run a script in the journal: its start and its end, or why it was refused.

If the record of an error cannot be written, the error gets a note that says so; it stays the same error.
"""

from __future__ import annotations

import hashlib
import logging
from typing import Any

from ...base import journal, settings
from ...base.errors import BridgeError, SettingsError, failure_of

__all__ = ("Record", "refuse")

_LONGEST_MESSAGE = 2000

_log = logging.getLogger(__name__)


class Record:
    """The records of one attempt. The first one has everything about the request.

    `requester` is the client's name, `client_id` the id of its token. If the settings say so, the records have only the
    script's digest, not its text.
    """

    def __init__(
        self,
        script: str,
        *,
        requester: str,
        client_id: str = "",
        request_id: str = "",
        title: str = "",
        tool: str = "",
    ) -> None:
        self.level: str | None = None
        self._whose = {"request_id": request_id, "client": client_id}
        self._about: dict[str, Any] = {
            **self._whose,
            "requester": requester,
            **({"tool": tool} if tool else {}),
            "title": title,
            "characters": len(script),
            "sha256": hashlib.sha256(script.encode("utf-8", "replace")).hexdigest(),
        }
        self._code = {"script": script} if _keeps_code() else {}
        self._begun = False

    def write(self, event: str, **fields: Any) -> None:
        """Write a record, and wait until it is on disk. Raises JournalError."""
        journal.current().write(event, **self._about_request(), **fields)

    def note(self, event: str, **fields: Any) -> None:
        """Write a record of something that has already happened. Raises JournalError."""
        journal.current().note(event, **self._about_request(), **fields)

    def failed(self, error: BridgeError) -> None:
        """Write the error that stopped the attempt, once."""
        if error.recorded:
            return
        event = "execute_failed" if self._begun else "execute_refused"
        told = failure_of(error)
        found = {
            "error": told["error"],
            "cause": told.get("cause"),
            "reason": getattr(error, "code", None) or getattr(error, "limit", None),
            "line": told.get("line"),
            "message": told["message"][:_LONGEST_MESSAGE],
            **{name: told[name] for name in ("errors",) if name in told},
        }
        try:
            self.note(event, **found)
        except BridgeError as lost:
            error.add_note(f"This is not in the journal: {lost}")
            _log.warning("%s could not be recorded: %s", event, lost)
        error.recorded = True

    def _about_request(self) -> dict[str, Any]:
        if self._begun:
            return self._whose
        self._begun = True
        return {**self._about, "level": self.level, **self._code}


def refuse(error: BridgeError, script: object, **about: str) -> None:
    """Record that a script was refused before it ran; `script` is the value that the client sent, of any type.

    `about` has the keyword arguments of `Record`.
    """
    Record(script if isinstance(script, str) else "", **about).failed(error)


def _keeps_code() -> bool:
    """Return whether the records have the script's text; False while the settings cannot be read."""
    try:
        return settings.current().journal_code
    except SettingsError:
        return False
