# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that load when something of them is first used."""

from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base import similar_names
from bl_ext.user_default.mcp_bridge.base.enabling.late import late, loaded

from support.running import blender

_MODULE = "server.protocol.messages.jsonrpc"


def test_first_use_loads_the_module(tmp_path: Path) -> None:
    code = f"""
from {blender.EXTENSION}.base.enabling.late import late, loaded
module = late({_MODULE!r})
print(loaded({_MODULE!r}))
print(module.notification("a/b"), loaded({_MODULE!r}).__name__)
"""
    before, after = blender.run(code, blender.environment(tmp_path)).splitlines()[-2:]
    assert before == "None"
    assert after == f"{{'jsonrpc': '2.0', 'method': 'a/b'}} {blender.EXTENSION}.{_MODULE}"


def test_each_use_asks_the_module_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    module = late("base.similar_names")
    assert module.did_you_mean is similar_names.did_you_mean
    monkeypatch.setattr(similar_names, "did_you_mean", len)
    assert module.did_you_mean is len


def test_a_name_that_the_module_lacks_is_an_error() -> None:
    with pytest.raises(AttributeError, match="similar_names"):
        _ = late("base.similar_names").nothing


def test_a_module_that_nobody_loaded_is_none() -> None:
    assert loaded("no.such") is None
