# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys
from importlib import metadata
from types import SimpleNamespace

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.server import libraries


def test_the_installed_libraries_fit() -> None:
    """`check` raises if a library is missing or has another version."""
    assert libraries.check() is None


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "h11":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    with pytest.raises(
        ExternalServiceError, match=r"the library h11 \(0\.x\) is missing\. Another extension"
    ):
        libraries.check()


def test_a_loaded_version_counts_as_well_as_the_one_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "websockets", SimpleNamespace(__version__="10.4"))
    with pytest.raises(
        ExternalServiceError,
        match=r"the library websockets is version 10\.4, needed is 17\.x\. .*reinstall MCP Bridge and restart Blender",
    ):
        libraries.check()
