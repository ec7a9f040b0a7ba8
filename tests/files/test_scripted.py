# SPDX-License-Identifier: GPL-3.0-or-later
"""What is taken of a confined Blender's folder, and which files a script is kept from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import Cancelled, ExternalServiceError
from bl_ext.user_default.mcp_bridge.files import scripted
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal import copies, program
from bl_ext.user_default.mcp_bridge.sandbox.rehearsal.pool import Needs

BLEND = b"BLENDER-v402" + b"\0" * 100


def item(folder: Path) -> scripted.Item:
    source = folder / "a.blend"
    source.write_bytes(BLEND)
    [made] = scripted.prepare([(source, folder / "b.blend")], [folder])
    return made


def run(one: scripted.Item, *, cancelled: bool = False) -> list[scripted.FileResult]:
    return list(
        scripted.run(
            [one],
            [None],  # type: ignore[list-item]  # nothing is to be run
            "result = 1",
            overwrite=frozenset(),
            begins=lambda _: None,
            saved=lambda _: pytest.fail("it was saved"),
            cancelled=lambda: cancelled,
        )
    )


def test_a_file_that_changed_after_the_yes_is_left_alone(tmp_path: Path) -> None:
    one = item(tmp_path)
    one.source.write_bytes(BLEND + b"more")
    [told] = run(one)
    assert (told["status"], told["error"]) == ("failed", "PolicyError")
    assert "has changed since the user agreed" in told["message"]
    one.source.unlink()
    [told] = run(one)
    assert "cannot be read: No such file" in told["message"]
    assert list(tmp_path.iterdir()) == []


def test_a_cancel_ends_it_before_the_next_file(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        run(item(tmp_path), cancelled=True)


@pytest.mark.parametrize("data", [BLEND, b"\x28\xb5\x2f\xfd rest", b"\x1f\x8b rest"])
def test_a_blend_is_taken(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "saved.blend").write_bytes(data)
    copies.take(tmp_path / "saved.blend", tmp_path / "copy.blend")
    assert (tmp_path / "copy.blend").read_bytes() == data


def test_nothing_else_is_taken(tmp_path: Path) -> None:
    (tmp_path / "real.blend").write_bytes(BLEND)
    (tmp_path / "link.blend").symlink_to(tmp_path / "real.blend")
    os.mkfifo(tmp_path / "pipe.blend")
    (tmp_path / "folder.blend").mkdir()
    (tmp_path / "text.blend").write_text("#!/bin/sh")
    (tmp_path / "empty.blend").touch()
    for name in ("link", "pipe", "folder", "text", "empty", "nothing"):
        with pytest.raises(ExternalServiceError, match=r"no \.blend|no ordinary file|cannot be taken"):
            copies.take(tmp_path / f"{name}.blend", tmp_path / f"copy-{name}.blend")
    with pytest.raises(ExternalServiceError, match="File exists"):
        copies.take(tmp_path / "real.blend", tmp_path / "text.blend")


def test_a_child_that_may_read_a_folder_rehearses_nothing_else(tmp_path: Path) -> None:
    blender = program.Program((), (), ())
    wide = Needs(blender, frozenset(), 1, 1, folders=frozenset({tmp_path}))
    assert wide.serves(wide)
    assert not wide.serves(Needs(blender, frozenset(), 1, 1))
    assert not Needs(blender, frozenset({tmp_path}), 1, 1).serves(wide)
