# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundles the stdio shim for clients that install servers themselves. No bundle has a token: the shim finds Blender.

    .venv/bin/python dev/bundles.py     dist/mcp-bridge-….mcpb, dist/plugins/claude-code and dist/plugins/codex

The `.mcpb` is for Claude Desktop and other clients that know MCP bundles (manifest version 0.3); the folders under
plugins/ are marketplaces of one plug-in each, for `claude plugin marketplace add` and `codex plugin marketplace add`.
Each build makes them in the same way from the same files, so that two builds are equal.
"""

from __future__ import annotations

import json
import shutil
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from blenders import ROOT

__all__ = ("bundle", "manifest", "plugins", "server_json", "write_zip")

DIST = ROOT / "dist"
NAME, TITLE = "mcp-bridge", "MCP Bridge"
DESCRIPTION = "Work in the scene that is open in Blender, with its user in charge."
#: The files that the shim needs, and their places in each bundle.
_SHIM = "server/clients/stdio_shim.py"
FILES = (_SHIM, "server/clients/offline.json", "LICENSE")
#: The oldest time that a zip can store.
_TIME = (1980, 1, 1, 0, 0, 0)
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"


def manifest() -> dict[str, Any]:
    """Return the extension's manifest, with version, maintainer and licence."""
    return tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))


def write_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    """Write a zip that depends on nothing but names and contents."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, members[name])
    return path


def bundle(dist: Path = DIST) -> Path:
    """Make the MCP bundle, and return its path."""
    dist.mkdir(parents=True, exist_ok=True)
    members = {name: (ROOT / name).read_bytes() for name in FILES}
    members["manifest.json"] = _json(_bundle_manifest())
    return write_zip(dist / f"{NAME}-{manifest()['version']}.mcpb", members)


def _bundle_manifest() -> dict[str, Any]:
    own = manifest()
    recorded = json.loads((ROOT / "server" / "clients" / "offline.json").read_text(encoding="utf-8"))
    start = {"command": "python3", "args": ["-I", f"${{__dirname}}/{_SHIM}"], "env": {}}
    return {
        "manifest_version": "0.3",
        "name": NAME,
        "display_name": TITLE,
        "version": own["version"],
        "description": DESCRIPTION,
        "long_description": "Needs the Blender extension MCP Bridge, started in its tab in the sidebar of the 3D view.",
        "author": {"name": own["maintainer"]},
        "license": own["license"][0].removeprefix("SPDX:"),
        "server": {
            "type": "python",
            "entry_point": _SHIM,
            "mcp_config": {**start, "platform_overrides": {"win32": {"command": "python"}}},
        },
        "tools": [
            {"name": tool["name"], "description": tool["description"].partition("\n")[0]}
            for tool in recorded["tools"]
        ],
        "tools_generated": True,
        "prompts_generated": True,
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.9"}},
    }


def plugins(dist: Path = DIST) -> tuple[Path, Path]:
    """Make the marketplaces of the plug-ins for Claude Code and for Codex, and return their folders."""
    own = manifest()
    about = {"name": NAME, "version": own["version"], "description": DESCRIPTION}
    author = {"name": own["maintainer"]}
    claude, codex = dist / "plugins" / "claude-code", dist / "plugins" / "codex"
    _plugin(
        claude,
        {
            ".claude-plugin/marketplace.json": {
                "name": NAME,
                "owner": author,
                "plugins": [{"name": NAME, "source": f"./plugins/{NAME}", "description": DESCRIPTION}],
            }
        },
        {
            ".claude-plugin/plugin.json": {**about, "author": author},
            ".mcp.json": _servers(f"${{CLAUDE_PLUGIN_ROOT}}/{_SHIM}"),
        },
    )
    place = {"source": "local", "path": f"./plugins/{NAME}"}
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    _plugin(
        codex,
        {
            ".agents/plugins/marketplace.json": {
                "name": NAME,
                "plugins": [{"name": NAME, "source": place, "policy": policy, "category": "Productivity"}],
            }
        },
        {
            ".codex-plugin/plugin.json": {
                **about,
                "author": author,
                "mcpServers": "./.mcp.json",
                "interface": {"displayName": TITLE, "shortDescription": DESCRIPTION},
            },
            ".mcp.json": _servers(_SHIM, cwd="."),
        },
    )
    return claude, codex


def server_json(path: Path, downloads: str, namespace: str) -> dict[str, Any]:
    """Return the entry of the MCP registry for a bundle.

    Args:
        path: the bundle.
        downloads: the address of the folder that it can be fetched from.
        namespace: the reverse domain name under which it is published, such as io.github.somebody.
    """
    import hashlib

    own = manifest()
    package = {
        "registryType": "mcpb",
        "identifier": f"{downloads.rstrip('/')}/{path.name}",
        "version": own["version"],
        "fileSha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": _SCHEMA,
        "name": f"{namespace}/{NAME}",
        "title": TITLE,
        "description": DESCRIPTION,
        "version": own["version"],
        "packages": [package],
    }


def _servers(shim: str, **more: str) -> dict[str, Any]:
    return {"mcpServers": {"blender": {"command": "python3", "args": ["-I", shim], **more}}}


def _plugin(folder: Path, outside: Mapping[str, Any], inside: Mapping[str, Any]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    home = folder / "plugins" / NAME
    for name in FILES:
        _write(home / name, (ROOT / name).read_bytes())
    for place, texts in ((folder, outside), (home, inside)):
        for name, value in texts.items():
            _write(place / name, _json(value))


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


if __name__ == "__main__":
    for made in (bundle(), *plugins()):
        print(made)
