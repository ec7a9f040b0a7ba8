# SPDX-License-Identifier: GPL-3.0-or-later
"""numpy for scripts: named functions only, of bounded memory and work, and no array of Python objects.

Arrays of objects would run operators on their items without guards, and turn bytes into pointers; so none is ever
handed out, and one that numpy makes by itself (from huge integers, say) can be neither read nor computed with.
How large arrays may be is seen to by numpy's allocation handler (`stdlib/array_memory.py`), how long products and
linear algebra may take by `stdlib/array_work.py`.
"""

from __future__ import annotations

import functools
import importlib
import math
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final

from ..facts.reasons import why_member
from ..guard.audit import may_raise
from ..guard.facade import Facade, hide
from ..guard.modules import Later, make_view
from ..guard.seam import Guard
from ..guard.values.plain import SCALAR_TYPES
from ..guard.values.room import IN_C, IN_PYTHON
from ..guard.values.weight import MAX_DEPTH, opened
from . import array_small, array_work
from .array_arguments import LOOKED_AT_OPTIONS, Arguments, unsupported
from .array_functions import special_members
from .array_lists import LISTS
from .array_memory import ArrayMemory, Unsupported
from .array_random import random_members
from .errors import LinAlgError, raising

__all__ = ("Arrays", "array_members")

MOST_ITEMS: Final = 1 << 26
"""The most numbers of an array, real or broadcast: as many as a picture of 4,096 x 4,096 pixels with four channels."""


@functools.cache
def _listed(section: str) -> frozenset[str]:
    """Return the reviewed names of a section: numpy itself, `linalg`, `fft`."""
    return frozenset(LISTS[section].split())


@functools.cache
def _refused() -> dict[str, str]:
    """Return why functions of numpy are refused, and what to use instead, by name."""
    return {name: reason for reason, names in LISTS["refused"].items() for name in names.split()}


_CONSTANTS: Final = ("pi", "e", "inf", "nan", "newaxis", "euler_gamma", "True_", "False_", "little_endian")
_SCALARS: Final = """float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp bool_ complex64
    complex128 double single intc uintc byte ubyte short ushort int_ uint long ulong longlong ulonglong half bool
    float_ complex_ csingle cdouble""".split()
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


def array_members(guard: Guard) -> dict[str, object]:
    """Return the views `numpy`, `numpy.random`, `numpy.linalg`; none without a numpy whose memory can be limited."""
    try:
        np = importlib.import_module("numpy")
        memory = ArrayMemory(guard.meter)
    except (ImportError, Unsupported):
        return {}
    guard.meter.hold(memory)
    _allow_types_as_text(np)
    return Arrays(guard, np, memory).views()


@functools.cache
def _allow_types_as_text(np: Any) -> None:
    """Let numpy read the numbers in the name of a type, such as "3f4", which it does by parsing a tuple's text."""
    inner = getattr(np, "_core", None) or np.core
    may_raise("compile")(inner._internal._commastring)


class _ScalarType(Facade):
    """A type of numpy's numbers: callable; by its `dtype`, numpy takes it for the type in fields and comparisons."""

    __slots__ = ("function", "type")

    def __init__(self, function: Callable[..., Any], dtype: Any) -> None:
        _set_function(self, function)
        _set_type(self, dtype)

    def __call__(self, *values: Any) -> Any:
        return _function(self)(*values)

    @property
    def dtype(self) -> Any:
        """The type of an array of such numbers."""
        return _type(self)

    def __repr__(self) -> str:
        return f"<class 'numpy.{_type(self).name}'>"


_function, _set_function = hide(_ScalarType, "function")
_type, _set_type = hide(_ScalarType, "type")


