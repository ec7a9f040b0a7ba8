# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches the list of clients on disk, and ends the connections of a client when its token is revoked.

The server checks a token once for each connection and request, but a WebSocket, a stream or a script lasts longer. Any
Blender of the user may revoke a client during that time, so each server checks the list itself, on its own event loop,
without a window and without Blender's main thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Protocol

from ...base.errors import SettingsError

__all__ = ("LOOK_S", "Authenticates", "watch")

#: Seconds between two checks. The connections of a revoked client end within one second.
LOOK_S = 0.25
#: How many checks in a row may fail, for example while another program holds the file, before all are disconnected.
_UNREADABLE_LOOKS = 2

_log = logging.getLogger(__name__)


class Authenticates(Protocol):
    """The part of `Authenticator` that `watch` uses."""

    @property
    def came_in(self) -> Collection[str]:
        """Ids of the clients that came in with a token of the list."""

    def shut_out(self) -> Collection[str]:
        """Return the ids of clients whose token has become invalid, each once. Raises SettingsError."""


async def watch(
    authenticator: Authenticates,
    shut_out: Callable[[str], object],
    disconnect: Callable[[str], object],
    every: float = LOOK_S,
) -> None:
    """Check the list until this task is cancelled.

    shut_out: called with each revoked client.
    disconnect: called with each client of the list while the list cannot be read: such a client may come back later.
    every: seconds between two checks.
    """
    failed = 0
    while True:
        await asyncio.sleep(every)
        try:
            for client_id in authenticator.shut_out():
                _log.info("client %s may come in no more: what it has open ends", client_id)
                shut_out(client_id)
            failed = 0
        except SettingsError as error:
            failed += 1
            if failed == _UNREADABLE_LOOKS:
                _log.error("clients are disconnected, since nobody can be told to be good: %s", error)
            if failed >= _UNREADABLE_LOOKS:
                for client_id in tuple(authenticator.came_in):
                    disconnect(client_id)
        except Exception:  # the watch goes on after any error
            _log.exception("a client that may come in no more was not shut out cleanly")
