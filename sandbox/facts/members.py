# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about Blender's members and operators that RNA does not tell: `members.json`, a list for each question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ("names", "numbers", "rows", "sections")

_FACTS: Final[dict[str, dict[str, Any]]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def sections() -> Mapping[str, Mapping[str, Any]]:
    """All lists, each with `why` it matters, and its `names`, `numbers` or `rows`."""
    return {title: section for title, section in _FACTS.items() if title}


def names(title: str) -> frozenset[str]:
    """The names of a list: of structs, of members as `Struct.member`, of operators or how theirs begin."""
    return frozenset(_FACTS[title]["names"].split())


def numbers(title: str) -> Mapping[str, float]:
    """The numbers of a list, by name."""
    found: Mapping[str, float] = _FACTS[title]["numbers"]
    return found


def rows(title: str) -> list[dict[str, frozenset[str]]]:
    """The rows of a table: by column the names that stand there."""
    return [
        {column: frozenset(text.split()) for column, text in row.items()} for row in _FACTS[title]["rows"]
    ]
