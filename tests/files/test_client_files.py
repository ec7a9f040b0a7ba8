# SPDX-License-Identifier: GPL-3.0-or-later
"""Clients' files: whose they are, how many, how large, how long."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import (
    ExternalServiceError,
    InvalidParamsError,
    LimitExceeded,
    PolicyError,
)
from bl_ext.user_default.mcp_bridge.files import client_files
from bl_ext.user_default.mcp_bridge.files.client_files import ClientFile, ClientFiles


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> ClientFiles:
    class Home:
        def new_folder(self) -> Path:
            (tmp_path / "files").mkdir()
            return tmp_path / "files"

        def remove_folder(self, folder: Path) -> None:
            shutil.rmtree(folder)

    return ClientFiles(Home, clock)


def sent(store: ClientFiles, data: bytes = b"hello", owner: str = "alice", name: str = "a.txt") -> ClientFile:
    begun = store.begin(owner, name, "text/plain")
    store.append(owner, begun.id, name, data, 0)
    return store.finish(owner, begun.id)


def test_a_file_in_parts(store: ClientFiles) -> None:
    begun = store.begin("alice", "a.txt", "text/plain")
    store.append("alice", begun.id, "a.txt", b"hel", 0)
    with pytest.raises(InvalidParamsError, match=r"'a.txt' is not complete: send the rest, from offset 3 on"):
        store.get("alice", begun.id)
    for offset in (0, 2, 4, 300):  # a part that came twice, or too early
        with pytest.raises(InvalidParamsError, match="has 3 bytes by now: go on with offset 3"):
            store.append("alice", begun.id, "a.txt", b"lo", offset)
    with pytest.raises(InvalidParamsError, match=r"is of another name: nothing of 'b.txt'"):
        store.append("alice", begun.id, "b.txt", b"lo", 3)
    store.append("alice", begun.id, "a.txt", b"lo", 3)
    whole = store.finish("alice", begun.id)
    assert store.read("alice", whole.id, 0, 100) == b"hello"
    assert store.read("alice", whole.id, 3, 1) == b"l"
    assert store.read("alice", whole.id, 99, 1) == b""
    with pytest.raises(InvalidParamsError, match="is complete"):
        store.append("alice", whole.id, "a.txt", b"!", 5)


def test_nothing_of_another_client_can_be_reached(store: ClientFiles) -> None:
    file = sent(store)
    for reach in (
        lambda: store.get("bob", file.id),
        lambda: store.read("bob", file.id, 0, 1),
        lambda: store.append("bob", file.id, "a.txt", b"", 5),
        lambda: store.finish("bob", file.id),
        lambda: store.remove("bob", file.id),
    ):
        with pytest.raises(InvalidParamsError, match="There is no file"):
            reach()
    assert store.list("bob") == []
    store.forget("bob")
    assert store.read("alice", file.id, 0, 5) == b"hello"


@pytest.mark.parametrize("file_id", ["", "../x", "/etc/passwd", "..", "0" * 24, "\0"])
def test_an_id_is_never_a_path(store: ClientFiles, file_id: str) -> None:
    sent(store)
    with pytest.raises(InvalidParamsError, match="There is no file"):
        store.read("alice", file_id, 0, 1)


def test_a_file_whose_content_does_not_fit_its_name_is_removed_at_once(
    store: ClientFiles, tmp_path: Path
) -> None:
    with pytest.raises(PolicyError, match=r"'a.txt' is not what its name says"):
        sent(store, b"\x7fELF\0")
    assert store.list("alice") == []
    assert list((tmp_path / "files").iterdir()) == []


def test_limits(store: ClientFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_files, "_MOST_FILES", 3)
    monkeypatch.setattr(client_files, "_MOST_BYTES", 12)
    monkeypatch.setattr(client_files, "LARGEST", 8)
    monkeypatch.setattr(client_files, "_MOST_IN_ALL", 15)
    with pytest.raises(LimitExceeded, match="A file may have at most"):
        sent(store, b"123456789")
    [rest] = store.list("alice")
    store.remove("alice", rest.id)
    sent(store, b"12345678")
    with pytest.raises(LimitExceeded, match="Your files may have"):
        sent(store, b"12345")
    with pytest.raises(LimitExceeded, match="The files of all clients together"):
        sent(store, b"12345678", owner="bob")
    sent(store, b"")
    with pytest.raises(LimitExceeded, match="You have 3 files, and may not have more"):
        sent(store, b"")


def test_files_go_after_an_hour_without_use(store: ClientFiles, clock: Clock, tmp_path: Path) -> None:
    old, used = sent(store), sent(store)
    clock.now = 3000
    store.get("alice", used.id)
    clock.now = 3700
    assert store.list("alice")[0].id == used.id
    with pytest.raises(InvalidParamsError):
        store.get("alice", old.id)
    assert [path.name for path in (tmp_path / "files").iterdir()] == [used.id]


def test_files_go_with_the_client_and_with_the_server(store: ClientFiles, tmp_path: Path) -> None:
    sent(store)
    others = sent(store, owner="bob")
    store.forget("alice")
    assert [path.name for path in (tmp_path / "files").iterdir()] == [others.id]
    store.clear()
    assert not (tmp_path / "files").exists()
    sent(store)  # and there can be new ones


def test_a_folder_that_somebody_removed(store: ClientFiles, tmp_path: Path) -> None:
    file = sent(store)
    (tmp_path / "files" / file.id).unlink()
    with pytest.raises(InvalidParamsError, match="There is no file"):
        store.read("alice", file.id, 0, 1)


def test_a_copy_of_what_is_there(store: ClientFiles, tmp_path: Path) -> None:
    source = tmp_path / "made.txt"
    source.write_text("made")
    taken = store.take("alice", source, "textures/made.txt")
    assert store.take("alice", source, "textures/made.txt").id == taken.id, "it has not changed"
    assert store.take("bob", source, "textures/made.txt").id != taken.id
    source.write_text("changed")
    changed = store.take("alice", source, "textures/made.txt")
    assert changed.id != taken.id
    store.remove("alice", changed.id)
    assert store.read("alice", taken.id, 0, 100) == b"made"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(source)
    for place in ("pipe", "link", "missing", "."):
        with pytest.raises(ExternalServiceError, match="cannot be read"):
            store.take("alice", tmp_path / place, "made.txt")
    (tmp_path / "bad.txt").write_bytes(b"\0")
    with pytest.raises(PolicyError):
        store.take_all("alice", {"a.txt": source, "b.txt": tmp_path / "bad.txt"})
    assert [file.name for file in store.list("alice")] == ["textures/made.txt"]


def test_what_a_client_wrote_is_known_until_somebody_changes_it(store: ClientFiles, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("made")
    assert not store.wrote("alice", path)
    store.note_written("alice", path)
    assert store.wrote("alice", path)
    assert not store.wrote("bob", path)
    path.write_text("something else")
    assert not store.wrote("alice", path)
    path.unlink()
    assert not store.wrote("alice", path), "nothing is there"


def test_many_at_once_get_what_fits_and_no_more(store: ClientFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_files, "_MOST_BYTES", 50)
    refused: list[int] = []

    def send(number: int) -> None:
        try:
            sent(store, b"x" * 10, name=f"{number}.txt")
        except LimitExceeded:
            refused.append(number)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = [file for file in store.list("alice") if file.complete]
    assert (len(whole), len(refused)) == (5, 15)


def test_parts_at_once_make_one_whole(store: ClientFiles) -> None:
    begun = store.begin("alice", "a.txt", "text/plain")
    won: list[int] = []

    def send(number: int) -> None:
        try:
            store.append("alice", begun.id, "a.txt", bytes([65 + number]) * 10, 0)
            won.append(number)
        except InvalidParamsError:
            pass

    threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = store.finish("alice", begun.id)
    assert len(won) == 1
    assert store.read("alice", whole.id, 0, 100) == bytes([65 + won[0]]) * 10
