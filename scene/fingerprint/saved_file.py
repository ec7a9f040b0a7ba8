# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares two uncompressed .blend files that one Blender wrote: their data-blocks by name, or their scenes as a whole.

This takes a fraction of the time of a walk through all properties. Data-blocks of different kinds with the same name
count as one. A difference means only that the data-block may have changed: arrays that only moved in memory differ,
too.
Source: BLO_blend_defs.hh, BLO_core_bhead.hh, DNA_ID.h and DNA_fileGlobal_types.h of Blender.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Set
from itertools import zip_longest
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
#: How many bits an address of memory has at most; and how many of the last bits may differ between the numbers that
#: newer Blenders write for near addresses.
_LONGEST_ADDRESS, _NEAR = 48, 16
#: Blocks that are neither a data-block nor a part of one.
_NO_DATA_BLOCKS = frozenset((b"REND", b"GLOB", b"DNA1", b"TEST", b"USER", b"ENDB"))
#: Blocks that do not count for what a file opens with, without its windows. `GLOB` counts: it names the open scene.
_NOT_OF_SCENES = _NO_DATA_BLOCKS - {b"GLOB"} | {b"WM\0\0", b"SR\0\0", b"SN\0\0", b"WS\0\0"}
#: The key of that block, which has no name; no data-block has this one.
_OPENS_WITH = b"\0"
#: Where the texts of `GLOB` begin and end, counted from its links: the path of the file and, from Blender 5.0 on, the
#: name of the working colour space. Blender writes whatever was in memory behind the end of such a text.
_PATH, _SPACE, _TEXTS_END = 80 - _LINKS, 1104 - _LINKS, 1168 - _LINKS
#: The bytes that are read at once to find where the blocks begin.
_AT_ONCE = 1 << 20


def changed(before: Path, after: Path) -> set[str]:
    """Return the names of the data-blocks that, with all data that they own, differ or are in only one of the files.

    Raises ValueError for a file that is not an uncompressed .blend file.
    """
    with before.open("rb", _AT_ONCE) as first, after.open("rb", _AT_ONCE) as second:
        old, new = _Blend(first), _Blend(second)
        was, now = old.parts(_NO_DATA_BLOCKS), new.parts(_NO_DATA_BLOCKS)
        return {
            name.decode("utf-8", "replace")
            for name in was | now
            if not _same(old, was.get(name, []), new, now.get(name, []), _equal)
        }


def same_scenes(before: Path, after: Path) -> bool:
    """Return whether two files open as the same scenes, if opened without their windows; False if that is not certain.

    Blender saved both in one folder, by the names that the files have. Raises ValueError for a file that is not an
    uncompressed .blend file.
    """
    with before.open("rb", _AT_ONCE) as first, after.open("rb", _AT_ONCE) as second:
        old, new = _Blend(first), _Blend(second)
        was, now = old.parts(_NOT_OF_SCENES), new.parts(_NOT_OF_SCENES)
        return was.keys() == now.keys() and all(
            _same(old, parts, new, now[name], _moved) for name, parts in was.items()
        )


