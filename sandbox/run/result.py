# SPDX-License-Identifier: GPL-3.0-or-later
"""Converts a script's `result` to JSON: faithful, of limited size, and never an error."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ..guard.reentry import may_call_scripts
from ..guard.values.fractions import Fraction
from ..guard.values.plain import SCALAR_TYPES
from ..guard.values.weight import TooHeavy, weigh

__all__ = ("MAX_ITEMS", "to_json")

MAX_ITEMS = 100_000
_DEPTH = 32
_TEXT = 1_000_000
_TEXTS = 8_000_000
_PARTS = 2_000_000
"""The most parts of values that may be converted to texts because JSON has no other form for them."""


def to_json(value: Any, *, max_items: int = MAX_ITEMS) -> Any:
    """Return `value` as JSON values (None, bool, int, float, str, list, dict with text keys).

    Vectors, matrices, arrays, tuples and sets become lists (sets sorted if possible), references to data-blocks
    `{"type": "Object", "name": "Cube"}`, other parts of Blender `{"type", "path"}`, dates ISO 8601, numbers that JSON
    lacks the texts `"NaN"`, `"Infinity"`, `"-Infinity"`. A value that is too large ends in a note of how much was left
    out.
    """
    return _Converter(max_items).convert(value, 0)


class _Converter:
    def __init__(self, max_items: int) -> None:
        self._left = max_items
        self._characters = _TEXTS
        self._parts = _PARTS
        self._open: set[int] = set()

    def convert(self, value: Any, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and not isinstance(value, enum.Enum):
            # not every Python can write longer integers in JSON
            return value if value.bit_length() < 10_000 else hex(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else _special(value)
        if isinstance(value, str) and not isinstance(value, enum.Enum):
            return self._text(value)
        if depth > _DEPTH:
            return f"… (nested deeper than {_DEPTH})"
        if id(value) in self._open:
            return "… (contains itself)"
        self._open.add(id(value))
        try:
            return self._compound(value, depth)
        except Exception as error:  # a script's own class may fail in any way; the result must not
            return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"
        finally:
            self._open.discard(id(value))

    def _text(self, value: str) -> str:
        """Return a text, cut so that all texts together keep the limit; the same text counts each time."""
        room = min(_TEXT, self._characters)
        self._characters -= min(len(value), room)
        return value if len(value) <= room else f"{value[:room]}… ({len(value):,} characters)"

    def _as_text(self, value: Any) -> str:
        """Return `str(value)` if that is little work, counted over all such texts together."""
        if type(value) in SCALAR_TYPES:
            return str(value)
        try:
            self._parts -= weigh(value, self._parts, shown=True)
        except TooHeavy:
            self._parts = 0
            return f"<{type(value).__name__} that is too large to be shown>"
        return str(value)

    def _compound(self, value: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self.convert(value.value, depth + 1)
        if isinstance(value, Mapping):
            return self._mapping(value.items(), depth)
        if isinstance(value, (set, frozenset)):
            return self._list(self._sorted(value), depth)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return {"type": "bytes", "base64": base64.b64encode(bytes(value)[:_TEXT]).decode("ascii")}
        if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
            return value.isoformat()
        if isinstance(value, datetime.timedelta):
            return value.total_seconds()
        if isinstance(value, complex):
            return {"real": self.convert(value.real, depth), "imag": self.convert(value.imag, depth)}
        if isinstance(value, (decimal.Decimal, Fraction)):
            return str(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [f.name for f in dataclasses.fields(value)]
            return self._mapping(((n, getattr(value, n)) for n in names), depth)
        return self._foreign(value, depth)

    def _foreign(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if hasattr(kind, "bl_rna") and kind.__module__ != "<script>":
            return _reference(value)
        if kind.__name__ == "IDPropertyGroup":
            return self._mapping(value.to_dict().items(), depth)
        if kind.__name__ == "IDPropertyArray":
            return self._list(value.to_list(), depth)
        if kind.__module__ == "numpy" and hasattr(value, "tolist"):
            size = int(getattr(value, "size", 1))
            if size > self._left:
                return f"… (array of {size:,} values)"
            return self.convert(value.tolist(), depth)
        # Vectors and matrices have no __iter__: Python iterates by their items.
        if hasattr(kind, "__len__") and (hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")):
            return self._list(value, depth)
        if isinstance(value, range):
            return self._list(value, depth)
        if isinstance(value, type) or callable(value):
            return f"<{getattr(value, '__name__', kind.__name__)}>"
        return f"<{kind.__name__}>" if hasattr(kind, "__next__") else self._as_text(value)[:_TEXT]

    def _mapping(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, item in items:
            if self._left <= 0:
                made["…"] = "more is left out"
                break
            self._left -= 1
            made[key if isinstance(key, str) else self._key(key)] = self.convert(item, depth + 1)
        return made

    def _list(self, items: Iterable[Any], depth: int) -> list[Any]:
        made: list[Any] = []
        for item in items:
            if self._left <= 0:
                made.append("… (more is left out)")
                break
            self._left -= 1
            made.append(self.convert(item, depth + 1))
        return made

    def _key(self, key: Any) -> str:
        if key is None or isinstance(key, bool):
            return {None: "null", True: "true", False: "false"}[key]
        return self._as_text(key)[:1000]

    def _sorted(self, values: Iterable[Any]) -> list[Any]:
        try:
            return sorted(values)
        except TypeError:
            return sorted(values, key=lambda v: (type(v).__name__, self._as_text(v)))


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _reference(value: Any) -> dict[str, str] | str:
    """Return a data-block by type and name, any other part of Blender by its Python path."""
    try:
        kind = value.rna_type.identifier
        if hasattr(value, "session_uid"):
            return {"type": kind, "name": value.name}
        return {"type": kind, "path": repr(value)}
    except ReferenceError:
        return "<removed data-block>"


may_call_scripts(globals())
