# SPDX-License-Identifier: GPL-3.0-or-later
"""A file is written whole or not at all, and by one function wherever it is."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from bl_ext.user_default import mcp_bridge
from bl_ext.user_default.mcp_bridge.base import atomic

#: What puts a finished file in its place, and is no way to write one.
_MOVES = {
    "base/atomic.py": "the one place",
    "base/journal.py": "a day's journal gets its date",
    "files/allowed_folders.py": "what another process has made goes to where the user allowed it",
    "importers/network/download.py": "what has arrived is complete only at the end",
    "rendering/farms/workers/render.py": "it runs on other machines, without the extension",
    "rendering/farms/workers/run_in_files.py": "the same, until it has the parts that go along",
    "sandbox/confinement/folder.py": "a folder's lock, and what is removed",
    "sandbox/rehearsal/pool.py": "a copy of the scene goes to the child that opens it",
}


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    atomic.write(path, b"one", mode=0o640)
    atomic.write(path, b"two", mode=0o640, on_disk=True)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["file.json"]


def test_a_long_name_is_no_hindrance(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    atomic.write(path, b"data")
    assert path.read_bytes() == b"data"


def test_an_error_leaves_what_was_there_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    atomic.write(path, b"old")

    def fails(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="No space left"):
        atomic.write(path, b"new")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"old"]


def _replacing() -> Iterator[str]:
    """The modules that call `os.replace`, `Path.replace` or `rename`: with one path, or with two."""
    root = Path(mcp_bridge.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.keywords:
                continue
            of_os = isinstance(node.func.value, ast.Name) and node.func.value.id == "os"
            if node.func.attr in ("replace", "rename") and (of_os or len(node.args) == 1):
                yield path.relative_to(root).as_posix()


def test_nothing_else_replaces_files_by_hand() -> None:
    assert set(_replacing()) == _MOVES.keys(), "write files with base.atomic.write"
