# SPDX-License-Identifier: GPL-3.0-or-later
"""One digest for each data-block of an uncompressed .blend file, by its address in memory when it was written.

Two files that one Blender wrote one after the other can so be compared in a fraction of the time that a walk
through the properties of everything takes. A data-block whose digest differs may have changed: arrays that only
moved in memory show too. Source: BLO_blend_defs.hh and BLO_core_bhead.hh of Blender.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

__all__ = ("digests",)

#: code, length, address, struct index, count
_BLOCK_4 = struct.Struct("<4siQii")
#: From Blender 5.0 on: code, struct index, address, length, count
_BLOCK_5 = struct.Struct("<4siQqq")
#: The neighbours in a list, and a pointer that means nothing: they change when others come and go.
_ID_LINKS = 24
#: Blocks that are no data-block and no part of one.
_APART = frozenset((b"REND", b"GLOB", b"DNA1", b"TEST", b"USER", b"ENDB"))


def digests(path: Path) -> dict[int, bytes]:
    """Address -> digest of every data-block, with all that it owns. Raises ValueError for any other kind of file."""
    found: dict[int, hashlib.blake2b] = {}
    with path.open("rb") as file:
        old = _read_header(file.read(12))
        if not old:
            file.seek(17)
        block = _BLOCK_4 if old else _BLOCK_5
        current: hashlib.blake2b | None = None
        while len(head := file.read(block.size)) == block.size:
            if old:
                code, length, address, _kind, _count = block.unpack(head)
            else:
                code, _kind, address, length, _count = block.unpack(head)
            if code in _APART:
                file.seek(length, 1)
                current = None
                continue
            body = file.read(length)
            if code != b"DATA":  # the beginning of a data-block; what it owns follows
                current = found[address] = hashlib.blake2b(digest_size=16)
                body = body[_ID_LINKS:]
            if current is not None:
                current.update(code)
                current.update(body)
    return {address: digest.digest() for address, digest in found.items()}


def _read_header(header: bytes) -> bool:
    """Whether the file has the header of Blender 2.5 to 4.5, `BLENDER-v402`, and not of 5.0, `BLENDER17-01v0500`."""
    if header.startswith(b"BLENDER-v"):
        return True
    if header.startswith(b"BLENDER17-01"):
        return False
    raise ValueError("this is no uncompressed .blend file of a 64-bit, little-endian Blender")
