# SPDX-License-Identifier: GPL-3.0-or-later
"""Guarded versions of the methods of plain types that `plain.GUARDED` lists."""

from __future__ import annotations

import array
import codecs
import operator
from collections.abc import Callable
from typing import Any, Final

from ...language.builtin_methods import TABLE_TYPES
from ..reentry import may_call_scripts
from ..seam import Guard
from ..values.plain import GUARDED

__all__ = ("guarded_method",)

Method = Callable[..., Any]


def guarded_method(guard: Guard, kind: type, name: str) -> Method | None:
    """Return `kind.name` as a function of the value and the arguments; None if the method needs no guard."""
    for base in kind.__mro__:
        if name in GUARDED.get(base, ()):
            maker = _hashing if issubclass(base, TABLE_TYPES) else _MAKERS.get(name, _linear)
            maker = _OF_COUNTER.get(name, maker)
            return maker(guard, getattr(base, name), base)
    return None


def _linear(guard: Guard, plain: Method, _kind: type) -> Method:
    """Return a guarded `list.count` or the like: it ticks, and checks how much is compared."""

    def method(value: Any, *arguments: Any) -> Any:
        guard.meter.tick()
        if arguments:
            guard.operators.compare_weight(arguments[0], len(value))
            guard.operators.searched(arguments[0], value)
        return plain(value, *arguments)

    return method


def _padding(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, width: Any = 8, *fill: Any, **named: Any) -> Any:
        tabs = width = operator.index(named.get("tabsize", width))
        if tabs > 0:
            factor = (
                value.count("\t" if isinstance(value, str) else b"\t")
                if plain.__name__ == "expandtabs"
                else 1
            )
            guard.operators.length(len(value) + max(int(tabs), 0) * factor, "text")
        if plain.__name__ == "expandtabs":
            return plain(value, int(tabs))
        return plain(value, width, *fill)

    return method


