# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of what works in which client, as docs/clients.md has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from scenario import COLUMNS

__all__ = ("markdown", "worse", "write")

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
_HEAD = ("client", "version", "over", *COLUMNS)
#: What a cell may say, the best first.
_ORDER = (
    *("yes", "accept", "decline", "cancel", "as text", "closes", "not asked for", "cannot be asked"),
    *("no", "–"),
)


class Row(Protocol):
    """A line of the table."""

    client: str
    version: str
    transport: str
    cells: dict[str, str]
    note: str


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = [_HEAD, tuple("---" for _ in _HEAD)]
    lines += [
        (one.client, one.version, one.transport, *(one.cells[name] for name in COLUMNS)) for one in rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(rows: Sequence[Row]) -> None:
    """Put these rows into the page; rows of other clients stay."""
    page = _PAGE.read_text(encoding="utf-8")
    new = {_key(line): line for line in markdown(rows).splitlines()[2:]}
    old = _lines(page)
    kept = [new.pop(_key(line), line) for line in old]
    head = markdown(()).splitlines()
    text = "\n".join([*head, *kept, *new.values()])
    begin = page.index("| client | version |")
    end = begin + re.match(r"(?:\|.*\n)+", page[begin:]).end()  # type: ignore[union-attr]
    _PAGE.write_text(f"{page[:begin]}{text}\n{page[end:]}", encoding="utf-8")


def worse(row: Row) -> list[str]:
    """In which cells a row is worse than the page says; one that could not be run is not."""
    if row.note:
        return []
    line = markdown([row]).splitlines()[2]
    before = {_key(known): known for known in _lines(_PAGE.read_text(encoding="utf-8"))}.get(_key(line))
    if before is None:
        return [f"docs/clients.md has no row for {line}"]
    return [
        f"{row.client} over {row.transport}, {name}: {now}, and was {was}"
        for name, was, now in zip(_HEAD[3:], _cells(before)[3:], _cells(line)[3:], strict=True)
        if _rank(now) > _rank(was)
    ]


def _rank(cell: str) -> int:
    return _ORDER.index(cell) if cell in _ORDER else len(_ORDER)


def _lines(page: str) -> list[str]:
    begin = page.index("| client | version |")
    return [line for line in page[begin:].partition("\n\n")[0].splitlines()[2:] if line.startswith("|")]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _key(line: str) -> tuple[str, str]:
    cells = _cells(line)
    return cells[0], cells[2]
