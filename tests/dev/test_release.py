# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release consists of, and that it does not depend on when it was built."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path

import pytest

import bundles
import release
from blenders import ROOT


def test_two_builds_are_equal_and_the_sums_are_theirs(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    made = release.release(first)
    os.utime(ROOT / "server" / "clients" / "stdio_shim.py")  # as a checkout at another time
    page = (first / "repository" / "index.html").read_text(encoding="utf-8")
    assert f"<p>Version {bundles.manifest()['version']}</p>" in page
    assert "Built " not in page
    release.release(second)
    names = [path.relative_to(first) for path in made]
    version = bundles.manifest()["version"]
    assert {str(name) for name in names} == {
        "NOTES.md",
        "SHA256SUMS",
        f"mcp-bridge-{version}.mcpb",
        f"mcp-bridge-claude-code-plugin-{version}.zip",
        f"mcp-bridge-codex-plugin-{version}.zip",
        f"mcp_bridge-{version}.zip",
        "repository/index.html",
        "repository/index.json",
        f"repository/mcp_bridge-{version}.zip",
    }
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    for line in (first / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((first / name).read_bytes()).hexdigest() == digest


def test_no_bundle_holds_a_token_and_each_holds_what_the_shim_needs(tmp_path: Path) -> None:
    path = bundles.bundle(tmp_path)
    with zipfile.ZipFile(path) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert set(texts) == {
        "LICENSE",
        "manifest.json",
        "server/clients/offline.json",
        "server/clients/stdio_shim.py",
    }
    manifest = json.loads(texts["manifest.json"])
    assert manifest["server"]["mcp_config"]["env"] == {}
    recorded = json.loads((ROOT / "server" / "clients" / "offline.json").read_text(encoding="utf-8"))["tools"]
    assert [tool["name"] for tool in manifest["tools"]] == [tool["name"] for tool in recorded]
    for folder in bundles.plugins(tmp_path):
        home = folder / "plugins" / bundles.NAME
        for name in bundles.FILES:
            assert (home / name).read_bytes() == (ROOT / name).read_bytes()
        servers = json.loads((home / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
        assert "env" not in servers["blender"]


def test_the_registrys_entry_names_the_bundle_and_its_hash(tmp_path: Path) -> None:
    path = bundles.bundle(tmp_path)
    entry = bundles.server_json(path, "https://downloads.example/0.1.0/", "io.github.somebody")
    assert entry["name"] == "io.github.somebody/mcp-bridge"
    assert len(entry["description"]) <= 100
    [package] = entry["packages"]
    assert package["identifier"] == f"https://downloads.example/0.1.0/{path.name}"
    assert package["fileSha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_notes_are_what_the_change_log_says_of_the_version() -> None:
    changes = "# Change log\n\n## 0.2.0 (unreleased)\n\n- new\n\n## 0.1.0\n\n- old\n- older\n"
    assert release.notes(changes, "0.2.0") == "- new\n"
    assert release.notes(changes, "0.1.0") == "- old\n- older\n"
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md says nothing of version 0\.3\.0"):
        release.notes(changes, "0.3.0")
