# SPDX-License-Identifier: GPL-3.0-or-later
"""The bundled libraries: lock, manifest and files agree, and they need no other package."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import libraries
from blenders import ROOT

LOCKED = libraries.locked(libraries.LOCK.read_text(encoding="utf-8"))


def test_manifest_names_what_the_lock_names() -> None:
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert manifest["wheels"] == [f"./wheels/{name}" for name in sorted(LOCKED)]


def test_fetched_files_have_the_locked_hashes() -> None:
    assert libraries.present(libraries.WHEELS) == LOCKED


def test_each_lock_names_a_hash_for_each_file() -> None:
    locks = sorted((ROOT / "dev").glob("*.lock"))
    assert libraries.LOCK in locks
    assert all(libraries.locked(lock.read_text(encoding="utf-8")) for lock in locks)


def test_lock_without_a_hash_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not `name==version --hash=sha256:…`: 'h11==0.16.0'"):
        libraries.locked("# comment\n\nh11==0.16.0\n")


@pytest.mark.parametrize(
    "module",
    [
        "fastjsonschema",
        "filelock",
        "prometheus_client",
        "RestrictedPython",
        "ruamel.yaml",
        "uvicorn",
        "uvicorn.protocols.http.h11_impl",
        "uvicorn.protocols.websockets.websockets_sansio_impl",
        "websockets.sync.client",
    ],
)
def test_libraries_need_nothing_but_each_other(module: str, tmp_path: Path) -> None:
    """Blender's Python has none of the packages of `.venv`, so they must not be what makes imports work."""
    for name in LOCKED:
        zipfile.ZipFile(libraries.WHEELS / name).extractall(tmp_path)  # as Blender does
    code = f"import {module}; print({module}.__file__)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)


def test_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    name = "h11-0.16.0-py3-none-any.whl"
    lock = tmp_path / "wheels.lock"
    lock.write_text(f"h11==0.16.0 --hash=sha256:{'0' * 64}\n")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / name).write_bytes((libraries.WHEELS / name).read_bytes())
    with pytest.raises(SystemExit, match=r"(?s)pip could not fetch what wheels.lock names:.*h11"):
        libraries.fetch(
            lock, tmp_path / "wheels", options=["--no-index", f"--find-links={tmp_path / 'here'}"]
        )


@pytest.mark.parametrize("name", sorted(LOCKED))
def test_library_says_it_runs_on_the_pythons_of_all_blenders(name: str) -> None:
    with zipfile.ZipFile(libraries.WHEELS / name) as wheel:
        metadata = next(entry for entry in wheel.namelist() if entry.endswith(".dist-info/METADATA"))
        requires = email.message_from_bytes(wheel.read(metadata))["Requires-Python"]
    assert all(SpecifierSet(requires).contains(version) for version in ("3.11", "3.13", "3.14"))
