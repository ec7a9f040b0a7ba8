# SPDX-License-Identifier: GPL-3.0-or-later
"""Who gets in, by Host, Origin and token, with the real file of clients."""

import os

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import SettingsError
from bl_ext.user_default.mcp_bridge.server.clients.authenticator import ENVIRONMENT_CLIENT, Authenticator
from bl_ext.user_default.mcp_bridge.server.clients.token_store import Client, TokenStore

PORT = 9876
HOST = (b"host", b"127.0.0.1:9876")


@pytest.fixture
def store(tmp_path):
    return TokenStore(tmp_path / "mcp" / "clients.json")


@pytest.fixture
def authenticator(store):
    return Authenticator(store, port=PORT, fixed={"from-environment": ENVIRONMENT_CLIENT})


def bearer(token):
    return [HOST, (b"authorization", f"Bearer {token}".encode())]


def test_a_minted_token_opens_for_its_client(store, authenticator):
    entry, token = store.mint("Cursor")
    assert authenticator.authorize(bearer(token)) == Client(entry.id, "Cursor")


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ([(b"authorization", b"bearer  TOKEN ")], b""),
        ([], b"token=TOKEN"),
        ([], b"x=1&token=TOKEN"),
        ([(b"sec-websocket-protocol", b"mcp, mcp.token.TOKEN")], b""),
    ],
)
def test_the_token_is_found_wherever_a_client_can_put_it(store, authenticator, headers, query):
    entry, token = store.mint("Cursor")
    filled = [(name, value.replace(b"TOKEN", token.encode())) for name, value in headers]
    client = authenticator.authorize([HOST, *filled], query.replace(b"TOKEN", token.encode()))
    assert client == entry.client


def test_the_environments_token_is_one_more_client(authenticator):
    assert authenticator.authorize(bearer("from-environment")) == ENVIRONMENT_CLIENT


def test_an_empty_fixed_token_opens_nothing(store):
    authenticator = Authenticator(store, port=PORT, fixed={"": ENVIRONMENT_CLIENT})
    assert authenticator.authorize([HOST], b"token=").status == 401
    assert authenticator.authorize(bearer("")).status == 401


