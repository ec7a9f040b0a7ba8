# SPDX-License-Identifier: GPL-3.0-or-later
"""`re` for scripts: refuses regular expressions that could take too long.

Python's matcher cannot be interrupted, and a pattern such as `(a+)+b` takes a lifetime on forty letters. So this
module reads a pattern before it is used. It refuses repeats inside repeats. Other ambiguity (repeats next to each
other that take the same characters) limits the length of the text that the pattern may match.
"""

from __future__ import annotations

import re
import re._constants as c  # type: ignore[import-not-found,unused-ignore]
import re._parser as parser  # type: ignore[import-not-found,unused-ignore]
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..guard.facade import Facade, hide
from ..guard.seam import Guard
from .errors import PatternError, raising

__all__ = ("pattern_members",)

PATTERN_LIMIT: Final = 1000
STEPS: Final = 100_000_000
"""The most steps that the matcher may need for one call, by the estimate."""
_ASCII: Final = frozenset(range(128))
_OTHER: Final = 128
"""The number that stands for every character beyond ASCII."""
_EVERYTHING: Final = _ASCII | {_OTHER}
_FLAGS: Final = "A ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE NOFLAG".split()
_MATCH: Final = frozenset(
    {"end", "group", "groupdict", "groups", "lastgroup", "lastindex", "span", "start", "string"}
)


class PatternRefused(Exception):
    """Tells that a pattern could take forever."""


@dataclass
class _Cost:
    """The estimated steps of a pattern: about `factor * n ** degree` for a text of `n` characters."""

    degree: int = 1
    repeats: int = 0
    factor: int = 1
    active: list[frozenset[int]] | None = None
    looks: bool = False
    """Whether the pattern looks ahead or behind: groups may then overlap."""


class Pattern(Facade):
    """The pattern that `re.compile` returns to a script."""

    __slots__ = ("state",)

    def __init__(self, guard: Guard, source: str, flags: int) -> None:
        real = raising(re.compile)(source, flags)
        try:
            cost = _estimate(source, real.flags)
        except PatternRefused as refused:
            guard.meter.exceed(f"the pattern {source[:80]!r} {refused}", limit="pattern")
        _set_state(self, _State(guard, real, cost))

    @property
    def pattern(self) -> str:
        """The pattern's source."""
        return _state(self).real.pattern

    @property
    def flags(self) -> int:
        """The pattern's flags, with those that its source sets."""
        return _state(self).real.flags

    @property
    def groups(self) -> int:
        """The number of groups in the pattern."""
        return _state(self).real.groups

    def match(self, text: Any, *bounds: Any) -> Any:
        """Match at the start of the text, as `re.Pattern.match` does."""
        return _state(self).real.match(_checked(self, text), *bounds)

    def search(self, text: Any, *bounds: Any) -> Any:
        """Find the first match, as `re.Pattern.search` does."""
        return _state(self).real.search(_checked(self, text), *bounds)

    def fullmatch(self, text: Any, *bounds: Any) -> Any:
        """Match the whole text, as `re.Pattern.fullmatch` does."""
        return _state(self).real.fullmatch(_checked(self, text), *bounds)

    def findall(self, text: Any, *bounds: Any) -> list[Any]:
        """Return all matches as texts or tuples, as `re.Pattern.findall` does."""
        return _state(self).real.findall(_checked(self, text), *bounds)

    def finditer(self, text: Any, *bounds: Any) -> Iterator[Any]:
        """Return an iterator over all matches, as `re.Pattern.finditer` does."""
        return _state(self).guard.builtins.ticked(_state(self).real.finditer(_checked(self, text), *bounds))

    def split(self, text: Any, maxsplit: Any = 0) -> list[Any]:
        """Split the text at the matches, as `re.Pattern.split` does."""
        return _state(self).real.split(_checked(self, text), maxsplit)

    def sub(self, new: Any, text: Any, count: Any = 0) -> str:
        """Replace the matches, as `re.Pattern.sub` does."""
        return self.subn(new, text, count)[0]

    def subn(self, new: Any, text: Any, count: Any = 0) -> tuple[str, int]:
        """Replace the matches and count them, as `re.Pattern.subn` does."""
        _checked(self, text)
        if isinstance(new, str):
            each = len(text) + 1 if _state(self).cost.looks else 1
            _state(self).guard.operators.length((len(text) + 1) * (len(new) * each + 1), "text")
        elif not callable(new) and not isinstance(new, bytes):
            raise TypeError(
                f"what takes the place of a match is a str or a function, not {type(new).__name__}"
            )
        elif not isinstance(new, bytes):
            new = _measured(_state(self).guard, new)
        return _state(self).real.subn(new, text, count)

    def __repr__(self) -> str:
        return f"re.compile({self.pattern!r})"


