# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user decides in the preferences reaches the settings, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.panels import preferences


@pytest.fixture
def chosen() -> Iterator[Any]:
    """The preferences, untouched before and after."""
    found = preferences.get()
    names = preferences.MCP_BRIDGE_Preferences.__annotations__
    for name in names:
        found.property_unset(name)
    settings.set_preferences({})
    yield found
    for name in names:
        found.property_unset(name)
    settings.set_preferences({})


def test_every_preference_is_a_setting_with_the_same_default(chosen: Any) -> None:
    known = {field.name for field in fields(settings.Settings)}
    defaults = settings.Settings()
    for name in preferences.MCP_BRIDGE_Preferences.__annotations__:
        assert name in known
        default = getattr(defaults, name)
        if default is not None:  # otherwise the setting's own default is to decide by itself
            value = getattr(chosen, name)
            expected = set(default) if isinstance(value, set) else pytest.approx(default)
            assert value == expected, name


def test_untouched_preferences_are_not_passed_on(chosen: Any) -> None:
    assert preferences.chosen(chosen) == {}
    assert settings.current().confirm is None


def test_a_number_saved_when_less_was_allowed_counts_as_the_least(chosen: Any) -> None:
    # Where Blender keeps what the user set; up to 4.5 together with custom properties.
    stored = chosen.bl_system_properties_get(do_create=True) if bpy.app.version >= (5, 0) else chosen
    stored["journal_days"] = 3
    assert preferences.chosen(chosen) == {"journal_days": 30}


def test_a_change_counts_at_once(chosen: Any) -> None:
    chosen.port = 9900
    chosen.confirm = "auto"
    chosen.execute_enabled = False
    now = settings.current()
    assert (now.port, now.confirm, now.execute_enabled) == (9900, "auto", False)
    assert now.origins["port"] == "preferences"
    assert state.view.settings == now


def test_the_environment_goes_first_and_the_panel_knows(chosen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_MCP_EXECUTE", "off")
    monkeypatch.delenv("BLENDER_MCP_REHEARSE")
    chosen.execute_enabled = True
    assert settings.current().execute_enabled is False
    assert state.view.origins == {"execute_enabled": "environment"}


def test_an_empty_log_file_is_none(chosen: Any) -> None:
    chosen.log_file = ""
    assert "log_file" not in preferences.chosen(chosen)
    chosen.log_file = "/tmp/mcp.log"
    assert str(settings.current().log_file) == "/tmp/mcp.log"


def test_a_wrong_render_target_is_told_and_stops_nothing_else(chosen: Any) -> None:
    chosen.render_targets = "night = slurm"
    assert state.view.targets_error == "'night' needs folder=…."
    assert state.view.error == ""
    chosen.render_targets = "night = pbs"
    assert state.view.targets_error.startswith("Use one of the engines openjd, ")
    chosen.render_targets = "night = slurm folder=/mnt/farm"
    assert state.view.targets_error == ""


def test_every_value_that_can_be_chosen_is_accepted(chosen: Any) -> None:
    for name in ("confirm", "level", "log_level", "log_format", "log_handler"):
        for item in chosen.bl_rna.properties[name].enum_items:
            setattr(chosen, name, item.identifier)
            assert getattr(settings.current(), name) == item.identifier
    for name in ("port", "time_limit_s", "memory_limit_mb", "output_limit_kb", "rate_limit", "journal_days"):
        for limit in ("hard_min", "hard_max"):
            setattr(chosen, name, getattr(chosen.bl_rna.properties[name], limit))
            assert getattr(settings.current(), name) == pytest.approx(getattr(chosen, name))