@pytest.mark.parametrize(
    ("headers", "query", "status", "says"),
    [
        ([], b"", 401, "A token is needed"),
        ([(b"authorization", b"Basic dTpw")], b"", 401, "must be 'Bearer <token>'"),
        ([(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")], b"", 400, "only one"),
        ([(b"authorization", b"Bearer wrong")], b"", 401, "not known to Blender"),
        ([(b"authorization", b"Bearer \xff\xfe")], b"", 401, "not known to Blender"),
        ([(b"sec-websocket-protocol", b"mcp")], b"", 401, "A token is needed"),
    ],
)
def test_a_missing_or_wrong_token_is_refused(store, authenticator, headers, query, status, says):
    store.mint("Cursor")
    refusal = authenticator.authorize([HOST, *headers], query)
    assert refusal.status == status
    assert says in refusal.message


def test_a_wrong_header_is_not_rescued_by_a_good_query(store, authenticator):
    _, token = store.mint("Cursor")
    assert authenticator.authorize(bearer("wrong"), f"token={token}".encode()).status == 401


def test_a_revoked_token_is_refused_and_the_client_is_told_what_to_do(store, authenticator):
    entry, token = store.mint("Cursor")
    assert store.revoke(entry.id) is True
    refusal = authenticator.authorize(bearer(token))
    assert refusal.status == 401
    assert refusal.message == (
        "The token of 'Cursor' was revoked in Blender. "
        "In Blender's MCP panel use Copy Client Configuration and replace the old one by it."
    )
    assert authenticator.turned_away == {entry.id}
    assert store.revoke(entry.id) is False


def test_revoking_one_leaves_the_others(store, authenticator):
    first, _ = store.mint("Cursor")
    second, token = store.mint("Zed")
    store.revoke(first.id)
    assert authenticator.authorize(bearer(token)) == second.client


def test_another_process_sees_a_revocation_at_once(store, authenticator):
    entry, token = store.mint("Cursor")
    assert authenticator.authorize(bearer(token)) == entry.client
    TokenStore(store.path).revoke(entry.id)
    assert authenticator.authorize(bearer(token)).status == 401


@pytest.mark.parametrize(
    "text", ["", "{", '{"format": 99, "clients": []}', '{"format": 1, "clients": [{}]}', "[]"]
)
def test_a_broken_file_is_named_and_kept_and_lets_nobody_in(store, authenticator, text):
    _, token = store.mint("Cursor")
    store.path.write_text(text)
    with pytest.raises(SettingsError, match=r"clients\.json cannot be used .* Mend or delete that file"):
        store.entries()
    with pytest.raises(SettingsError):
        store.mint("Zed")
    assert store.path.read_text() == text
    assert authenticator.authorize(bearer(token)).status == 503
    assert authenticator.authorize(bearer("from-environment")) == ENVIRONMENT_CLIENT


@pytest.mark.skipif(os.name != "posix", reason="Windows' user folders are private by inheritance")
def test_a_file_that_others_can_write_is_not_trusted(store, authenticator):
    _, token = store.mint("Cursor")
    store.path.chmod(0o622)
    os.utime(store.path, (1, 1))
    with pytest.raises(SettingsError, match="can be written by other users: run chmod go-w"):
        store.entries()
    assert authenticator.authorize(bearer(token)).status == 503


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.0.0.1:9877",
        "127.0.0.1:9876:80",
        "\xa0127.0.0.1:9876",
        "evil.example:9876",
        "127.0.0.1.evil.example:9876",
        "",
        "[::1]",
    ],
)
def test_other_hosts_are_refused_with_the_way_out(authenticator, host):
    refusal = authenticator.check_source([(b"host", host.encode("latin-1"))])
    assert refusal.status == 403
    assert "Use 127.0.0.1:9876, or add the name to BLENDER_MCP_ALLOWED_HOSTS." in refusal.message


def test_exactly_one_host_is_needed(authenticator):
    assert authenticator.check_source([]).status == 400
    assert authenticator.check_source([HOST, (b"host", b"evil.example")]).status == 400
    assert authenticator.check_source([HOST, HOST]).status == 400


@pytest.mark.parametrize(
    ("allowed", "host", "good"),
    [
        ("host.docker.internal", "host.docker.internal:9000", True),
        ("host.docker.internal", "host.docker.internal", True),
        ("Studio:9000", "studio:9000", True),
        ("studio:9000", "studio:9001", False),
        ("[fe80::1]", "[fe80::1]:9876", True),
    ],
)
def test_allowed_names_with_and_without_a_port(store, allowed, host, good):
    authenticator = Authenticator(store, port=PORT, allowed_hosts=[allowed])
    assert (authenticator.check_source([(b"host", host.encode())]) is None) is good


def test_a_bound_address_is_ours_a_wildcard_has_no_name(store):
    assert (
        Authenticator(store, port=PORT, host="192.0.2.7").check_source([(b"host", b"192.0.2.7:9876")]) is None
    )
    everywhere = Authenticator(store, port=PORT, host="0.0.0.0")
    assert everywhere.check_source([(b"host", b"192.0.2.7:9876")]).status == 403
    assert everywhere.check_source([(b"host", b"0.0.0.0:9876")]).status == 403


@pytest.mark.parametrize("origin", ["http://localhost:9876", "http://127.0.0.1:9876", "https://[::1]:9876"])
def test_our_own_origin_is_good(authenticator, origin):
    assert authenticator.check_source([HOST, (b"origin", origin.encode())]) is None


def test_only_one_origin_is_good(authenticator):
    own = (b"origin", b"http://localhost:9876")
    assert authenticator.check_source([HOST, own]) is None
    assert authenticator.check_source([HOST, own, own]).status == 403


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://localhost:3000",
        "file://",
        "http://localhost",
        "http://[",
        "*",
    ],
)
def test_a_foreign_origin_is_refused_even_with_a_good_token(store, authenticator, origin):
    _, token = store.mint("Cursor")
    refusal = authenticator.authorize([*bearer(token), (b"origin", origin.encode())])
    assert refusal.status == 403
    assert "web pages may not control Blender" in refusal.message


def test_an_origin_at_the_default_port_matches_an_allowed_name(store):
    authenticator = Authenticator(store, port=PORT, allowed_hosts=["studio.example:443"])
    assert authenticator.check_source([HOST, (b"origin", b"https://studio.example")]) is None
