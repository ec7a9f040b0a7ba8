# SPDX-License-Identifier: GPL-3.0-or-later
"""Adds and removes one table in the text of a TOML file: all other text stays the same.

It finds a table in lines below its own header; it does not find one inside an inline table, which `files` notices when
it reads the result.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

__all__ = ("put", "read", "take")

_HEADER = re.compile(r"[ \t]*\[")


def read(text: str) -> Any:
    """Return the data of a file. Raises ValueError with the line of a mistake."""
    return tomllib.loads(text.removeprefix("\ufeff"))


def put(text: str, path: tuple[str, ...], name: str, entry: dict[str, Any], *, listed: bool = False) -> str:
    """Return the text with `entry` as the table `name` below `path`, at its end, in place of an old one."""
    assert not listed, "no client keeps a list of servers in TOML"
    text = take(text, path, name)
    line = "\r\n" if "\r\n" in text else "\n"
    before = f"{text}{'' if text.endswith(line) else line}{line}" if text.strip() else text
    lines = [f"[{'.'.join((*path, name))}]", *(f"{key} = {_format(value)}" for key, value in entry.items())]
    return before + line.join((*lines, ""))


def take(text: str, path: tuple[str, ...], name: str, *, listed: bool = False) -> str:
    """Return the text without that table and those below it, and without the empty line before."""
    assert not listed, "no client keeps a list of servers in TOML"
    lines = text.splitlines(keepends=True)
    own = re.compile(
        r"[ \t]*\[\s*"
        + r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in (*path, name))
        + r"\s*[.\]]"
    )
    kept: list[str] = []
    position = 0
    while position < len(lines):
        if not own.match(lines[position]):
            kept.append(lines[position])
            position += 1
            continue
        end = position + 1
        while end < len(lines) and not _HEADER.match(lines[end]):
            end += 1
        after = end
        while after > position + 1 and (not (said := lines[after - 1].strip()) or said.startswith("#")):
            after -= 1  # comments and empty lines before the next header belong to that
        if kept and not kept[-1].strip():
            kept.pop()
        position = after
    return "".join(kept)


def _format(value: Any) -> str:
    """Return a TOML value; JSON's strings, numbers and arrays are TOML's, inline tables are not."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_format(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
