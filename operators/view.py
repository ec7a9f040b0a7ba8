# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panels and the preferences show, as plain data: `state` gathers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..base import settings

if TYPE_CHECKING:
    from ..approvals.request import Entry as Request
    from ..sandbox.confinement.process import Confinement
    from ..server.clients import token_store
    from ..server.clients.config import snippets, table
    from . import target_jobs

__all__ = ("Pasted", "View", "Work")


@dataclass(frozen=True, slots=True)
class Pasted:
    """Where the user pastes the configuration that was just copied. `folder` is empty if it does not exist."""

    label: str
    place: str
    how: str
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """A running job of an assistant. `share`, from 0 to 1, is how much of it is done; None if it is unknown."""

    id: str
    owner: str
    title: str
    client: str
    message: str
    share: float | None


@dataclass(frozen=True, slots=True)
class View:
    """What the panels show. `address` is empty while the server is stopped; `connected` has the names of clients."""

    address: str = ""
    port: int = 0
    open_to_network: bool = False
    error: str = ""
    connected: tuple[str, ...] = ()
    clients: tuple[token_store.Entry, ...] = ()
    #: Programs (name, code) that ask for access.
    asking: tuple[tuple[str, str], ...] = ()
    notices: tuple[snippets.Notice, ...] = ()
    #: The programs on this computer that can be connected.
    installed: tuple[table.ClientKind, ...] = ()
    settings: settings.Settings = field(default_factory=settings.Settings)
    #: What is wrong with the text that names render targets.
    targets_error: str = ""
    pasted: Pasted | None = None
    #: Whether the user has never opened the tab: then the bars show where it is.
    new: bool = False
    #: How rehearsals are confined here, as a trial has just proved; None before the trial has ended.
    confinement: Confinement | None = None
    #: Why rehearsals cannot be confined here; empty if they can.
    unconfined: str = ""
    #: Why the last rehearsal was not confined, or not to its end; empty if it was.
    rehearsal_failure: str = ""
    #: All requests, the newest first, and how long ago each was made.
    requests: tuple[Request, ...] = ()
    ages: Mapping[str, str] = field(default_factory=dict)
    #: How many requests wait for the user; those that wait in Blender, the oldest first; since when the oldest waits.
    waiting: int = 0
    to_review: tuple[Request, ...] = ()
    waits: str = ""
    #: What assistants are doing now, in a few words, and their jobs.
    doing: str = ""
    jobs: tuple[Work, ...] = ()
    #: Jobs on render targets, the newest first, ended ones too.
    on_targets: tuple[target_jobs.OnTarget, ...] = ()
    #: The open requests, and the newest ended ones.
    open: tuple[Request, ...] = ()
    done: tuple[Request, ...] = ()
    #: Requests whose script tried to reach outside Blender, until the user dismisses them.
    alerts: tuple[Request, ...] = ()
    #: Requests whose script was refused, failed or got no answer in the last hour, until the user dismisses them.
    refused: tuple[Request, ...] = ()
    #: The id of the request that can be undone: the last run, if nothing has changed since.
    undoable: str = ""
    #: How many files were opened: after each, the lists on WindowManager must be filled again.
    loads: int = 0
    #: Clients (id, name) whose scripts run without a question until Blender closes.
    trusted: tuple[tuple[str, str], ...] = ()

    @property
    def origins(self) -> Mapping[str, str]:
        """Setting -> where it was decided, for those that the preferences cannot change now."""
        return {name: source for name, source in self.settings.origins.items() if source != "preferences"}
