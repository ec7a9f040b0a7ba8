# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy for scripts: named functions only, sizes known before anything is allocated, and no array of Python objects.

Arrays of objects would run operators on their items without guards, and turn bytes into pointers; so none is ever
handed out, and one that numpy makes by itself (from huge integers, say) can be neither read nor computed with.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from .array_arguments import Arguments
from .array_sizes import MADE, SECTIONS, broadcast_size, deep, product_of, width
from .modules import View
from .plain import SCALAR_TYPES
from .weight import MAX_DEPTH, opened

if TYPE_CHECKING:
    from .guards import Guard

__all__ = ("array_members",)

WORK_LIMIT: Final = 4_000_000_000
"""Multiplications of one matrix product or convolution."""
MATRIX_LIMIT: Final = 1_000
"""Rows of a matrix that linear algebra takes."""
_NUMBERS: Final = frozenset({int, float, bool, complex})
_REPEATING: Final = frozenset({"reflect", "symmetric", "wrap"})

_FUNCTIONS: Final = """abs absolute add all allclose amax amin any append arccos arccosh arcsin arcsinh arctan arctan2
    arctanh argmax argmin argsort argwhere around array array_equal asarray atleast_1d atleast_2d average bincount
    cbrt ceil clip column_stack concatenate conj copy copysign corrcoef cos cosh count_nonzero cov cross cumprod cumsum
    deg2rad degrees delete diff digitize divide dstack empty_like equal exp exp2 expand_dims expm1 fabs flip fliplr
    flipud floor floor_divide fmax fmin fmod full_like gradient greater greater_equal heaviside hstack hypot
    imag insert interp intersect1d invert isclose isfinite isin isinf isnan less less_equal log log10 log1p log2
    logical_and logical_not logical_or logical_xor max maximum mean median min minimum mod moveaxis multiply nan_to_num
    nanmax nanmean nanmin nansum nanstd ndim negative nonzero not_equal ones_like percentile polyval positive power
    prod ptp quantile rad2deg radians ravel real reciprocal remainder reshape roll rot90 round rint searchsorted
    setdiff1d shape sign sin sinc sinh size sort sqrt square squeeze stack std subtract sum swapaxes take tan
    tanh trace transpose trapezoid tril triu true_divide trunc union1d unique unravel_index vdot var vstack
    where zeros_like""".split()
"""Functions whose results are no bigger than their arguments together, broadcast."""
_COUNTED: Final = ("linspace", "logspace", "geomspace")
_PRODUCTS: Final = ("dot", "matmul", "inner", "convolve", "correlate", "tensordot")
_SPLITTING: Final = ("split", "hsplit", "vsplit")
_LINALG: Final = (
    "cond",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "inv",
    "lstsq",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
    "solve",
    "svd",
)
_CONSTANTS: Final = ("pi", "e", "inf", "nan", "newaxis", "euler_gamma")
_SCALARS: Final = """float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp bool_ complex64
    complex128 double single intc uintc""".split()
_ABSTRACT: Final = (
    "integer",
    "floating",
    "number",
    "signedinteger",
    "unsignedinteger",
    "complexfloating",
    "generic",
)
_PROPERTIES: Final = frozenset(
    {"T", "dtype", "flat", "imag", "itemsize", "nbytes", "ndim", "real", "shape", "size"}
)
_METHODS: Final = """all any argmax argmin argsort astype clip conj copy cumprod cumsum diagonal dot fill flatten item
    max mean min nonzero prod ravel repeat reshape round searchsorted sort squeeze std sum swapaxes take tobytes tolist
    trace transpose var""".split()
_RANDOM: Final = """beta binomial choice exponential gamma geometric integers laplace logistic lognormal
    normal permutation permuted poisson random rayleigh shuffle standard_normal triangular uniform
    vonmises weibull""".split()
_LEGACY_RANDOM: Final = """beta binomial choice exponential gamma normal permutation poisson rand randint randn random
    random_sample seed shuffle standard_normal triangular uniform""".split()


def array_members(guard: Guard) -> dict[str, object]:
    """The views `numpy`, `numpy.random`, `numpy.linalg`; none where Blender has no numpy."""
    try:
        np = importlib.import_module("numpy")
    except ImportError:
        return {}
    return _Arrays(guard, np).views()


