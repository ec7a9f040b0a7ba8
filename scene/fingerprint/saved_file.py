# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the data-blocks of two uncompressed .blend files that one Blender wrote, by name.

This takes a fraction of the time of a walk through all properties. Data-blocks of different kinds with the same name
count as one. A difference means only that the data-block may have changed: arrays that only moved in memory differ,
too.
Source: BLO_blend_defs.hh, BLO_core_bhead.hh and DNA_ID.h of Blender.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ("changed",)

#: The length of a block's head, and its parts that are read, code and length. The rest: address, struct, count.
_OLD = 24, struct.Struct("<4si")
#: The same from Blender 5.0 on.
_NEW = 32, struct.Struct("<4s12xq")
#: A data-block begins with the pointers to its neighbours in a list and a runtime pointer, which change when other
#: data-blocks are added or removed. Then come library and asset, then its name, whose first two letters are its kind.
_LINKS, _NAME = 24, 40 + 2
_LONGEST_NAME = 256
#: Blocks that are neither a data-block nor a part of one.
_APART = frozenset((b"REND", b"GLOB", b"DNA1", b"TEST", b"USER", b"ENDB"))
#: The bytes that are read at once to find where the blocks begin.
_AT_ONCE = 1 << 20


def changed(before: Path, after: Path) -> set[str]:
    """Return the names of the data-blocks that, with all data that they own, differ or are in only one of the files.

    Raises ValueError for a file that is not an uncompressed .blend file.
    """
    with before.open("rb", _AT_ONCE) as first, after.open("rb", _AT_ONCE) as second:
        old, new = _Blend(first), _Blend(second)
        was, now = old.parts(), new.parts()
        return {name for name in was | now if not _same(old, was.get(name, []), new, now.get(name, []))}


class _Blend:
    """An open .blend file, which knows the form of its blocks' heads. Raises ValueError for any other file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        header = file.read(12)
        if header.startswith(b"BLENDER-v"):  # of Blender 2.5 to 4.5, `BLENDER-v402`
            self._begin, (self._head, self._struct) = 12, _OLD
        elif header.startswith(b"BLENDER17-01"):  # of 5.0 on, `BLENDER17-01v0500`
            self._begin, (self._head, self._struct) = 17, _NEW
        else:
            raise ValueError("this is no uncompressed .blend file of a 64-bit, little-endian Blender")

    def parts(self) -> dict[str, list[tuple[int, int]]]:
        """Return name -> where the data-blocks of this name are, with the data that they own: begin and end."""
        found: dict[str, list[tuple[int, int]]] = {}
        at, begin, name = self._begin, 0, ""
        read, start, most = b"", 0, self._head + _NAME + _LONGEST_NAME
        while True:
            if at + most > start + len(read):
                self._file.seek(at)
                read, start = self._file.read(_AT_ONCE), at
            if len(read) - (at - start) < self._head:
                break
            code, length = self._struct.unpack_from(read, at - start)
            if code != b"DATA":  # the start of a data-block; the data that it owns follows
                if name:
                    found.setdefault(name, []).append((begin, at))
                begin, name = at, "" if code in _APART else _name(read, at - start + self._head)
            at += self._head + length
        if name:
            found.setdefault(name, []).append((begin, at))
        return found

    def read(self, part: tuple[int, int]) -> bytes:
        """Return the bytes of a part."""
        begin, end = part
        self._file.seek(begin)
        return self._file.read(end - begin)

    def contents(self, part: bytes) -> Iterator[bytes]:
        """Yield the codes and contents of a part's blocks, without what depends on their places in memory."""
        at, skipped = 0, _LINKS
        while at < len(part):
            code, length = self._struct.unpack_from(part, at)
            at += self._head
            yield code + part[at + skipped : at + length]
            at, skipped = at + length, 0


def _same(old: _Blend, was: list[tuple[int, int]], new: _Blend, now: list[tuple[int, int]]) -> bool:
    """Return whether these parts of two files have the same contents."""
    if len(was) != len(now):
        return False
    for one, other in zip(was, now, strict=True):
        before, after = old.read(one), new.read(other)
        if before != after and list(old.contents(before)) != list(new.contents(after)):
            return False
    return True


def _name(read: bytes, at: int) -> str:
    at += _NAME
    return read[at : at + _LONGEST_NAME].partition(b"\0")[0].decode("utf-8", "replace")
