# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of clients: where each keeps its servers, and under which names.

The formats are those of the clients' own documentation in November 2026. `make clients-check` checks them with each
client's own program, if it can be installed without an account; the others follow only their published schema or
documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ("CLIENTS", "NAME", "ClientKind", "Form", "Format", "find", "place", "signs")

#: How the client reaches Blender: by starting the shim, by Streamable HTTP, or by WebSocket.
Form = Literal["stdio", "http", "ws"]
#: The file's format. `json` allows comments and trailing commas if the client does.
Format = Literal["json", "toml", "yaml"]

#: The server's name in every client's configuration.
NAME = "blender"
#: The user may take minutes to answer; an entry tells clients that give up after one minute to wait ten.
_PATIENCE_S = 600
_PLATFORMS = ("linux", "darwin", "win32")


@dataclass(frozen=True, slots=True)
class ClientKind:
    """One client program. `files` has its configuration file by platform, with `~` for home and variables as `%NAME%`.

    `how` says where the client itself offers to edit that file. `table` is the path to the servers in the file: an
    object, or with `listed` a list of servers with names. `also` are other names that the file may have in its folder.
    """

    id: str
    label: str
    files: Mapping[str, str]
    how: str
    #: The source of this row's facts.
    source: str
    #: Programs whose presence means that the client is installed; so does a folder among `folders`.
    programs: tuple[str, ...] = ()
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    format: Format = "json"
    table: tuple[str, ...] = ("mcpServers",)
    listed: bool = False
    forms: tuple[Form, ...] = ("stdio", "http")
    #: The keys for the command, its arguments and its environment; one for both if command and arguments are one list.
    words: tuple[str, str, str] = ("command", "args", "env")
    #: The keys of the address and its headers.
    url: str = "url"
    headers: str = "headers"
    #: Extra keys that the client needs in an entry, by form; `type` comes first.
    stdio: Mapping[str, Any] = field(default_factory=dict)
    http: Mapping[str, Any] = field(default_factory=dict)
    #: A key that contains all of the above.
    within: str = ""
    #: The beginning of a new file.
    fresh: str = ""
    #: A link with which the client itself adds a server, with {name}, {json} and {base64}; "" if it has none.
    link: str = ""


def _everywhere(path: str) -> dict[str, str]:
    return {"linux": path, "darwin": path, "win32": path.replace("~", "%USERPROFILE%").replace("/", "\\")}


def _application(folder: str, file: str) -> dict[str, str]:
    """Return a file in the platform's folder for application settings."""
    return {
        "linux": f"~/.config/{folder}/{file}",
        "darwin": f"~/Library/Application Support/{folder}/{file}",
        "win32": f"%APPDATA%\\{folder}\\{file}".replace("/", "\\"),
    }


