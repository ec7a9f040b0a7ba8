# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from a request its era, and what it says about its client.

The envelope in `_meta` means stateless; a request without it belongs to the session that `initialize` began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import methods
from .context import LOG_LEVELS, Call, Era, Principal
from .core import Core
from .messages import jsonrpc
from .messages.content import Json
from .messages.errors import invalid_params, unsupported_version
from .messages.revisions import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    ENVELOPE,
    LOG_LEVEL,
    PROTOCOL_VERSION,
    STATELESS,
)

__all__ = ("HANDSHAKE_METHODS", "Session", "read_call")

#: The requests that only a session has.
HANDSHAKE_METHODS = frozenset(
    {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)
#: Requests whose stateless answer may be `input_required`.
_ASKING = frozenset({"tools/call", "prompts/get", "resources/read"})


@dataclass(slots=True)
class Session:
    """The values from `initialize`, and those that the client has set since."""

    version: str
    capabilities: Mapping[str, Any]
    info: Mapping[str, Any] | None
    log_level: str = "info"
    subscribed: set[str] = field(default_factory=set)


_NO_SESSION = Session("", {}, None)


def read_call(
    core: Core, client: Principal, session: Session | None, message: Json, *, stateless: bool
) -> Call:
    """Decide the era of a request, and read what it says about its client.

    `session` is the connection's, if it has one; `stateless` says that the transport knows the era already. Raises
    RpcError for a request that does not say what its era requires.
    """
    method, params = message["method"], message.get("params", {})
    if not isinstance(params, dict):
        raise invalid_params("params: must be an object")
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        raise invalid_params("params._meta: must be an object")
    token = meta.get("progressToken")
    if token is not None and not jsonrpc.is_id(token):
        raise invalid_params("params._meta.progressToken: must be a string or an integer")
    if stateless or not ENVELOPE.isdisjoint(meta) or _needs_envelope(session, method):
        return _stateless_call(core, client, message["id"], method, params, meta)
    known = session or _NO_SESSION
    return Call(
        message["id"],
        method,
        params,
        Era.HANDSHAKE,
        known.version,
        client,
        known.capabilities,
        known.info,
        token,
        known.log_level,
    )


def _stateless_call(
    core: Core, client: Principal, request_id: str | int, method: str, params: Json, meta: Json
) -> Call:
    version = meta.get(PROTOCOL_VERSION)
    if not isinstance(version, str):
        raise invalid_params(
            f"params._meta[{PROTOCOL_VERSION!r}]: is required (or begin with initialize, up to 2025-11-25)"
        )
    if version not in STATELESS:
        raise unsupported_version(version, STATELESS)
    capabilities = meta.get(CLIENT_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise invalid_params(f"params._meta[{CLIENT_CAPABILITIES!r}]: is required and must be an object")
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LOG_LEVELS:
        raise invalid_params(f"params._meta[{LOG_LEVEL!r}]: must be one of {', '.join(LOG_LEVELS)}")
    info = meta.get(CLIENT_INFO)
    call = Call(
        request_id,
        method,
        params,
        Era.STATELESS,
        version,
        client,
        capabilities,
        info if isinstance(info, dict) else None,
        meta.get("progressToken"),
        level,
    )
    if method in _ASKING:
        call.rounds = core.states.open(method, params, client.id)
    return call


def _needs_envelope(session: Session | None, method: str) -> bool:
    """Return whether a request needs the stateless envelope, since there is no session for it."""
    if method in HANDSHAKE_METHODS:
        return session is None and method not in ("initialize", "ping")
    if method in methods.SHARED:
        return session is None
    return method in methods.STATELESS_METHODS or method == "subscriptions/listen"