@functools.cache
def _warm_up() -> None:
    """Load what numpy's C code imports at its first need, through the builtins of its caller."""
    np = importlib.import_module("numpy")
    sample = np.arange(4.0).reshape(2, 2)
    for method in ("sum", "mean", "std", "var", "max", "min", "prod", "all", "any", "clip", "ptp"):
        if hasattr(sample, method):
            getattr(sample, method)(0, 1) if method == "clip" else getattr(sample, method)()
    for module in ("numpy.ma", "numpy.fft", "numpy.polynomial"):  # numpy itself loads them late
        importlib.import_module(module)
    repr(sample), str(sample), np.linalg.inv(sample), np.random.default_rng(0).random()


class Arrays(Arguments):
    """The script's view of numpy, for one run."""

    def __init__(self, guard: Guard, np: Any, memory: ArrayMemory) -> None:
        super().__init__(guard, np)
        self.watched = memory.watched
        self._items = array_small.by_sizes(np, self.numbers)

    def views(self) -> dict[str, object]:
        """Tell the guards about numpy's types, and return the views."""
        np, guard = self.np, self.guard
        _warm_up()
        self._allow_types()
        scalars = {kind for kind in self.numbers if issubclass(kind, np.generic)}
        guard.operators.watch_arrays(self.array_type, scalars, self.operate, self.watched)
        guard.item_readers[self.array_type] = self.item
        guard.item_writers[self.array_type] = self.set_item
        members: dict[str, object] = {
            **{
                name: Later(functools.partial(self._function, name))
                for name in _listed("functions")
                if hasattr(np, name)
            },
            **{name: getattr(np, name) for name in _CONSTANTS},
            **{name: getattr(np, name) for name in _ABSTRACT if hasattr(np, name)},
            **{name: self._scalar(getattr(np, name)) for name in _SCALARS if name in vars(np)},
            **special_members(self),
        }
        parts = {
            "random": make_view("numpy.random", random_members(self), self._missing("numpy.random")),
            "fft": make_view("numpy.fft", self._fourier(), self._missing("numpy.fft")),
        }
        errors = {np.linalg.LinAlgError: LinAlgError}
        linalg = {
            name: raising(self.wrapped(getattr(np.linalg, name), self._of_matrices(name)), errors)
            for name in _listed("linalg")
            if hasattr(np.linalg, name)
        }
        parts["linalg"] = make_view(
            "numpy.linalg", linalg | {"LinAlgError": LinAlgError}, self._missing("numpy.linalg")
        )
        made: dict[str, object] = {f"numpy.{name}": view for name, view in parts.items()}
        return made | {"numpy": make_view("numpy", members | parts, self._missing("numpy"))}

    def _fourier(self) -> dict[str, object]:
        names = [name for name in _listed("fft") if hasattr(self.np.fft, name)]
        return {name: self.wrapped(getattr(self.np.fft, name)) for name in names}

    def _function(self, name: str) -> Callable[..., Any]:
        return self.wrapped(getattr(self.np, name))

    def _allow_types(self) -> None:
        np, guard = self.np, self.guard
        kind = self.array_type
        guard.methods[kind] = {name: self.wrapped(getattr(kind, name)) for name in _METHODS}
        guard.methods[kind]["tolist"] = self._to_list
        guard.getters[self.array_type] = self._property
        guard.writable[self.array_type] = frozenset({"shape"})
        for kind in {np.dtype, *(type(np.dtype(code)) for code in "bhilqBHILQefdFD?UVSMm")}:
            guard.allowed[kind] = frozenset({"name", "kind", "itemsize", "char", "str"})
        for kind in {type(np.dtype(code).type(0)) for code in "bhilqBHILQefdFD?"}:
            guard.allowed[kind] = frozenset(
                {"item", "real", "imag", "dtype", "shape", "ndim", "size", "tolist", "is_integer"}
            )
            self.numbers.add(kind)
            self._flat.add(kind)
        for kind in (np.str_, np.bytes_, np.void, np.datetime64, np.timedelta64, np.flatiter):
            guard.allowed.setdefault(kind, frozenset())

    def _missing(self, module: str) -> Callable[[str], Any]:
        def missing(name: str) -> Any:
            if name not in dir(importlib.import_module(module)):  # hasattr() would load what numpy loads late
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
            why = _refused().get(name) or why_member(module, name)
            return self.guard.meter.refuse(
                f"{module}.{name} is not available to scripts: {why}", code="attribute"
            )

        return missing

    # Values coming out

    def outward(self, value: Any) -> Any:
        """Return a result for the script, after checking the contents of its lists level by level."""
        kind = type(value)
        if kind in self.guard.scalar or kind in self.numbers:
            return value
        if kind is self.array_type and not unsupported(value.dtype):
            if value.size > MOST_ITEMS:
                self.size(value.size)
            return value
        if isinstance(value, tuple):
            value = tuple(value)  # as numpy 1 has it; numpy 2 gives some of them names
        level: Sequence[Any] = (value,)
        for _ in range(MAX_DEPTH):
            kinds = set(map(type, level))
            if kinds <= SCALAR_TYPES:
                return value
            if self.array_type in kinds:
                for part in level:
                    if type(part) is not self.array_type:
                        continue
                    if unsupported(part.dtype):
                        # the refusal's traceback would hold them, and they it: no collector finds such rings
                        del value, level, part
                        self.refuse_type()
                    self.size(part.size)
            level = opened(level)
        raise RecursionError("numpy gave lists that are nested too deeply")

    def wrapped(self, function: Any, work: Callable[..., float] | None = None) -> Callable[..., Any]:
        """Wrap a function of numpy's for scripts; `work` estimates its multiplications."""
        name = getattr(function, "__name__", "function")
        work, count = work or array_work.PRODUCTS.get(name), array_work.SIZES.get(name)
        in_python = isinstance(getattr(function, "_implementation", function), FunctionType)
        levels = IN_PYTHON if in_python else IN_C

        tick, inward = self.guard.meter.tick, self.inward
        row = self.row if array_small.goes_by_sizes(self.np, function) else inward
        watched, items = self.watched, array_small.measure(self.np, function, self.numbers)

        def is_small(arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
            given = (*arguments, *named.values()) if named else arguments
            return items is not None and items(given) <= array_small.MOST

        def call(*arguments: Any, **named: Any) -> Any:
            tick()
            if LOOKED_AT_OPTIONS.isdisjoint(named) and is_small(arguments, named):
                return self.outward(function(*arguments, **named))
            arguments = tuple(map(row, arguments))
            if named:
                named = {name: inward(value) for name, value in named.items()}
                self.options(named)
                if "where" in named:  # `where` may broadcast few numbers to many
                    self.size(
                        array_work.broadcast_size([*map(self.np.shape, (arguments[0], named["where"]))])
                    )
            # by now vectors are rows, and names of types are types
            if "where" not in named and is_small(arguments, named):
                return self.outward(function(*arguments, **named))
            if count is not None:
                self.size(count(self.np, *arguments, **named))
            if work is not None:
                self.work(name, work(self.np, *arguments, **named))
            return self.outward(watched(levels, function, *arguments, **named))

        if name in _MODES:
            call = _without_wrapping(name, call)
        call.__name__ = call.__qualname__ = name
        return call

    def _of_matrices(self, name: str) -> Callable[..., float]:
        return lambda np, *arguments, **named: array_work.of_matrices(np, name, arguments, named)

    def _scalar(self, kind: Any) -> Any:
        """Return a function for a type of numbers: the type itself would walk all that nested tuples unfold to."""
        known = self.guard.builtins.facade(kind)
        if known is not kind:  # by another name
            return known

        def scalar(*values: Any) -> Any:
            if not SCALAR_TYPES.issuperset(map(type, values)):
                values = tuple(map(self.inward, values))
                return self.outward(self.watched(IN_C, kind, *values))
            return self.outward(kind(*values))

        return self.guard.builtins.add_facade(_ScalarType(scalar, self.np.dtype(kind)), kind)

    def _to_list(self, value: Any) -> Any:
        """Return `array.tolist()`, with a limit: its Python numbers do not count as numpy's memory."""
        self.guard.meter.tick()
        if unsupported(value.dtype):
            self.refuse_type()
        self.guard.operators.length(value.size, "list")
        return value.tolist()

    def _property(self, value: Any, name: str) -> Any:
        if name not in _PROPERTIES:
            return NotImplemented
        if unsupported(value.dtype):
            self.refuse_type()
        return getattr(value, name)

    # Limits

    def size(self, count: float) -> None:
        """Stop the run if an array would have too many items, even repeated ones."""
        if count > MOST_ITEMS:
            self.guard.meter.exceed(
                f"a numpy array of {count:,.0f} items is over the limit of {MOST_ITEMS:,}", limit="sequence"
            )

    def work(self, name: str, count: float) -> None:
        """Stop the run if a function would take too long."""
        if count > array_work.LIMIT:
            self.guard.meter.exceed(
                f"numpy's {name} of arrays this large takes {count:,.0f} multiplications, more than the limit of "
                f"{array_work.LIMIT:,.0f}: work on parts of them",
                limit="work",
            )

    # Operators and items

    def operate(self, sign: str, function: Callable[..., Any], *operands: Any) -> Any:
        """Return `left sign right`, or `sign value`, which is `function(…)`; one of the operands is an array."""
        if self._items(operands) <= array_small.MOST:
            return function(*operands)
        checked = tuple(map(self.inward, operands))
        if sign == "@" and math.prod(map(_items, checked)) > _QUICK:
            self.work("matmul", array_work.PRODUCTS["matmul"](self.np, *checked))
        return self.watched(IN_C, function, *operands)

    def item(self, value: Any, key: Any) -> Any:
        """Return `array[key]`."""
        if unsupported(value.dtype):
            self.refuse_type()
        if _is_basic(key):
            return self.outward(value[key])
        return self.outward(self.watched(IN_C, operator.getitem, value, self._key(key)))

    def set_item(self, value: Any, key: Any, new: Any) -> None:
        """Set `array[key] = new`."""
        if (type(new) is int or type(new) in self.numbers) and _is_basic(key):
            value[key] = new
        else:
            self.watched(IN_C, operator.setitem, value, self._key(key), self.inward(new))

    def item_of_grid(self, grid: Any, key: Any) -> Any:
        """Return `np.mgrid[0:1:10j, …]`, `np.c_[a, b]` and the like."""
        for part in key if type(key) is tuple else (key,):
            if type(part) is str:
                raise TypeError("numpy's grids and rows take slices, numbers and arrays here")
        return self.outward(self.watched(IN_PYTHON, operator.getitem, grid, self._key(key)))

    def _key(self, key: Any) -> Any:
        """Return a key for numpy: check lists in it, and make the script's own numbers plain."""
        kind = type(key)
        if kind is tuple:
            return tuple(map(self._key, key))
        return key if kind in _KEYS else self.inward(key)


_MODES: Final = {"take": 4, "put": 3, "choose": 3}
"""The place of `mode` among the arguments of a function that takes indices."""


def _without_wrapping(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of indices to refuse `mode="wrap"`: numpy subtracts the length once for each time it fits."""

    def call(*arguments: Any, **named: Any) -> Any:
        for mode in (*arguments[_MODES[name] :], named.get("mode", "raise")):
            if type(mode) is not str or mode not in ("raise", "clip"):
                raise ValueError(
                    f"{name}(): mode is 'raise' or 'clip' for scripts: to wrap, use indices % length"
                )
        return function(*arguments, **named)

    return call


def _items(value: Any) -> float:
    """Return how many numbers an array has; infinity for any other value."""
    return getattr(value, "size", math.inf)


_QUICK: Final = 1e6
"""The product of two arrays' sizes below which a matrix product is quick: it needs no more multiplications."""
_KEYS: Final = frozenset({int, slice, type(None), type(Ellipsis), str})


def _is_basic(key: Any) -> bool:
    """Return whether numpy needs no memory for a key: it gives a number, or another view of the same memory."""
    return type(key) in _KEYS or (type(key) is tuple and _KEYS.issuperset(map(type, key)))
