# SPDX-License-Identifier: GPL-3.0-or-later
"""The zip: what is in it, and when it counts as the same."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

import extension
import libraries
from blenders import ROOT
from support.running.blender import installed_folder


def test_zip_holds_the_extension_and_nothing_of_the_workshop(tmp_path: Path) -> None:
    package = extension.build(tmp_path)
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
    wheels = {name for name in names if name.startswith("wheels/")}
    assert wheels == {f"wheels/{name}" for name in libraries.present(libraries.WHEELS)}
    assert {"blender_manifest.toml", "__init__.py", "LICENSE"} <= names
    assert sorted(name for name in names if name.startswith("docs/")) == sorted(
        f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")
    )
    assert [name for name in names if name.endswith((".md", ".yml")) and "/" not in name] == ["README.md"]
    assert not [name for name in names if name.startswith(("tests/", "dev/", "build/", "."))]


def test_digest_is_of_contents_not_of_times(tmp_path: Path) -> None:
    def packed(name: str, text: str, year: int) -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(zipfile.ZipInfo("a.py", (year, 1, 1, 0, 0, 0)), text)
        return path

    first = extension.digest(packed("1.zip", "x = 1", 2025))
    assert extension.digest(packed("2.zip", "x = 1", 2026)) == first
    assert extension.digest(packed("3.zip", "x = 2", 2025)) != first


def test_installed_files_are_those_of_the_zip() -> None:
    """A second install really replaces the first: tests never see old code."""
    version = tomllib.loads((ROOT / "blender_manifest.toml").read_text("utf-8"))["version"]
    package = extension.DIST / f"mcp_bridge-{version}.zip"  # other tests may build others there meanwhile
    with zipfile.ZipFile(package) as archive:
        modules = {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}
    installed = {str(path.relative_to(installed_folder())) for path in installed_folder().rglob("*.py")}
    assert installed == set(modules)
    assert [name for name in modules if (installed_folder() / name).read_bytes() != modules[name]] == []
