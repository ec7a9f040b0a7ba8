# SPDX-License-Identifier: GPL-3.0-or-later
"""Rehearse a script and ask the user about it, until the user has decided about the scene as it is."""

from __future__ import annotations

from ...scene import events
from .. import queue
from ..caller import Caller, on_main_thread
from ..consent import answer, why_not
from ..request import Entry, Refused
from .rehearsal import rehearse_and_ask

__all__ = ("get_approval",)

_LONGEST_SCRIPT_SHOWN = 20_000


async def get_approval(context: Caller, entry: Entry) -> Entry:
    """Return the request when the user has approved the rehearsed script. Raises Refused for a no.

    If the scene changes before that, this rehearses the script again.
    """
    while entry.state in ("validated", "waiting"):
        if entry.state == "waiting" and entry.revision != await on_main_thread(context, events.settled):
            entry = queue().send_back(entry.id)
        if entry.state == "validated":
            entry = await rehearse_and_ask(context, entry)
        if entry.state == "waiting":
            await context.progress(2, 3, "Waiting for the user's approval")
            # The key has the revision, so that an answer from before a change of the scene does not count.
            entry = await answer(context, entry, _question(entry), key=f"apply-{entry.revision}")
    if entry.state != "confirmed":
        raise Refused(why_not(entry), code=entry.state)
    return entry


def _question(entry: Entry) -> str:
    script = entry.script
    if len(script) > _LONGEST_SCRIPT_SHOWN:
        script = f"{script[:_LONGEST_SCRIPT_SHOWN]}\n… ({len(script):,} characters in all)"
    return (
        f"{entry.request.requester} wants to run “{entry.title}” in the open scene.\n\n"
        f"{entry.summary}\n\nThe script:\n{script}"
    )
