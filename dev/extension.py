# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the extension's zip with Blender's own tool, and installs it with Blender's own installer.

    .venv/bin/python dev/extension.py build          the validated zip in dist/
    .venv/bin/python dev/extension.py repository     a static repository of it in dist/repository/
    .venv/bin/python dev/extension.py install USER   build, then install into the user folder USER

All are quick enough to run before every test: they do not install the same zip twice.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

import libraries
from blenders import ROOT

__all__ = ("build", "digest", "generate", "install", "repository")

DIST = ROOT / "dist"
_INSTALLER = ROOT / "dev" / "in_blender" / "install.py"


def _blender_scripts() -> Path:
    """Return the `scripts` folder of the installed `bpy`, found without starting Blender."""
    spec = importlib.util.find_spec("bpy")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("no bpy here: run this with the interpreter of .venv")
    return next(Path(spec.origin).parent.glob("[0-9]*.[0-9]*/scripts"))


def _blender_ext(command: str, *arguments: str | Path) -> None:
    """Run Blender's command-line tool for extensions; show its output if it fails."""
    tool = _blender_scripts() / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    done = subprocess.run([sys.executable, tool, command, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"blender_ext.py {command} failed:\n{done.stdout}{done.stderr}")


def build(dist: Path = DIST) -> Path:
    """Build and validate the zip, and return its path.

    Raises:
        SystemExit: Blender's tool refuses the manifest or the zip; the message is the tool's.
    """
    libraries.fetch()
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    path = dist / f"{manifest['id']}-{manifest['version']}.zip"
    dist.mkdir(exist_ok=True)
    valid_tags = _blender_scripts() / "modules" / "_bpy_internal" / "extensions" / "tags.py"
    tags = f"--valid-tags={valid_tags}"
    with tempfile.TemporaryDirectory(dir=dist) as folder:  # tests may read the existing zip meanwhile
        made = Path(folder) / path.name
        _blender_ext("build", tags, "--source-dir", ROOT, "--output-filepath", made)
        _blender_ext("validate", tags, made)
        made.replace(path)
    return path


def repository(dist: Path = DIST) -> Path:
    """Make a static extension repository, ready for any web server, and return its folder."""
    folder = dist / "repository"
    generate(build(dist), folder)
    return folder


def generate(package: Path, folder: Path) -> None:
    """Empty `folder` and make it a static repository of one validated zip."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(package, folder)
    _blender_ext("validate", package)
    _blender_ext("server-generate", "--repo-dir", folder, "--html")


def digest(path: Path) -> str:
    """Return a hash of a zip's contents: names and data, without times."""
    with zipfile.ZipFile(path) as archive:
        members = sorted((info.filename, info.CRC, info.file_size) for info in archive.infolist())
    return hashlib.sha256(repr(members).encode()).hexdigest()


def install(
    path: Path,
    user: Path,
    *,
    blender: Sequence[str | Path] = (sys.executable,),
) -> None:
    """Install the zip `path` for the Blender whose user folder is `user`, unless it is already there.

    Args:
        blender: the command that runs a Python script in that Blender; the `bpy` module by default.

    Raises:
        SystemExit: Blender's installer failed; the message is Blender's output.
    """
    user.mkdir(parents=True, exist_ok=True)
    with user.with_name(f"{user.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install(path, user, blender)


def _install(path: Path, user: Path, blender: Sequence[str | Path]) -> None:
    stamp = user / "installed"
    wanted = digest(path)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    stamp.unlink(missing_ok=True)
    own = {"BLENDER_USER_RESOURCES": str(user), "MCP_BRIDGE_ZIP": str(path)}
    command = [*blender, _INSTALLER]
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"Blender could not install {path.name}:\n{done.stdout}{done.stderr}")
    stamp.write_text(wanted, encoding="utf-8")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["build"]:
            print(build())
        case ["repository"]:
            print(repository())
        case ["install", user]:
            install(build(), Path(user).resolve())
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
