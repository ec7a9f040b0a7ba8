# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError
from bl_ext.user_default.mcp_bridge.importers.opening import archive


def zipped(folder: Path, files: dict[str, bytes], change: Callable[[bytes], bytes] = bytes) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    path = folder / "a.zip"
    path.write_bytes(change(buffer.getvalue()))
    return path


def assert_refused(folder: Path, path: Path, text: str) -> None:
    """Assert that unpacking fails with this text, and writes nothing outside its folder."""
    with pytest.raises(ExternalServiceError, match=text):
        archive.unpack(path, folder / "out")
    inside = {item.resolve() for item in folder.rglob("*")} - {path.resolve()}
    assert all(item.is_relative_to(folder / "out") for item in inside)


def test_files_are_unpacked_with_dots_inside_of_names(tmp_path: Path) -> None:
    files = {"scene.gltf": b"{}", "textures/a..b.png": b"x", "textures/ä ö.png": b"y"}
    path = zipped(tmp_path, files)
    found = archive.unpack(path, tmp_path / "out")
    assert {item.relative_to(tmp_path / "out").as_posix(): item.read_bytes() for item in found} == files


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/etc/evil",
        "a/../../evil",
        "..\\evil",
        "C:\\evil",
        "a\\b",
        "a//b",
        "nul.txt",
        "x:y",
        "evil. ",
    ],
)
def test_hostile_names_are_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    assert_refused(tmp_path, zipped(tmp_path, {"scene.gltf": b"{}", name: b"evil"}), "is not a plain path")
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_that_are_the_same_are_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path, zipped(tmp_path, {"A.png": b"1", "a.PNG": b"2"}), "would be the same file")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as made:
        made.writestr("a.png", b"1")
        made.writestr("a.png", b"2")
    with pytest.raises(ExternalServiceError, match="would be the same file"):
        archive.unpack(tmp_path / "b.zip", tmp_path / "out")


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    assert_refused(
        tmp_path,
        zipped(tmp_path, {"scene.bin": bytes(64 * 1024**2)}),
        "would unpack from [0-9]+ to 67108864 bytes",
    )


def test_sizes_that_the_directory_hides_are_not_believed(tmp_path: Path) -> None:
    def lie(data: bytes) -> bytes:
        size = struct.pack("<I", 64 * 1024**2)
        assert data.count(size) == 2
        return data.replace(size, struct.pack("<I", 10))

    assert_refused(
        tmp_path, zipped(tmp_path, {"scene.bin": bytes(64 * 1024**2)}, lie), "damaged or of an unknown kind"
    )
    assert sum(item.stat().st_size for item in tmp_path.rglob("*.bin")) <= 10


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    files = {f"{number}": b"" for number in range(archive.MOST_ENTRIES + 1)}
    assert_refused(tmp_path, zipped(tmp_path, files), "has 5001 files; at most 5000")


def test_links_and_encryption_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as made:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(entry, "/etc/passwd")
    assert_refused(tmp_path, path, "has a link, 'link'")

    def encrypt(data: bytes) -> bytes:
        local = data.index(b"PK\x03\x04") + 6
        central = data.index(b"PK\x01\x02") + 8
        changed = bytearray(data)
        changed[local] |= 1
        changed[central] |= 1
        return bytes(changed)

    assert_refused(tmp_path, zipped(tmp_path, {"a": b"x"}, encrypt), "is encrypted")


@pytest.mark.parametrize(
    "change", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: b"<html>" * 9]
)
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    assert_refused(tmp_path, zipped(tmp_path, {"a": b"x" * 999}, change), "damaged or of an unknown kind")


def test_damaged_contents_are_refused(tmp_path: Path) -> None:
    def damage(data: bytes) -> bytes:
        return data[:40] + bytes(b ^ 0xFF for b in data[40:60]) + data[60:]

    assert_refused(
        tmp_path, zipped(tmp_path, {"a": bytes(range(256)) * 9}, damage), "damaged or of an unknown kind"
    )


def test_other_ways_of_packing_are_refused(tmp_path: Path) -> None:
    """Those with dictionaries of gigabytes among them."""
    for kind in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        path = tmp_path / f"{kind}.zip"
        with zipfile.ZipFile(path, "w", kind) as made:
            made.writestr("scene.gltf", "{}")
        with pytest.raises(ExternalServiceError, match="uses a kind of compression other than deflate"):
            archive.unpack(path, tmp_path / "out")
