# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches the record of clients on disk, and ends what a client has open once it may come in no more.

The server asks for a token once per connection and request, and a WebSocket, a stream or a script goes on for long
after that. Any Blender of the user may revoke a client meanwhile, so each server looks for itself, on its own loop: it
needs no window and no work on Blender's main thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Protocol

from ...base.errors import SettingsError

__all__ = ("LOOK_S", "Authenticates", "watch")

#: Seconds between two looks. What a revoked client has open ends within one second.
LOOK_S = 0.25
#: So many looks in a row may fail, as while another program holds the file, before nobody is known to be good.
_UNREADABLE_LOOKS = 2

_log = logging.getLogger(__name__)


class Authenticates(Protocol):
    """What is asked of `Authenticator`."""

    @property
    def came_in(self) -> Collection[str]:
        """Ids of clients that came in by the record."""

    def shut_out(self) -> Collection[str]:
        """Ids, once each, of those whose token is good no more. Raises SettingsError when that cannot be told."""


async def watch(
    authenticator: Authenticates,
    shut_out: Callable[[str], object],
    disconnect: Callable[[str], object],
    every: float = LOOK_S,
) -> None:
    """Look until cancelled.

    shut_out: called with each client that may come in no more.
    disconnect: called with each client of the record while it cannot be read: such a client may come back later.
    every: seconds between two looks.
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
        except Exception:  # the watch goes on whatever fails
            _log.exception("a client that may come in no more was not shut out cleanly")
