# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares two uncompressed .blend files that one Blender wrote: their data-blocks by name, or their scenes as a whole.

This takes a fraction of the time of a walk through all properties. Data-blocks of different kinds with the same name
count as one. A difference means only that the data-block may have changed: arrays that only moved in memory differ,
too.
Source: BLO_blend_defs.hh, BLO_core_bhead.hh and DNA_ID.h of Blender.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = ("changed", "same_scenes")

#: The length of a block's head, and its parts that are read, code and length. The rest: address, struct, count.
_OLD = 24, struct.Struct("<4si")
#: The same from Blender 5.0 on.
_NEW = 32, struct.Struct("<4s12xq")
#: A data-block begins with the pointers to its neighbours in a list and a runtime pointer, which change when other
#: data-blocks are added or removed. Then come library and asset, then its name, whose first two letters are its kind.
_LINKS, _NAME = 24, 40 + 2
_LONGEST_NAME = 256
#: The address of a block in its head; pointers to it have this value.
_ADDRESS = struct.Struct("<8xQ")
#: Blocks that are neither a data-block nor a part of one.
_NO_DATA_BLOCKS = frozenset((b"REND", b"GLOB", b"DNA1", b"TEST", b"USER", b"ENDB"))
#: Blocks that do not count for what a file opens with, without its windows. `GLOB` counts: it names the open scene.
_NOT_OF_SCENES = _NO_DATA_BLOCKS - {b"GLOB"} | {b"WM\0\0", b"SR\0\0", b"SN\0\0", b"WS\0\0"}
#: The bytes that are read at once to find where the blocks begin.
_AT_ONCE = 1 << 20


def changed(before: Path, after: Path) -> set[str]:
    """Return the names of the data-blocks that, with all data that they own, differ or are in only one of the files.

    Raises ValueError for a file that is not an uncompressed .blend file.
    """
    with before.open("rb", _AT_ONCE) as first, after.open("rb", _AT_ONCE) as second:
        old, new = _Blend(first), _Blend(second)
        was, now = old.parts(_NO_DATA_BLOCKS), new.parts(_NO_DATA_BLOCKS)
        return {name for name in was | now if not _same(old, was.get(name, []), new, now.get(name, []))}


def same_scenes(before: Path, after: Path) -> bool:
    """Return whether two files open as the same scenes, if opened without their windows; False if that is not certain.

    Blender saved both in one folder, by the names that the files have. Raises ValueError for a file that is not an
    uncompressed .blend file.
    """
    with before.open("rb", _AT_ONCE) as first, after.open("rb", _AT_ONCE) as second:
        old, new = _Blend(first), _Blend(second)
        was, now = old.parts(_NOT_OF_SCENES), new.parts(_NOT_OF_SCENES)
        return was.keys() == now.keys() and all(
            _same(old, parts, new, now[name]) or _same_but_for_places(old, parts, new, now[name])
            for name, parts in was.items()
        )


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

    def parts(self, without: frozenset[bytes]) -> dict[str, list[tuple[int, int]]]:
        """Return name -> where the data-blocks of this name are, with the data that they own: begin and end.

        without: the codes of the blocks that are left out.
        """
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
                begin, name = at, "" if code in without else _name(read, at - start + self._head)
            at += self._head + length
        if name:
            found.setdefault(name, []).append((begin, at))
        return found

    def read(self, part: tuple[int, int]) -> bytes:
        """Return the bytes of a part."""
        begin, end = part
        self._file.seek(begin)
        return self._file.read(end - begin)

    def addresses(self, part: bytes) -> dict[int, int]:
        """Return where each block of a part was in memory -> its number in the part."""
        found: dict[int, int] = {}
        at = 0
        while at < len(part):
            found[_ADDRESS.unpack_from(part, at)[0]] = len(found)
            at += self._head + self._struct.unpack_from(part, at)[1]
        return found

    def words(self, content: bytes, addresses: dict[int, int]) -> tuple[list[int], bytes]:
        """Return the 8-byte words of a block, and the bytes after the last one, without the name of the file.

        A pointer to a block of `addresses` is -1 for the first one, -2 for the second one, and so on.
        """
        name = os.fsencode(Path(self._file.name).name)
        content = content[4:].replace(name, bytes(len(name)))
        end = len(content) & ~7
        words = array("Q", content[:end])
        return [~addresses[word] if word in addresses else word for word in words], content[end:]

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


def _same_but_for_places(
    old: _Blend, was: list[tuple[int, int]], new: _Blend, now: list[tuple[int, int]]
) -> bool:
    """Return whether parts differ at most by where their own blocks were in memory, and by the name of the file."""
    return len(was) == len(now) and all(
        _moved(old, new, old.read(one), new.read(other)) for one, other in zip(was, now, strict=True)
    )


def _moved(old: _Blend, new: _Blend, before: bytes, after: bytes) -> bool:
    was, now = list(old.contents(before)), list(new.contents(after))
    places, moved = old.addresses(before), new.addresses(after)
    return len(was) == len(now) and all(
        one == other or (one[:4] == other[:4] and old.words(one, places) == new.words(other, moved))
        for one, other in zip(was, now, strict=True)
    )


def _name(read: bytes, at: int) -> str:
    at += _NAME
    return read[at : at + _LONGEST_NAME].partition(b"\0")[0].decode("utf-8", "replace")
