# SPDX-License-Identifier: GPL-3.0-or-later
"""Where files may lie: the rules, attacked."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError, PolicyError
from bl_ext.user_default.mcp_bridge.files import allowed_folders

GLB = frozenset({".glb", ".gltf"})


@pytest.fixture
def named(tmp_path: Path) -> Path:
    folder = tmp_path / "named"
    (folder / "below").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    return folder


@pytest.mark.parametrize("path", ["a.glb", "below/a.GLB", "Größe 1.gltf", "a.b.glb"])
def test_a_name_in_the_folder_is_a_place(named: Path, path: str) -> None:
    assert allowed_folders.target(path, [named], GLB) == named / path
    assert allowed_folders.target(str(named / path), [named], GLB) == named / path


def test_every_named_folder_counts_and_a_relative_name_is_in_the_first(named: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    assert allowed_folders.target(str(other / "a.glb"), [named, other], GLB) == other / "a.glb"
    assert allowed_folders.target("a.glb", [named, other], GLB) == named / "a.glb"


def test_without_a_folder_there_is_no_place() -> None:
    with pytest.raises(PolicyError, match=r"No folder is named for files.*BLENDER_MCP_FOLDERS"):
        allowed_folders.target("a.glb", [], GLB)


@pytest.mark.parametrize(
    "path",
    [
        "../elsewhere/a.glb",
        "below/../../elsewhere/a.glb",
        "below/../a.glb",
        "..",
        "../named/a.glb",
        "/etc/a.glb",
        "//server/share/a.glb",
        "//a.glb",
        "\\\\server\\share\\a.glb",
        "..\\elsewhere\\a.glb",
        "below\\a.glb",
        "C:\\a.glb",
        "C:a.glb",
        "~/a.glb",
        "~root/a.glb",
        "$HOME/a.glb",
        "nul.glb",
        "CON.glb",
        "com1.x.glb",
        "below/aux/a.glb",
        "a.glb:stream.glb",
        "a.glb ",
        "a.glb.",
        "below /a.glb",
        ".hidden.glb",
        ".ssh/a.glb",
        "a\0.glb",
        "a\n.glb",
        "a\u202e.glb",
        "",
        " ",
        "x" * 1001 + ".glb",
        "a.blend",
        "a",
        ".glb",
        "a.glb/b.glb",
        "missing/a.glb",
        "file:///etc/a.glb",
        "a*.glb",
        "/proc/self/cwd/a.glb",
        "/dev/fd/a.glb",
    ],
)
def test_unusable_paths_are_refused(named: Path, path: str) -> None:
    (named / "a.glb").write_bytes(b"")
    with pytest.raises((PolicyError, InvalidParamsError)):
        allowed_folders.target(path, [named], GLB)


def test_no_link_leads_out(named: Path, tmp_path: Path) -> None:
    (named / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PolicyError, match=r"leads out of .* through a link"):
        allowed_folders.target("out/a.glb", [named], GLB)
    (named / "twice").symlink_to(named / "out")
    with pytest.raises(PolicyError, match="through a link"):
        allowed_folders.target(str(named / "twice" / "a.glb"), [named], GLB)
    (named / "in").symlink_to(named / "below")
    assert allowed_folders.target("in/a.glb", [named], GLB) == named / "below" / "a.glb"


def test_the_folder_itself_may_be_reached_over_a_link(named: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(named)
    assert allowed_folders.target("a.glb", [link], GLB) == named / "a.glb"
    assert allowed_folders.target(str(named / "a.glb"), [link], GLB) == named / "a.glb"


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe", "socket"])
def test_what_is_there_has_to_be_an_ordinary_file(named: Path, tmp_path: Path, kind: str) -> None:
    there = named / "a.glb"
    (tmp_path / "secret.glb").write_bytes(b"secret")
    if kind == "link":
        there.symlink_to(tmp_path / "secret.glb")
    elif kind == "dangling":
        there.symlink_to(tmp_path / "elsewhere" / "new.glb")
    elif kind == "folder":
        there.mkdir()
    elif kind == "pipe":
        os.mkfifo(there)
    else:
        socket.socket(socket.AF_UNIX).bind(os.path.relpath(there))
    with pytest.raises(PolicyError, match=r"is a link|no ordinary file"):
        allowed_folders.target("a.glb", [named], GLB)


def test_reading_wants_a_file_that_is_there(named: Path) -> None:
    with pytest.raises(InvalidParamsError, match=r"There is no file .*a\.glb"):
        allowed_folders.existing("a.glb", [named], GLB)
    (named / "a.glb").write_bytes(b"x")
    assert allowed_folders.existing("a.glb", [named], GLB) == named / "a.glb"


def test_a_file_goes_to_its_place_in_one_step_and_takes_no_others(named: Path) -> None:
    with allowed_folders.staging(named) as folder:
        assert folder.parent == named
        for text in ("one", "two"):
            (folder / "a.glb").write_text(text)
            if text == "one":
                allowed_folders.move(folder / "a.glb", named / "a.glb", overwrite=False)
                continue
            with pytest.raises(PolicyError, match="the user did not agree to overwrite"):
                allowed_folders.move(folder / "a.glb", named / "a.glb", overwrite=False)
            assert (named / "a.glb").read_text() == "one"
            allowed_folders.move(folder / "a.glb", named / "a.glb", overwrite=True)
            assert (named / "a.glb").read_text() == "two"
    assert sorted(found.name for found in named.iterdir()) == ["a.glb", "below"]


def test_a_hard_link_is_replaced_and_not_written_through(named: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.glb"
    secret.write_text("secret")
    os.link(secret, named / "a.glb")
    with allowed_folders.staging(named) as folder:
        (folder / "a.glb").write_text("new")
        allowed_folders.move(folder / "a.glb", named / "a.glb", overwrite=True)
    assert (named / "a.glb").read_text() == "new"
    assert secret.read_text() == "secret"


def test_a_link_that_comes_late_is_not_followed(named: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.glb"
    secret.write_text("secret")
    with allowed_folders.staging(named) as folder:
        (folder / "a.glb").write_text("new")
        (named / "a.glb").symlink_to(secret)
        with pytest.raises(PolicyError, match="is a link"):
            allowed_folders.move(folder / "a.glb", named / "a.glb", overwrite=True)
    assert secret.read_text() == "secret"


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with (
        pytest.raises(ExternalServiceError, match="Nothing can be written to"),
        allowed_folders.staging(tmp_path / "gone"),
    ):
        raise AssertionError("not reached")


def test_a_staging_folder_with_a_name_is_made_anew_and_never_through_a_link(tmp_path: Path) -> None:
    with allowed_folders.staging(tmp_path, "mine") as folder:
        (folder / "left").touch()
        shutil.copytree(folder, tmp_path / "crashed")
    (tmp_path / "crashed").rename(folder)
    with allowed_folders.staging(tmp_path, "mine") as again:
        assert (again, list(again.iterdir())) == (folder, [])
    assert not folder.exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kept").touch()
    folder.symlink_to(tmp_path / "other")
    with (
        pytest.raises(ExternalServiceError, match="Nothing can be written"),
        allowed_folders.staging(tmp_path, "mine"),
    ):
        pass
    assert (tmp_path / "other" / "kept").exists()
