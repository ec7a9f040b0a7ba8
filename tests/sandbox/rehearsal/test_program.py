# SPDX-License-Identifier: GPL-3.0-or-later
"""The Blender that rehearses: this one, or one that the user named."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base import settings
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import program

from support.confinement.rehearsing import rehearsals, report_of


def test_this_blender_is_started_by_what_it_is() -> None:
    command = program.find().command(canary={"file": "x", "port": 1})
    assert command[0] == (bpy.app.binary_path or sys.executable)
    facts = json.loads(command[-1])
    assert facts["canary"] == {"file": "x", "port": 1}
    assert Path(facts["extension"], "blender_manifest.toml").exists()


def test_all_that_it_reads_exists_and_none_of_it_is_a_whole_home() -> None:
    for path in program.find().readable:
        assert path.exists()
        assert path not in (Path("/"), Path.home(), *Path.home().parents)


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ExternalServiceError, match=r"There is no Blender at .*blender-9, which the preferences name"
    ):
        program.find(tmp_path / "blender-9")


def test_another_blender_can_be_named(tmp_path: Path) -> None:
    """A stand-in for a system's Blender, which takes the same arguments: the `bpy` module behind a program's name."""
    folder = tmp_path / "blender-folder"
    folder.mkdir()
    folder.chmod(0o755)
    named = folder / "blender"
    named.write_text(f'#!/bin/sh\nexec "{sys.executable}" -s -P -B -c "$7" "$9"\n')
    named.chmod(0o755)
    settings.set_preferences({"rehearsal_blender": str(named)})
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    try:
        with rehearsals(tmp_path):
            report = report_of("import bpy\nresult = len(bpy.data.objects)")
    finally:
        settings.set_preferences({})
    assert (report["outcome"], report["result"]) == ("success", 3), report["message"]
