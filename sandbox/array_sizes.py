# SPDX-License-Identifier: GPL-3.0-or-later
"""How many items numpy functions make whose results are bigger than their arguments, and how wide items are."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

from .weight import opened

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


def _longest(values: Iterable[Any]) -> float:
    """The longest text in a list: all the others get as much room."""
    found = 0.0
    level = list(values)
    while level:
        if any(issubclass(kind, str | bytes) for kind in set(map(type, level))):
            found = max(found, *(4.0 * len(each) for each in level if isinstance(each, str | bytes)))
        level = opened(level)
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


def _inserted(np: Any, value: Any, where: Any, _values: Any = 0, axis: Any = None) -> float:
    """`insert(a, where, values, axis)`: a slice of the array for each place."""
    places = max(np.size(where), np.size(_values))
    return float(np.size(value) + _slice(np, value, axis) * places)


def _taken(np: Any, value: Any, indices: Any, axis: Any = None, *_rest: Any, **_named: Any) -> float:
    """`take(a, indices, axis)`: a slice of the array for each index."""
    return float(_slice(np, value, axis) * np.size(indices))


def _slice(np: Any, value: Any, axis: Any) -> float:
    shape = np.shape(value)
    if axis is None or not shape:
        return 1.0
    return float(np.size(value) / max(shape[operator.index(axis) % len(shape)], 1))


def _outer_product(np: Any, left: Any, right: Any, *_rest: Any, **_named: Any) -> float:
    """`inner(a, b)`: each row of one with each of the other."""
    return _rows(np, left) * _rows(np, right)


def _rows(np: Any, value: Any) -> float:
    shape = np.shape(value)
    return float(np.size(value) / max(shape[-1], 1)) if shape else 1.0


def _contracted(np: Any, left: Any, right: Any, axes: Any = 2) -> float:
    """`tensordot(a, b, axes)`."""
    shapes = [np.shape(part) for part in (left, right)]
    if hasattr(type(axes), "__index__") and not np.ndim(axes):
        count = operator.index(axes)
        kept = [shapes[0][: len(shapes[0]) - count], shapes[1][count:]]
    else:
        pairs = [[part] if np.ndim(part) == 0 else list(part) for part in axes]
        gone = [{axis % len(shape) for axis in part} for part, shape in zip(pairs, shapes, strict=True)]
        kept = [
            tuple(n for i, n in enumerate(shape) if i not in away)
            for shape, away in zip(shapes, gone, strict=True)
        ]
    return float(math.prod(map(float, (*kept[0], *kept[1]))))


def _differences(np: Any, value: Any, n: Any = 1, *_rest: Any, **_named: Any) -> float:
    """`diff(a, n)`: numpy takes n turns, also when nothing is left."""
    return max(operator.index(n) * 1000.0, float(np.size(value)))


MADE: Final[dict[str, Callable[..., float]]] = {
    **dict.fromkeys(("cov", "corrcoef"), _variables),
    **dict.fromkeys(("tril", "triu"), _triangle),
    **dict.fromkeys(("gradient", "argwhere", "nonzero"), _per_axis),
    **dict.fromkeys(("quantile", "percentile"), _quantiles),
    "bincount": _counts,
    "insert": _inserted,
    "take": _taken,
    "inner": _outer_product,
    "tensordot": _contracted,
    "diff": _differences,
    "unravel_index": _unravelled,
}
"""Items of the result of `function(np, arguments…)`."""


def product_of(shape: Any) -> float:
    """Items of a shape: an integer, or a tuple or list of them. Raises TypeError for any other sequence."""
    if type(shape) in (tuple, list):
        return math.prod(max(float(operator.index(side)), 1.0) for side in shape)
    return float(operator.index(shape))


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
