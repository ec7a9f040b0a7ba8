# SPDX-License-Identifier: GPL-3.0-or-later
"""A request for a run, its states, and the record of what became of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

__all__ = (
    "ATTEMPTS",
    "ENDED_EARLY",
    "ENDS",
    "NEXT",
    "Approval",
    "Asks",
    "BPYExecutionRecord",
    "Entry",
    "InjectScriptRequest",
    "Mode",
    "State",
    "Tool",
    "digest",
    "from_dict",
    "to_dict",
)

State = Literal[
    "received",
    "extracted",
    "validated",
    "rehearsed",
    "waiting",
    "confirmed",
    "applied",
    "rejected",
    "failed",
    "denied",
    "expired",
    "cancelled",
]
Mode = Literal["format-to-bpy", "contextual"]
#: `question`: no script, but something else that needs a yes; its text is in place of the script.
Tool = Literal["inject_bpy_script", "execute_blender_code", "question"]
#: Who is asked: the user in the panel, the user through the client, or nobody.
Asks = Literal["panel", "client", "nobody"]

#: What may follow a state besides `ENDED_EARLY`. Back to `received`: another text came; to `validated`: the scene
#: changed, so what was rehearsed and agreed to is void.
NEXT: Mapping[State, frozenset[State]] = MappingProxyType(
    {
        "received": frozenset({"received", "extracted"}),
        "extracted": frozenset({"received", "extracted", "validated"}),
        "validated": frozenset({"rehearsed", "waiting", "confirmed"}),
        "rehearsed": frozenset({"waiting", "validated", "confirmed"}),
        "waiting": frozenset({"confirmed", "denied", "received", "validated"}),
        "confirmed": frozenset({"confirmed", "applied", "received", "validated"}),
    }
)
#: How a request ends before it is applied or denied, from whichever open state.
ENDED_EARLY: frozenset[State] = frozenset({"rejected", "failed", "expired", "cancelled"})
ENDS: frozenset[State] = ENDED_EARLY | {"applied", "denied"}

#: How many texts a request may bring until one is a valid script: the first and two more.
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class InjectScriptRequest:
    """What an assistant asked for. `timestamp` is in seconds since the epoch; `requester` is the client's name."""

    id: str
    requester: str
    mode: Mode
    script_raw: str
    timestamp: float
    #: The id that belongs to the client's token: trust is bound to it, not to what a client calls itself.
    client_id: str = ""
    tool: Tool = "inject_bpy_script"
    title: str = ""
    level: str | None = None


@dataclass(frozen=True, slots=True)
class BPYExecutionRecord:
    """What became of a request. `user_confirmed` is None until somebody decided; `logs` has a line for each step."""

    request_id: str
    sandbox_result: Mapping[str, Any] | None = None
    user_confirmed: bool | None = None
    live_result: Mapping[str, Any] | None = None
    logs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """Somebody's consent: to this script (SHA-256), in this state of the scene."""

    sha256: str
    revision: int
    by: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A request as it is at one moment; replaced, never changed."""

    request: InjectScriptRequest
    record: BPYExecutionRecord
    asks: Asks
    updated: float
    state: State = "received"
    script: str = ""
    validation: Mapping[str, Any] | None = None
    #: The scene's revision that was rehearsed or, without a rehearsal, that the question is about.
    revision: int | None = None
    #: The rehearsal in words, or why there was none; what the user reads before deciding.
    summary: str = ""
    attempts_left: int = ATTEMPTS
    approval: Approval | None = None
    running: bool = False
    #: Why it has to be rehearsed whatever the settings say: what it was estimated to make.
    closer: str = ""
    #: Why it was denied, refused or failed.
    reason: str = ""
    #: What its script tried to reach outside Blender.
    alert: str = ""
    #: What the audit wall says of its attempt to break out, in the rehearsal or in the run.
    broke_out: str = ""
    #: The scene's revision right after the run: as long as it stands there, the run can be undone.
    applied_revision: int | None = None
    undone: bool = False

    @property
    def id(self) -> str:
        """The id of the request."""
        return self.request.id

    @property
    def title(self) -> str:
        """What the user reads first."""
        return self.request.title or "Assistant's Script"

    @property
    def alarm(self) -> str:
        """What the user is warned of: an attempt to break out, else what the script tries to reach."""
        return self.broke_out or self.alert

    @property
    def ended(self) -> bool:
        """Whether nothing can become of it any more."""
        return self.state in ENDS

    @property
    def sha256(self) -> str:
        """What an approval is bound to."""
        return digest(self.script)


def digest(script: str) -> str:
    """A script's SHA-256."""
    return hashlib.sha256(script.encode("utf-8", "surrogatepass")).hexdigest()


def to_dict(entry: Entry) -> dict[str, Any]:
    """An entry as JSON values."""
    return asdict(entry)


def from_dict(values: Mapping[str, Any]) -> Entry:
    """The entry that `to_dict` gave. Raises KeyError, TypeError or ValueError for anything else."""
    fields = dict(values)
    request = InjectScriptRequest(**fields.pop("request"))
    record = dict(fields.pop("record"))
    logs = tuple(record.pop("logs"))
    approval = fields.pop("approval")
    return Entry(
        request=request,
        record=BPYExecutionRecord(**record, logs=logs),
        approval=Approval(**approval) if approval else None,
        **fields,
    )
