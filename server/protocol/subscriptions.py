# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter of a `subscriptions/listen` request, and the notifications that belong to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .context import Call
from .messages.content import Json
from .messages.errors import invalid_params
from .messages.revisions import SUBSCRIPTION_ID

_FLAGS = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
_LISTS = ("resourceSubscriptions", "taskIds")

#: The most resources or tasks that one stream may name.
MAX_NAMED = 1000


@dataclass(frozen=True, slots=True)
class Filter:
    """A checked filter of a `subscriptions/listen` request."""

    flags: frozenset[str]
    resources: frozenset[str]
    tasks: frozenset[str]

    @classmethod
    def parse(cls, wanted: object) -> Filter:
        """Read a `SubscriptionFilter`. Raises RpcError (invalid params) naming the field; unknown ones are ignored."""
        if not isinstance(wanted, Mapping):
            raise invalid_params("notifications: must be an object")
        for name in _FLAGS:
            if not isinstance(wanted.get(name, False), bool):
                raise invalid_params(f"notifications.{name}: must be a boolean")
        for name in _LISTS:
            named = wanted.get(name, [])
            if not isinstance(named, list) or not all(isinstance(item, str) for item in named):
                raise invalid_params(f"notifications.{name}: must be an array of strings")
            if len(named) > MAX_NAMED:
                raise invalid_params(f"notifications.{name}: at most {MAX_NAMED}")
        return cls(
            frozenset(name for name in _FLAGS if wanted.get(name)),
            frozenset(wanted.get("resourceSubscriptions", [])),
            frozenset(wanted.get("taskIds", [])),
        )

    def as_json(self) -> Json:
        """Return the filter for the acknowledgement."""
        acknowledged: Json = dict.fromkeys(sorted(self.flags), True)
        if self.resources:
            acknowledged["resourceSubscriptions"] = sorted(self.resources)
        if self.tasks:
            acknowledged["taskIds"] = sorted(self.tasks)
        return acknowledged


@dataclass(frozen=True, slots=True)
class Listen:
    """An open `subscriptions/listen` request."""

    call: Call
    filter: Filter

    def notification(self, method: str, params: Mapping[str, Any]) -> Json:
        """Return a notification of this stream."""
        tagged = {**params, "_meta": {SUBSCRIPTION_ID: self.call.request_id}}
        return {"jsonrpc": "2.0", "method": method, "params": tagged}

    def wants_list(self, kind: str) -> bool:
        """Return whether this stream wants changes of the list `kind` ("tools", …)."""
        return f"{kind}ListChanged" in self.filter.flags
