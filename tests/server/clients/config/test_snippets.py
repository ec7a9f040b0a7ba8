# SPDX-License-Identifier: GPL-3.0-or-later
"""The configurations of clients: their exact text, their place, and when they have gone stale."""

import json

import pytest
from bl_ext.user_default.mcp_bridge.server.clients.config import files, snippets, table
from bl_ext.user_default.mcp_bridge.server.clients.token_store import Entry

HERE = snippets.Here(
    python="/opt/blender/4.2/python/bin/python3.11",
    shim="/home/ada/extensions/mcp_bridge/server/clients/stdio_shim.py",
    host="127.0.0.1",
    port=9876,
    blender="4.2",
)
STDIO = {"command": HERE.python, "args": ["-I", HERE.shim], "env": {"BLENDER_MCP_TOKEN": "T"}}
BEARER = {"Authorization": "Bearer T"}
HTTP = "http://127.0.0.1:9876/mcp"

STARTS = {
    "claude_desktop": {"mcpServers": {"blender": STDIO}},
    "claude_code": {"mcpServers": {"blender": {"type": "stdio", **STDIO}}},
    "cline_cli": {"mcpServers": {"blender": {"transport": {"type": "stdio", **STDIO}}}},
    "qwen": {"mcpServers": {"blender": STDIO}},
    "opencode": {
        "mcp": {
            "blender": {
                "type": "local",
                "command": [HERE.python, "-I", HERE.shim],
                "environment": {"BLENDER_MCP_TOKEN": "T"},
                "enabled": True,
            }
        }
    },
    "continue": {"mcpServers": [{"name": "blender", **STDIO}]},
    "goose": {
        "extensions": {
            "blender": {
                "type": "stdio",
                "cmd": HERE.python,
                "args": ["-I", HERE.shim],
                "envs": {"BLENDER_MCP_TOKEN": "T"},
                "enabled": True,
                "name": "blender",
                "description": "Blender",
                "timeout": 600,
            }
        }
    },
    "cursor": {"mcpServers": {"blender": STDIO}},
    "vscode": {"servers": {"blender": {"type": "stdio", **STDIO}}},
    "codex": {"mcp_servers": {"blender": {**STDIO, "tool_timeout_sec": 600}}},
    "gemini": {"mcpServers": {"blender": STDIO}},
    "zed": {"context_servers": {"blender": STDIO}},
    "lm_studio": {"mcpServers": {"blender": STDIO}},
    "windsurf": {"mcpServers": {"blender": STDIO}},
    "cline": {"mcpServers": {"blender": {**STDIO, "timeout": 600}}},
}
"""What each client gets that starts the shim."""

ADDRESSES = {
    "claude_code": {"mcpServers": {"blender": {"type": "http", "url": HTTP, "headers": BEARER}}},
    "cursor": {"mcpServers": {"blender": {"url": HTTP, "headers": BEARER}}},
    "vscode": {"servers": {"blender": {"type": "http", "url": HTTP, "headers": BEARER}}},
    "codex": {"mcp_servers": {"blender": {"url": HTTP, "http_headers": BEARER, "tool_timeout_sec": 600}}},
    "qwen": {"mcpServers": {"blender": {"httpUrl": HTTP, "headers": BEARER}}},
    "continue": {
        "mcpServers": [
            {"name": "blender", "type": "streamable-http", "url": HTTP, "requestOptions": {"headers": BEARER}}
        ]
    },
    "gemini": {"mcpServers": {"blender": {"httpUrl": HTTP, "headers": BEARER}}},
    "zed": {"context_servers": {"blender": {"url": HTTP, "headers": BEARER}}},
    "lm_studio": {"mcpServers": {"blender": {"url": HTTP, "headers": BEARER}}},
    "windsurf": {"mcpServers": {"blender": {"serverUrl": HTTP, "headers": BEARER}}},
    "cline": {
        "mcpServers": {"blender": {"type": "streamableHttp", "url": HTTP, "headers": BEARER, "timeout": 600}}
    },
    "cline_cli": {
        "mcpServers": {"blender": {"transport": {"type": "streamableHttp", "url": HTTP, "headers": BEARER}}}
    },
    "opencode": {"mcp": {"blender": {"type": "remote", "url": HTTP, "headers": BEARER, "enabled": True}}},
    "goose": {
        "extensions": {
            "blender": {
                "type": "streamable_http",
                "uri": HTTP,
                "headers": BEARER,
                "enabled": True,
                "name": "blender",
                "description": "Blender",
                "timeout": 600,
            }
        }
    },
}
"""What each client gets that connects by HTTP."""


def parsed(client_id, form, here=HERE):
    client = table.find(client_id)
    text = snippets.snippet(client, form, here, "T")
    assert text.endswith("\n")
    return files._EDITORS[client.format].read(text)


@pytest.mark.parametrize("client_id", STARTS)
def test_a_client_that_can_start_a_program_starts_the_shim(client_id):
    assert table.find(client_id).forms[0] == "stdio"
    assert parsed(client_id, "stdio") == STARTS[client_id]


@pytest.mark.parametrize("client_id", ADDRESSES)
def test_over_http(client_id):
    assert parsed(client_id, "http") == ADDRESSES[client_id]


