# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.errors import SettingsError

from support.running import blender


def test_defaults_without_any_source() -> None:
    found = settings.load(environ={})
    assert (found.host, found.port, found.level) == ("127.0.0.1", 9876, "blender")
    assert found.origins == {}
    assert found.confirm_with(window=True) == "panel"
    assert found.confirm_with(window=False) == "client"


def test_each_source_wins_over_the_ones_before_it(tmp_path: Path) -> None:
    env_file, policy = tmp_path / "bridge.env", tmp_path / "policy.toml"
    env_file.write_text(
        "BLENDER_PORT=2002\nexport BLENDER_HOST='::1' \n# note\nBLENDER_MCP_LEVEL=math # why\n"
    )
    policy.write_text("execute_enabled = false\nrate_limit = 3\n")
    environ = {"BLENDER_MCP_ENV_FILE": str(env_file)}
    preferences = {"port": 2001, "level": "arithmetic", "rate_limit": 99}

    found = settings.load(environ={}, preferences=preferences)
    assert (found.port, found.level, found.rate_limit) == (2001, "arithmetic", 99)
    found = settings.load(environ=environ, preferences=preferences)
    assert (found.port, found.host, found.level) == (2002, "::1", "math")
    environ["BLENDER_PORT"] = "2003"
    assert settings.load(environ=environ, preferences=preferences).port == 2003
    assert settings.load(environ=environ, arguments={"port": "2004"}).port == 2004
    environ["BLENDER_MCP_POLICY_FILE"] = str(policy)
    environ["BLENDER_MCP_EXECUTE"] = "on"
    found = settings.load(environ=environ, preferences=preferences)
    assert (found.execute_enabled, found.rate_limit) == (False, 3)
    assert found.locked == {"execute_enabled", "rate_limit"}
    assert found.origins["port"] == "environment"


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {"BLENDER_PORT": "80"},
            "BLENDER_PORT is '80' in the environment: use a whole number from 1024 to 65535.",
        ),
        (
            {"BLENDER_PORT": "nine"},
            "BLENDER_PORT is 'nine' in the environment: use a whole number from 1024 to 65535.",
        ),
        (
            {"BLENDER_MCP_CONFIRM": "never"},
            "BLENDER_MCP_CONFIRM is 'never' in the environment: use one of panel, client, auto.",
        ),
        (
            {"BLENDER_MCP_EXECUTE": "maybe"},
            "BLENDER_MCP_EXECUTE is 'maybe' in the environment: use on or off.",
        ),
        (
            {"BLENDER_MCP_TOKEN": "two words"},
            "BLENDER_MCP_TOKEN is (hidden) in the environment: "
            "use printable ASCII characters without spaces.",
        ),
    ],
)
def test_an_unusable_value_is_named_with_its_source(environ: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings.load(environ=environ)
    assert str(caught.value) == message


def test_an_empty_variable_counts_as_not_set() -> None:
    assert settings.load(environ={"BLENDER_PORT": "", "BLENDER_MCP_TOKEN": ""}).origins == {}


def test_a_policy_that_cannot_be_read_allows_nothing(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Nothing is allowed until the policy can be read"):
        settings.load(environ={"BLENDER_MCP_POLICY_FILE": str(tmp_path / "gone.toml")})


def test_the_systems_policy_is_the_strongest_and_counts_once_it_is_there(tmp_path: Path) -> None:
    system, own = tmp_path / "system.toml", tmp_path / "own.toml"
    own.write_text("execute_enabled = true\nrate_limit = 5\n")
    environ = {"BLENDER_MCP_POLICY_FILE": str(own)}
    assert settings.load(environ=environ, system_policy=system).execute_enabled
    system.write_text("execute_enabled = false\n")
    found = settings.load(environ=environ, system_policy=system)
    assert (found.execute_enabled, found.rate_limit) == (False, 5)
    assert found.locked == {"execute_enabled", "rate_limit"}
    system.write_text("execute_enabled = ")
    with pytest.raises(SettingsError, match=r"system\.toml cannot be used: .* Nothing is allowed until"):
        settings.load(environ={}, system_policy=system)


def test_the_systems_policy_lies_in_blenders_system_folder(tmp_path: Path) -> None:
    code = "from bl_ext.user_default.mcp_bridge.base import settings\nprint(settings.current().locked)"
    (tmp_path / "mcp_bridge_policy.toml").write_text("dry_run = true\n")
    (tmp_path / "home").mkdir()
    environ = blender.environment(tmp_path / "home", BLENDER_SYSTEM_EXTENSIONS=str(tmp_path))
    assert "frozenset({'dry_run'})" in blender.run(code, environ)


def test_an_unknown_name_in_the_policy_is_an_error_not_ignored(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("excute_enabled = false\n")
    with pytest.raises(SettingsError, match="Unknown setting 'excute_enabled' in the policy file"):
        settings.load(environ={"BLENDER_MCP_POLICY_FILE": str(tmp_path / "policy.toml")})


def test_a_bad_line_of_an_env_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.env"
    path.write_text("A=1\nnonsense\n")
    with pytest.raises(SettingsError, match=r"x\.env, line 2: expected NAME=value, found 'nonsense'"):
        settings.read_env_file(path)


def test_current_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE_DRY_RUN", "1")
    assert settings.current().dry_run is True
    monkeypatch.delenv("BLENDER_MCP_EXECUTE_DRY_RUN")
    assert settings.current().dry_run is False


@pytest.mark.parametrize(
    ("raw", "services"),
    [
        ({"hyper3d", "polyhaven"}, ("polyhaven", "hyper3d")),
        ("sketchfab, polyhaven", ("polyhaven", "sketchfab")),
        ([], ()),
    ],
)
def test_asset_services_are_named_in_any_form(raw: object, services: tuple[str, ...]) -> None:
    assert settings.load(environ={}, preferences={"asset_services": raw}).asset_services == services


def test_an_asset_service_that_nobody_knows_is_named() -> None:
    with pytest.raises(
        SettingsError, match=r"asset_services is .*: use any of polyhaven, sketchfab, hyper3d"
    ):
        settings.load(environ={}, preferences={"asset_services": ["polyhaven", "turbosquid"]})


@pytest.mark.parametrize(
    "address",
    [
        "collector",
        "ftp://a.example",
        "http://",
        "http://a.example:port",
        "http://me@a.example",
        "http://a.example/?x=1",
    ],
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(SettingsError, match="use an address such as http://127"):
        settings.load(environ={"BLENDER_MCP_OTLP_ENDPOINT": address})


def test_headers_are_those_of_opentelemetry_and_never_shown() -> None:
    found = settings.load(environ={"BLENDER_MCP_OTLP_HEADERS": "api-key=a%2Cb, x-team = blue"})
    assert settings.header_fields(found.otlp_headers or "") == {"api-key": "a,b", "x-team": "blue"}
    for wrong in ("no value", "a b=c", "key=two%0Alines"):
        with pytest.raises(
            SettingsError, match=r"is \(hidden\) in the environment: use name=value"
        ) as caught:
            settings.load(environ={"BLENDER_MCP_OTLP_HEADERS": wrong})
        assert wrong not in str(caught.value)


def test_a_script_that_was_not_rehearsed_has_less_time_unless_somebody_chose() -> None:
    found = settings.load(environ={})
    assert [found.time_limit(rehearsed=each) for each in (True, False)] == [30.0, 10.0]
    found = settings.load(environ={"BLENDER_MCP_TIME_LIMIT": "45", "BLENDER_MCP_RATE_LIMIT": "7"})
    assert [found.time_limit(rehearsed=each) for each in (True, False)] == [45.0, 45.0]
    assert found.rate_limit == 7
    assert settings.load(environ={}).rate_limit == 60


def test_settings_are_loaded_again_only_when_a_source_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.toml"
    env_file = tmp_path / "bridge.env"
    monkeypatch.setattr(settings, "_system_policy", policy)
    before = settings.current()
    assert settings.current() is before

    def changed() -> settings.Settings:
        nonlocal before
        now = settings.current()
        assert now is not before
        assert settings.current() is now
        before = now
        return now

    monkeypatch.setenv("BLENDER_MCP_RATE_LIMIT", "7")
    assert changed().rate_limit == 7
    monkeypatch.setenv("BLENDER_MCP_ENV_FILE", str(env_file))
    with pytest.raises(SettingsError, match="cannot be read"):
        settings.current()
    env_file.write_text("BLENDER_MCP_LEVEL=math\n")
    assert changed().level == "math"
    env_file.write_text("BLENDER_MCP_LEVEL=arithmetic\n")
    assert changed().level == "arithmetic"
    policy.write_text("rate_limit = 3\n")
    assert changed().rate_limit == 3
    policy.unlink()
    assert changed().rate_limit == 7
    settings.set_preferences({"dry_run": True})
    try:
        assert changed().dry_run
    finally:
        settings.set_preferences({})
    settings.set_arguments({"level": "blender"})
    try:
        assert changed().level == "blender"
    finally:
        settings.set_arguments({})
