# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimates the work of those numpy functions that take longer than linear time in the size of their arrays.

Nearly all of numpy's functions take linear time, or sort: the memory of their arrays limits their time. This file
estimates the others: products, and the algorithms of linear algebra. The run's time limit stops numpy's functions that
loop in Python (`diff`, `pad`, `polyval`, …).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

__all__ = ("LIMIT", "PRODUCTS", "SIZES", "broadcast_size", "of_matrices")

LIMIT: Final = 4e9
"""The most multiplications that one call may take: some seconds of work."""
_SLOW: Final = 4.0
"""The cost of a multiplication without a tuned library (integers, or `einsum`), relative to a float product."""
_FACTORS: Final = 4.0
"""The cost of a multiplication in the algorithms of linear algebra, relative to a float product."""

Shape = tuple[int, ...]
Work = Callable[..., float]


def broadcast_size(shapes: Sequence[Shape]) -> float:
    """Return the number of items of a broadcast; 0 for shapes that do not fit, for which numpy raises the error."""
    total = 1.0
    for position in range(1, max(map(len, shapes), default=0) + 1):
        total *= max((shape[-position] for shape in shapes if len(shape) >= position), default=1)
    return total


def _size(np: Any, value: Any) -> float:
    return float(np.size(value))


def _shape(np: Any, value: Any) -> Shape:
    shape: Shape = np.shape(value)
    return shape


def _product(np: Any, left: Any, right: Any, *_rest: Any, **_named: Any) -> float:
    """Return the multiplications of `dot(a, b)` and `inner(a, b)`: each row of `a` with each column of `b`."""
    shared = [1, *_shape(np, left)][-1]
    return _slowness(np, left, right) * _size(np, left) * _size(np, right) / max(shared, 1)


def _matrix_product(np: Any, left: Any, right: Any, *_rest: Any, **_named: Any) -> float:
    """Return the multiplications of `matmul(a, b)`: one product of two matrices for each item of the broadcast."""
    first, second = _shape(np, left) or (1,), _shape(np, right) or (1,)
    rows = first[-2] if len(first) > 1 else 1
    columns = second[-1] if len(second) > 1 else 1
    stacked = broadcast_size([first[:-2], second[:-2]])
    return _slowness(np, left, right) * stacked * float(rows) * first[-1] * columns


def _every_pair(np: Any, left: Any, right: Any, *_rest: Any, **_named: Any) -> float:
    """Return the multiplications of `convolve(a, v)`: each number of `a` with each number of `v`."""
    return _slowness(np, left, right) * _size(np, left) * _size(np, right)


def _contracted(np: Any, left: Any, right: Any, axes: Any = 2) -> float:
    """Return the multiplications of `tensordot(a, b, axes)`: a product of two matrices that share the axes."""
    shape = _shape(np, left)
    if np.ndim(axes) == 0:
        shared = math.prod(shape[len(shape) - int(axes) :]) if int(axes) else 1
    else:
        first = axes[0] if np.ndim(axes[0]) else [axes[0]]
        shared = math.prod(shape[int(axis)] for axis in first)
    return _slowness(np, left, right) * _size(np, left) * _size(np, right) / max(shared, 1)


def _einsum(np: Any, subscripts: Any, *operands: Any, **_named: Any) -> float:
    """Return the multiplications of `einsum("ij,jk", a, b)`: a loop over all letters, or over all arrays' axes."""
    if not isinstance(subscripts, str):
        return _SLOW * math.prod(_size(np, each) for each in (subscripts, *operands))
    sizes: dict[str, float] = {}
    rest = 1.0
    parts = subscripts.replace(" ", "").partition("->")[0].split(",")
    for part, operand in zip(parts, operands, strict=False):
        shape = _shape(np, operand)
        letters = part.replace("...", "")
        if "..." in part:
            begin = part.index("...")
            end = begin + len(shape) - len(letters)
            rest *= math.prod(map(float, shape[begin:end]))
            shape = (*shape[:begin], *shape[end:])
        for letter, side in zip(letters, shape, strict=False):
            sizes[letter] = max(sizes.get(letter, 1.0), float(side))
    return _SLOW * rest * math.prod(sizes.values())


def _variables(
    np: Any, value: Any, other: Any = None, rowvar: Any = True, *_rest: Any, **_named: Any
) -> float:
    """Return the multiplications of `cov(m, y, rowvar)`: each variable with each other variable."""
    sizes = [_shape(np, part) for part in (value, other) if part is not None]
    variables = sum((shape[0] if rowvar else shape[-1]) if len(shape) > 1 else 1 for shape in sizes)
    return float(variables) * sum(map(math.prod, sizes))


