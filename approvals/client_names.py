# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client is called before the user: by its token where that is its own, else as it calls itself.

For display alone: what a client says of itself decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .caller import Client

__all__ = ("FIXED", "label", "shown_name")

#: Ids of the clients whose token says nothing of who bears it: whoever knows the environment or the record may.
FIXED = frozenset({"environment", "local"})

#: What programs call themselves in `clientInfo`, as recorded from them, and what their users call them.
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
    """What a client calls itself (`clientInfo`), in one short line; "" where it says nothing."""
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
    """The name of a client whose token is its own, which the user gave; of any other what it calls itself, if that."""
    return (label(info) if client.id in FIXED else "") or client.name