def _strip(guard: Guard, plain: Method, _kind: type) -> Method:
    """Return a guarded `strip`: it looks for each character of the text among all that are stripped."""

    def method(value: Any, characters: Any = None) -> Any:
        if type(characters) is str and len(characters) > _FEW:
            characters = "".join(set(characters))
        if isinstance(characters, str | bytes | bytearray):
            guard.operators.length(len(value) * len(characters) // _AT_ONCE, "comparison")
        return plain(value, characters)

    return method


def _from_right(guard: Guard, plain: Method, _kind: type) -> Method:
    """Return a guarded `rfind`: from the right, Python may compare all of the part at each place of the text."""

    def method(value: Any, sep: Any = None, *rest: Any, **named: Any) -> Any:
        if isinstance(sep, str | bytes | bytearray):
            guard.operators.length(len(value) * len(sep) // _AT_ONCE, "comparison")
        return plain(value, sep, *rest, **named)

    return method


def _starts(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, parts: Any, *bounds: Any) -> Any:
        if isinstance(parts, tuple):
            sizes = (len(each) for each in tuple.__iter__(parts) if isinstance(each, str | bytes))
            guard.operators.length(sum(sizes) // _AT_ONCE, "comparison")
        return plain(value, parts, *bounds)

    return method


_FEW: Final = 100
_AT_ONCE: Final = 100
"""How many characters C code compares in the time in which it makes one item."""


def _replace(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, old: Any, new: Any, count: Any = -1) -> Any:
        if isinstance(old, str | bytes) and isinstance(new, str | bytes):
            found = value.count(old) if type(old) in (str, bytes) else len(value) + 1
            guard.operators.length(len(value) + found * len(new), "text")
        return plain(value, old, new, count)

    return method


def _join(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, parts: Any) -> Any:
        parts = parts if type(parts) in (list, tuple) else list(parts)
        total = sum(map(len, parts)) if {type(value)}.issuperset(map(type, parts)) else 0
        guard.operators.length(total + len(value) * len(parts), "text")
        return plain(value, parts)

    return method


def _translate(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, table: Any, *delete: Any, **named: Any) -> Any:
        if type(table) is not dict and not isinstance(table, bytes):
            guard.meter.refuse("translate() takes a dict here: use str.maketrans()")
        longest = 1
        if type(table) is dict:
            longest = max((len(new) for new in table.values() if isinstance(new, str)), default=1)
        guard.operators.length(len(value) * max(longest, 1), "text")
        return plain(value, table, *delete, **named)

    return method


def _format(guard: Guard, _plain: Method, _kind: type) -> Method:
    def method(value: str, *arguments: Any, **named: Any) -> str:
        return guard.text.format(value, arguments, named)

    return method


def _format_map(guard: Guard, _plain: Method, _kind: type) -> Method:
    def method(value: str, mapping: Any) -> str:
        return guard.text.format(value, (), mapping)

    return method


def _extend(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, items: Any) -> None:
        items = guard.operators.growing(value, items)
        plain(value, _settled(items) if isinstance(value, array.array) else items)

    return method


def _settled(items: Any) -> Any:
    """Return items for an array as plain numbers: it has made room when it asks for one, and may shrink meanwhile."""
    kinds = set(map(type, items)) - {int, float, str}
    if isinstance(items, array.array) or not kinds:
        return items
    return [
        operator.index(each) if hasattr(type(each), "__index__")
        else float(each) if hasattr(type(each), "__float__") else each
        for each in items
    ]  # fmt: skip


def _sort(guard: Guard, _plain: Method, _kind: type) -> Method:
    def method(value: Any, *, key: Any = None, reverse: Any = False) -> None:
        guard.builtins.sort(value, key, reverse)

    return method


def _to_bytes(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, length: Any = 1, *rest: Any, **named: Any) -> bytes:
        length = operator.index(length)
        guard.operators.length(length)
        return plain(value, length, *rest, **named)  # type: ignore[no-any-return]

    return method


def _from_bytes(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(*arguments: Any, **named: Any) -> int:
        # a script reaches it through the class alone: `int.from_bytes(data, order)`
        if arguments and isinstance(arguments[0], bytes | bytearray | list | tuple):
            guard.operators.bits(8 * len(arguments[0]))
            return int.from_bytes(*arguments, **named)
        raise TypeError("from_bytes() takes bytes here")

    return method


_ENCODINGS: Final = {
    "utf8": "utf-8",
    "ascii": "ascii",
    "latin1": "latin-1",
    "utf16": "utf-16",
    "utf32": "utf-32",
    "utf8sig": "utf-8-sig",
    "cp1252": "cp1252",
    "iso88591": "iso8859-1",
}
for _name in _ENCODINGS.values():  # Python loads each at its first use
    codecs.lookup(_name)


def encoding(guard: Guard, name: Any) -> Any:
    """Return Python's name of an encoding that reads and writes in time linear to the text; refuse any other."""
    plain = name.lower().replace("-", "").replace("_", "") if type(name) is str else ""
    if plain not in _ENCODINGS:
        shown = repr(name) if type(name) is str else f"of the type {type(name).__name__}"
        guard.meter.refuse(f"the encoding {shown} is not available: use 'utf-8'")
    return _ENCODINGS[plain]


def _coding(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, encoding_name: Any = "utf-8", errors: Any = "strict", **named: Any) -> Any:
        encoding_name = named.pop("encoding", encoding_name)
        if type(errors) is not str:
            raise TypeError(f"the error handler is named by a str, not {type(errors).__name__}")
        if errors not in ("strict", "ignore", "replace", "backslashreplace"):
            raise LookupError(f"unknown error handler name {errors!r}")
        return plain(value, encoding(guard, encoding_name), errors)

    return method


def _strftime(_guard: Guard, plain: Method, _kind: type) -> Method:
    """Return a guarded `strftime`: C code reserves 256 times the length of the pattern."""

    def method(value: Any, pattern: Any) -> str:
        if not isinstance(pattern, str) or len(pattern) > 1000:
            raise ValueError("strftime() takes a pattern of at most 1,000 characters here")
        return plain(value, pattern)  # type: ignore[no-any-return]

    return method


def _strptime(_guard: Guard, plain: Method, _kind: type) -> Method:
    """Return a guarded `strptime`: Python makes a regular expression of the pattern, some 80 times as large."""

    def method(*arguments: Any) -> Any:
        texts = arguments[-2:]  # a script may also reach it through a value: `moment.strptime(text, pattern)`
        if any(isinstance(each, str) and len(each) > 1000 for each in texts):
            raise ValueError("strptime() takes a text and a pattern of at most 1,000 characters here")
        return plain(*texts)

    return method


def _elements(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any) -> Any:
        return guard.builtins.ticked(plain(value))

    return method


def _most_common(guard: Guard, plain: Method, _kind: type) -> Method:
    def method(value: Any, *count: Any) -> Any:
        guard.operators.sortable(list(value.values()))
        return plain(value, *count)

    return method


def _hashing(guard: Guard, plain: Method, _kind: type) -> Method:
    """Return a guarded method of a set or dict that hashes its arguments."""
    if plain.__name__ != "fromkeys":
        return guard.hashing.method(plain)

    def from_keys(keys: Any, *value: Any) -> Any:
        guard.meter.tick()
        return plain(guard.hashing.keys(keys), *value)

    return from_keys


_MAKERS: dict[str, Callable[[Guard, Method, type], Method]] = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill", "expandtabs"), _padding),
    "replace": _replace,
    **dict.fromkeys(("strip", "lstrip", "rstrip"), _strip),
    **dict.fromkeys(("rfind", "rindex", "rpartition", "rsplit"), _from_right),
    **dict.fromkeys(("startswith", "endswith"), _starts),
    "strftime": _strftime,
    "strptime": _strptime,
    "join": _join,
    "translate": _translate,
    "format": _format,
    "format_map": _format_map,
    "extend": _extend,
    "extendleft": _extend,
    "fromlist": _extend,
    "sort": _sort,
    **dict.fromkeys(("encode", "decode"), _coding),
    "to_bytes": _to_bytes,
    "from_bytes": _from_bytes,
}
_OF_COUNTER: dict[str, Callable[[Guard, Method, type], Method]] = {
    "elements": _elements,
    "most_common": _most_common,
}

may_call_scripts(globals())
