# SPDX-License-Identifier: GPL-3.0-or-later
"""What to paste into which file of which client, and whether what was pasted once still holds.

A client that can start a program is given the stdio shim: it finds Blender by itself, on whatever port, and may be
started before it. The others, and those who ask for it, get the address. Formats as the clients' own documentation
gives them in November 2026.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from .access import Entry

__all__ = ("CLIENTS", "ClientKind", "Form", "Here", "Notice", "copied", "find", "notices", "place", "snippet")

#: How the client reaches Blender: by starting the shim, by Streamable HTTP, or by WebSocket.
Form = Literal["stdio", "http", "ws"]

#: What the server is called in every client's configuration.
_NAME = "blender"
#: A person may take minutes to say yes; clients that give up after one minute are told to wait ten.
_PATIENCE_S = 600


@dataclass(frozen=True, slots=True)
class Here:
    """This Blender, as a client's configuration has to name it. `port` is None while nothing listens."""

    python: str
    shim: str
    host: str
    port: int | None
    blender: str


@dataclass(frozen=True, slots=True)
class ClientKind:
    """One client program. `files` has its configuration file by platform, `~` for home and `%NAME%` as it is.

    `table` is the object of the file that holds the servers; `url` the key of the address in it, `http` and `stdio`
    what else it wants there. `how` says where the client itself offers to edit that file.
    """

    id: str
    label: str
    files: Mapping[str, str]
    how: str
    table: str = "mcpServers"
    forms: tuple[Form, ...] = ("stdio", "http")
    url: str = "url"
    http: Mapping[str, Any] | None = None
    stdio: Mapping[str, Any] | None = None
    toml: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A configuration that a client still has and that no longer works. `text` says why, for the panel."""

    client_id: str
    name: str
    text: str


def _everywhere(path: str) -> dict[str, str]:
    return {"linux": path, "darwin": path, "win32": path.replace("~", "%USERPROFILE%").replace("/", "\\")}


def _application(folder: str, file: str) -> dict[str, str]:
    """A file in the platform's folder for application settings."""
    return {
        "linux": f"~/.config/{folder}/{file}",
        "darwin": f"~/Library/Application Support/{folder}/{file}",
        "win32": f"%APPDATA%\\{folder}\\{file}".replace("/", "\\"),
    }


CLIENTS: tuple[ClientKind, ...] = (
    ClientKind(
        "claude_desktop",
        "Claude Desktop",
        _application("Claude", "claude_desktop_config.json"),
        "Settings > Developer > Edit Config",
        forms=("stdio",),
    ),
    ClientKind(
        "claude_code",
        "Claude Code",
        dict.fromkeys(("linux", "darwin", "win32"), ".mcp.json"),
        "the file .mcp.json in your project's folder",
        forms=("stdio", "http", "ws"),
        http={"type": "http"},
        stdio={"type": "stdio"},
    ),
    ClientKind("cursor", "Cursor", _everywhere("~/.cursor/mcp.json"), "Settings > MCP > New MCP Server"),
    ClientKind(
        "vscode",
        "VS Code",
        _application("Code/User", "mcp.json"),
        "the command MCP: Open User Configuration",
        table="servers",
        http={"type": "http"},
        stdio={"type": "stdio"},
    ),
    ClientKind(
        "codex",
        "Codex",
        _everywhere("~/.codex/config.toml"),
        "the file config.toml in the folder .codex",
        table="mcp_servers",
        http={"tool_timeout_sec": _PATIENCE_S},
        stdio={"tool_timeout_sec": _PATIENCE_S},
        toml=True,
    ),
    ClientKind(
        "gemini",
        "Gemini CLI",
        _everywhere("~/.gemini/settings.json"),
        "the file settings.json in the folder .gemini",
        url="httpUrl",
    ),
    ClientKind(
        "zed",
        "Zed",
        {
            "linux": "~/.config/zed/settings.json",
            "darwin": "~/.config/zed/settings.json",
            "win32": "%APPDATA%\\Zed\\settings.json",
        },
        "the command zed: open settings file",
        table="context_servers",
    ),
    ClientKind(
        "lm_studio", "LM Studio", _everywhere("~/.lmstudio/mcp.json"), "Program > Install > Edit mcp.json"
    ),
    ClientKind(
        "windsurf",
        "Windsurf",
        _everywhere("~/.codeium/windsurf/mcp_config.json"),
        "Settings > Cascade > MCP Servers > View raw config",
        url="serverUrl",
    ),
    ClientKind(
        "cline",
        "Cline",
        _application("Code/User/globalStorage/saoudrizwan.claude-dev/settings", "cline_mcp_settings.json"),
        "MCP Servers > Configure > Configure MCP Servers",
        http={"type": "streamableHttp", "timeout": _PATIENCE_S},
        stdio={"timeout": _PATIENCE_S},
    ),
)


