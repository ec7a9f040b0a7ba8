# SPDX-License-Identifier: GPL-3.0-or-later
"""Host and Origin by their grammar: what is ours, and that nothing that only looks like it passes."""

from __future__ import annotations

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import SettingsError
from bl_ext.user_default.mcp_bridge.server.clients.authenticator import Authenticator
from bl_ext.user_default.mcp_bridge.server.clients.authority import (
    Authority,
    Names,
    read_authority,
    read_origin,
)
from bl_ext.user_default.mcp_bridge.server.clients.token_store import TokenStore
from hypothesis import example, given
from hypothesis import strategies as st

PORT = 9876
OURS = Names(PORT)
GOOD = ("127.0.0.1:9876", "localhost:9876", "[::1]:9876")
#: Every character that a header can carry.
LATIN = [chr(code) for code in range(256)]


def is_ours(text: str) -> bool:
    return OURS.has(read_authority(text))


def same_by_value(text: str) -> bool:
    """Whether a text says the same as one of `GOOD` by another spelling, told without the code under test."""
    host, _, port = text.lower().rpartition(":")
    spelled = {"127.0.0.1", "localhost", "[::1]", "[0::1]", "[::0:1]", "[::01]", "[::001]", "[::0001]"}
    return host in spelled and port.isascii() and port.isdigit() and len(port) <= 5 and int(port) == PORT


@pytest.mark.parametrize("text", [*GOOD, "LOCALHOST:9876", "[0:0:0:0:0:0:0:1]:9876", "localhost:09876"])
def test_loopback_names_are_ours(text: str) -> None:
    assert is_ours(text)


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1:9876:80",
        "\xa0127.0.0.1:9876",
        "127.0.0.1:9876\xa0",
        "\x85localhost:9876",
        "localhost:9876\x1f",
        " localhost:9876",
        "localhost:9876\n",
        "localhost:98\u0037\u0036".replace("7", "\u0667"),
        "user@localhost:9876",
        "localhost:9876/",
        "localhost:9876?x",
        "localhost:9876#x",
        "localhost\\@evil.example:9876",
        "localhost:9876, evil.example",
        "[::1:9876",
        "::1:9876",
        "[::1]9876",
        "[::1%25lo]:9876",
        "[v1.x]:9876",
        "[127.0.0.1]:9876",
        "local%68ost:9876",
        "localhost.:9876",
        "127.0.0.1.:9876",
        "127.1:9876",
        "2130706433:9876",
        "localhost:+9876",
        "localhost:75412",
        "localhost:9876.",
        "localhost:",
        "localhost",
        ":9876",
        "",
    ],
)
def test_names_that_only_look_like_ours_are_refused(text: str) -> None:
    assert not is_ours(text)
    assert not OURS.has(read_origin(f"http://{text}")) or text == ""


@pytest.mark.parametrize("good", GOOD)
def test_no_character_anywhere_in_a_good_name_passes(good: str) -> None:
    for at in range(len(good) + 1):
        for character in LATIN:
            for changed in (good[:at] + character + good[at:], good[:at] + character + good[at + 1 :]):
                assert is_ours(changed) == same_by_value(changed), changed


@given(st.text(st.sampled_from("127.0.0.1localhost[]:98760@/\\%\xa0 ,"), max_size=24))
@example("127.0.0.1:9876:80")
def test_no_text_of_the_same_characters_passes(text: str) -> None:
    assert is_ours(text) == (same_by_value(text) or text in GOOD)


@given(st.text(max_size=40), st.text(max_size=40))
def test_nothing_around_a_good_name_passes(before: str, after: str) -> None:
    for good in GOOD:
        changed = f"{before}{good}{after}"
        assert is_ours(changed) == same_by_value(changed), changed


_NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,20}", fullmatch=True)


@given(_NAMES, st.none() | st.integers(0, 65535))
def test_what_the_grammar_makes_is_read_as_what_it_was_made_of(name: str, port: int | None) -> None:
    text = name if port is None else f"{name}:{port}"
    assert read_authority(text) == Authority(name, port)
    assert read_origin(f"https://{text}") == Authority(name, 443 if port is None else port)
    allowed = Names(PORT, allowed=[text])
    assert allowed.has(read_authority(text))
    assert allowed.has(Authority(name, 1)) == (port in (None, 1))


@given(st.ip_addresses(v=6), st.integers(0, 65535))
def test_an_ipv6_address_is_one_value_however_it_is_written(address: object, port: int) -> None:
    whole, short = f"[{address.exploded}]:{port}", f"[{address.compressed}]:{port}"  # type: ignore[attr-defined]
    assert read_authority(whole) == read_authority(short.upper()) == Authority(f"[{address}]", port)


@given(st.text(max_size=60))
@example("127.0.0.1:9876:80")
def test_reading_never_fails_and_reads_only_ascii(text: str) -> None:
    for read in (read_authority, read_origin):
        if read(text) is not None:
            assert text.isascii()
            assert not set(text) & set(' \t\r\n/\\@?#"<>^`{|}') - ({"/"} if read is read_origin else set())


@pytest.mark.parametrize(
    ("origin", "good"),
    [
        ("http://localhost:9876", True),
        ("HTTPS://LOCALHOST:9876", True),
        ("http://localhost", False),
        ("http://localhost:9876/", False),
        ("http://localhost:9876/path", False),
        ("http://localhost:9876\xa0", False),
        ("\xa0http://localhost:9876", False),
        ("http://localhost:9876:80", False),
        ("http://me@localhost:9876", False),
        ("http://localhost:9876 http://evil.example", False),
        ("ws://localhost:9876", False),
        ("file://localhost:9876", False),
        ("null", False),
        ("", False),
    ],
)
def test_an_origin_is_a_scheme_a_host_and_a_port_and_no_more(origin: str, good: bool) -> None:
    assert OURS.has(read_origin(origin)) is good


@pytest.mark.parametrize(
    "allowed", ["http://studio", "studio:port", "fe80::1", "stu dio", "", "studio:99999"]
)
def test_an_allowed_name_that_is_none_is_said_before_anything_starts(allowed: str, tmp_path: object) -> None:
    with pytest.raises(SettingsError, match=r"BLENDER_MCP_ALLOWED_HOSTS: .* is no host name: write it as"):
        Authenticator(TokenStore(tmp_path), port=PORT, allowed_hosts=[allowed])  # type: ignore[arg-type]
