# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds and removes one entry in the text of a JSON file: comments, order, spaces and trailing commas stay.

It reads JSON with `//` and `/* */` comments and trailing commas, as VS Code, Zed and others write it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

__all__ = ("put", "read", "take")

#: What may stand between two tokens; and one token: a mark, a string, or a number or word.
_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_TOKEN = re.compile(r'[{}\[\]:,]|"(?:[^"\\\x00-\x1f]|\\.)*"|[^\s{}\[\]:,"/]+')
_INDENT = "  "
_DEEPEST = 200


@dataclass(slots=True)
class _Member:
    """A member of an object: the places of its name, its value and the comma after it (None if there is none)."""

    name: str
    start: int
    value: _Value
    comma: int | None = None


@dataclass(slots=True)
class _Value:
    """A value, from its first to after its last letter. `members` is None unless the value is an object."""

    start: int
    end: int
    data: Any
    members: list[_Member] | None = None


def read(text: str) -> Any:
    """Return the data of a file; an empty file is an empty object. Raises ValueError with the line of a mistake."""
    found = _parse(text)
    return {} if found is None else found.data


def put(text: str, path: tuple[str, ...], name: str, entry: object, *, listed: bool = False) -> str:
    """Return the text with `entry` as the member `name` of the object at `path`, in place of an old one.

    Raises ValueError if the file is not such JSON, or if another value is in an object's place.
    """
    assert not listed, "no client keeps a list of servers in JSON"
    root = _parse(text)
    if root is None:
        for part in reversed((*path, name)):
            entry = {part: entry}
        return json.dumps(entry, indent=_INDENT, ensure_ascii=False) + "\n"
    holder, left = _descend(root, path)
    for part in reversed((*left, name)[1:]):
        entry = {part: entry}
    key = (*left, name)[0]
    there = _member(holder, key)
    if there is None:
        return _added(text, root, holder, key, entry)
    shown = _format(text, root, entry, _indent_at(text, there.start))
    return text[: there.value.start] + shown + text[there.value.end :]


def take(text: str, path: tuple[str, ...], name: str, *, listed: bool = False) -> str:
    """Return the text without that member; unchanged if there is none. Raises ValueError as `put` does."""
    assert not listed, "no client keeps a list of servers in JSON"
    root = _parse(text)
    if root is None:
        return text
    holder, left = _descend(root, path)
    there = None if left else _member(holder, name)
    if there is None:
        return text
    members = holder.members or []
    before = members.index(there) - 1
    end = there.value.end if there.comma is None else there.comma + 1
    # Cut from the end of what stands before: the line's indentation goes, a comment at that line's end stays.
    start = len(text[: there.start].rstrip(" \t\r\n"))
    if before >= 0 and there.comma is None:
        comma = members[before].comma
        assert comma is not None
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if start == holder.start + 1 and not text[end : holder.end - 1].strip():
        end = holder.end - 1  # the object is empty now
    return text[:start] + text[end:]


def _descend(root: _Value, path: tuple[str, ...]) -> tuple[_Value, tuple[str, ...]]:
    """Return the innermost existing object of `path`, and the missing rest of the path."""
    holder = root
    for number, part in enumerate(("", *path)):
        if number:
            there = _member(holder, part)
            if there is None:
                return holder, path[number - 1 :]
            holder = there.value
        if holder.members is None:
            where = f"“{part}”" if part else "the file"
            raise ValueError(f"{where} should hold an object, and holds something else")
    return holder, ()


def _member(holder: _Value, name: str) -> _Member | None:
    found = [member for member in holder.members or () if member.name == name]
    if len(found) > 1:
        raise ValueError(f"“{name}” stands in it {len(found)} times")
    return found[0] if found else None