def _measured(guard: Guard, function: Any) -> Callable[[Any], Any]:
    """Wrap a function that gives the new text for each match: limit the length of all of it together."""
    total = 0

    def replace(match: Any) -> Any:
        nonlocal total
        found = function(match)
        total += len(found) if isinstance(found, str) else 0
        guard.operators.length(total, "text")
        return found

    return replace


class _State(NamedTuple):
    guard: Guard
    real: re.Pattern[str]
    cost: _Cost


_state: Callable[[Pattern], _State]
_state, _set_state = hide(Pattern, "state")


def _checked(pattern: Pattern, text: Any) -> Any:
    """Return the text; stop the run if the matcher could need too many steps for it."""
    if isinstance(text, str):
        guard, real, cost = _state(pattern)
        length = len(str.__str__(text)) + 1
        if cost.factor * length**cost.degree > STEPS:
            guard.meter.exceed(
                f"the pattern {real.pattern[:80]!r} could take too long on {length - 1:,} characters: "
                "use fewer repeats, or shorter text",
                limit="pattern",
            )
    return text


_METHODS: Final = ("match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn")


def pattern_members(guard: Guard) -> dict[str, object]:
    """Return the members of `re`, for one run."""
    guard.allowed[re.Match] = _MATCH

    def make(source: Any, flags: Any = 0) -> Pattern:
        if type(source) is Pattern:
            return source
        if type(source) is not str or len(source) > PATTERN_LIMIT:
            guard.meter.refuse(f"a pattern is a text of at most {PATTERN_LIMIT:,} characters")
        return Pattern(guard, source, int(flags))

    def function(name: str) -> Callable[..., Any]:
        def call(source: Any, *arguments: Any, flags: Any = 0, **named: Any) -> Any:
            most = {"sub": 3, "subn": 3, "split": 2}.get(name, 1)
            if len(arguments) > most:
                arguments, flags = arguments[:most], arguments[most]
            return getattr(make(source, flags), name)(*arguments, **named)

        return call

    members: dict[str, object] = {name: function(name) for name in _METHODS}
    members |= {name: int(getattr(re, name)) for name in _FLAGS if hasattr(re, name)}
    return members | {
        "compile": make,
        "escape": re.escape,
        "error": PatternError,
        "PatternError": PatternError,
    }


@lru_cache(maxsize=256)  # many scripts compile the same pattern again for each text
def _estimate(source: str, flags: int) -> _Cost:
    cost = _Cost()
    _walk(parser.parse(source, flags & ~re.DEBUG), flags, cost, inside=False)
    return cost


def _walk(tree: Any, flags: int, cost: _Cost, *, inside: bool) -> None:
    """Add the cost of a sequence's items; inside a repeat (`inside`), refuse all ambiguity."""
    for op, argument in tree:
        if op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            _repeat(argument, flags, cost, inside=inside)
        elif op is c.SUBPATTERN:
            _walk(argument[3], _scoped(argument, flags), cost, inside=inside)
        elif op is c.ATOMIC_GROUP:
            _walk(argument, flags, cost, inside=inside)
        elif op is c.BRANCH:
            if inside:
                raise PatternRefused("has alternatives inside a repeat, which can take forever")
            _branches(argument[1], flags, cost)
        elif op in (c.ASSERT, c.ASSERT_NOT):
            cost.degree += 1
            cost.looks = True
            _branches([argument[1], []], flags, cost)
        elif op in (c.GROUPREF, c.GROUPREF_EXISTS):
            if inside:
                raise PatternRefused("has a back-reference inside a repeat, which can take forever")
            cost.degree += 1
            if op is c.GROUPREF_EXISTS:
                _branches([argument[1], argument[2] or []], flags, cost)
        elif op is not c.AT:
            _separate(_characters(op, argument, flags), cost)


