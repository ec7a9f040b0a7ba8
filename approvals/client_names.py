# SPDX-License-Identifier: GPL-3.0-or-later
"""The name of a client for the user: that of its token if the token is its own, else the name that it gives itself.

For display only: no decision depends on a name that a client gives itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .caller import Client

__all__ = ("FIXED", "label", "shown_name")

#: Ids of the clients whose token is not personal: any program that reads the environment or the record may use it.
FIXED = frozenset({"environment", "local"})

#: The name of a program in `clientInfo`, as recorded, -> the name that its users know.
_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "claude-ai": "Claude Desktop",
        "claude-code": "Claude Code",
        "cline": "Cline",
        "codex-mcp-client": "Codex",
        "continue-cli-client": "Continue",
        "cursor-vscode": "Cursor",
        "gemini-cli-mcp-client": "Gemini CLI",
        "goose": "Goose",
        "opencode": "OpenCode",
        "qwen-cli-mcp-client-blender": "Qwen Code",
        "visual studio code": "VS Code",
        "windsurf-client": "Windsurf",
        "zed": "Zed",
    }
)
_LONGEST = 60


def label(info: Mapping[str, Any] | None) -> str:
    """The name that a client gives itself (`clientInfo`), in one short line; "" if it gives none."""
    found = info or {}
    for said in (found.get("name"), found.get("title")):
        if isinstance(said, str) and said.strip().lower() in _LABELS:
            return _LABELS[said.strip().lower()]
    for said in (found.get("title"), found.get("name")):
        if isinstance(said, str):
            line = " ".join("".join(letter if letter.isprintable() else " " for letter in said).split())
            if line:
                return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return ""


def shown_name(client: Client, info: Mapping[str, Any] | None) -> str:
    """The name that the user gave the client's own token; for a shared token the name that the client gives itself."""
    return (label(info) if client.id in FIXED else "") or client.name
