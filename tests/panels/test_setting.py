# SPDX-License-Identifier: GPL-3.0-or-later
"""One setting as a row."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.settings import Settings
from bl_ext.user_default.mcp_bridge.operators import state
from bl_ext.user_default.mcp_bridge.panels import preferences, setting

from support.on_screen.layout import layout


def _locked(monkeypatch: pytest.MonkeyPatch, **values: Any) -> None:
    origins = MappingProxyType(dict.fromkeys(values, "policy file"))
    monkeypatch.setattr(state, "view", state.View(settings=Settings(**values, origins=origins)))


def test_a_free_setting_is_a_property(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "view", state.View(settings=Settings(origins={"port": "preferences"})))
    into, drawn = layout()
    setting.draw(into, preferences.get(), "port")
    assert (drawn.properties, drawn.labels) == (["port"], [])


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("level", "math", "Mathematics"),
        ("autostart", False, "Off"),
        ("time_limit_s", 2.5, "2.5"),
        ("log_file", Path("/var/log/mcp.log"), "/var/log/mcp.log"),
        ("asset_services", ("polyhaven", "hyper3d"), "Poly Haven, Hyper3D Rodin"),
        ("asset_services", (), "None"),
    ],
)
def test_a_locked_one_is_read_as_it_is_in_effect(
    monkeypatch: pytest.MonkeyPatch, name: str, value: Any, shown: str
) -> None:
    _locked(monkeypatch, **{name: value})
    into, drawn = layout()
    setting.draw(into, preferences.get(), name)
    assert drawn.properties == []
    assert drawn.labels[1:] == [shown, "by the policy file"]


@pytest.mark.parametrize(("value", "icon"), [(True, "CHECKBOX_HLT"), (False, "CHECKBOX_DEHLT")])
def test_a_locked_checkbox_shows_its_state(monkeypatch: pytest.MonkeyPatch, value: bool, icon: str) -> None:
    _locked(monkeypatch, execute_enabled=value)
    into, drawn = layout()
    setting.draw_checkbox(into, preferences.get(), "execute_enabled")
    assert (drawn.properties, drawn.icons) == ([], [icon])
