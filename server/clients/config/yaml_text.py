# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds and removes one entry in the text of a YAML file: all other text stays the same.

The entry belongs to a mapping, or to a list whose items have a `name`, at the top level of the file and in lines of
its own. Other forms (braces, anchors) are refused. `files` reads the result with a YAML library.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ("put", "read", "take")

_INDENT = "  "


def read(text: str) -> Any:
    """Return the data of a file; an empty file is an empty mapping. Raises ValueError with the line of a mistake."""
    from ruamel.yaml import YAML  # a bundled library that few users need
    from ruamel.yaml.error import YAMLError

    try:
        found = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark is not None else "the file"
        raise ValueError(f"{where} is not YAML: {getattr(error, 'problem', None) or error}") from None
    return {} if found is None else found


def put(text: str, path: tuple[str, ...], name: str, entry: dict[str, Any], *, listed: bool = False) -> str:
    """Return the text with `entry` first in the mapping or list at `path`, without an old one. Raises ValueError."""
    text = take(text, path, name, listed=listed)
    line = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    at = _top(lines, path)
    if at is None:
        if lines and not lines[-1].endswith(("\n", "\r")):
            lines[-1] += line
        at = len(lines)
        lines.append(f"{path[0]}:{line}")
    else:
        lines[at] = _opened(lines[at], path[0], line)
    indent = _children(lines, at)
    shown = _item(name, entry, _INDENT if indent is None else indent, listed=listed)
    return "".join((*lines[: at + 1], *(f"{each}{line}" for each in shown), *lines[at + 1 :]))


def take(text: str, path: tuple[str, ...], name: str, *, listed: bool = False) -> str:
    """Return the text without that entry."""
    lines = text.splitlines(keepends=True)
    at = _top(lines, path)
    indent = _children(lines, at) if at is not None else None
    if at is None or indent is None:
        return text
    found = [
        span for span in _entries(lines, at, indent) if _is_named(lines[slice(*span)], name, listed=listed)
    ]
    for start, end in reversed(found):
        del lines[start:end]
    if found and _children(lines, at) is None:
        head = lines[at].rstrip("\r\n")
        lines[at] = f"{head} {'[]' if listed else '{}'}{lines[at][len(head) :]}"
    return "".join(lines)


def _top(lines: list[str], path: tuple[str, ...]) -> int | None:
    """Return the line with the key at the top level of the file, or None."""
    (key,) = path
    found = [
        number for number, line in enumerate(lines) if re.match(rf"[\"']?{re.escape(key)}[\"']?\s*:", line)
    ]
    if len(found) > 1:
        raise ValueError(f"“{key}” stands in it {len(found)} times")
    return found[0] if found else None


def _opened(head: str, key: str, line: str) -> str:
    """Return the line with the key, ready for lines below it."""
    rest = head.partition(":")[2].partition("#")[0].strip()
    if rest in ("{}", "[]", "null", "~"):
        return head.replace(rest, "", 1).rstrip() + line
    if rest:
        raise ValueError(f"“{key}” is written in one line; write it in lines of its own")
    return head if head.endswith(("\n", "\r")) else head + line


def _children(lines: list[str], at: int) -> str | None:
    """Return the indentation of the entries below the line `at`; None if there are none."""
    for line in lines[at + 1 :]:
        if _says_nothing(line):
            continue
        indent = line[: len(line) - len(line.lstrip(" "))]
        return indent if indent or line.startswith("-") else None
    return None


def _says_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _entries(lines: list[str], at: int, indent: str) -> list[tuple[int, int]]:
    """Return the lines of each entry: its first line, and the line after its last."""
    found: list[tuple[int, int]] = []
    start = last = None
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if _says_nothing(line):
            continue
        deeper = len(line) - len(line.lstrip(" ")) > len(indent)
        if not deeper:
            if start is not None and last is not None:
                found.append((start, last + 1))
            if not line.startswith(indent) or (not indent and not line.startswith("-")):
                return found
            start = number
        last = number
    if start is not None and last is not None:
        found.append((start, last + 1))
    return found


def _is_named(lines: list[str], name: str, *, listed: bool) -> bool:
    quoted = rf"[\"']?{re.escape(name)}[\"']?\s*"
    if listed:
        return any(re.match(rf"\s*(-\s+)?name\s*:\s*{quoted}(#.*)?$", line.rstrip("\r\n")) for line in lines)
    return re.match(rf"\s*{quoted}:", lines[0]) is not None


def _item(name: str, entry: dict[str, Any], indent: str, *, listed: bool) -> list[str]:
    """Return the lines of an entry; JSON's values are YAML's."""
    members = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    if listed:
        return [f"{indent}{'- ' if number == 0 else '  '}{member}" for number, member in enumerate(members)]
    return [f"{indent}{name}:", *(f"{indent}{_INDENT}{member}" for member in members)]