def _folders(paths: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    return {platform: (path,) for platform, path in paths.items()}


CLIENTS: tuple[ClientKind, ...] = (
    ClientKind(
        "claude_desktop",
        "Claude Desktop",
        _application("Claude", "claude_desktop_config.json"),
        "Settings > Developer > Edit Config",
        "modelcontextprotocol.io/docs/develop/connect-local-servers",
        folders=_folders(_application("Claude", ".")),
        forms=("stdio",),
    ),
    ClientKind(
        "claude_code",
        "Claude Code",
        _everywhere("~/.claude.json"),
        "the file .claude.json in your home folder, or .mcp.json in a project's",
        "its program: claude mcp add --scope user",
        programs=("claude",),
        folders=_folders(_everywhere("~/.claude")),
        forms=("stdio", "http", "ws"),
        stdio={"type": "stdio"},
        http={"type": "http"},
    ),
    ClientKind(
        "cursor",
        "Cursor",
        _everywhere("~/.cursor/mcp.json"),
        "Settings > Tools & MCPs > New MCP Server",
        "cursor.com/docs/mcp, cursor.com/docs/mcp/install-links",
        programs=("cursor", "cursor-agent"),
        folders=_folders(_everywhere("~/.cursor")),
        link="cursor://anysphere.cursor-deeplink/mcp/install?name={name}&config={base64}",
    ),
    ClientKind(
        "vscode",
        "VS Code",
        _application("Code/User", "mcp.json"),
        "the command MCP: Open User Configuration",
        "code.visualstudio.com/docs/copilot/reference/mcp-configuration",
        programs=("code",),
        folders=_folders(_application("Code/User", ".")),
        table=("servers",),
        stdio={"type": "stdio"},
        http={"type": "http"},
        link="vscode:mcp/install?{json}",
    ),
    ClientKind(
        "codex",
        "Codex",
        _everywhere("~/.codex/config.toml"),
        "the file config.toml in the folder .codex",
        "its program: codex mcp add",
        programs=("codex",),
        folders=_folders(_everywhere("~/.codex")),
        format="toml",
        table=("mcp_servers",),
        headers="http_headers",
        stdio={"tool_timeout_sec": _PATIENCE_S},
        http={"tool_timeout_sec": _PATIENCE_S},
    ),
    ClientKind(
        "gemini",
        "Gemini CLI",
        _everywhere("~/.gemini/settings.json"),
        "the file settings.json in the folder .gemini",
        "its program: gemini mcp add -s user",
        programs=("gemini",),
        folders=_folders(_everywhere("~/.gemini")),
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
        "zed.dev/docs/ai/mcp",
        programs=("zed", "zeditor"),
        folders={
            "linux": ("~/.config/zed",),
            "darwin": ("~/.config/zed",),
            "win32": ("%APPDATA%\\Zed",),
        },
        table=("context_servers",),
    ),
    ClientKind(
        "lm_studio",
        "LM Studio",
        _everywhere("~/.lmstudio/mcp.json"),
        "Program > Install > Edit mcp.json",
        "lmstudio.ai/docs/app/mcp, lmstudio.ai/docs/app/mcp/deeplink",
        programs=("lms",),
        folders=_folders(_everywhere("~/.lmstudio")),
        link="lmstudio://add_mcp?name={name}&config={base64}",
    ),
    ClientKind(
        "windsurf",
        "Windsurf",
        _everywhere("~/.codeium/windsurf/mcp_config.json"),
        "Settings > Cascade > MCP Servers > View raw config",
        "docs.windsurf.com/windsurf/cascade/mcp",
        programs=("windsurf",),
        folders=_folders(_everywhere("~/.codeium/windsurf")),
        url="serverUrl",
    ),
    ClientKind(
        "cline",
        "Cline",
        _application("Code/User/globalStorage/saoudrizwan.claude-dev/settings", "cline_mcp_settings.json"),
        "MCP Servers > Configure > Configure MCP Servers",
        "docs.cline.bot/mcp/configuring-mcp-servers",
        folders=_folders(_application("Code/User/globalStorage/saoudrizwan.claude-dev", ".")),
        stdio={"timeout": _PATIENCE_S},
        http={"type": "streamableHttp", "timeout": _PATIENCE_S},
    ),
    ClientKind(
        "cline_cli",
        "Cline CLI",
        _everywhere("~/.cline/data/settings/cline_mcp_settings.json"),
        "the command cline mcp add",
        "its program: cline mcp add --yes",
        programs=("cline",),
        folders=_folders(_everywhere("~/.cline")),
        stdio={"type": "stdio"},
        http={"type": "streamableHttp"},
        within="transport",
    ),
    ClientKind(
        "qwen",
        "Qwen Code",
        _everywhere("~/.qwen/settings.json"),
        "the file settings.json in the folder .qwen",
        "its program: qwen mcp add -s user",
        programs=("qwen",),
        folders=_folders(_everywhere("~/.qwen")),
        url="httpUrl",
    ),
    ClientKind(
        "opencode",
        "OpenCode",
        _everywhere("~/.config/opencode/opencode.json"),
        "the file opencode.json in the folder .config/opencode",
        "opencode.ai/config.json, its schema",
        programs=("opencode",),
        folders=_folders(_everywhere("~/.config/opencode")),
        also=("opencode.jsonc",),
        table=("mcp",),
        words=("command", "command", "environment"),
        stdio={"type": "local", "enabled": True},
        http={"type": "remote", "enabled": True},
    ),
    ClientKind(
        "continue",
        "Continue",
        _everywhere("~/.continue/config.yaml"),
        "the file config.yaml in the folder .continue",
        "docs.continue.dev/reference",
        programs=("cn",),
        folders=_folders(_everywhere("~/.continue")),
        format="yaml",
        listed=True,
        http={"type": "streamable-http"},
        within="",
        fresh="name: Local Config\nversion: 1.0.0\nschema: v1\n",
        headers="requestOptions",
    ),
    ClientKind(
        "goose",
        "Goose",
        {
            "linux": "~/.config/goose/config.yaml",
            "darwin": "~/.config/goose/config.yaml",
            "win32": "%APPDATA%\\Block\\goose\\config\\config.yaml",
        },
        "the command goose configure",
        "block.github.io/goose/docs/guides/config-files",
        programs=("goose",),
        folders={
            "linux": ("~/.config/goose",),
            "darwin": ("~/.config/goose",),
            "win32": ("%APPDATA%\\Block\\goose",),
        },
        format="yaml",
        table=("extensions",),
        words=("cmd", "args", "envs"),
        url="uri",
        stdio={
            "type": "stdio",
            "enabled": True,
            "name": NAME,
            "description": "Blender",
            "timeout": _PATIENCE_S,
        },
        http={
            "type": "streamable_http",
            "enabled": True,
            "name": NAME,
            "description": "Blender",
            "timeout": _PATIENCE_S,
        },
    ),
)


def find(client_id: str) -> ClientKind:
    """Return the client with this id; `KeyError` if there is none."""
    for client in CLIENTS:
        if client.id == client_id:
            return client
    raise KeyError(client_id)


def place(client: ClientKind, platform: str, environ: Mapping[str, str]) -> str:
    """Return the client's configuration file on `platform` (a value of `sys.platform`), as a user would write it."""
    return _written_out(client.files.get(platform, client.files["linux"]), environ)


def signs(client: ClientKind, platform: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the folders that exist if the client is installed, in the form of `place`."""
    paths = client.folders.get(platform, client.folders.get("linux", ()))
    return tuple(_written_out(path, environ) for path in paths)


def _written_out(path: str, environ: Mapping[str, str]) -> str:
    for name in ("APPDATA", "USERPROFILE"):
        path = path.replace(f"%{name}%", environ.get(name, f"%{name}%"))
    return path
