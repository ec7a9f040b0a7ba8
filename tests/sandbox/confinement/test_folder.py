# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.sandbox.confinement.folder import RunFolder, remove_tree


def test_folders_are_private_but_can_be_got_to(tmp_path: Path) -> None:
    run = RunFolder.make(tmp_path / "runs")
    work = run.new()
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    assert stat.S_IMODE(run.path.stat().st_mode) == 0o711
    run.close()
    assert list((tmp_path / "runs").iterdir()) == []


def test_the_canary_would_sing_without_confinement(tmp_path: Path) -> None:
    run = RunFolder.make(tmp_path / "runs")
    canary = run.canary()
    file = Path(canary["file"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o777
    socket.create_connection(("127.0.0.1", canary["port"]), 1.0).close()
    assert run.canary() == canary
    run.close()


def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    with pytest.raises(ExternalServiceError, match=r"it belongs to another user. Set sandbox\.workdir_base"):
        RunFolder.make(tmp_path / "runs")


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(ExternalServiceError, match="No work folder for confined processes can be made in"):
        RunFolder.make(tmp_path / "runs")


def test_removing_never_follows_a_link_and_opens_what_was_closed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    folder = tmp_path / "folder"
    closed = folder / "a" / "closed"
    closed.mkdir(parents=True)
    (closed / "file").write_text("x")
    (folder / "link").symlink_to(outside)
    closed.chmod(0)
    remove_tree(folder)
    assert not folder.exists()
    assert (outside / "kept").read_text() == "kept"


def test_a_tree_that_is_deeper_than_a_path_may_be_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    remove_tree(folder)
    assert list(tmp_path.iterdir()) == []


def test_pipes_and_sockets_are_removed_like_files_and_nothing_missing_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
    remove_tree(folder)
    remove_tree(folder)
    assert list(tmp_path.iterdir()) == []


def test_what_a_process_left_is_removed_while_everything_is_closed(tmp_path: Path) -> None:
    """A rehearsal's folder goes on a thread of its own, which Blender's end does not wait for."""
    for _ in range(20):
        run = RunFolder.make(tmp_path / "runs")
        work = run.new()
        for number in range(20):
            (work / str(number) / "below").mkdir(parents=True)
        removing = threading.Thread(target=run.remove, args=(work,))
        removing.start()
        run.close()
        removing.join()
        assert list((tmp_path / "runs").iterdir()) == []


def test_what_is_made_anew_after_the_end_goes_when_its_maker_is_done(tmp_path: Path) -> None:
    """An importer that unpacks while Blender is closed makes the folders above once more."""
    run = RunFolder.make(tmp_path / "runs")
    work = run.new()
    run.close()
    (work / "unpacked" / "later").mkdir(parents=True)
    run.remove(work)
    assert list((tmp_path / "runs").iterdir()) == []


def test_only_what_a_supervisor_left_is_removed_and_only_once_it_is_dead(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    alive = RunFolder.make(runs)
    young, old, dead, other = (runs / name for name in ("mcp-run-a", "mcp-run-b", "mcp-run-c", "project"))
    for folder in (young, old, dead, other):
        (folder / "control").mkdir(parents=True)
    for folder in (dead, other):
        (folder / "lock").touch()
    for folder in (old, other):
        os.utime(folder, (1, 1))
    second = RunFolder.make(runs)
    assert set(runs.iterdir()) == {alive.path, second.path, young, other}
    alive.close()
    second.close()
    assert set(runs.iterdir()) == {young, other}


def test_supervisors_that_begin_at_once_leave_each_other_alone(tmp_path: Path) -> None:
    made: list[RunFolder] = []
    begin = threading.Barrier(8)

    def make() -> None:
        begin.wait()
        for _ in range(20):
            made.append(RunFolder.make(tmp_path / "runs"))

    makers = [threading.Thread(target=make) for _ in range(8)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(made) == 160
    assert all(run.control.is_dir() and (run.path / "lock").exists() for run in made)
    for run in made:
        run.close()
    assert list((tmp_path / "runs").iterdir()) == []


def test_after_the_end_there_is_no_folder_to_work_in(tmp_path: Path) -> None:
    run = RunFolder.make(tmp_path / "runs")
    run.close()
    with pytest.raises(ExternalServiceError, match="No folder for a confined process could be made"):
        run.new()
    assert list((tmp_path / "runs").iterdir()) == []
