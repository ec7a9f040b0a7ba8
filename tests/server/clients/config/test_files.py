# SPDX-License-Identifier: GPL-3.0-or-later
"""One entry of a client's file is put in and taken out; all else stays, letter by letter."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.server.clients.config import files, json_text, snippets, table, yaml_text
from hypothesis import given
from hypothesis import strategies as st

HERE = snippets.Here(
    "/opt/blender/python3.11", "/home/ada/mcp bridge/stdio_shim.py", "127.0.0.1", 9876, "4.2"
)


def entry(kind: table.ClientKind, token: str = "T") -> dict[str, Any]:
    return snippets.entry(kind, "stdio", HERE, token)


JSON = """\
// my settings
{
    "theme": "dark", /* not light */
    "%s": {
        // the only one so far
        "other": {"command": "x", "args": ["{", "//"]} // stays
    },
    "last": [1, 2,], // trailing commas are fine
}
"""
TOML = """\
# my settings
model = "o5" # a comment

[mcp_servers.other]
command = "x"
args = [
  "a",
]

# about profiles
[profiles.fast]
model = 'o4'
"""
YAML = {
    "goose": """\
# my settings
GOOSE_MODEL: big   # a comment

extensions:
    # the only one so far
    other:
        cmd: "x"
        args: [a,
          b]
    last: {enabled: false}
theme: >
  dark: or
  light
""",
    "continue": """\
name: Mine
version: 1.0.0
schema: v1
mcpServers:
- name: other   # stays
  command: x

