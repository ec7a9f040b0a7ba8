# SPDX-License-Identifier: GPL-3.0-or-later
"""Store placed orders on disk, so that polling can go on after a restart of Blender. No `bpy`."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from ...base import atomic
from ...base.errors import ExternalServiceError, InvalidParamsError
from .api import Ticket

__all__ = ("Orders", "Placed")


@dataclass(frozen=True, slots=True)
class Placed:
    """An order with its title, and the time when it was placed (seconds since the epoch)."""

    ticket: Ticket
    title: str
    time: float


class Orders:
    """One file for each order. Only the user may read it: anybody with a ticket can fetch its result."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, ticket: Ticket, title: str) -> None:
        """Store an order. Raises ExternalServiceError for an error of the disk; the message then has the ticket."""
        data = {"provider": ticket.provider, "facts": dict(ticket.facts), "title": title, "time": time.time()}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic.write(self._path(ticket.id), json.dumps(data).encode(), mode=0o600)
        except OSError as error:
            raise ExternalServiceError(
                f"The order {ticket.id} was taken, but can't be noted in {self._folder}: {error.strerror or error}. "
                "Its result will be on the provider's site."
            ) from error

    def get(self, order_id: str) -> Placed:
        """One order. Raises InvalidParamsError for an unknown id."""
        try:
            data = json.loads(self._path(order_id).read_text(encoding="utf-8"))
            ticket = Ticket(order_id, data["provider"], dict(data["facts"]))
            return Placed(ticket, str(data["title"]), float(data["time"]))
        except (OSError, ValueError, KeyError, TypeError):
            raise InvalidParamsError(
                f"There is no order {order_id[:80]!r}: create_rodin_job gives ids."
            ) from None

    def all(self) -> list[Placed]:
        """Every order, the newest first."""
        found = [self.get(path.stem) for path in self._folder.glob("*.json")]
        return sorted(found, key=lambda order: -order.time)

    def _path(self, order_id: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,100}", order_id):
            raise InvalidParamsError(f"{order_id[:80]!r} is not the id of an order.")
        return self._folder / f"{order_id}.json"
