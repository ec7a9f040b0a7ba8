# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of running bridges, in real folders, of real processes."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.server.clients import discovery

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "run" / "mcp_bridge" / "instances"


def instance(pid=None, **changes):
    fields = {"host": "127.0.0.1", "port": 9876, "token": "t", "instance_id": "i", "started": 1.0}
    return discovery.Instance(pid=pid or os.getpid(), **{**fields, **changes})


@pytest.fixture
def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_an_announced_blender_is_found(runtime):
    announced = instance(blend_file="/home/ada/chair.blend", blender_version="4.2.23")
    assert discovery.announce(announced) == runtime / f"{os.getpid()}.json"
    assert discovery.instances() == [announced]
    if os.name == "posix":
        assert stat.S_IMODE((runtime / f"{os.getpid()}.json").stat().st_mode) == 0o600


def test_a_second_announcement_replaces_the_first(runtime):
    discovery.announce(instance())
    discovery.announce(instance(blend_file="/home/ada/table.blend"))
    assert [found.blend_file for found in discovery.instances()] == ["/home/ada/table.blend"]


def test_a_withdrawn_record_is_gone(runtime):
    discovery.announce(instance())
    discovery.withdraw()
    discovery.withdraw()
    assert discovery.instances() == []
    assert list(runtime.iterdir()) == []


def test_the_last_started_comes_first(runtime):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        discovery.announce(instance(started=1.0))
        discovery.announce(instance(pid=other.pid, started=2.0))
        assert [found.pid for found in discovery.instances()] == [other.pid, os.getpid()]
        other.communicate(b"\n")


def test_records_of_dead_processes_are_not_found_and_go_with_the_next_announcement(runtime, dead_pid):
    discovery.announce(instance(pid=dead_pid))
    discovery.announce(instance(pid=dead_pid))
    assert discovery.instances() == []
    discovery.announce(instance())
    assert [path.name for path in runtime.iterdir()] == [f"{os.getpid()}.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"pid": 1}'])
def test_invalid_records_are_ignored(runtime, text):
    discovery.announce(instance())
    (runtime / "notes.json").write_text(text)
    assert len(discovery.instances()) == 1


def test_a_record_of_a_later_version_is_understood(runtime):
    path = discovery.announce(instance())
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": "red"}))
    assert discovery.instances() == [instance()]


@LINUX
def test_without_a_runtime_folder_the_state_folder_serves(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(blocked))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = discovery.announce(instance())
    assert path == tmp_path / "state" / "mcp_bridge" / "instances" / f"{os.getpid()}.json"
    assert discovery.instances() == [instance()]


@LINUX
def test_with_no_folder_at_all_the_error_says_what_clients_need(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(blocked))
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    with pytest.raises(
        ExternalServiceError, match=r"Not a directory.*need BLENDER_PORT and BLENDER_MCP_TOKEN"
    ):
        discovery.announce(instance())


@pytest.mark.skipif(os.name != "posix", reason="Windows' user folders are private by inheritance")
def test_a_folder_that_others_can_write_is_not_used(runtime):
    runtime.mkdir(parents=True)
    runtime.chmod(0o777)
    assert discovery.announce(instance()).is_relative_to(runtime.parents[2] / "state")


@pytest.mark.parametrize(
    ("host", "reached"),
    [("", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("192.0.2.7", "192.0.2.7"), ("::1", "::1")],
)
def test_a_wildcard_is_reached_by_loopback(host, reached):
    assert discovery.reachable_host(host) == reached


@pytest.mark.parametrize(
    ("environ", "platform", "folder"),
    [
        ({"HOME": "/home/ada"}, "linux", "/home/ada/.config/mcp_bridge"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "/cfg"}, "linux", "/cfg/mcp_bridge"),
        ({"HOME": "/Users/ada"}, "darwin", "/Users/ada/Library/Application Support/mcp_bridge"),
        ({"LOCALAPPDATA": "/c/local"}, "win32", "/c/local/mcp_bridge"),
        ({"HOME": "/home/ada", "BLENDER_USER_RESOURCES": "/portable"}, "linux", "/portable/mcp_bridge"),
    ],
)
def test_the_folder_that_all_versions_share(environ, platform, folder):
    assert discovery.user_folder(environ, platform) == Path(folder)
