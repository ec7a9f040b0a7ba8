# SPDX-License-Identifier: GPL-3.0-or-later
"""How much work numpy's functions do that take longer than they have numbers to read and write.

Nearly all of numpy's functions are linear, or sort: what they may take is bounded by the memory of their arrays. Here
are the others: products, and the algorithms of linear algebra. What numpy does in loops of Python (`diff`, `pad`,
`polyval`, …) is stopped by the run's time limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

__all__ = ("LIMIT", "PRODUCTS", "broadcast_size", "of_matrices")

LIMIT: Final = 4e9
"""Multiplications that one call may take, some seconds at most."""
_SLOW: Final = 4.0
"""How many multiplications of a product of floats one takes that no tuned library does: of integers, or `einsum`."""
_FACTORS: Final = 4.0
"""The same of the algorithms of linear algebra."""

Shape = tuple[int, ...]
Work = Callable[..., float]


def broadcast_size(shapes: Sequence[Shape]) -> float:
    """Return the number of items of a broadcast; 0 if the shapes do not fit, which numpy then says."""
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
    """`dot(a, b)` and `inner(a, b)`: each row of one with each column of the other."""
    shared = [1, *_shape(np, left)][-1]
    return _slowness(np, left, right) * _size(np, left) * _size(np, right) / max(shared, 1)


def _matrix_product(np: Any, left: Any, right: Any, *_rest: Any, **_named: Any) -> float:
    """`matmul(a, b)`: as many products of two matrices as the other axes broadcast to."""
    first, second = _shape(np, left) or (1,), _shape(np, right) or (1,)
    rows = first[-2] if len(first) > 1 else 1
    columns = second[-1] if len(second) > 1 else 1
    stacked = broadcast_size([first[:-2], second[:-2]])
    return _slowness(np, left, right) * stacked * float(rows) * first[-1] * columns


def _every_pair(np: Any, left: Any, right: Any, *_rest: Any, **_named: Any) -> float:
    """`convolve(a, v)`: each number of one with each of the other."""
    return _slowness(np, left, right) * _size(np, left) * _size(np, right)


def _contracted(np: Any, left: Any, right: Any, axes: Any = 2) -> float:
    """`tensordot(a, b, axes)`: a product of two matrices, whose shared side is made of the axes."""
    shape = _shape(np, left)
    if np.ndim(axes) == 0:
        shared = math.prod(shape[len(shape) - int(axes) :]) if int(axes) else 1
    else:
        first = axes[0] if np.ndim(axes[0]) else [axes[0]]
        shared = math.prod(shape[int(axis)] for axis in first)
    return _slowness(np, left, right) * _size(np, left) * _size(np, right) / max(shared, 1)


def _einsum(np: Any, subscripts: Any, *operands: Any, **_named: Any) -> float:
    """`einsum("ij,jk", a, b)`: a loop over all letters; written in another way, over all axes of all arrays."""
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
    """`cov(m, y, rowvar)`: each variable with each other."""
    sizes = [_shape(np, part) for part in (value, other) if part is not None]
    variables = sum((shape[0] if rowvar else shape[-1]) if len(shape) > 1 else 1 for shape in sizes)
    return float(variables) * sum(map(math.prod, sizes))


def _fitted(np: Any, points: Any, _values: Any, degree: Any, *_rest: Any, **_named: Any) -> float:
    """`polyfit(x, y, degree)`: least squares of a matrix with a column for each coefficient."""
    columns = (int(np.max(degree)) if np.size(degree) else 0) + 1.0
    return _FACTORS * _size(np, points) * columns**2


def _roots(np: Any, coefficients: Any) -> float:
    """`roots(p)`: the eigenvalues of a square matrix."""
    return _FACTORS * _size(np, coefficients) ** 3


def _normal(np: Any, _mean: Any, covariance: Any, *_rest: Any, **_named: Any) -> float:
    return of_matrices(np, "svd", (covariance,), {})


def _slowness(np: Any, *values: Any) -> float:
    """Only products of floats and complex numbers are left to a tuned library."""
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
"""Multiplications of `function(arguments…)` by its name: `work(np, arguments…)`."""

_LINEAR_NORMS: Final = (None, 1, -1, 0, "fro", math.inf, -math.inf)
_LINEAR: Final = frozenset("cross diagonal matrix_transpose outer trace vecdot vector_norm".split())
_THIN: Final = frozenset("cond lstsq matrix_norm matrix_rank norm pinv qr svd svdvals".split())
"""Algorithms that take a matrix of many rows and few columns, in time linear in the rows."""


def of_matrices(np: Any, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> float:
    """Return the multiplications of `numpy.linalg.name(arguments…)`: of each matrix its items times a side."""
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
    """Whether a decomposition makes square matrices of all rows."""
    if name == "svd":
        return bool(named.get("full_matrices", arguments[1] if len(arguments) > 1 else True))
    return name == "qr" and "complete" in (*arguments[1:2], named.get("mode"))
