# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the files of an asset from the tree that `/files/{id}` returns. No `bpy`, no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ...base.errors import ExternalServiceError, InvalidParamsError
from ...base.file_names import inside
from ..network.remote_file import RemoteFile
from .asset import SITE, Asset

__all__ = (
    "MAP_ROLES",
    "Map",
    "ModelFiles",
    "Plan",
    "Role",
    "check_picture",
    "check_resolution",
    "hdri",
    "maps",
    "model",
    "number",
    "resolutions",
    "suffix",
)

Json = Mapping[str, Any]
Role = Literal[
    "base_color",
    "roughness",
    "metallic",
    "normal_gl",
    "normal_dx",
    "displacement",
    "ambient_occlusion",
    "anisotropy",
    "anisotropy_rotation",
    "ior",
]
ModelFormat = Literal["blend", "gltf", "fbx"]

#: Key in the tree -> the roles of its map. A packed map has several roles, one for each channel.
MAP_ROLES: Mapping[str, tuple[Role, ...]] = {
    "Diffuse": ("base_color",),
    "Rough": ("roughness",),
    "Metal": ("metallic",),
    "nor_gl": ("normal_gl",),
    "nor_dx": ("normal_dx",),
    "Displacement": ("displacement",),
    "AO": ("ambient_occlusion",),
    "anisotropy_strength": ("anisotropy",),
    "anisotropy_rotation": ("anisotropy_rotation",),
    "spec_ior": ("ior",),
    "arm": ("ambient_occlusion", "roughness", "metallic"),
}
#: Map -> the map that makes it unnecessary.
_SUBSTITUTES = {"nor_dx": "nor_gl"}
#: The first bytes of JPEG, PNG, OpenEXR and the two kinds of Radiance HDR.
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"\x76\x2f\x31\x01", b"#?RADIANCE", b"#?RGBE")
_FORMATS = ("jpg", "png", "exr")
#: Map -> formats in order of preference: the eight bits of a JPEG make visible steps in a height map.
_FORMATS_OF: Mapping[str, tuple[str, ...]] = {"Displacement": ("png", "exr", "jpg")}


@dataclass(frozen=True, slots=True)
class Map:
    """A picture to fetch, and its roles in the material."""

    key: str
    roles: tuple[Role, ...]
    resolution: str
    file: RemoteFile

    @property
    def suffix(self) -> str:
        """The suffix of the file, such as `.jpg`."""
        return suffix(self.file)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model's main file and the files that it refers to, each with its path relative to the main file's folder."""

    format: ModelFormat
    main: RemoteFile
    include: Mapping[PurePosixPath, RemoteFile]

    @property
    def size(self) -> int:
        """The total bytes of the files whose size is known."""
        return sum(file.size or 0 for file in (self.main, *self.include.values()))


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to fetch for an asset. For a model, the first usable format in `models`."""

    asset: Asset
    resolution: str
    hdri: RemoteFile | None = None
    maps: tuple[Map, ...] = ()
    models: tuple[ModelFiles, ...] = ()

    @property
    def size(self) -> int:
        """The number of bytes to fetch."""
        if self.models:
            return self.models[0].size
        files = [self.hdri] if self.hdri else [one.file for one in self.maps]
        return sum(file.size or 0 for file in files)


def suffix(file: RemoteFile) -> str:
    """The suffix of the file's address, with its dot, or an empty text."""
    return PurePosixPath(file.url.partition("?")[0]).suffix.lower()


def resolutions(files: Json, key: str) -> list[str]:
    """The resolutions of a part of the tree, smallest first."""
    return sorted(_at(files, key), key=number)


def hdri(files: Json, resolution: str, file_format: str) -> RemoteFile:
    """The picture of an HDRI. Raises InvalidParamsError, which names the available choices."""
    there = _at(_at(files, "hdri"), check_resolution(resolution, resolutions(files, "hdri")))
    other = next((name for name in (file_format, "exr", "hdr") if name in there), None)
    if other is None:
        raise ExternalServiceError(f"{SITE.name} lists no picture of this HDRI.")
    return _file(there[other])


