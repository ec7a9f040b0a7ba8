# SPDX-License-Identifier: GPL-3.0-or-later
"""A request for a run, its states, and the record of its outcome."""

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
    "Refused",
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
#: `question`: not a script but another question for the user; its text is in the script's place.
Tool = Literal["inject_bpy_script", "execute_blender_code", "question"]
#: Who is asked: the user in the panel, the user through the client, or nobody.
Asks = Literal["panel", "client", "nobody"]

#: The states that may follow each state, besides `ENDED_EARLY`. Back to `received`: the client sent another text; back
#: to `validated`: the scene changed, so the rehearsal and the approval are void.
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
#: States in which a request ends before it is applied or denied, from any open state.
ENDED_EARLY: frozenset[State] = frozenset({"rejected", "failed", "expired", "cancelled"})
ENDS: frozenset[State] = ENDED_EARLY | {"applied", "denied"}

#: How many texts a client may send for one request until one is a valid script: the first and two more.
ATTEMPTS = 3


class OutOfTurn(PolicyError):
    """The step is not allowed in the request's state; nothing was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="out_of_turn")


class Refused(PolicyError):
    """The script stops here. `facts` are added to the structured result; `text` is the text for an assistant."""

    def __init__(
        self, message: str, *, code: str, text: str = "", line: int | None = None, **facts: Any
    ) -> None:
        super().__init__(message, code=code, line=line)
        self.text = text
        self.facts = facts


class SceneChanged(PolicyError):
    """The scene has changed since the approval: the request has to be rehearsed again."""

    def __init__(self) -> None:
        super().__init__("the scene changed after the script was rehearsed", code="scene_changed")


def new_id() -> str:
    """A new id for a request. The journal, answers and the request's folder use it."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class InjectScriptRequest:
    """An assistant's request. `timestamp` is in seconds since the epoch; `requester` is the client's name."""

    id: str
    requester: str
    mode: Mode
    script_raw: str
    timestamp: float
    #: The id of the client's token. Trust is bound to this id, not to the name that a client gives itself.
    client_id: str = ""
    tool: Tool = "inject_bpy_script"
    title: str = ""
    level: str | None = None


@dataclass(frozen=True, slots=True)
class BPYExecutionRecord:
    """The record of a request. `user_confirmed` is None before a decision; `logs` has a line for each step."""

    request_id: str
    sandbox_result: Mapping[str, Any] | None = None
    user_confirmed: bool | None = None
    live_result: Mapping[str, Any] | None = None
    logs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """A person's consent to this script (SHA-256) in this state of the scene."""

    sha256: str
    revision: int
    by: str


@dataclass(frozen=True, slots=True)
class Former:
    """The rehearsal before the scene changed: the script (SHA-256), the scene's revision, and the result.

    `by` says who had approved it, "" if nobody had.
    """

    sha256: str
    revision: int
    difference: Mapping[str, Any] | None
    by: str = ""

    @classmethod
    def of(cls, entry: Entry) -> Former | None:
        """The current rehearsal of a request, to keep during the next one; None if there is no rehearsal."""
        found, agreed = entry.record.sandbox_result, entry.approval
        if found is None or entry.revision is None:
            return None
        return cls(entry.sha256, entry.revision, found.get("difference"), agreed.by if agreed else "")

    def is_same(self, sha256: str, result: Mapping[str, Any] | None) -> bool:
        """Whether a rehearsal of this script with this report had the same result."""
        if self.difference is None or result is None:
            return False
        return (self.sha256, self.difference) == (sha256, result.get("difference"))


@dataclass(frozen=True, slots=True)
class Entry:
    """The state of a request at one moment. Immutable: a change replaces it."""

    request: InjectScriptRequest
    record: BPYExecutionRecord
    asks: Asks
    updated: float
    state: State = "received"
    script: str = ""
    validation: Mapping[str, Any] | None = None
    #: The scene's revision at the rehearsal or, without a rehearsal, at the question.
    revision: int | None = None
    #: The rehearsal in words, or why there was none; the user reads it before the decision.
    summary: str = ""
    attempts_left: int = ATTEMPTS
    approval: Approval | None = None
    running: bool = False
    #: The rehearsal before this one, if the scene changed between the two.
    former: Former | None = None
    #: Why the script must be rehearsed, whatever the settings say: the estimate of what it makes.
    closer: str = ""
    #: Why the request was denied or refused, or why it failed.
    reason: str = ""
    #: What the script tries to reach outside Blender.
    alert: str = ""
    #: The message of the audit hook about an attempt to leave the sandbox, in the rehearsal or in the run.
    broke_out: str = ""
    #: The scene's revision right after the run. While the scene is at this revision, the run can be undone.
    applied_revision: int | None = None
    undone: bool = False

    @property
    def id(self) -> str:
        """The id of the request."""
        return self.request.id

    @property
    def title(self) -> str:
        """The title of the request, for the user."""
        return self.request.title or "Assistant's Script"

    @property
    def alarm(self) -> str:
        """The warning for the user: an attempt to leave the sandbox, else what the script tries to reach outside."""
        return self.broke_out or self.alert

    @property
    def ended(self) -> bool:
        """Whether the request has ended."""
        return self.state in ENDS

    @property
    def rehearsed_again(self) -> str:
        """A text that says that the script was rehearsed again, and with which result."""
        if self.former is not None and self.former.is_same(self.sha256, self.record.sandbox_result):
            return "The scene changed: rehearsed again, the result is the same."
        return "The scene changed: rehearsed again, and the result is not the same as before."

    @property
    def sha256(self) -> str:
        """The SHA-256 of the script, to which an approval is bound."""
        return digest(self.script)


def digest(script: str) -> str:
    """A script's SHA-256."""
    return hashlib.sha256(script.encode("utf-8", "surrogatepass")).hexdigest()


def to_dict(entry: Entry) -> dict[str, Any]:
    """An entry as JSON values."""
    return asdict(entry)


def from_dict(values: Mapping[str, Any]) -> Entry:
    """The entry from the values of `to_dict`. Raises KeyError, TypeError or ValueError for other values."""
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
