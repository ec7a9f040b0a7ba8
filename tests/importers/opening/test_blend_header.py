# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import bpy
import pytest
import zstandard
from bl_ext.user_default.mcp_bridge.importers.opening import blend_header


@pytest.mark.parametrize(
    ("start", "version"),
    [
        (b"BLENDER-v402", (4, 2)),
        (b"BLENDER_v279", (2, 79)),
        (b"BLENDER17-01v0500", (5, 0)),
        (b"BLENDER17-01v0502", (5, 2)),
        (b"BLENDERX", None),
        (b"glTF", None),
        (b"", None),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_the_version_is_read_from_every_kind_of_file(
    tmp_path: Path, start: bytes, version: tuple[int, int] | None, pack: type
) -> None:
    path = tmp_path / "x.blend"
    path.write_bytes(pack(start + bytes(100)))
    assert blend_header.version(path) == version


def test_a_file_that_blender_wrote_now_is_of_now(tmp_path: Path) -> None:
    for compress in (False, True):
        path = tmp_path / f"{compress}.blend"
        bpy.data.libraries.write(str(path), {bpy.data.scenes[0]}, compress=compress)
        assert blend_header.version(path) == bpy.app.version[:2]


def test_what_unpacks_to_far_more_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.blend"
    for pack in (gzip.compress, zstandard.compress):
        path.write_bytes(pack(b"BLENDER-v402" + bytes(50_000_000))[:4096])
        tracemalloc.start()
        assert blend_header.version(path) == (4, 2)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
        tracemalloc.stop()


@pytest.mark.parametrize("magic", [b"\x1f\x8b", b"\x28\xb5\x2f\xfd"])
def test_what_only_begins_like_a_packed_file_has_no_version(tmp_path: Path, magic: bytes) -> None:
    path = tmp_path / "x.blend"
    path.write_bytes(magic + b"\xff" * 50)
    assert blend_header.version(path) is None
