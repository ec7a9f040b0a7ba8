# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which kinds of files a client may send or get, and checks that a file's content fits its name. No `bpy`.

The name decides the kind, and the content must fit it. Nothing is guessed; kinds that are not in the table are
refused.
"""

from __future__ import annotations

import codecs
import json
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal

from ..base.errors import InvalidParamsError, PolicyError
from ..base.file_names import harmless

__all__ = ("SENT", "Kind", "check", "clean_name", "kind_of", "received_kind")

Family = Literal["picture", "model", "text", "blend"]
_LONGEST_NAME = 100
_HEAD = 4096
_STEP = 1 << 20
#: The most bytes of a text: a person reads Blender's texts.
_MOST_TEXT = 4 << 20
#: Control characters; in UTF-8 these bytes never occur inside another character.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: its family, its media type, and `differs`, which returns what is wrong with a content, or ""."""

    family: Family
    mime_type: str
    differs: Callable[[BinaryIO, int], str]


def kind_of(name: str) -> Kind:
    """Return the kind of a file by its name. Raises PolicyError for a kind that no client may get."""
    found = _KINDS.get(Path(name).suffix.lower())
    if found is None:
        raise PolicyError(
            f"{name!r}: MCP Bridge transfers no files of this kind. It transfers {', '.join(sorted(_KINDS))}.",
            code="files",
        )
    return found


def received_kind(name: str, mime_type: str = "") -> Kind:
    """Return the kind of a file that a client sends.

    Raises PolicyError for a kind that is not accepted, with what to do instead, and InvalidParamsError for a media
    type that does not fit the name.
    """
    suffix = Path(name).suffix.lower()
    found = _KINDS.get(suffix)
    if found is None or suffix not in _RECEIVED:
        reason = _INSTEAD.get(suffix, "MCP Bridge accepts no files of this kind.")
        raise PolicyError(f"{name!r}: {reason} It accepts {', '.join(sorted(_RECEIVED))}.", code="files")
    if mime_type and mime_type.partition(";")[0].strip().lower() not in (
        found.mime_type,
        "application/octet-stream",
    ):
        raise InvalidParamsError(f"{name!r} is {found.mime_type} by its name, and not {mime_type[:80]!r}.")
    return found


def clean_name(name: str) -> str:
    """Return the name if it is a plain file name. Raises InvalidParamsError."""
    if len(name) > _LONGEST_NAME or "/" in name or name.startswith(".") or not harmless(name):
        raise InvalidParamsError(
            f"{name[:80]!r} is no plain file name: give one such as 'chair.glb', without folders."
        )
    return name


def check(path: Path, name: str) -> Kind:
    """Check the content of the file at `path` against the kind of `name`, and return the kind.

    Raises PolicyError if the content does not fit, or if no client may get this kind.
    """
    kind = kind_of(name)
    size = path.stat().st_size
    with path.open("rb") as file:
        if reason := kind.differs(file, size):
            raise PolicyError(f"{name!r} is not what its name says: {reason}.", code="files")
    return kind


# --- checks of contents -----------------------------------------------------------------------------------------


def _begins(*beginnings: bytes) -> Callable[[BinaryIO, int], str]:
    def differs(file: BinaryIO, _size: int) -> str:
        return "" if file.read(_HEAD).startswith(beginnings) else "it begins like something else"

    return differs


def _no_webp(file: BinaryIO, _size: int) -> str:
    head = file.read(12)
    return "" if head[:4] == b"RIFF" and head[8:] == b"WEBP" else "it begins like something else"


def _no_tga(file: BinaryIO, _size: int) -> str:
    """Return what is wrong with a Truevision TGA. The format has no magic number, so this checks its 18-byte header."""
    head = file.read(18)
    if len(head) < 18:
        return "it has no header"
    _, mapped, form, width, height, depth = struct.unpack("<BBB9xHHBx", head)
    fits = mapped in (0, 1) and form in (1, 2, 3, 9, 10, 11) and width and height and depth in (8, 16, 24, 32)
    return "" if fits else "its header tells no picture"


def _no_glb(file: BinaryIO, size: int) -> str:
    head = file.read(12)
    if len(head) < 12 or head[:4] != b"glTF":
        return "it begins like something else"
    version, length = struct.unpack("<II", head[4:])
    return "" if (version, length) == (2, size) else "its header tells another version or length"


