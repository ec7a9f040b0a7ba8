# SPDX-License-Identifier: GPL-3.0-or-later
"""How many items numpy functions make whose results are bigger than their arguments, and how wide items are."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ("MADE", "SECTIONS", "broadcast_size", "deep", "product_of", "width")

SECTIONS: Final = 10_000
"""Most parts that an array is split into."""
_WORD: Final = 16
"""Bytes of the widest number."""
_TEXT: Final = 128
"""Bytes that a number takes as text."""


def width(np: Any, values: Iterable[Any]) -> float:
    """How many numbers' room an item takes that is made of `values`: arrays, texts, and whatever names a dtype."""
    return max([1.0, *(_bytes(np, value) / _WORD for value in values)])


def _bytes(np: Any, value: Any) -> float:
    if isinstance(value, np.ndarray):
        return float(value.dtype.itemsize)
    if isinstance(value, str | bytes):
        return max(4.0 * len(value), _named(np, value) if len(value) < 100 else 0.0)
    if isinstance(value, np.dtype):
        return float(value.itemsize or _TEXT)
    if value in (str, bytes) if isinstance(value, type) else False:
        return _TEXT
    if isinstance(value, list | tuple | dict):
        return max(_named(np, value), _longest(value))
    return 0.0


def _longest(values: Any) -> float:
    """The longest text in a list: all the others get as much room."""
    found = 0.0
    for each in values:
        if isinstance(each, str | bytes):
            found = max(found, 4.0 * len(each))
        elif isinstance(each, list | tuple):
            found = max(found, _longest(each))
    return found


def _named(np: Any, value: Any) -> float:
    """Bytes of the dtype that the value names, 0 if it names none."""
    if isinstance(value, list | tuple) and not any(isinstance(part, tuple | str) for part in value[:2]):
        return 0.0
    try:
        return float(np.dtype(value).itemsize)
    except (TypeError, ValueError, SyntaxError):
        return 0.0


def _shape(np: Any, value: Any) -> tuple[int, ...]:
    return tuple(np.shape(value)) if isinstance(value, np.ndarray | list | tuple) else ()


def _variables(np: Any, value: Any, other: Any = None, rowvar: Any = True, **_named: Any) -> float:
    """`cov(m, y, rowvar)`: every variable with each other."""
    count = 0
    for part in (value, other):
        shape = _shape(np, part)
        if len(shape) > 1:
            count += shape[0] if rowvar else shape[-1]
        elif shape:
            count += 1
    return float(count) ** 2


def _triangle(np: Any, value: Any, *_rest: Any, **_named: Any) -> float:
    """`tril(v)`: a vector becomes a square."""
    shape = _shape(np, value)
    return float(shape[0]) ** 2 if len(shape) == 1 else 0.0


def _counts(np: Any, values: Any, weights: Any = None, minlength: Any = 0) -> float:
    """`bincount(values)`: as long as the largest value."""
    array = np.asarray(values)
    largest = float(array.max()) if array.size and array.dtype.kind in "iub" else 0.0
    return max(largest, float(operator.index(minlength)))


def _per_axis(np: Any, value: Any, *rest: Any, **_named: Any) -> float:
    """`gradient`, `argwhere`, …: something for each axis."""
    return float(np.size(value)) * max(len(_shape(np, value)), 1)


def _unravelled(np: Any, indices: Any, shape: Any, *_rest: Any, **_named: Any) -> float:
    return float(np.size(indices)) * len((_shape(np, shape) and shape) or (1,))


def _quantiles(np: Any, value: Any, q: Any, *_rest: Any, **_named: Any) -> float:
    """`quantile(a, q, axis)`: a result for each q, and each place beside the axis."""
    shape = _shape(np, value)
    return float(np.size(q)) * np.size(value) / max(min(shape, default=1), 1) if np.size(q) > 1 else 0.0


MADE: Final[dict[str, Callable[..., float]]] = {
    **dict.fromkeys(("cov", "corrcoef"), _variables),
    **dict.fromkeys(("tril", "triu"), _triangle),
    **dict.fromkeys(("gradient", "argwhere", "nonzero"), _per_axis),
    **dict.fromkeys(("quantile", "percentile"), _quantiles),
    "bincount": _counts,
    "unravel_index": _unravelled,
}
"""Items of the result of `function(np, arguments…)`."""


def product_of(shape: Any) -> float:
    """Items of a shape: an integer or a sequence of integers."""
    if isinstance(shape, tuple | list):
        return math.prod(max(float(side), 1.0) for side in shape)
    return float(operator.index(shape)) if hasattr(type(shape), "__index__") else 1.0


def broadcast_size(shapes: list[tuple[int, ...]]) -> float:
    """Items of the arrays' broadcast, 0 if they do not fit (numpy then says so)."""
    total = 1.0
    for position in range(1, max(map(len, shapes), default=0) + 1):
        total *= max((shape[-position] for shape in shapes if len(shape) >= position), default=1)
    return total


def deep(value: Any) -> int:
    """How much a list of lists may hold beyond its length."""
    return (
        max((len(part) for part in value if isinstance(part, list | tuple)), default=1)
        if isinstance(value, list)
        else 1
    )
