# SPDX-License-Identifier: GPL-3.0-or-later
"""`json` for scripts: Python's encoder gets plain dicts, lists, texts and numbers only."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from ..guard.reentry import may_call_scripts
from ..guard.seam import Guard
from ..guard.values.plain import whole
from .errors import JSONDecodeError, raising

__all__ = ("json_members",)

_OF_JSON: Final = frozenset({str, int, float, bool, type(None)})
_ROWS: Final = frozenset({list, tuple})


def json_members(guard: Guard) -> dict[str, object]:
    """Return the members of `json`, for one run."""

    def dumps(
        value: Any, *, indent: Any = None, default: Any = None, separators: Any = None, **options: Any
    ) -> str:
        indent = whole(indent)
        if indent is not None and type(indent) not in (str, int):
            raise TypeError("json.dumps(indent=…) takes a number or a text")
        wide = len(indent) if type(indent) is str else indent or 0
        if not -1 <= wide <= 8:
            guard.meter.exceed("json.dumps(indent=…) is over the limit of 8", limit="format")
        guard.operators.length(guard.operators.weight(value) * (1 + 4 * max(wide, 0)), "text")
        for part in separators or ():
            guard.operators.length(len(part) * 100_000, "text")
        allowed: dict[str, Any] = {
            name: bool(options.pop(name))
            for name in ("sort_keys", "ensure_ascii", "allow_nan")
            if name in options
        }
        if options:
            raise TypeError(f"json.dumps() does not take {', '.join(options)} here")
        convert = None if default is None else weighed(guard.builtins.ticking(default))
        plain = value if _is_plain(value) else _settled(value, convert, set())
        return json.dumps(plain, indent=indent, separators=separators, **allowed)

    def weighed(default: Any) -> Callable[[Any], Any]:
        """Wrap `default` of `json.dumps`: limit the size of all its results together."""
        total = 0

        def convert(value: Any) -> Any:
            nonlocal total
            found = default(value)
            total += guard.operators.weight(found)
            guard.operators.length(total, "text")
            return found

        return convert

    def loads(text: Any, *, object_hook: Any = None, object_pairs_hook: Any = None) -> Any:
        if isinstance(text, str | bytes | bytearray):
            guard.operators.length(len(text), "text")
        return json.loads(text, object_hook=object_hook, object_pairs_hook=object_pairs_hook)

    return {"dumps": dumps, "loads": raising(loads), "JSONDecodeError": JSONDecodeError}


def _is_plain(value: Any) -> bool:
    """Return whether a value is made of plain dicts, lists, texts and numbers only."""
    level = [value]
    while level:
        kinds = set(map(type, level)) - _OF_JSON
        if not kinds <= _ROWS | {dict}:
            return False
        level = [
            part
            for each in level
            if type(each) not in _OF_JSON
            for part in (each.values() if type(each) is dict else each)
        ]
    return True


def _settled(value: Any, convert: Callable[[Any], Any] | None, holders: set[int]) -> Any:
    """Return the plain dicts and lists of which `json.dumps` makes the text of a value.

    Python's encoder would call `items()` of a script's dict, whatever that gives, and walk what `default` changes.
    """
    if isinstance(value, str | int | float | None):
        return value
    if id(value) in holders:
        raise ValueError("Circular reference detected")
    holders.add(id(value))
    made: Any
    if isinstance(value, list | tuple):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        made = [_settled(each, convert, holders) for each in items]
    elif isinstance(value, dict):
        made = {key: _settled(part, convert, holders) for key, part in [*dict.items(value)]}
    elif convert is None:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    else:
        made = _settled(convert(value), convert, holders)
    holders.discard(id(value))
    return made


may_call_scripts(globals())
