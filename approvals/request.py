# SPDX-License-Identifier: GPL-3.0-or-later
"""A request for a run, its states, and the record of what became of it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Literal

from ..base.errors import PolicyError

__all__ = (
    "ATTEMPTS",
    "ENDED_EARLY",
    "ENDS",
    "NEXT",
    "Approval",
    "Asks",
    "BPYExecutionRecord",
    "Entry",
    "Former",
    "InjectScriptRequest",
    "Mode",
    "OutOfTurn",
    "SceneChanged",
    "State",
    "Tool",
    "digest",
    "from_dict",
    "new_id",
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
        "validated": frozenset({"rehearsed", "waiting", "confirmed", "denied"}),
        "rehearsed": frozenset({"waiting", "validated", "confirmed", "denied"}),
        "waiting": frozenset({"confirmed", "denied", "received", "validated"}),
        "confirmed": frozenset({"confirmed", "applied", "received", "validated"}),
    }
)
#: How a request ends before it is applied or denied, from whichever open state.
ENDED_EARLY: frozenset[State] = frozenset({"rejected", "failed", "expired", "cancelled"})
ENDS: frozenset[State] = ENDED_EARLY | {"applied", "denied"}

#: How many texts a request may bring until one is a valid script: the first and two more.
ATTEMPTS = 3


class OutOfTurn(PolicyError):
    """The step does not fit the request's state; nothing was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="out_of_turn")


class SceneChanged(PolicyError):
    """The scene is not as it was when the user agreed: the request has to be rehearsed again."""

    def __init__(self) -> None:
        super().__init__("the scene changed after the script was rehearsed", code="scene_changed")


def new_id() -> str:
    """An id for one request; it stands in the journal and in answers, and names a folder."""
    return secrets.token_hex(8)


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
class Former:
    """What was rehearsed before the scene changed: the script (SHA-256), the scene's revision, and what came out.

    `by` is who had agreed to it, "" if nobody had yet.
    """

    sha256: str
    revision: int
    difference: Mapping[str, Any] | None
    by: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Former | None:
        """What the request is now, as that of before the next rehearsal; None where it was not rehearsed."""
        found, agreed = entry.record.sandbox_result, entry.approval
        if found is None or entry.revision is None:
            return None
        return cls(entry.sha256, entry.revision, found.get("difference"), agreed.by if agreed else "")

    def is_same(self, sha256: str, result: Mapping[str, Any] | None) -> bool:
        """Whether this script's rehearsal, with this report, came out the same."""
        if self.difference is None or result is None:
            return False
        return (self.sha256, self.difference) == (sha256, result.get("difference"))


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
    #: The rehearsal before this one, where the scene has changed between the two.
    former: Former | None = None
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
    approval, former = fields.pop("approval"), fields.pop("former", None)
    return Entry(
        request=request,
        record=BPYExecutionRecord(**record, logs=logs),
        approval=Approval(**approval) if approval else None,
        former=Former(**former) if former else None,
        **fields,
    )