def _scoped(group: Any, flags: int) -> int:
    """Return the flags inside a group such as `(?i:…)` or `(?-i:…)`."""
    _, added, removed, _ = group
    return int((flags | added) & ~removed)


def _branches(branches: Any, flags: int, cost: _Cost) -> None:
    """Add the cost of alternatives: a repeat that can reach the end of one can reach the end of all."""
    cost.factor *= len(branches)
    before = cost.active or []
    after: list[frozenset[int]] = []
    for branch in branches:
        cost.active = list(before)
        _walk(branch, flags, cost, inside=False)
        after += [each for each in cost.active if each not in after]
    cost.active = after


def _repeat(argument: Any, flags: int, cost: _Cost, *, inside: bool) -> None:
    low, high, body = argument
    if inside and low != high:
        raise PatternRefused("has a repeat inside a repeat, which can take forever")
    if high == 1 and not inside:
        _branches([body, []] if low == 0 else [body], flags, cost)
        return
    taken = frozenset().union(*(_possible_characters(op, each, flags) for op, each in body))
    if not cost.repeats or any(taken & other for other in cost.active or ()):
        cost.degree += 1
    cost.repeats += 1
    cost.active = [*(cost.active or ()), taken]
    inner = _Cost()
    _walk(body, flags, inner, inside=True)
    cost.degree += inner.degree - 1
    cost.repeats += inner.repeats
    cost.looks = cost.looks or inner.looks
    counted = low == high or body.getwidth()[0] == 0  # a body that may be empty repeats even on a short text
    cost.factor *= inner.factor * max(int(low) if counted else 1, 1)


def _separate(characters: frozenset[int], cost: _Cost) -> None:
    """Keep only the active repeats that can take one of these characters: the others end here."""
    cost.active = [taken for taken in cost.active or () if taken & characters]


def _possible_characters(op: Any, argument: Any, flags: int) -> frozenset[int]:
    if op is c.SUBPATTERN:
        inner = _scoped(argument, flags)
        return frozenset().union(*(_possible_characters(each, value, inner) for each, value in argument[3]))
    if op in (c.LITERAL, c.NOT_LITERAL, c.ANY, c.IN):
        return _characters(op, argument, flags)
    return _EVERYTHING


def _characters(op: Any, argument: Any, flags: int) -> frozenset[int]:
    """Return the characters that one item can take: ASCII, and `_OTHER` for all others."""
    if op is c.LITERAL:
        found = {min(argument, _OTHER)}
    elif op is c.NOT_LITERAL:
        found = set(_EVERYTHING) - {argument}
    elif op is c.IN:
        found, negated = set(), False
        for each, value in argument:
            if each is c.NEGATE:
                negated = True
            elif each is c.LITERAL:
                found.add(min(value, _OTHER))
            elif each is c.RANGE:
                found.update(range(min(value[0], _OTHER), min(value[1], _OTHER) + 1))
            else:
                found |= _category(value)
        if negated:
            found = (set(_EVERYTHING) - found) | {_OTHER}
    else:
        found = set(_EVERYTHING)
    if flags & re.IGNORECASE:
        found |= {ord(letter) for letter in "iIkKsS"} if _OTHER in found else set()
        found |= {
            ord(other) for code in found if code < _OTHER for other in (chr(code).lower(), chr(code).upper())
        }
        found |= {_OTHER} if found & {ord(letter) for letter in "iIkKsS"} else set()
    return frozenset(found)


def _category(category: Any) -> set[int]:
    name = str(category).removeprefix("CATEGORY_")
    test = {"DIGIT": str.isdigit, "SPACE": str.isspace}.get(name.removeprefix("NOT_"))
    plain = {
        code for code in _ASCII if (test(chr(code)) if test else chr(code).isalnum() or chr(code) == "_")
    }
    return (set(_ASCII) - plain if name.startswith("NOT_") else plain) | {_OTHER}
