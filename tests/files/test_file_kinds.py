# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and contents of files that come over the wire."""

from __future__ import annotations

import struct
from pathlib import Path

import bpy
import pytest
from bl_ext.user_default.mcp_bridge.base.errors import InvalidParamsError, PolicyError
from bl_ext.user_default.mcp_bridge.files import file_kinds

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
EXE, ELF = b"MZ\x90\0" + bytes(80), b"\x7fELF" + bytes(80)
GLB = b"glTF" + struct.pack("<II", 2, 20) + bytes(8)
STL = bytes(80) + struct.pack("<I", 1) + bytes(50)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.png", PNG),
        ("A.JPG", b"\xff\xd8\xff\xe0"),
        ("a.webp", b"RIFF\0\0\0\0WEBP"),
        ("a.glb", GLB),
        ("a.stl", STL),
        ("a.stl", b"solid x\nendsolid x\n"),
        ("a.ply", b"ply\nformat ascii 1.0\n"),
        ("a.usda", b"#usda 1.0\n"),
        ("a.csv", "größe;1\r\n".encode()),
        ("a.txt", b""),
        ("a.json", b'{"a": [1]}'),
        ("a.obj", b"v 0 0 0\n"),
    ],
)
def test_contents_that_fit_their_names(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert file_kinds.check(tmp_path / "x", name) == file_kinds.received_kind(name)


@pytest.mark.parametrize(
    ("form", "color", "name"),
    [
        ("TARGA", "BW", "a.tga"),
        ("TARGA", "RGB", "a.tga"),
        ("TARGA", "RGBA", "a.tga"),
        ("TARGA_RAW", "RGBA", "a.tga"),
        ("BMP", "RGB", "a.bmp"),
    ],
)
def test_textures_beside_an_exported_model_go_out(tmp_path: Path, form: str, color: str, name: str) -> None:
    scene, image = bpy.data.scenes.new("Own"), bpy.data.images.new("Texture", 3, 2)
    settings = scene.render.image_settings
    settings.file_format, settings.color_mode = form, color
    image.save_render(str(tmp_path / name), scene=scene)
    bpy.data.images.remove(image)
    bpy.data.scenes.remove(scene)
    assert file_kinds.check(tmp_path / name, name).family == "picture"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.png", EXE, "begins like something else"),
        ("a.png", b"", "begins like something else"),
        ("a.jpg", PNG, "begins like something else"),
        ("a.webp", b"RIFF\0\0\0\0AVI ", "begins like something else"),
        ("a.glb", ELF, "begins like something else"),
        ("a.glb", GLB + b"more", "another version or length"),
        ("a.glb", b"glTF", "begins like something else"),
        ("a.stl", STL + b"x", "neither form of STL"),
        ("a.stl", b"solid\0\x01", "signs that no text has"),
        ("a.txt", EXE, "no text|no UTF-8"),
        ("a.txt", b"\xff\xfe", "no UTF-8"),
        ("a.txt", b"ok\xc3", "no UTF-8"),
        ("a.json", b"{", "no JSON"),
        ("a.json", b"[" * 100_000, "no JSON"),
        ("a.csv", b"a\0b", "signs that no text has"),
        ("a.gltf", b"#!/bin/sh\n", "no JSON"),
        ("a.tga", PNG, "its header tells no picture"),
        ("a.tga", ELF, "its header tells no picture"),
        ("a.tga", EXE, "its header tells no picture"),
        ("a.tga", b"#!/bin/sh\necho", "has no header"),
        ("a.tga", b"#!/bin/sh\necho a long one", "its header tells no picture"),
        ("a.bmp", PNG, "begins like something else"),
        ("a.usda", b"PXR-USDC", "begins like something else"),
        ("a.txt", b"x" * (4 << 20) + b"x", "more than the 4 MiB"),
    ],
)
def test_contents_that_do_not_fit_their_names(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(PolicyError, match=reason):
        file_kinds.check(tmp_path / "x", name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a.py", "send a script to execute_blender_code"),
        ("a.blend", "has scripts and settings, too: use open_file"),
        ("a.exe", "MCP Bridge accepts no files of this kind"),
        ("a.png.exe", "MCP Bridge accepts no files of this kind"),
        ("a", "MCP Bridge accepts no files of this kind"),
        ("a.sh", "It accepts .csv, .exr, .fbx"),
        ("a.mtl", "send a model of several files as .zip"),
        ("a.tga", "send the picture as .png"),
    ],
)
def test_refused_kinds_say_what_to_send_instead(name: str, reason: str) -> None:
    with pytest.raises(PolicyError, match=reason):
        file_kinds.received_kind(name)


def test_a_media_type_has_to_fit_the_name() -> None:
    assert file_kinds.received_kind("a.png", "image/PNG; x=1").family == "picture"
    assert file_kinds.received_kind("a.png", "application/octet-stream").family == "picture"
    with pytest.raises(
        InvalidParamsError, match=r"'a.png' is image/png by its name, and not 'text/x-python'"
    ):
        file_kinds.received_kind("a.png", "text/x-python")


@pytest.mark.parametrize(
    "name",
    ["../a.png", "a/b.png", "a\\b.png", "/etc/passwd.txt", ".hidden.png", "nul.png", "a:b.png", "a\0.png", "a.png ",
     "\u202egnp.png", "x" * 101 + ".png", "..", "con.txt", "a\n.txt"],
)  # fmt: skip
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(InvalidParamsError, match="no plain file name"):
        file_kinds.clean_name(name)
    assert file_kinds.clean_name("My chair (2)…ü.glb") == "My chair (2)…ü.glb"
