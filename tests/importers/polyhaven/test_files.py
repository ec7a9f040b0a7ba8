# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from bl_ext.user_default.mcp_bridge.base.errors import ExternalServiceError, InvalidParamsError
from bl_ext.user_default.mcp_bridge.importers.polyhaven import files

FILE = {"url": "https://dl.polyhaven.org/a.jpg", "md5": "0" * 32, "size": 10}


def tree(
    *keys: str, resolutions: tuple[str, ...] = ("1k", "2k", "16k"), kinds: tuple[str, ...] = ("jpg", "png")
) -> Any:
    return {
        key: {
            name: {kind: FILE | {"url": f"https://x/{key}_{name}.{kind}"} for kind in kinds}
            for name in resolutions
        }
        for key in keys
    }


def roles(found: list[files.Map]) -> dict[str, tuple[str, ...]]:
    return {one.key: one.roles for one in found}


def test_only_maps_that_get_connected_are_chosen() -> None:
    given = tree(
        "Diffuse", "Rough", "Metal", "nor_gl", "nor_dx", "Displacement", "AO", "arm", "blend", "gltf"
    )
    assert roles(files.maps(given, "2k")) == {
        "Diffuse": ("base_color",),
        "Rough": ("roughness",),
        "Metal": ("metallic",),
        "nor_gl": ("normal_gl",),
        "Displacement": ("displacement",),
    }


def test_a_packed_map_gives_what_no_other_does() -> None:
    assert roles(files.maps(tree("Diffuse", "Rough", "arm"), "1k"))["arm"] == ("metallic",)
    assert roles(files.maps(tree("Diffuse", "arm"), "1k"))["arm"] == ("roughness", "metallic")
    with_ao = roles(files.maps(tree("Diffuse", "arm"), "1k", ambient_occlusion=True))
    assert with_ao["arm"] == ("ambient_occlusion", "roughness", "metallic")


def test_substitutes() -> None:
    found = roles(files.maps(tree("col_2", "col_1", "nor_dx", "anisotropy_strength", "spec_ior"), "1k"))
    assert found == {
        "col_1": ("base_color",),
        "nor_dx": ("normal_dx",),
        "anisotropy_strength": ("anisotropy",),
        "spec_ior": ("ior",),
    }


def test_casing_matters() -> None:
    with pytest.raises(ExternalServiceError, match="lists no maps"):
        files.maps(tree("diffuse", "ROUGH"), "1k")


def test_format_and_resolution_of_a_map() -> None:
    given = tree("Diffuse", "Displacement") | tree("Rough", resolutions=("1k",), kinds=("exr",))
    found = {one.key: (one.resolution, one.suffix) for one in files.maps(given, "2k")}
    assert found == {"Diffuse": ("2k", ".jpg"), "Displacement": ("2k", ".png"), "Rough": ("1k", ".exr")}
    with pytest.raises(
        InvalidParamsError, match="resolution '8k' is not offered for this asset; there are 1k, 2k, 16k"
    ):
        files.maps(given, "8k")


def test_hdri() -> None:
    given = {"hdri": {"1k": {"exr": FILE}, "4k": {"hdr": FILE, "exr": FILE}}}
    assert files.hdri(given, "4k", "hdr").md5 == "0" * 32
    assert files.hdri(given, "1k", "hdr").size == 10
    with pytest.raises(InvalidParamsError, match="there are 1k, 4k"):
        files.hdri(given, "2k", "hdr")
    with pytest.raises(InvalidParamsError, match="there are none"):
        files.hdri({}, "2k", "hdr")


@pytest.mark.parametrize(
    "record", [None, [], {}, {"url": "https://x"}, {"url": 3, "md5": "0" * 32}, {"md5": "0" * 32}]
)
def test_a_file_that_cannot_be_checked_is_refused(record: Any) -> None:
    with pytest.raises(ExternalServiceError, match="without its address or its MD5"):
        files.hdri({"hdri": {"1k": {"hdr": record}}}, "1k", "hdr")


def test_a_model_with_what_it_includes() -> None:
    given = {"blend": {"1k": {"blend": FILE | {"include": {"textures/a.jpg": FILE, "b..c/d.bin": FILE}}}}}
    found = files.model(given, "1k", "blend")
    assert sorted(map(str, found.include)) == ["b..c/d.bin", "textures/a.jpg"]
    assert found.size == 30
    assert files.model(given, "1k", "gltf") is None


@pytest.mark.parametrize(
    "name",
    [
        "../../.bashrc",
        "/etc/passwd",
        "a/../../b",
        "..\\..\\x",
        "C:/x",
        "a//b",
        "a/./b",
        "x\0y",
        "aux.jpg",
        "a/NUL",
        "trailing. ",
        "stream:x",
        "a" * 300,
        "",
        "tab\tname",
    ],
)
def test_hostile_names_of_included_files_are_refused(name: str) -> None:
    given = {"blend": {"1k": {"blend": FILE | {"include": {name: FILE}}}}}
    with pytest.raises(ExternalServiceError, match="is not a plain path: nothing was written"):
        files.model(given, "1k", "blend")


def test_names_that_fall_together_are_refused() -> None:
    given = {"blend": {"1k": {"blend": FILE | {"include": {"textures/A.jpg": FILE, "textures/a.JPG": FILE}}}}}
    with pytest.raises(ExternalServiceError, match="would be the same file"):
        files.model(given, "1k", "blend")