class _Arrays(Arguments):
    """numpy under guards, for one run."""

    def __init__(self, guard: Guard, np: Any) -> None:
        super().__init__(guard, np)
        self.limit = guard.meter.limits.sequence
        self._width = 1.0

    def views(self) -> dict[str, object]:
        """The views, having told the guards about numpy's types."""
        np, guard = self.np, self.guard
        self._warm_up()
        self._allow_types()
        guard.operators.watch_arrays(self.check_operator)
        guard.item_readers[self.array_type] = self.item
        guard.item_readers[type(np.mgrid)] = guard.item_readers[type(np.ogrid)] = self._grid
        guard.set_items.add(self.array_type)
        members: dict[str, object] = {
            **{name: self._wrapped(getattr(np, name)) for name in _FUNCTIONS if hasattr(np, name)},
            **{name: self._wrapped(getattr(np, name), check) for name, check in self._creators().items()},
            **{name: self._wrapped(getattr(np, name), self._count_argument) for name in _COUNTED},
            **{name: self._wrapped(getattr(np, name), self._product) for name in _PRODUCTS},
            **{name: self._wrapped(getattr(np, name), self._sections) for name in _SPLITTING},
            **{name: getattr(np, name) for name in _CONSTANTS},
            **{name: getattr(np, name) for name in _ABSTRACT if hasattr(np, name)},
            **{name: self._scalar(getattr(np, name)) for name in _SCALARS if hasattr(np, name)},
            **self._filled(),
            **self._worked_on(),
        }
        parts = {"random": View("numpy.random", self._random(), self._missing("numpy.random"))}
        linalg = {name: self._wrapped(getattr(np.linalg, name), self._matrix) for name in _LINALG}
        parts["linalg"] = View(
            "numpy.linalg", linalg | {"LinAlgError": np.linalg.LinAlgError}, self._missing("numpy.linalg")
        )
        made: dict[str, object] = {f"numpy.{name}": view for name, view in parts.items()}
        return made | {"numpy": View("numpy", members | parts, self._missing("numpy"))}

    def _creators(self) -> dict[str, Callable[..., None]]:
        shaped = dict.fromkeys(("zeros", "ones", "empty", "full"), self._shape)
        square = dict.fromkeys(("identity", "eye", "tri"), self._square)
        expanding = dict.fromkeys(("outer", "kron"), self._expanding)
        return {**shaped, **square, **expanding, "indices": self._grid_of, "broadcast_to": self._target}

    def _warm_up(self) -> None:
        """numpy's C code imports its helpers when it first needs them, through the builtins of whoever calls."""
        np = self.np
        sample = np.arange(4.0).reshape(2, 2)
        for method in ("sum", "mean", "std", "var", "max", "min", "prod", "all", "any", "clip", "ptp"):
            if hasattr(sample, method):
                getattr(sample, method)(0, 1) if method == "clip" else getattr(sample, method)()
        repr(sample), str(sample), np.linalg.inv(sample), np.random.default_rng(0).random()

    def _allow_types(self) -> None:
        np, guard = self.np, self.guard
        guard.methods[self.array_type] = {name: self._method(name) for name in _METHODS}
        guard.getters[self.array_type] = self._property
        guard.writable[self.array_type] = frozenset({"shape"})
        for kind in {np.dtype, *(type(np.dtype(code)) for code in "bhilqBHILQefdFD?U")}:
            guard.allowed[kind] = frozenset({"name", "kind", "itemsize", "char", "str"})
        for kind in {type(np.dtype(code).type(0)) for code in "bhilqBHILQefdFD?"}:
            guard.allowed[kind] = frozenset(
                {"item", "real", "imag", "dtype", "shape", "ndim", "size", "tolist", "is_integer"}
            )
            guard.simple.add(kind)
            guard.scalar.add(kind)
            if issubclass(kind, np.floating | np.complexfloating):
                guard.floaty.add(kind)

    def _missing(self, module: str) -> Callable[[str], Any]:
        def missing(name: str) -> Any:
            if not hasattr(importlib.import_module(module), name):
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
            message = f"{module}.{name} is not available to scripts: it is not on the list of reviewed names"
            return self.guard.meter.refuse(message, code="attribute")

        return missing

    # Values coming out

    def outward(self, value: Any) -> Any:
        """A result as the script may hold it, all that its lists hold looked at level by level."""
        level: Sequence[Any] = (value,)
        for _ in range(MAX_DEPTH):
            kinds = set(map(type, level))
            if kinds <= SCALAR_TYPES:
                return value
            if self.array_type in kinds and any(
                part.dtype.hasobject for part in level if type(part) is self.array_type
            ):
                # the refusal's traceback would hold them, and they it: no collector finds such rings
                del value, level
                self.refuse_objects()
            level = opened(level)
        raise RecursionError("numpy gave lists that are nested too deeply")

    def _wrapped(self, function: Any, check: Callable[..., None] | None = None) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.guard.meter.tick()
            arguments = tuple(map(self.inward, arguments))
            named = {name: self.inward(value) for name, value in named.items()}
            self.options(named)
            self._width = width(self.np, (*arguments, *named.values()))
            self.size(1)
            if "shape" in named:
                self.size(product_of(named["shape"]))
            if check is not None:
                check(*arguments, **named)
            if made is not None:
                self.size(made(self.np, *arguments, **named))
            self._broadcast((*arguments, *named.values()))
            return self.outward(function(*arguments, **named))

        made = MADE.get(getattr(function, "__name__", ""))
        call.__name__ = call.__qualname__ = getattr(function, "__name__", "function")
        return call

    def _scalar(self, kind: Any) -> Any:
        """A type of numpy's numbers as a function: it would go through all that tuples of tuples unfold to."""
        known = self.guard.builtins.facade(kind)
        if known is not kind:  # by another name
            return known

        def scalar(*values: Any) -> Any:
            if not SCALAR_TYPES.issuperset(map(type, values)):
                values = tuple(map(self.inward, values))
            return self.outward(kind(*values))

        scalar.__name__ = scalar.__qualname__ = kind.__name__
        made: Any = scalar
        made.dtype = self.np.dtype(
            kind
        )  # by which numpy takes it for the type, in lists of fields and comparisons
        return self.guard.builtins.add_facade(made, kind)

    def _method(self, name: str) -> Callable[..., Any]:
        return self._wrapped(
            getattr(self.array_type, name), {"repeat": self._repeat, "dot": self._product}.get(name)
        )

    def _property(self, value: Any, name: str) -> Any:
        if name not in _PROPERTIES:
            return NotImplemented
        if value.dtype.hasobject:
            self.refuse_objects()
        return getattr(value, name)

    # Sizes

    def size(self, count: float) -> None:
        """Stop the run if an array would have too many items."""
        if count * self._width > self.limit:
            self.guard.operators.length(int(min(count * self._width, 1e18)), "numpy array")

    def work(self, count: float) -> None:
        """Stop the run if a product would take too long."""
        if count > WORK_LIMIT:
            self.guard.meter.exceed("a product of arrays this large is over the limit", limit="work")

    def _size(self, value: Any) -> int:
        if type(value) is self.array_type:
            return int(value.size)
        return len(value) if isinstance(value, list | tuple) else 1

    def _arrays(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            if type(value) is self.array_type:
                yield value
            elif isinstance(value, list | tuple) and not _NUMBERS.issuperset(map(type, value)):
                yield from self._arrays(value)

    def _broadcast(self, values: Iterable[Any]) -> None:
        """Check what the arguments are together, end to end and broadcast against one another."""
        arrays = list(self._arrays(values))
        if not arrays:
            return
        self.size(sum(array.size for array in arrays))
        self.size(broadcast_size([array.shape for array in arrays[:32]]))

    def check_operator(self, sign: str, left: Any, right: Any) -> None:
        """Check `left sign right` before numpy computes it."""
        if type(left) is not self.array_type and type(right) is not self.array_type:
            return
        left, right = self.inward(left), self.inward(right)
        self._width = width(self.np, (left, right))
        if sign == "@":
            self._product(left, right)
            return
        shapes = [
            self.np.shape(part) if isinstance(part, self.array_type | list | tuple) else ()
            for part in (left, right)
        ]
        self.size(broadcast_size(shapes))

    def _shape(self, shape: Any = 1, *_rest: Any, **named: Any) -> None:
        """`zeros(shape)`."""
        self.size(product_of(named.get("shape", shape)))

    def _square(self, *sides: Any, **named: Any) -> None:
        """`eye(N, M)`, `identity(n)`."""
        given = [*sides[:2], *(named[name] for name in ("n", "N", "M") if named.get(name) is not None)]
        sizes = [float(side) for side in given if side is not None]
        self.size(sizes[0] * sizes[-1] if sizes else 0.0)

    def _target(self, _value: Any, shape: Any, **_named: Any) -> None:
        """`broadcast_to(array, shape)`."""
        self.size(product_of(shape))

    def _grid_of(self, shape: Any, **_named: Any) -> None:
        """`indices(shape)`."""
        self.size(product_of(shape) * len(shape))

    def _count_argument(self, *arguments: Any, **named: Any) -> None:
        counts = [named.get("num", 50), *arguments[2:3]]
        self.size(
            max(operator.index(count) for count in counts) * max(map(self._size, arguments[:2]), default=1)
        )

    def _expanding(self, left: Any, right: Any) -> None:
        """`outer(a, b)`: each item of one with each of the other."""
        self.size(float(self._size(left)) * self._size(right))

    def _product(self, left: Any, right: Any, *_rest: Any, **_named: Any) -> None:
        sizes = [self._size(part) for part in (left, right)]
        self.work(float(sizes[0]) * sizes[1])
        if type(left) is self.array_type and type(right) is self.array_type and left.ndim and right.ndim:
            shared = max(left.shape[-1], 1)
            rows, columns = (
                left.size / shared,
                right.size / max(right.shape[-2] if right.ndim > 1 else shared, 1),
            )
            self.size(rows * columns if shared > 1 or 1 in (left.ndim, right.ndim) else sizes[0] * sizes[1])
        self.size(0)

    def _sections(self, _value: Any, sections: Any, *_rest: Any, **_named: Any) -> None:
        """`split(array, sections)`: each part is an array of its own."""
        count = self._size(sections) if self.np.ndim(sections) else operator.index(sections)
        if count > SECTIONS:
            self.size(float(count) * 1000.0)

    def _repeat(self, value: Any, count: Any, *_rest: Any, **_named: Any) -> None:
        total = sum(map(int, count)) if isinstance(count, list | tuple) else self.np.sum(count)
        self.size(float(total) * max(self._size(value), 1))

    def _matrix(self, *arguments: Any, **_named: Any) -> None:
        for argument in arguments[:2]:
            shape = self.np.shape(argument) if isinstance(argument, self.array_type | list | tuple) else ()
            matrices = math.prod(shape[:-2])
            if len(shape) > 1 and max(shape[-2:]) ** 3 * max(matrices, 1) > MATRIX_LIMIT**3:
                self.guard.meter.exceed(
                    f"linear algebra takes at most {MATRIX_LIMIT:,} rows here, of many matrices fewer",
                    limit="work",
                )

    # Items

    def item(self, value: Any, key: Any) -> Any:
        """`array[key]`."""
        if value.dtype.hasobject:
            self.refuse_objects()
        keys = key if isinstance(key, tuple) else (key,)
        fancy: list[Any] = [part for part in keys if isinstance(part, self.array_type | list)]
        if fancy:
            chosen = broadcast_size([self.np.shape(part) for part in fancy])
            plain = len(keys) - len(fancy)
            rest = math.prod(value.shape[len(fancy) :]) if not plain else value.size
            if any(type(part) is self.array_type and part.dtype.kind == "b" for part in fancy):
                rest = 1
            self.size(float(chosen) * max(rest, 1))
        return self.outward(value[key])

    def _grid(self, grid: Any, key: Any) -> Any:
        """`np.mgrid[0:1:10j, …]`."""
        total = 1.0
        keys = key if isinstance(key, tuple) else (key,)
        for part in keys:
            if isinstance(part, slice):
                step = part.step if part.step is not None else 1
                span = (
                    abs(step)
                    if isinstance(step, complex)
                    else ((part.stop or 0) - (part.start or 0)) / (step or 1)
                )
                total *= max(abs(float(span)), 1.0)
        self.size(total * len(keys))
        return self.outward(grid[key])

    # Functions that need a closer look

    def _filled(self) -> dict[str, object]:
        """Functions whose result is bigger than what they are given, each with its own measure."""
        np = self.np

        def arange(*arguments: Any, **named: Any) -> Any:
            numbers = [*arguments, *(named[name] for name in ("start", "stop", "step") if name in named)]
            start, stop, step = (
                (0, numbers[0], 1) if len(numbers) == 1 else (*numbers[:2], *numbers[2:3], 1)[:3]
            )
            self.size(abs((float(stop) - float(start)) / (float(step) or 1.0)))
            return self._wrapped(np.arange)(*arguments, **named)

        def tile(A: Any, reps: Any) -> Any:  # noqa: N803
            times = math.prod(map(int, reps)) if isinstance(reps, list | tuple) else int(reps)
            self.size(float(times) * self._size(A) * deep(A))
            return self._wrapped(np.tile)(A, reps)

        def meshgrid(*axes: Any, **named: Any) -> Any:
            self.size(math.prod(float(self._size(axis)) for axis in axes) * len(axes))
            return [self.outward(part) for part in np.meshgrid(*map(self.inward, axes), **named)]

        def diag(value: Any, k: Any = 0) -> Any:
            shape = self.np.shape(self.inward(value))
            self.size((float(shape[0]) + abs(int(k))) ** 2 if len(shape) == 1 else 0)
            return self._wrapped(np.diag)(value, k)

        def pad(value: Any, width: Any, **named: Any) -> Any:
            array = self.inward(np.asarray(value))
            widest = int(np.max(np.asarray(width))) if not isinstance(width, int) else width
            self.size(math.prod(float(side) + 2 * widest for side in array.shape))
            if type(named.get("mode", "")) is not str:
                raise TypeError("pad() takes the name of a mode")
            if named.get("mode") in _REPEATING:  # numpy takes a turn for each copy
                self.size(1000.0 * widest / max(min(array.shape, default=1) - 1, 1))
            return self._wrapped(np.pad)(array, width, **named)

        functions = (arange, tile, meshgrid, diag, pad)
        return {function.__name__: function for function in functions}

    def _worked_on(self) -> dict[str, object]:
        """Functions that call back, take types, or work long on little."""
        np, builtins = self.np, self.guard.builtins

        def histogram(value: Any, bins: Any = 10, **named: Any) -> Any:
            if isinstance(bins, str):
                raise TypeError("histogram() takes a number of bins here, or their edges")
            self.size(
                float(operator.index(bins)) if hasattr(type(bins), "__index__") and not np.ndim(bins) else 0
            )
            return self._wrapped(np.histogram)(value, bins, **named)

        def polyfit(x: Any, y: Any, degree: Any) -> Any:
            self.size(float(self._size(x)) * (operator.index(degree) + 1) * 10)
            return self._wrapped(np.polyfit)(x, y, degree)

        def vectorize(function: Any) -> Callable[..., Any]:
            return lambda *values: self.outward(
                np.array(
                    self.inward(
                        [
                            function(*part)
                            for part in zip(*map(list, np.broadcast_arrays(*values)), strict=True)
                        ]
                    )
                )
            )

        def fromiter(items: Any, dtype: Any) -> Any:
            return self._wrapped(np.fromiter)(builtins.ticked(iter(items)), dtype)

        def ndarray(*_arguments: Any) -> Any:
            raise TypeError("make arrays by np.array(), np.zeros(), …")

        def dtype(kind: Any) -> Any:
            made = np.dtype(self.inward(kind))
            if made.hasobject:
                self.refuse_objects()
            return made

        functions = (histogram, polyfit, vectorize, fromiter)
        members: dict[str, object] = {function.__name__: function for function in functions}
        members["repeat"] = self._wrapped(np.repeat, self._repeat)
        members["ndarray"] = builtins.add_facade(ndarray, np.ndarray)
        members["dtype"] = builtins.add_facade(dtype, np.dtype)
        return members | {"mgrid": np.mgrid, "ogrid": np.ogrid, "set_printoptions": lambda **_options: None}

    def _random(self) -> dict[str, object]:
        np = self.np

        def sized(function: Any) -> Callable[..., Any]:
            name = function.__name__

            def check(*arguments: Any, size: Any = None, **_named: Any) -> None:
                if name in ("rand", "randn"):
                    size = arguments
                elif name in ("permutation", "choice") and arguments and np.ndim(arguments[0]) == 0:
                    self.size(float(arguments[0]))
                position = _SIZE_POSITION.get(name, 2)
                if size is None and len(arguments) > position:
                    size = arguments[position]
                self.size(product_of(size) if size is not None else 1)

            return self._wrapped(function, check)

        def default_rng(seed: Any = None) -> View:
            if seed is not None and not isinstance(seed, int):
                raise TypeError("default_rng() takes an int here")
            generator = np.random.default_rng(seed)
            return View("Generator", {name: sized(getattr(generator, name)) for name in _RANDOM})

        legacy = np.random.RandomState()
        members: dict[str, object] = {name: sized(getattr(legacy, name)) for name in _LEGACY_RANDOM}
        return members | {"default_rng": default_rng}


_SIZE_POSITION: Final = {
    **dict.fromkeys(("random", "random_sample", "standard_normal"), 0),
    **dict.fromkeys(("choice", "exponential", "poisson", "geometric", "rayleigh", "weibull"), 1),
    "triangular": 3,
}
"""Where `size` stands among the positional arguments, if not third."""
