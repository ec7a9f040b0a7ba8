# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import SettingsError
from bl_ext.user_default.mcp_bridge.sandbox.confinement.config import Config, load


def _load(folder: Path, text: str) -> Config:
    file = folder / "sandbox.toml"
    file.write_text(text)
    return load(file)


def test_the_defaults_are_those_of_the_specification(tmp_path: Path) -> None:
    config = _load(tmp_path, "")
    assert config == Config()
    assert (config.sandbox.default_timeout_sec, config.sandbox.default_mem_mb) == (30, 256)
    assert config.sandbox.network_default == "deny"
    assert {"polyhaven.org", "api.sketchfab.com"} <= set(config.sandbox.allowed_hosts)
    assert (config.supervisor.restart_policy, config.supervisor.backoff_seconds) == ("never", 5)


def test_every_key_of_the_specification_is_read(tmp_path: Path) -> None:
    config = _load(
        tmp_path,
        """
        [sandbox]
        mode = "container"
        default_timeout_sec = 10
        default_mem_mb = 512
        network_default = "allow-list"
        allowed_hosts = ["Example.org"]
        workdir_base = "/var/tmp/runs"
        [supervisor]
        restart_policy = "on-failure"
        backoff_seconds = 0.5
        """,
    )
    assert (config.sandbox.mode, config.sandbox.default_timeout_sec, config.sandbox.default_mem_mb) == (
        "container",
        10,
        512,
    )
    assert (config.sandbox.network_default, config.sandbox.allowed_hosts) == ("allow-list", ("example.org",))
    assert config.sandbox.workdir_base == Path("/var/tmp/runs")
    assert (config.supervisor.restart_policy, config.supervisor.backoff_seconds) == ("on-failure", 0.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[sandbox]\nmode = 'jail'", r"sandbox\.mode is 'jail': use one of container, unprivileged"),
        ("[sandbox]\ndefault_mem_mb = 0", r"sandbox\.default_mem_mb is 0: use a number above 0"),
        ("[sandbox]\nallowed_hosts = 'a'", r"sandbox\.allowed_hosts is 'a': use a list of names"),
        ("[sandbox]\nworkdir_base = 'runs'", r"workdir_base is 'runs': use the full path of a folder"),
        ("[sandbox]\nmemory = 1", r"unknown key 'memory' in \[sandbox\]. Known: mode, "),
        ("[other]", r"unknown table \[other\]"),
        ("[sandbox", "cannot be used"),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        _load(tmp_path, text)