def maps(files: Json, resolution: str, *, ambient_occlusion: bool = False) -> list[Map]:
    """The maps that the material uses, each role once. Raises InvalidParamsError, ExternalServiceError."""
    there = {key: roles for key, roles in MAP_ROLES.items() if _at(files, key)}
    if "Diffuse" not in there:
        colours = sorted(key for key in files if key.startswith("col_") and _at(files, key))
        there |= dict.fromkeys(colours[:1], MAP_ROLES["Diffuse"])
    if not there:
        raise ExternalServiceError(f"{SITE.name} lists no maps of this texture.")
    check_resolution(resolution, {name for key in there for name in resolutions(files, key)})
    said: set[Role] = set() if ambient_occlusion else {"ambient_occlusion"}
    chosen = []
    for key in sorted(there, key="arm".__eq__):  # a packed map comes last, for roles that no other map has
        roles = tuple(role for role in there[key] if role not in said)
        if roles and _SUBSTITUTES.get(key) not in there:
            said.update(roles)
            chosen.append(_map(files, key, roles, resolution))
    return chosen


def model(files: Json, resolution: str, file_format: ModelFormat) -> ModelFiles | None:
    """The files of a model in one format; None if the service does not offer that format."""
    offered = resolutions(files, file_format)
    if not offered:
        return None
    node = _at(_at(files, file_format), check_resolution(resolution, offered))
    record = node.get(file_format)
    main = _file(record)
    includes = _at(record, "include")
    paths = inside(includes)
    return ModelFiles(file_format, main, {paths[name]: _file(includes[name]) for name in includes})


def _map(files: Json, key: str, roles: tuple[Role, ...], resolution: str) -> Map:
    offered = resolutions(files, key)
    fitting = [name for name in offered if number(name) <= number(resolution)]
    nearest = fitting[-1] if fitting else offered[0]
    there = _at(_at(files, key), nearest)
    formats = _FORMATS_OF.get(key, _FORMATS)
    found = next((there[name] for name in formats if name in there), None)
    return Map(key, roles, nearest, _file(found))


def check_picture(path: Path) -> Path:
    """Return the path. Raises ExternalServiceError if the file is no picture: Blender would only show magenta."""
    with path.open("rb") as file:
        start = file.read(12)
    if not start.startswith(_PICTURES):
        raise ExternalServiceError(
            f"{SITE.name} sent a file that is no picture. Try another resolution or format."
        )
    return path


def check_resolution(resolution: str, offered: Iterable[str]) -> str:
    """Return the resolution. Raises InvalidParamsError if it is not offered."""
    known = sorted(offered, key=number)
    if resolution not in known:
        raise InvalidParamsError(
            f"resolution {resolution!r} is not offered for this asset; there are {', '.join(known) or 'none'}."
        )
    return resolution


def number(resolution: str) -> int:
    """The number in a resolution: 2 for `2k`; 0 for any other text."""
    digits = resolution.removesuffix("k")
    return int(digits) if digits.isdecimal() and len(digits) < 6 else 0


def _at(node: Any, name: str) -> Json:
    found = node.get(name) if isinstance(node, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _file(record: Any) -> RemoteFile:
    """Read a record of a file. Raises ExternalServiceError if it has no address or MD5: it could not be checked."""
    url, md5, size = (
        record.get(name) if isinstance(record, Mapping) else None for name in ("url", "md5", "size")
    )
    if not isinstance(url, str) or not isinstance(md5, str):
        raise ExternalServiceError(
            f"{SITE.name} lists a file without its address or its MD5; it is not fetched."
        )
    return RemoteFile(url, md5.lower(), size if isinstance(size, int) and size >= 0 else None)
