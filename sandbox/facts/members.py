# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads `members.json`: facts about Blender's members and operators that RNA lacks, a list for each question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ("names", "numbers", "rows", "sections")

_FACTS: Final[dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def sections() -> Mapping[str, Mapping[str, Any]]:
    """Return all lists, each with `why` it matters, and its `names`, `numbers` or `rows`."""
    return {title: section for title, section in _FACTS.items() if title}


def names(title: str) -> frozenset[str]:
    """Return the names of a list: structs, members as `Struct.member`, operators or beginnings of their names."""
    return frozenset(_FACTS[title]["names"].split())


def numbers(title: str) -> Mapping[str, float]:
    """Return the numbers of a list, by name."""
    found: Mapping[str, float] = _FACTS[title]["numbers"]
    return found


def rows(title: str) -> list[dict[str, frozenset[str]]]:
    """Return the rows of a table: the names in each column."""
    return [
        {column: frozenset(text.split()) for column, text in row.items()} for row in _FACTS[title]["rows"]
    ]
