# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of clients and their tokens, on a real disk."""

import json
import os
import stat
import threading

import pytest
from bl_ext.user_default.mcp_bridge.base import private_file
from bl_ext.user_default.mcp_bridge.base.process import threads
from bl_ext.user_default.mcp_bridge.server.clients.token_store import TokenStore

DAY = 24 * 3600.0


class Clock:
    def __init__(self):
        self.now = 1_790_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path, clock):
    return TokenStore(tmp_path / "mcp" / "clients.json", clock=clock)


def test_the_file_is_private_and_holds_no_token(store):
    _, token = store.mint("Cursor", copied={"port": "9876"})
    text = store.path.read_text()
    assert token not in text
    assert json.loads(text)["clients"][0]["copied"] == {"port": "9876"}
    if os.name == "posix":
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert {path.name for path in store.path.parent.iterdir()} == {"clients.json", "clients.json.lock"}
    assert store.path.with_name("clients.json.lock").read_bytes() == b""


def test_the_list_survives_a_restart(store):
    entry, token = store.mint("Cursor")
    again = TokenStore(store.path)
    assert again.authenticate(token) == entry.client


def test_the_same_client_twice_gets_two_names(store):
    names = [store.mint("Cursor")[0].name for _ in range(3)]
    assert names == ["Cursor", "Cursor 2", "Cursor 3"]


def test_a_copy_that_was_never_used_lapses_when_copied_anew_days_later(store, clock):
    unused, _ = store.mint("Cursor")
    used, token = store.mint("Cursor")
    other, _ = store.mint("Zed")
    store.authenticate(token)
    threads.wait(5)
    clock.now += 2 * DAY
    fresh, _ = store.mint("Cursor")
    assert [entry.id for entry in store.entries()] == [used.id, other.id, fresh.id]
    assert unused.id not in {entry.id for entry in store.entries()}


def test_use_is_noted_once_a_day(store, clock):
    entry, token = store.mint("Cursor")
    store.authenticate(token)
    threads.wait(5)
    first = store.entries()[0].last_used
    stamp = store.path.stat().st_mtime_ns
    clock.now += 60
    store.authenticate(token)
    threads.wait(5)
    assert store.path.stat().st_mtime_ns == stamp
    clock.now += DAY
    assert store.authenticate(token) == entry.client
    threads.wait(5)
    assert store.entries()[0].last_used > first


def test_a_client_gets_in_while_another_process_holds_the_lock(store, caplog):
    entry, token = store.mint("Cursor")
    with private_file.lock(store.path):
        assert store.authenticate(token) == entry.client
        threads.wait(5)
    assert "the use of a token was not noted" in caplog.text


def test_tokens_minted_at_once_by_several_are_all_kept(store):
    def work():
        for _ in range(5):
            TokenStore(store.path).mint("Cursor")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({entry.name for entry in store.entries()}) == 20


def test_a_new_token_can_take_the_place_of_another_with_its_name(store):
    old, old_token = store.mint("Cursor")
    new, _ = store.mint("Cursor", replaces=old.id)
    assert [(entry.id, entry.name) for entry in store.entries()] == [(new.id, "Cursor")]
    assert store.authenticate(old_token) is None


def test_only_revoked_clients_are_forgotten(store):
    kept, _ = store.mint("Cursor")
    gone, _ = store.mint("Zed")
    store.revoke(gone.id)
    store.forget(kept.id)
    store.forget(gone.id)
    assert [entry.id for entry in store.entries()] == [kept.id]


def test_a_client_can_have_the_whole_list_of_tools(store):
    one, _ = store.mint("Cursor")
    other, _ = store.mint("Zed")
    store.list_every_tool(one.id, True)
    assert [store.lists_every_tool(entry.id) for entry in (one, other)] == [True, False]
    assert store.entries()[0].every_tool
    store.list_every_tool(one.id, False)
    assert not store.lists_every_tool(one.id)
