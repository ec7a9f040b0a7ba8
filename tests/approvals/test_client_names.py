# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client is called before the user."""

import pytest
from bl_ext.user_default.mcp_bridge.approvals import client_names
from bl_ext.user_default.mcp_bridge.server.clients.authenticator import ENVIRONMENT_CLIENT, LOCAL_CLIENT
from bl_ext.user_default.mcp_bridge.server.clients.token_store import Client


def test_a_token_of_its_own_says_who_it_is_whatever_the_client_says() -> None:
    assert client_names.shown_name(Client("1f", "Cursor 2"), {"name": "claude-code"}) == "Cursor 2"


@pytest.mark.parametrize("client", [ENVIRONMENT_CLIENT, LOCAL_CLIENT])
def test_a_token_that_is_nobodys_own_leaves_it_to_the_client(client: Client) -> None:
    assert client.id in client_names.FIXED
    assert client_names.shown_name(client, {"name": "claude-code", "version": "2.1"}) == "Claude Code"
    assert (
        client_names.shown_name(client, {"name": "probe", "title": "My Studio's Probe"})
        == "My Studio's Probe"
    )
    for nothing in (None, {}, {"name": ""}, {"name": 3, "title": ["x"]}, {"name": " \u202e\n"}):
        assert client_names.shown_name(client, nothing) == client.name


def test_what_a_client_calls_itself_is_one_short_line_of_letters() -> None:
    said = client_names.label({"name": "Blender\nBlender wants to run\u202e nothing" + "x" * 100})
    assert said.startswith("Blender Blender wants to run nothing")
    assert len(said) == 60
    assert said.isprintable()
