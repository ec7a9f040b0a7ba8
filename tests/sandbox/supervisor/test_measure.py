# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bl_ext.user_default.mcp_bridge.sandbox.supervisor.measure import disk_bytes, memory_bytes

MB = 2**20


def test_memory_counts_what_a_process_started_too() -> None:
    alone = memory_bytes(os.getpid())
    assert alone > 50 * MB, "this is a Blender"
    child = subprocess.Popen(
        [sys.executable, "-c", "x = b'x' * (100 << 20); print('ready', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        assert memory_bytes(child.pid) > 100 * MB
        assert memory_bytes(os.getpid()) >= memory_bytes(child.pid) + 50 * MB
    assert memory_bytes(child.pid) == 0


def test_disk_counts_everything_and_follows_no_link(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"x" * MB)
    (tmp_path / "large").write_bytes(b"x" * 4 * MB)
    (folder / "link").symlink_to(tmp_path / "large")
    (folder / "up").symlink_to(tmp_path)
    assert MB <= disk_bytes(folder) < 1.1 * MB
    assert disk_bytes(tmp_path / "missing") == 0


def test_a_sparse_file_counts_by_what_it_takes(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert disk_bytes(tmp_path) < MB