def test_claude_code_over_websocket():
    server = {"type": "ws", "url": "ws://127.0.0.1:9876/mcp", "headers": BEARER}
    assert parsed("claude_code", "ws") == {"mcpServers": {"blender": server}}


def test_every_client_is_covered_and_has_a_place_everywhere():
    assert len({client.id for client in table.CLIENTS}) == len(table.CLIENTS)
    for form, expected in (("stdio", STARTS), ("http", ADDRESSES)):
        assert set(expected) == {client.id for client in table.CLIENTS if form in client.forms}, form
    for client in table.CLIENTS:
        assert set(client.files) == {"linux", "darwin", "win32"}
        assert client.how


@pytest.mark.parametrize("client_id", [client.id for client in table.CLIENTS])
def test_paths_with_backslashes_quotes_and_other_scripts_survive(client_id):
    here = snippets.Here(
        python=r"C:\Program Files\Blender\python.exe",
        shim='C:\\Üser "ж 🧊"\\shim.py',
        host="::1",
        port=1,
        blender="4.2",
    )
    text = json.dumps(parsed(client_id, "stdio", here))
    assert json.dumps(here.python) in text
    assert json.dumps(here.shim) in text


def test_an_ipv6_address_is_bracketed():
    here = snippets.Here(HERE.python, HERE.shim, "::1", 9876, "4.2")
    assert parsed("cursor", "http", here)["mcpServers"]["blender"]["url"] == "http://[::1]:9876/mcp"


def test_a_form_that_the_client_lacks_is_refused():
    with pytest.raises(ValueError, match="Claude Desktop cannot connect by http; it can by stdio"):
        snippets.snippet(table.find("claude_desktop"), "http", HERE, "T")


def test_an_address_needs_a_running_server_the_shim_does_not():
    stopped = snippets.Here(HERE.python, HERE.shim, HERE.host, None, "4.2")
    with pytest.raises(ValueError, match="not running, so it has no address yet; press Start first"):
        snippets.snippet(table.find("cursor"), "http", stopped, "T")
    assert parsed("cursor", "stdio", stopped)["mcpServers"]["blender"] == STDIO


@pytest.mark.parametrize(
    ("client_id", "platform", "path"),
    [
        ("claude_desktop", "darwin", "~/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude_desktop", "win32", r"C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json"),
        ("cursor", "linux", "~/.cursor/mcp.json"),
        ("cursor", "win32", r"C:\Users\ada\.cursor\mcp.json"),
        ("vscode", "linux", "~/.config/Code/User/mcp.json"),
        ("zed", "win32", r"C:\Users\ada\AppData\Roaming\Zed\settings.json"),
        ("zed", "freebsd", "~/.config/zed/settings.json"),
    ],
)
def test_places(client_id, platform, path):
    environ = {"APPDATA": r"C:\Users\ada\AppData\Roaming", "USERPROFILE": r"C:\Users\ada"}
    assert table.place(table.find(client_id), platform, environ) == path


def entry(client_id, form, *, revoked=None, here=HERE):
    client = table.find(client_id)
    facts = snippets.copied(client, form, here)
    return Entry(id=client_id, name=client.label, sha256="", created="", revoked=revoked, copied=facts)


def texts(entries, here=HERE, **given):
    return [
        notice.text for notice in snippets.notices(entries, here, **{"exists": lambda path: True, **given})
    ]


def test_what_still_works_gets_no_notice():
    assert texts([entry("cursor", "stdio"), entry("cursor", "http")]) == []


def test_another_blender_version_that_is_still_there_works():
    newer = snippets.Here("/opt/blender/5.2/python", "/elsewhere/shim.py", "127.0.0.1", 9876, "5.2")
    assert texts([entry("cursor", "stdio")], newer) == []


def test_a_blender_that_was_removed_is_noticed():
    [notice] = snippets.notices([entry("cursor", "stdio")], HERE, exists=lambda path: path != HERE.python)
    assert (notice.client_id, notice.name) == ("cursor", "Cursor")
    assert notice.text == "starts the Python of a Blender 4.2 that is no longer there"


def test_a_moved_extension_is_noticed():
    found = texts([entry("cursor", "stdio")], exists=lambda path: path != HERE.shim)
    assert found == ["starts MCP Bridge where it is no longer installed"]


def test_another_port_is_noticed_unless_another_blender_listens_there():
    moved = snippets.Here(HERE.python, HERE.shim, HERE.host, 9877, "4.2")
    assert texts([entry("cursor", "http")], moved) == ["connects to port 9876, but Blender listens on 9877"]
    assert texts([entry("cursor", "http")], moved, other_ports={9876}) == []
    stopped = snippets.Here(HERE.python, HERE.shim, HERE.host, None, "4.2")
    assert texts([entry("cursor", "http")], stopped) == []


def test_a_revoked_token_is_noticed_only_when_its_client_comes():
    revoked = [entry("cursor", "stdio", revoked="2026-11-21T00:00:00+00:00")]
    assert texts(revoked, exists=lambda path: False) == []
    assert texts(revoked, turned_away={"cursor"}) == ["used a revoked token"]


def test_a_token_without_a_configuration_is_left_alone():
    assert texts([Entry(id="x", name="by hand", sha256="", created="")]) == []


def test_an_unknown_client_is_a_key_error():
    with pytest.raises(KeyError):
        table.find("notepad")