class _Blend:
    """An open .blend file, which knows the form of its blocks' heads. Raises ValueError for any other file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        #: The addresses of all blocks; empty until they are needed.
        self._addresses: set[int] = set()
        header = file.read(12)
        if header.startswith(b"BLENDER-v"):  # of Blender 2.5 to 4.5, `BLENDER-v402`
            self._begin, (self._head, self._struct) = 12, _OLD
        elif header.startswith(b"BLENDER17-01"):  # of 5.0 on, `BLENDER17-01v0500`
            self._begin, (self._head, self._struct) = 17, _NEW
        else:
            raise ValueError("this is no uncompressed .blend file of a 64-bit, little-endian Blender")

    def parts(self, without: frozenset[bytes]) -> dict[bytes, list[tuple[int, int]]]:
        """Return name -> where the data-blocks of this name are, with the data that they own: begin and end.

        without: the codes of the blocks that are left out.
        """
        found: dict[bytes, list[tuple[int, int]]] = {}
        head, unpack, most = self._head, self._struct.unpack_from, self._head + _NAME + _LONGEST_NAME
        begin, name = 0, b""
        read, start, at = b"", self._begin, 0  # `at` counts from `start`
        while True:
            if at + most > len(read):
                start, at = start + at, 0
                self._file.seek(start)
                read = self._file.read(_AT_ONCE)
                if len(read) < head:
                    break
            code, length = unpack(read, at)
            if code != b"DATA":  # the start of a data-block; the data that it owns follows
                if name:
                    found.setdefault(name, []).append((begin, start + at))
                begin, name = start + at, self._key(code, read, at, without)
            at += head + length
        if name:
            found.setdefault(name, []).append((begin, start))
        return found

    def _key(self, code: bytes, read: bytes, at: int, without: frozenset[bytes]) -> bytes:
        if code in without:
            return b""
        return _OPENS_WITH if code == b"GLOB" else _name(read, at + self._head)

    def leads_nowhere(self, word: int, near: Set[int]) -> bool:
        """Return whether a word is a pointer to memory that is not in the file, so that Blender reads it as null.

        Instead of addresses, newer Blenders write numbers: they hash the name of a data-block and count up for each
        pointer in it, but memory that had a number before keeps it. What was freed in between may be such memory, so
        the same scene can get other numbers. Source: `stable_address_ids` in writefile.cc.

        near: the beginnings of the numbers of some blocks. A word with such a beginning is a number, too: hashes have
        64 bits. Addresses, as older Blenders write them, are shorter than numbers.
        """
        if word >> _LONGEST_ADDRESS == 0 or word >> _NEAR not in near:
            return False
        if not self._addresses:
            self._addresses = self._read_addresses()
        return word not in self._addresses

    def _read_addresses(self) -> set[int]:
        found: set[int] = set()
        begin = self._begin
        while True:
            self._file.seek(begin)
            head = self._file.read(self._head)
            if len(head) < self._head:
                return found
            found.add(_ADDRESS.unpack_from(head)[0])
            begin += self._head + self._struct.unpack_from(head)[1]

    def read(self, part: tuple[int, int]) -> bytes:
        """Return the bytes of a part."""
        begin, end = part
        self._file.seek(begin)
        return self._file.read(end - begin)

    def addresses(self, part: bytes) -> dict[int, int]:
        """Return where each block of a part was in memory -> its number in the part."""
        found: dict[int, int] = {}
        at = number = 0
        while at < len(part):
            found[_ADDRESS.unpack_from(part, at)[0]] = number
            at += self._head + self._struct.unpack_from(part, at)[1]
            number += 1
        return found

    def contents(self, part: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the heads and contents of a part's blocks, without what depends on their places in memory."""
        at, skipped = 0, _LINKS
        while at < len(part):
            _code, length = self._struct.unpack_from(part, at)
            head = part[at : at + 8] + part[at + 16 : at + self._head]
            at += self._head
            yield head, part[at + skipped : at + length]
            at, skipped = at + length, 0

    def nameless(self, head: bytes, content: bytes) -> bytes:
        """Return the content of a block without the name of the file, and `GLOB` without what is left undefined."""
        name = os.fsencode(Path(self._file.name).name)
        content = content.replace(name, bytes(len(name)))
        return _defined(content) if head.startswith(b"GLOB") else content


_Same = Callable[[_Blend, _Blend, bytes, bytes], bool]
_Parts = list[tuple[int, int]]


def _same(old: _Blend, was: _Parts, new: _Blend, now: _Parts, same: _Same) -> bool:
    """Return whether these parts of two files have the same contents: equal bytes, or what `same` finds the same."""
    if len(was) != len(now):
        return False
    for one, other in zip(was, now, strict=True):
        before, after = old.read(one), new.read(other)
        if before != after and not same(old, new, before, after):
            return False
    return True


def _equal(old: _Blend, new: _Blend, before: bytes, after: bytes) -> bool:
    """Return whether two parts differ at most by where their blocks were in memory."""
    return all(one == other for one, other in zip_longest(old.contents(before), new.contents(after)))


def _moved(old: _Blend, new: _Blend, before: bytes, after: bytes) -> bool:
    """Return whether two parts differ at most by where their own blocks were in memory, and by the name of the file."""
    places, moved = old.addresses(before), new.addresses(after)
    # Other data-blocks point to the first block: it is the same data-block only if it has not moved.
    if not before.startswith(b"GLOB") and next(iter(places)) != next(iter(moved)):
        return False
    near = {address >> _NEAR for address in (*places, *moved)}

    def same(was: int, now: int) -> bool:
        if was in places:
            return places[was] == moved.get(now)
        return old.leads_nowhere(was, near) and new.leads_nowhere(now, near)

    return all(
        one is not None
        and other is not None
        and one[0] == other[0]
        and (one[1] == other[1] or _same_words(old.nameless(*one), new.nameless(*other), same))
        for one, other in zip_longest(old.contents(before), new.contents(after))
    )


def _defined(content: bytes) -> bytes:
    """Return the content of `GLOB` without the bytes behind the end of each text."""
    path, space = content[_PATH:_SPACE], content[_SPACE:_TEXTS_END]
    texts = (text.partition(b"\0")[0] + b"\0" for text in (path, space))
    return b"".join((content[:_PATH], *texts, content[_TEXTS_END:]))


def _same_words(before: bytes, after: bytes, same: Callable[[int, int], bool]) -> bool:
    """Return whether the 8-byte words are equal, or `same` finds them the same, and the rest is equal."""
    end = len(before) & ~7
    return (
        len(before) == len(after)
        and before[end:] == after[end:]
        and all(
            one == other or same(one, other)
            for one, other in zip(
                memoryview(before)[:end].cast("Q"), memoryview(after)[:end].cast("Q"), strict=True
            )
        )
    )


def _name(read: bytes, at: int) -> bytes:
    at += _NAME
    return read[at : at + _LONGEST_NAME].partition(b"\0")[0]