def find(client_id: str) -> ClientKind:
    """Return the client with this id; `KeyError` if there is none."""
    for client in CLIENTS:
        if client.id == client_id:
            return client
    raise KeyError(client_id)


def snippet(client: ClientKind, form: Form, here: Here, token: str) -> str:
    """Return the text to paste, which ends with a line break.

    Raises `ValueError` when the client cannot be reached in that form, or when an address is asked for while
    nothing listens.
    """
    if form not in client.forms:
        raise ValueError(f"{client.label} cannot connect by {form}; it can by {' or '.join(client.forms)}")
    server = _stdio(client, here, token) if form == "stdio" else _address(client, form, here, token)
    if client.toml:
        lines = (f"{key} = {_toml(value)}" for key, value in server.items())
        return "\n".join((f"[{client.table}.{_NAME}]", *lines, ""))
    return json.dumps({client.table: {_NAME: server}}, indent=2, ensure_ascii=False) + "\n"


def place(client: ClientKind, platform: str, environ: Mapping[str, str]) -> str:
    """Return the client's configuration file on `platform` (as `sys.platform`), as a user would write it."""
    path = client.files.get(platform, client.files["linux"])
    for name in ("APPDATA", "USERPROFILE"):
        path = path.replace(f"%{name}%", environ.get(name, f"%{name}%"))
    return path


def copied(client: ClientKind, form: Form, here: Here) -> dict[str, str]:
    """Return what has to be remembered of a configuration, beside its token, to tell when it has gone stale."""
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

    `turned_away` are the ids of clients that came with a revoked token, `other_ports` those of this user's other
    Blenders: a configuration that points there is not stale. `exists` tells whether a path is there.
    """
    found = []
    for entry in entries:
        if entry.revoked is not None:
            text = "came with a token that was revoked" if entry.id in turned_away else ""
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
    command = {"command": here.python, "args": ["-I", here.shim], "env": {"BLENDER_MCP_TOKEN": token}}
    kind = dict(client.stdio or {})
    return {**({"type": kind.pop("type")} if "type" in kind else {}), **command, **kind}


def _address(client: ClientKind, form: Form, here: Here, token: str) -> dict[str, Any]:
    if here.port is None:
        raise ValueError("the server is not running, so it has no address yet; press Start first")
    host = f"[{here.host}]" if ":" in here.host else here.host
    extra = {"type": "ws"} if form == "ws" else dict(client.http or {})
    kind = {"type": extra.pop("type")} if "type" in extra else {}
    scheme = "ws" if form == "ws" else "http"
    headers = "http_headers" if client.toml else "headers"
    return {
        **kind,
        client.url: f"{scheme}://{host}:{here.port}/mcp",
        headers: {"Authorization": f"Bearer {token}"},
        **extra,
    }


def _toml(value: Any) -> str:
    """A TOML value; JSON's strings, numbers and arrays are TOML's, inline tables are not."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