def _added(text: str, root: _Value, holder: _Value, key: str, entry: object) -> str:
    """Return the text with one more member at the end of an object."""
    members = holder.members or []
    close = holder.end - 1
    if members and "\n" not in text[holder.start : holder.end]:  # an object in one line stays in one line
        last = members[-1].value.end if members[-1].comma is None else members[-1].comma
        shown = f", {json.dumps(key, ensure_ascii=False)}: {json.dumps(entry, ensure_ascii=False)}"
        return text[:last] + shown + text[last:]
    line = "\r\n" if "\r\n" in text else "\n"
    base = _indent_at(text, holder.start)
    indent = _indent_at(text, members[-1].start) if _begins_line(text, members) else base + _unit(text, root)
    shown = f"{json.dumps(key, ensure_ascii=False)}: {_format(text, root, entry, indent)}"
    end = len(text[:close].rstrip(" \t\r\n"))
    after = text[end:] if "\n" in text[end:close] else line + base + text[close:]
    if not members or members[-1].comma is not None:
        return f"{text[:end]}{line}{indent}{shown}{after}"
    last = members[-1].value.end
    return f"{text[:last]},{text[last:end]}{line}{indent}{shown}{after}"


def _begins_line(text: str, members: list[_Member]) -> bool:
    return bool(members) and not text[: members[-1].start].rpartition("\n")[2].strip()


def _indent_at(text: str, position: int) -> str:
    """Return the indentation of the line at this position."""
    line = text[:position].rpartition("\n")[2].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, root: _Value) -> str:
    """Return the file's unit of indentation."""
    return (_indent_at(text, root.members[0].start) if root.members else "") or _INDENT


def _format(text: str, root: _Value, value: object, indent: str) -> str:
    lines = json.dumps(value, indent=_unit(text, root), ensure_ascii=False).splitlines()
    return (("\r\n" if "\r\n" in text else "\n") + indent).join(lines)


# --- reading ------------------------------------------------------------------------------------------------


def _parse(text: str) -> _Value | None:
    """Parse a file; return its value with the places of all parts, None for an empty file."""
    start = _after_blank(text, 0)
    if start == len(text):
        return None
    value = _value(text, start, 0)
    rest = _after_blank(text, value.end)
    if rest != len(text):
        raise _wrong(text, rest)
    return value


def _after_blank(text: str, position: int) -> int:
    found = _BLANK.match(text, position)
    return found.end() if found else position


def _sign(text: str, position: int) -> tuple[str, int]:
    """Return the next token and its start."""
    start = _after_blank(text, position)
    found = _TOKEN.match(text, start)
    if found is None:
        raise _wrong(text, start)
    return found[0], start


def _value(text: str, position: int, depth: int) -> _Value:
    sign, start = _sign(text, position)
    if depth > _DEEPEST:
        raise ValueError(f"it is nested deeper than {_DEEPEST} levels")
    if sign == "{":
        return _object(text, start, depth)
    if sign == "[":
        return _array(text, start, depth)
    return _Value(start, start + len(sign), _plain(text, sign, start))


def _plain(text: str, sign: str, start: int) -> Any:
    try:
        return json.loads(sign)
    except ValueError:
        raise _wrong(text, start) from None


def _object(text: str, start: int, depth: int) -> _Value:
    members: list[_Member] = []
    position = start + 1
    while True:
        sign, at = _sign(text, position)
        if sign == "}" and (not members or members[-1].comma is not None):
            break
        if not sign.startswith('"') or (members and members[-1].comma is None):
            raise _wrong(text, at)
        name = _plain(text, sign, at)
        colon, where = _sign(text, at + len(sign))
        if colon != ":":
            raise _wrong(text, where)
        value = _value(text, where + 1, depth + 1)
        members.append(_Member(name, at, value))
        sign, position = _sign(text, value.end)
        if sign == "}":
            at = position
            break
        if sign != ",":
            raise _wrong(text, position)
        members[-1].comma = position
        position += 1
    return _Value(start, at + 1, {member.name: member.value.data for member in members}, members)


def _array(text: str, start: int, depth: int) -> _Value:
    items: list[Any] = []
    position = start + 1
    while True:
        sign, at = _sign(text, position)
        if sign == "]":
            return _Value(start, at + 1, items)
        item = _value(text, at, depth + 1)
        items.append(item.data)
        sign, at = _sign(text, item.end)
        if sign == "]":
            return _Value(start, at + 1, items)
        if sign != ",":
            raise _wrong(text, at)
        position = at + 1


def _wrong(text: str, position: int) -> ValueError:
    line = text.count("\n", 0, position) + 1
    return ValueError(f"line {line} is not JSON")
