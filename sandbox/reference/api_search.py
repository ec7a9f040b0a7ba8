# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches what this Blender's Python offers: operators, types, members, enum values, functions of modules.

Pure: it works on an `RnaIndex` and on docstrings that were read before. Building the index takes about half a second
and belongs in a thread; a search takes a few milliseconds.
"""

from __future__ import annotations

import bisect
import difflib
import heapq
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from .rna import Function, Property, RnaIndex

__all__ = ("Entry", "Kind", "SearchIndex")

Kind = Literal["operator", "type", "property", "function", "module"]

#: The score of a word by its place: in the name, the owner, the label, the enum items or the text.
_IN_NAME, _IN_OWNER, _IN_LABEL, _IN_ITEMS, _IN_TEXT = 6.0, 2.0, 4.0, 1.5, 1.0
#: The score by the kind of entry: a user more often searches for an operator or a type than for one of the many
#: members.
_WEIGHT: Mapping[Kind, float] = {
    "operator": 1.3,
    "type": 1.2,
    "module": 1.1,
    "function": 1.0,
    "property": 1.0,
}
#: The operator modules that scripts use most: other modules have the same words for their own editors.
_FIRST = ("bpy.ops.object.", "bpy.ops.mesh.", "bpy.types.Object.")
_FIRST_WEIGHT = 1.15
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
#: Words of a query that carry no meaning.
_EMPTY = frozenset("a an and as by for from how in is of on or the to with bpy ops types".split())
_MOST_WORDS = 12


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that the search can find. `name` is as in Python, such as `bpy.types.Object.location`."""

    name: str
    kind: Kind
    summary: str


class SearchIndex:
    """An inverted index: for each word the entries that contain it, with the word's score there."""

    def __init__(self, index: RnaIndex, docstrings: Mapping[str, str]) -> None:
        """Build the index; `docstrings` are those of functions and classes of modules, by dotted name."""
        self._entries: list[Entry] = []
        self._words: dict[str, dict[int, float]] = defaultdict(dict)
        for entry, parts in _entries(index, docstrings):
            self._add(entry, parts)
        self._sorted = sorted(self._words)

    def search(self, query: str, *, kinds: Iterable[Kind] = (), limit: int = 10) -> list[Entry]:
        """Return the entries that fit the words of the query best, best first."""
        wanted = frozenset(kinds)
        words = [w for w in dict.fromkeys(_split(query)) if w not in _EMPTY][:_MOST_WORDS]
        scores: dict[int, float] = defaultdict(float)
        for word in words:
            best: dict[int, float] = {}
            for known, closeness in self._alike(word):
                found = self._words[known]
                rarity = math.log(1.0 + len(self._entries) / len(found)) * closeness
                for number, weight in found.items():
                    best[number] = max(best.get(number, 0.0), weight * rarity)
            for number, score in best.items():
                # Each further word that fits scores more than one word that fits well.
                scores[number] += score + 8.0
        plain = query.strip().lower()

        def rank(number: int) -> tuple[float, int, str]:
            entry = self._entries[number]
            weight = _WEIGHT[entry.kind] * (_FIRST_WEIGHT if entry.name.startswith(_FIRST) else 1.0)
            return -scores[number] * weight - _exact(entry.name, plain), len(entry.name), entry.name

        fitting = (n for n in scores if not wanted or self._entries[n].kind in wanted)
        return [self._entries[number] for number in heapq.nsmallest(limit, fitting, key=rank)]

    def _add(self, entry: Entry, parts: Iterable[tuple[str, float]]) -> None:
        number = len(self._entries)
        self._entries.append(entry)
        for text, weight in parts:
            words = list(dict.fromkeys(_split(text)))
            share = weight / math.sqrt(max(len(words), 1))
            for word in words:
                held = self._words[word]
                held[number] = max(held.get(number, 0.0), share)

    def _alike(self, word: str) -> Iterator[tuple[str, float]]:
        """Iterate over known words that equal this one, begin with it or, if there are none, look like it."""
        found = False
        if word in self._words:
            found = True
            yield word, 1.0
        if len(word) >= 3:
            begin = bisect.bisect_left(self._sorted, word)
            for known in self._sorted[begin : begin + 40]:
                if not known.startswith(word):
                    break
                if known != word:
                    found = True
                    yield known, 0.6 * len(word) / len(known)
        if not found and 4 <= len(word) <= 30:
            near = [
                known for known in self._sorted if known[0] == word[0] and abs(len(known) - len(word)) < 3
            ]
            for known in difflib.get_close_matches(word, near, 2, 0.75):
                yield known, 0.5


def _exact(name: str, query: str) -> float:
    """Return an extra score for a name that the query spells exactly."""
    lowered = name.lower()
    if lowered == query or lowered.removeprefix("bpy.ops.").removeprefix("bpy.types.") == query:
        return 1000.0
    return 20.0 if lowered.endswith("." + query) else 0.0


def _split(text: str) -> list[str]:
    """Return the words of a text or name, in lower case and without the plural's s."""
    return [_singular(word.lower()) for word in _WORD.findall(text)]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


# --- what there is --------------------------------------------------------------------------------------------

Found = tuple[Entry, list[tuple[str, float]]]


def _entries(index: RnaIndex, docstrings: Mapping[str, str]) -> Iterator[Found]:
    for idname, operator in index.operators.items():
        items = [" ".join((p.name, *p.items)) for p in operator.parameters.values()]
        module, _, name = idname.partition(".")
        entry = Entry(f"bpy.ops.{idname}", "operator", operator.description or operator.label)
        yield (
            entry,
            [
                (name, _IN_NAME),
                (module, _IN_OWNER),
                (operator.label, _IN_LABEL),
                (operator.description, _IN_TEXT),
                (" ".join(items), _IN_TEXT),
            ],
        )
    for name, struct in index.structs.items():
        yield (
            Entry(f"bpy.types.{name}", "type", struct.description),
            [
                (name, _IN_NAME),
                (struct.description, _IN_TEXT),
            ],
        )
        for prop in struct.properties.values():
            if prop.name != "rna_type":
                yield _property(name, prop)
        for function in struct.functions.values():
            yield _function(name, function)
    for name, text in docstrings.items():
        owner, _, own = name.rpartition(".")
        yield (
            Entry(name, "module", first_sentence(text)),
            [
                (own, _IN_NAME),
                (owner, _IN_OWNER),
                (text[:500], _IN_TEXT),
            ],
        )


def _property(struct: str, prop: Property) -> Found:
    return Entry(f"bpy.types.{struct}.{prop.name}", "property", prop.description), [
        (prop.name, _IN_NAME),
        (struct, _IN_OWNER),
        (prop.description, _IN_TEXT),
        (" ".join(prop.items), _IN_ITEMS),
    ]


def _function(struct: str, function: Function) -> Found:
    return Entry(f"bpy.types.{struct}.{function.name}", "function", function.description), [
        (function.name, _IN_NAME),
        (struct, _IN_OWNER),
        (function.description, _IN_TEXT),
    ]


def first_sentence(docstring: str) -> str:
    """Return a docstring's first sentence, without the directive or call before it."""
    lines = [line.strip() for line in docstring.splitlines()]
    prose = [line for line in lines if line and not line.startswith(("..", ":")) and "(" not in line[:60]]
    return prose[0][:200] if prose else (lines[0][:200] if lines else "")