def _no_stl(file: BinaryIO, size: int) -> str:
    head = file.read(84)
    if len(head) == 84 and size == 84 + 50 * int.from_bytes(head[80:], "little"):
        return ""
    file.seek(0)
    return _no_text(file, size, most=size) if head.startswith(b"solid") else "it is neither form of STL"


def _no_text(file: BinaryIO, size: int, *, most: int = _MOST_TEXT) -> str:
    """Return what is wrong with a text: it must be UTF-8 without control characters."""
    if size > most:
        return f"it has more than the {most >> 20} MiB that a text may have"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while data := file.read(_STEP):
            decoder.decode(data)
            if _CONTROL.search(data):
                return "it holds signs that no text has"
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "it is no UTF-8"
    return ""


def _no_json(file: BinaryIO, size: int) -> str:
    if reason := _no_text(file, size):
        return reason
    file.seek(0)
    try:
        json.loads(file.read())
    except (ValueError, RecursionError):
        return "it is no JSON"
    return ""


def _no_long_text(file: BinaryIO, size: int) -> str:
    return _no_text(file, size, most=size)


def _no_gltf(file: BinaryIO, size: int) -> str:
    head = file.read(_HEAD).lstrip()
    file.seek(0)
    return _no_text(file, size, most=size) if head.startswith(b"{") else "it is no JSON"


_text = partial(Kind, "text")
_picture = partial(Kind, "picture")
_model = partial(Kind, "model")
_KINDS: Mapping[str, Kind] = {
    ".png": _picture("image/png", _begins(b"\x89PNG\r\n\x1a\n")),
    ".jpg": _picture("image/jpeg", _begins(b"\xff\xd8\xff")),
    ".jpeg": _picture("image/jpeg", _begins(b"\xff\xd8\xff")),
    ".webp": _picture("image/webp", _no_webp),
    ".exr": _picture("image/x-exr", _begins(b"\x76\x2f\x31\x01")),
    ".hdr": _picture("image/vnd.radiance", _begins(b"#?RADIANCE", b"#?RGBE")),
    ".bmp": _picture("image/bmp", _begins(b"BM")),
    ".tga": _picture("image/x-tga", _no_tga),
    ".tif": _picture("image/tiff", _begins(b"II*\0", b"MM\0*")),
    ".tiff": _picture("image/tiff", _begins(b"II*\0", b"MM\0*")),
    ".glb": _model("model/gltf-binary", _no_glb),
    ".gltf": _model("model/gltf+json", _no_gltf),
    ".fbx": _model("application/x-fbx", _begins(b"Kaydara FBX Binary  \0")),
    ".obj": _model("model/obj", _no_long_text),
    ".mtl": _text("model/mtl", _no_text),
    ".stl": _model("model/stl", _no_stl),
    ".ply": _model("application/x-ply", _begins(b"ply\n", b"ply\r\n")),
    ".usd": _model("model/vnd.usd", _begins(b"PXR-USDC", b"#usda")),
    ".usdc": _model("model/vnd.usdc", _begins(b"PXR-USDC")),
    ".usda": _model("model/vnd.usda", _begins(b"#usda")),
    ".usdz": _model("model/vnd.usdz+zip", _begins(b"PK\x03\x04")),
    ".zip": _model("application/zip", _begins(b"PK\x03\x04")),
    ".txt": _text("text/plain", _no_text),
    ".csv": _text("text/csv", _no_text),
    ".md": _text("text/markdown", _no_text),
    ".json": _text("application/json", _no_json),
    ".bin": Kind("model", "application/octet-stream", lambda _file, _size: ""),
    ".blend": Kind("blend", "application/x-blender", _begins(b"BLENDER", b"\x28\xb5\x2f\xfd", b"\x1f\x8b")),
}
#: Suffixes of the files that a client may get.
SENT = frozenset(_KINDS)
#: Suffix of a file that a client may not send -> what to do instead.
_INSTEAD: Mapping[str, str] = {
    ".blend": "a .blend has scripts and settings, too: use open_file, which asks the user.",
    ".bmp": "send the picture as .png.",
    ".tga": "send the picture as .png.",
    ".py": "send a script to execute_blender_code, which checks it.",
    ".mtl": "send a model of several files as .zip with a glTF in it, or as .glb.",
    ".bin": "send a model of several files as .zip with a glTF in it, or as .glb.",
}
#: Suffixes of the files that a client may send. A client may only get the others.
_RECEIVED = SENT - _INSTEAD.keys()