def _fitted(np: Any, points: Any, _values: Any, degree: Any, *_rest: Any, **_named: Any) -> float:
    """Return the multiplications of `polyfit(x, y, degree)`: least squares with a column for each coefficient."""
    columns = (int(np.max(degree)) if np.size(degree) else 0) + 1.0
    return _FACTORS * _size(np, points) * columns**2


def _roots(np: Any, coefficients: Any) -> float:
    """Return the multiplications of `roots(p)`: the eigenvalues of a square matrix."""
    return _FACTORS * _size(np, coefficients) ** 3


def _normal(np: Any, _mean: Any, covariance: Any, *_rest: Any, **_named: Any) -> float:
    return of_matrices(np, "svd", (covariance,), {})


def _filled(np: Any, shape: Any, *_rest: Any, **_named: Any) -> float:
    """Return the items of `ones(shape)`: numpy fills them one by one, even if they have no bytes."""
    sides = shape if np.ndim(shape) else (shape,)
    return math.prod(map(float, sides))


def _filled_like(np: Any, value: Any, *_rest: Any, shape: Any = None, **_named: Any) -> float:
    return _filled(np, _shape(np, value) if shape is None else shape)


def _repeated(np: Any, value: Any, repeats: Any, *_rest: Any, **_named: Any) -> float:
    """Return the most items of `repeat(a, repeats)`: numpy 2 writes past its result where the number overflows."""
    return _size(np, value) * max(float(np.max(repeats)) if np.size(repeats) else 0.0, 0.0)


def _slowness(np: Any, *values: Any) -> float:
    """Return 1.0 for floats and complex numbers, which a tuned library multiplies; for others `_SLOW`."""
    return 1.0 if all(getattr(value, "dtype", np.dtype(float)).kind in "fc" for value in values) else _SLOW


PRODUCTS: Final[dict[str, Work]] = {
    **dict.fromkeys(("dot", "inner"), _product),
    **dict.fromkeys(("convolve", "correlate", "polymul"), _every_pair),
    **dict.fromkeys(("cov", "corrcoef"), _variables),
    "matmul": _matrix_product,
    "tensordot": _contracted,
    "einsum": _einsum,
    "polyfit": _fitted,
    "roots": _roots,
    "poly": _roots,
    "multivariate_normal": _normal,
}
"""Functions that estimate the multiplications of `name(arguments…)`, by its name: `work(np, arguments…)`."""

SIZES: Final[dict[str, Work]] = {
    **dict.fromkeys(("ones", "full"), _filled),
    **dict.fromkeys(("ones_like", "full_like"), _filled_like),
    "repeat": _repeated,
}
"""Functions that count the items of the result before numpy makes it, by the name of numpy's function."""

_LINEAR_NORMS: Final = (None, 1, -1, 0, "fro", math.inf, -math.inf)
_LINEAR: Final = frozenset("cross diagonal matrix_transpose outer trace vecdot vector_norm".split())
_THIN: Final = frozenset("cond lstsq matrix_norm matrix_rank norm pinv qr svd svdvals".split())
"""Algorithms that take a matrix of many rows and few columns in time linear in the rows."""


def of_matrices(np: Any, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> float:
    """Return the multiplications of `numpy.linalg.name(arguments…)`: for each matrix its items times a side."""
    if name in _LINEAR:
        return 0.0
    if name in PRODUCTS:
        return PRODUCTS[name](np, *arguments, **named)
    if name in ("norm", "matrix_norm"):
        order = arguments[1] if len(arguments) > 1 else named.get("ord")
        axis = arguments[2] if len(arguments) > 2 else named.get("axis")
        if isinstance(order, int | float | str | None) and order in _LINEAR_NORMS:
            return 0.0
        if np.ndim(axis) == 0 and axis is not None:
            return 0.0  # of vectors
    if name.startswith("tensor"):  # made into one square matrix
        return _FACTORS * math.pow(_size(np, arguments[0]), 1.5)
    if name == "multi_dot":
        arguments = tuple(arguments[0])
    work = 0.0
    for argument in arguments:
        shape = _shape(np, argument)
        if len(shape) > 1:
            thin = name in _THIN and not _is_full(name, arguments, named)
            side = min(shape[-2:]) if thin else max(shape[-2:])
            work += _FACTORS * float(math.prod(shape)) * side
    if name == "matrix_power":
        work *= max(int(arguments[1]).bit_length(), 1) / 2
    return work


def _is_full(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether a decomposition makes square matrices of all rows."""
    if name == "svd":
        return bool(named.get("full_matrices", arguments[1] if len(arguments) > 1 else True))
    return name == "qr" and "complete" in (*arguments[1:2], named.get("mode"))
