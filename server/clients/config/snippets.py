# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the entry for a client's file, and checks whether an earlier entry still works.

The entry of a client that can start a program starts the stdio shim: the shim finds Blender on any port, and may start
before it. The other clients, and users who ask for it, get the address.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from . import files
from .table import NAME, ClientKind, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from ..token_store import Entry

__all__ = ("Here", "Notice", "copied", "entry", "link", "notices", "snippet")


@dataclass(frozen=True, slots=True)
class Here:
    """This Blender's facts for a client's configuration. `port` is None while nothing listens."""

    python: str
    shim: str
    host: str
    port: int | None
    blender: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A client's configuration that no longer works. `text` says why, for the panel."""

    client_id: str
    name: str
    text: str


def entry(client: ClientKind, form: Form, here: Here, token: str) -> dict[str, Any]:
    """Return this Blender's entry for the client's file; without a token, the entry finds Blender by itself.

    Raises `ValueError` if the client cannot connect in that form, or for an address while nothing listens.
    """
    if form not in client.forms:
        raise ValueError(f"{client.label} cannot connect by {form}; it can by {' or '.join(client.forms)}")
    server = _stdio(client, here, token) if form == "stdio" else _address(client, form, here, token)
    if client.listed:
        server = {"name": NAME, **server}
    return {client.within: server} if client.within else server


def snippet(client: ClientKind, form: Form, here: Here, token: str) -> str:
    """Return the text to paste, which ends with a line break. Raises `ValueError` as `entry` does."""
    return files.put_in(client, "", entry(client, form, here, token))


def link(client: ClientKind, here: Here) -> str:
    """Return the link with which the client itself adds this Blender, without a token; "" if it has no such link."""
    server = json.dumps(entry(client, "stdio", here, ""), ensure_ascii=False)
    named = json.dumps({"name": NAME, **json.loads(server)}, ensure_ascii=False)
    encoded = base64.b64encode(server.encode()).decode()
    return client.link.format(name=NAME, base64=quote(encoded, safe=""), json=quote(named, safe=""))


def copied(client: ClientKind, form: Form, here: Here) -> dict[str, str]:
    """Return the facts of a configuration to store beside its token; `notices` compares them later."""
    facts = {"client": client.id, "form": form, "blender": here.blender}
    if form == "stdio":
        return {**facts, "python": here.python, "shim": here.shim}
    return {**facts, "port": str(here.port)}


def notices(
    entries: Iterable[Entry],
    here: Here,
    *,
    turned_away: Collection[str] = (),
    other_ports: Collection[int] = (),
    exists: Callable[[str], bool] = os.path.exists,
) -> list[Notice]:
    """Return the configurations that no longer work, and why.

    `turned_away` are the ids of clients that used a revoked token, `other_ports` those of this user's other Blenders:
    a configuration with such a port still works. `exists` tells whether a path exists.
    """
    found = []
    for entry in entries:
        if entry.revoked is not None:
            text = "used a revoked token" if entry.id in turned_away else ""
        else:
            text = _fault(entry.copied, here, other_ports, exists)
        if text:
            found.append(Notice(entry.id, entry.name, text))
    return found


def _fault(
    facts: Mapping[str, str], here: Here, other_ports: Collection[int], exists: Callable[[str], bool]
) -> str:
    if facts.get("form") == "stdio":
        if not exists(facts["python"]):
            return f"starts the Python of a Blender {facts['blender']} that is no longer there"
        if not exists(facts["shim"]):
            return "starts MCP Bridge where it is no longer installed"
    elif "port" in facts and here.port is not None:
        port = int(facts["port"])
        if port != here.port and port not in other_ports:
            return f"connects to port {port}, but Blender listens on {here.port}"
    return ""


def _stdio(client: ClientKind, here: Here, token: str) -> dict[str, Any]:
    # -I: neither variables meant for another Python nor files beside the shim can get in its way.
    command, arguments, environment = client.words
    start: dict[str, Any] = {command: here.python, arguments: ["-I", here.shim]}
    if command == arguments:
        start[command] = [here.python, "-I", here.shim]
    if token:
        start[environment] = {"BLENDER_MCP_TOKEN": token}
    return _with_extra(client.stdio, start)


def _address(client: ClientKind, form: Form, here: Here, token: str) -> dict[str, Any]:
    if here.port is None:
        raise ValueError("the server is not running, so it has no address yet; press Start first")
    host = f"[{here.host}]" if ":" in here.host else here.host
    scheme = "ws" if form == "ws" else "http"
    bearer: dict[str, Any] = {"Authorization": f"Bearer {token}"}
    headers = {"headers": bearer} if client.headers == "requestOptions" else bearer
    entry = {client.url: f"{scheme}://{host}:{here.port}/mcp", client.headers: headers}
    return _with_extra({"type": "ws"} if form == "ws" else client.http, entry)


def _with_extra(extra: Mapping[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return the entry with the client's extra keys, its type first."""
    first = {"type": extra["type"]} if "type" in extra else {}
    return {**first, **entry, **{key: value for key, value in extra.items() if key != "type"}}
