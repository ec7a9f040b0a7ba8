# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks between processes, with real processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import pytest
from bl_ext.user_default.mcp_bridge.base import locks

_HOLDER = """
import sys
sys.path.insert(0, {library!r})
import filelock
lock = filelock.FileLock({path!r})
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def _held_by_another(path: Path) -> Iterator[subprocess.Popen[str]]:
    library = str(Path(filelock.__file__).parents[1])
    code = _HOLDER.format(library=library, path=str(path))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_one_process_has_a_lock_at_a_time(tmp_path: Path) -> None:
    with _held_by_another(tmp_path / "lock"):
        assert locks.take(tmp_path / "lock") is None


def test_a_lock_is_free_once_its_holder_was_killed(tmp_path: Path) -> None:
    with _held_by_another(tmp_path / "lock") as process:
        process.kill()
        process.wait()
        held = locks.take(tmp_path / "lock")
        assert held is not None
        held.release()


def test_one_thread_has_a_lock_at_a_time(tmp_path: Path) -> None:
    held = locks.take(tmp_path / "lock")
    assert held is not None
    assert locks.take(tmp_path / "lock") is None
    other = threading.Thread(target=held.release)
    other.start()
    other.join()
    again = locks.take(tmp_path / "lock")
    assert again is not None
    again.release()


def test_the_time_to_wait_is_kept(tmp_path: Path) -> None:
    with _held_by_another(tmp_path / "lock"):
        begin = time.monotonic()
        assert locks.take(tmp_path / "lock", within_s=0.3) is None
        assert 0.3 <= time.monotonic() - begin < 3


def test_a_lock_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        locks.take(tmp_path / "file" / "lock")


def test_the_file_of_a_lock_is_for_its_user(tmp_path: Path) -> None:
    held = locks.take(tmp_path / "lock")
    assert held is not None
    held.release()
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
