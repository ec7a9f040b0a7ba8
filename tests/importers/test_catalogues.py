# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers import catalogues

ONE, TWO = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def test_catalogues_are_added_once_and_others_stay(tmp_path: Path) -> None:
    file = tmp_path / catalogues.FILE
    file.write_text(f"# mine\nVERSION 1\n\n{ONE}:My Things:My Things\n")
    catalogues.add(tmp_path, TWO, "Poly Haven/textures/a:b")
    catalogues.add(tmp_path, TWO, "Poly Haven/textures/other")
    catalogues.add(tmp_path, ONE, "Poly Haven/x")
    assert file.read_text() == (
        f"# mine\nVERSION 1\n\n{ONE}:My Things:My Things\n{TWO}:Poly Haven/textures/a-b:Poly Haven-textures-a-b\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == [catalogues.FILE]


def test_a_new_file_says_its_version(tmp_path: Path) -> None:
    catalogues.add(tmp_path, ONE, "a/b")
    assert f"VERSION 1\n{ONE}:a/b:a-b\n" in (tmp_path / catalogues.FILE).read_text()
    with pytest.raises(ExternalServiceError, match="can't be written"):
        catalogues.add(tmp_path / "missing", ONE, "a/b")


def test_ids() -> None:
    assert catalogues.is_id(ONE)
    assert not catalogues.is_id(f"{ONE}:x\n")
    assert not catalogues.is_id("")
