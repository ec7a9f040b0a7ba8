# SPDX-License-Identifier: GPL-3.0-or-later
"""Files for the user alone, on a real disk."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import private_file

POSIX = pytest.mark.skipif(os.name != "posix", reason="Windows' user folders are private by inheritance")


def test_written_contents_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    assert private_file.read(path) is None
    private_file.write(path, b"one")
    private_file.write(path, b"two")
    assert private_file.read(path) == b"two"
    assert [found.name for found in path.parent.iterdir()] == ["file"]


@POSIX
def test_only_the_user_may_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        private_file.write(tmp_path / "folder" / "file", b"secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "folder" / "file").stat().st_mode) == 0o600


@POSIX
def test_a_file_that_others_can_write_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    private_file.write(path, b"mine")
    path.chmod(0o602)
    with pytest.raises(PermissionError, match="can be written by other users: run chmod go-w on it"):
        private_file.read(path)
    path.parent.chmod(0o770)
    with pytest.raises(PermissionError, match="can be written by other users"):
        private_file.write(path, b"more")


@POSIX
@pytest.mark.skipif(os.name == "posix" and os.getuid() != 0, reason="only root may give a file away")
def test_a_file_of_another_user_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    private_file.write(path, b"mine")
    os.chown(path, 65534, 65534)
    with pytest.raises(PermissionError, match="belongs to another user and is not trusted"):
        private_file.read(path)


def test_a_failure_leaves_the_old_contents_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "folder" / "file"
    private_file.write(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        private_file.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [found.name for found in path.parent.iterdir()] == ["file"]


def test_a_reader_sees_the_old_or_the_new_never_a_part(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    whole = [bytes([letter]) * 200_000 for letter in b"ab"]
    private_file.write(path, whole[0])
    done = threading.Event()

    def write() -> None:
        for turn in range(30):
            private_file.write(path, whole[turn % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        assert private_file.read(path) in whole
    writer.join()


def test_a_lock_keeps_others_waiting(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    order: list[str] = []
    held = threading.Event()

    def first() -> None:
        with private_file.lock(path):
            held.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    assert held.wait(5)
    with private_file.lock(path):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_a_lock_that_is_never_given_up_is_named(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    with (
        private_file.lock(path),
        pytest.raises(TimeoutError, match=r"another Blender has kept .*file locked for 2 s: try again"),
        private_file.lock(path),
    ):
        raise AssertionError("the lock was given twice")


def test_a_lock_is_given_up_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    with pytest.raises(ZeroDivisionError), private_file.lock(path):
        raise ZeroDivisionError
    with private_file.lock(path):
        assert [one.name for one in path.parent.iterdir()] == ["file.lock"]
