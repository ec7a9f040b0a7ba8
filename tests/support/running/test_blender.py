# SPDX-License-Identifier: GPL-3.0-or-later
"""Fresh Blenders: the extension is in them, and the folders are their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.running import blender, ports


def test_fresh_blender_has_the_extension_and_folders_of_its_own(tmp_path: Path) -> None:
    code = f"""
import os
from {blender.EXTENSION}.base import errors
print(errors.BridgeError.__name__, os.environ["HOME"], bpy.utils.resource_path("USER"), os.environ["BLENDER_PORT"])
"""
    printed = blender.run(code, blender.environment(tmp_path, BLENDER_PORT="12345"))
    assert printed.split()[-4:] == ["BridgeError", f"{tmp_path}/home", f"{tmp_path}/blender", "12345"]


def test_failing_script_fails_the_test_with_its_output(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"(?s)exit code 1.*NameError: name 'nothing' is not defined"):
        blender.run("nothing", blender.environment(tmp_path))


def test_free_port_is_not_open() -> None:
    assert not ports.is_open(ports.free_port())


def test_a_folder_serves_one_blender_after_another(tmp_path: Path) -> None:
    for _ in range(2):
        env = blender.environment(tmp_path)
    assert "found" in blender.run("print('found')", env)
