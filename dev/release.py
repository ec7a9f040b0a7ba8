# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds all files of a release, with the same bytes each time: `make release`.

    .venv/bin/python dev/release.py [--downloads URL --namespace NAME] [--into FOLDER]

Makes dist/release: the extension's zip, a static repository of it, the MCP bundle, the plug-ins, notes from the change
log, and SHA256SUMS. With the address of the downloads and the name to publish under, such as io.github.somebody, also
server.json for the MCP registry.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import zipfile
from pathlib import Path

import bundles
import extension
from blenders import ROOT

__all__ = ("main", "notes", "release")


def release(folder: Path, downloads: str = "", namespace: str = "") -> list[Path]:
    """Empty and fill `folder`, and return its files.

    Raises:
        SystemExit: Blender's tools refuse the extension, or the change log does not mention this version.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    version = bundles.manifest()["version"]
    built = extension.build(folder)
    with zipfile.ZipFile(built) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist() if not info.is_dir()}
    package = bundles.write_zip(built, members)
    extension.generate(package, folder / "repository")
    _without_time(folder / "repository" / "index.html", version)
    bundle = bundles.bundle(folder)
    for plugin in bundles.plugins(folder):
        files = {str(path.relative_to(plugin)): path.read_bytes() for path in _files(plugin)}
        bundles.write_zip(folder / f"{bundles.NAME}-{plugin.name}-plugin-{version}.zip", files)
    shutil.rmtree(folder / "plugins")
    (folder / "NOTES.md").write_text(
        notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version), "utf-8"
    )
    if downloads and namespace:
        entry = json.dumps(bundles.server_json(bundle, downloads, namespace), indent=2)
        (folder / "server.json").write_text(entry + "\n", encoding="utf-8")
    made = _files(folder)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in made]
    (folder / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    return _files(folder)


def notes(changes: str, version: str) -> str:
    """Return the change log's text about a version. Raises SystemExit if there is none."""
    found = re.search(rf"^## {re.escape(version)}\b.*\n\n(?P<text>(?:(?!## ).*\n?)+)", changes, re.MULTILINE)
    if found is None:
        raise SystemExit(f"CHANGELOG.md says nothing of version {version}")
    return found["text"].strip() + "\n"


def _without_time(page: Path, version: str) -> None:
    """Replace the time that Blender writes into a repository's page by the release's version."""
    text = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"<p>Built [^<]*</p>", f"<p>Version {version}</p>", text), encoding="utf-8")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Fill the folder of the release."""
    parser = argparse.ArgumentParser(description="Build all that a release consists of.")
    parser.add_argument(
        "--downloads", default="", help="the address of the folder with the files, for server.json"
    )
    parser.add_argument(
        "--namespace", default="", help="the name to publish under, such as io.github.somebody"
    )
    parser.add_argument("--into", type=Path, default=extension.DIST / "release")
    options = parser.parse_args()
    if bool(options.downloads) != bool(options.namespace):
        parser.error("server.json needs both --downloads and --namespace")
    for path in release(options.into, options.downloads, options.namespace):
        print(path)


if __name__ == "__main__":
    main()
