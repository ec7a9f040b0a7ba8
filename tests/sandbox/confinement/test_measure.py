# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.sandbox.confinement.measure import deleted_bytes, disk_bytes, usage

MB = 2**20


def test_memory_counts_what_a_process_started_too() -> None:
    assert usage(os.getpid()).memory > 50 * MB, "this is a Blender"
    with _python("x = b'x' * (100 << 20)") as child:
        assert usage(child.pid).memory > 100 * MB
        assert usage(os.getpid()).memory >= usage(child.pid).memory + 50 * MB
        assert usage(os.getpid(), alone=True).memory < usage(os.getpid()).memory - 90 * MB
    assert (usage(child.pid).memory, usage(child.pid).threads) == (0, 0)


def test_memory_counts_what_the_kernel_needs_to_map_it() -> None:
    """Pages that were only read are all one page of zeros, but each has its entry in a table of the kernel's."""
    code = "import mmap\nm = mmap.mmap(-1, 2 << 30, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE)\n"
    with _python(code + "for at in range(0, len(m), 4096): m[at]") as child, _python("pass") as plain:
        assert usage(child.pid).memory > usage(plain.pid).memory + 3 * MB


def test_threads_are_counted() -> None:
    code = "import threading\nfor n in range(20): threading.Thread(target=threading.Event().wait, daemon=True).start()"
    with _python(code) as child:
        assert usage(child.pid).threads == 21


@contextmanager
def _python(code: str, folder: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has run `code` and waits."""
    argv = [sys.executable, "-c", code + "\nprint('ready', flush=True); input()"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        yield child
        child.kill()


def test_disk_counts_everything_and_follows_no_link(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"x" * MB)
    (tmp_path / "large").write_bytes(b"x" * 4 * MB)
    (folder / "link").symlink_to(tmp_path / "large")
    (folder / "up").symlink_to(tmp_path)
    assert MB <= disk_bytes(folder) < 1.2 * MB
    assert disk_bytes(tmp_path / "missing") == 0


def test_a_sparse_file_counts_by_what_it_takes(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    assert disk_bytes(tmp_path) < MB


def test_very_many_empty_files_are_not_free_and_are_not_all_looked_at(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / str(number)).touch()
    assert disk_bytes(tmp_path) == 200 * 16 * 1024
    (tmp_path / "below").mkdir()
    assert MB < disk_bytes(tmp_path, MB) <= 201 * 16 * 1024


def test_what_cannot_be_looked_into_counts_as_more_than_any_limit(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=here)
        below = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert disk_bytes(tmp_path) == math.inf


@pytest.mark.parametrize("then", ["", "; m = mmap.mmap(f.fileno(), 0); f.close()"], ids=["open", "mapped"])
def test_a_removed_file_counts_as_long_as_it_is_held(then: str, tmp_path: Path) -> None:
    code = (
        "import mmap, os; f = open('f', 'wb+'); f.write(b'x' * (3 << 20)); f.flush(); os.unlink('f')" + then
    )
    with _python(code, tmp_path) as child:
        assert disk_bytes(tmp_path) == 0
        assert 3 * MB <= deleted_bytes(child.pid, tmp_path) < 3.1 * MB
    assert deleted_bytes(child.pid, tmp_path) == 0