- {name: third, command: y}
models: []
""",
}


def example(kind: table.ClientKind) -> str:
    if kind.format == "json":
        return JSON % kind.table[0]
    return TOML if kind.format == "toml" else YAML[kind.id]


@pytest.mark.parametrize("kind", table.CLIENTS, ids=lambda kind: kind.id)
@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_putting_in_adds_lines_and_taking_out_gives_back_what_was_there(
    kind: table.ClientKind, line: str, mark: str
) -> None:
    before = mark + example(kind).replace("\n", line)
    after = files.put_in(kind, before, entry(kind))
    added = list(after)
    rest = iter(added)
    assert all(letter in rest for letter in before), "a letter of what was there is gone"
    assert after != before
    assert (("\n" in after.replace("\r\n", "")) and line == "\r\n") is False
    assert files.take_out(kind, after) == before
    again = files.put_in(kind, after, entry(kind, "another token"))
    assert "another token" in again
    assert files.take_out(kind, again) == before


#: How a file of each format can have nothing in it.
NOTHING = {
    "json": ("", "\n", "{}", "{ }\n", "// nothing\n{}\n", "/* nothing */"),
    "toml": ("", "\n", "# nothing\n"),
    "yaml": ("", "\n", "# nothing\n", "# nothing"),
}


@pytest.mark.parametrize(
    ("kind", "begin"), [(kind, begin) for kind in table.CLIENTS for begin in NOTHING[kind.format]]
)
def test_a_file_with_nothing_in_it_gets_the_entry(kind: table.ClientKind, begin: str) -> None:
    after = files.put_in(kind, begin, entry(kind))
    assert files._entry_of(kind, files._EDITORS[kind.format].read(after)) == entry(kind)
    left = files._EDITORS[kind.format].read(files.take_out(kind, after))
    assert files._without(kind, left) == {}


@pytest.mark.parametrize("kind", table.CLIENTS, ids=lambda kind: kind.id)
def test_what_is_no_such_file_is_left_as_it_is(kind: table.ClientKind, tmp_path: Path) -> None:
    path = tmp_path / "file"
    broken = {"json": '{"a": 1', "toml": "[a", "yaml": "a: [1"}[kind.format]
    other = {"json": "[]", "toml": f"{kind.table[0]} = 3", "yaml": f"{kind.table[0]}: 3"}[kind.format]
    for text in (broken, other):
        path.write_text(text)
        with pytest.raises(ExternalServiceError, match=r"is left as it is: .*paste it there yourself"):
            files.connect(kind, path, entry(kind))
        assert path.read_text() == text


@pytest.mark.parametrize(
    ("client_id", "text"),
    [
        ("cursor", '{"mcpServers": {"blender": 1, "blender": 2}}'),
        ("codex", 'mcp_servers = { other = { command = "x" } }\n'),
        ("codex", "[mcp_servers]\nblender = { command = 'x' }\n"),
        ("codex", 'note = """\n[mcp_servers.blender]\n"""\n'),
        ("goose", "extensions: {other: {enabled: true}}\n"),
        ("goose", "base: &base\n  x: {}\nextensions: *base\n"),
        ("continue", "mcpServers: [{name: other}]\n"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused(client_id: str, text: str) -> None:
    kind = table.find(client_id)
    with pytest.raises((ValueError, tomllib.TOMLDecodeError)):
        files.put_in(kind, text, entry(kind))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
    st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
    st.sampled_from([None, 1, 2, "\t"]),
)
def test_any_json_comes_back(rest: dict[str, Any], others: dict[str, Any], indent: Any) -> None:
    """Whatever else is in the file, however it is indented."""
    kind = table.find("cursor")
    others.pop("blender", None)
    text = json.dumps({**rest, "mcpServers": others}, indent=indent)
    assert json_text.read(text) == json.loads(text)
    after = files.put_in(kind, text, entry(kind))
    assert json.loads(after)["mcpServers"] == {**others, "blender": entry(kind)}
    assert json.loads(files.take_out(kind, after)) == json.loads(text)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), VALUES, max_size=4))
def test_any_entries_of_yaml_come_back(others: dict[str, Any]) -> None:
    kind = table.find("goose")
    others.pop("blender", None)
    lines = [f"  {name}: {json.dumps(value)}" for name, value in others.items()]
    text = "\n".join(["a: 1", "extensions:", *lines, "b: 2", ""])
    assert files.take_out(kind, files.put_in(kind, text, entry(kind))) in (
        text,
        text.replace("extensions:\n", "extensions: {}\n"),
    )
    assert yaml_text.read(text)["b"] == 2


# --- on disk ---


def test_a_change_is_shown_then_written_with_a_copy_of_before(tmp_path: Path) -> None:
    kind, path = table.find("codex"), tmp_path / "config.toml"
    path.write_text(TOML)
    path.chmod(0o640)
    change = files.connect(kind, path, entry(kind))
    assert change.lines[1:3] == ("+[mcp_servers.blender]", '+command = "/opt/blender/python3.11"')
    assert all(line.startswith("+") for line in change.lines)
    assert path.read_text() == TOML  # as yet
    assert files.write(change) == tmp_path / "config.toml.mcp_bridge.bak"
    assert (tmp_path / "config.toml.mcp_bridge.bak").read_text() == TOML
    assert path.read_text().startswith(TOML)
    assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o640}
    assert files._entry_of(kind, files._EDITORS[kind.format].read(path.read_text("utf-8"))) is not None
    files.write(files.disconnect(kind, path))
    assert path.read_text() == TOML
    assert sorted(one.name for one in tmp_path.iterdir()) == ["config.toml", "config.toml.mcp_bridge.bak"]


def test_a_file_that_is_not_there_is_made_for_the_user_alone(tmp_path: Path) -> None:
    kind = table.find("continue")
    path = tmp_path / "new" / "config.yaml"
    assert files.write(files.connect(kind, path, entry(kind))) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().startswith("name: Local Config\nversion: 1.0.0\nschema: v1\nmcpServers:\n")


def test_what_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    kind, path = table.find("cursor"), tmp_path / "mcp.json"
    path.write_text("{}")
    change = files.connect(kind, path, entry(kind))
    path.write_text('{"a": 1}')
    with pytest.raises(ExternalServiceError, match="has changed meanwhile: look at it again"):
        files.write(change)
    assert path.read_text() == '{"a": 1}'


def test_a_link_to_the_file_stays_one(tmp_path: Path) -> None:
    kind, real, link = table.find("cursor"), tmp_path / "dotfiles" / "mcp.json", tmp_path / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    link.symlink_to(real)
    files.write(files.connect(kind, link, entry(kind)))
    assert link.is_symlink()
    assert "blender" in real.read_text()


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExternalServiceError, match=r"cannot be (read|written): Not a directory\."):
        files.write(files.connect(table.find("cursor"), tmp_path / "file" / "mcp.json", {}))


def test_a_folder_in_the_place_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ExternalServiceError, match=r"cannot be read: Is a directory\."):
        files.connect(table.find("cursor"), tmp_path, {})


# --- which clients are there ---


@pytest.mark.parametrize("kind", table.CLIENTS, ids=lambda kind: kind.id)
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_a_client_is_found_by_each_of_its_signs_and_by_nothing_else(
    kind: table.ClientKind, platform: str
) -> None:
    environ = {"APPDATA": "C:\\Roaming", "USERPROFILE": "C:\\Users\\ada"}
    paths = {files._absolute(path) for path in table.signs(kind, platform, environ)}
    assert paths or kind.programs
    for path in paths:
        there = files.installed(
            platform, environ, exists=lambda asked, one=path: asked == one, which=lambda _: None
        )
        assert kind in there
    for program in kind.programs:
        there = files.installed(
            platform,
            environ,
            exists=lambda _: False,
            which=lambda asked, one=program: one if asked == one else None,
        )
        assert there == (kind,)
    assert files.installed(platform, environ, exists=lambda _: False, which=lambda _: None) == ()


def test_the_file_is_the_one_of_its_names_that_is_there(tmp_path: Path) -> None:
    kind = table.find("opencode")
    first = files.where(kind, "linux", {}, exists=lambda path: False)
    assert first.name == "opencode.json"
    assert files.where(kind, "linux", {}, exists=lambda path: path.endswith("jsonc")).name == "opencode.jsonc"


@pytest.mark.parametrize("kind", [one for one in table.CLIENTS if one.link], ids=lambda kind: kind.id)
def test_a_link_holds_the_command_and_no_token(kind: table.ClientKind) -> None:
    import base64
    from urllib.parse import parse_qs, unquote, urlsplit

    link = snippets.link(kind, HERE)
    assert "TOKEN" not in unquote(link)
    query = urlsplit(link).query
    found = parse_qs(query)
    config = (
        json.loads(base64.b64decode(found["config"][0])) if "config" in found else json.loads(unquote(query))
    )
    assert (found.get("name", [None])[0] or config["name"]) == "blender"
    assert (config["command"], config["args"]) == (HERE.python, ["-I", HERE.shim])
